// Any object content is a ZAP that answers, or an error: look-ups, iteration and changes neither crash nor
// hang. The first byte chooses the block size; the rest fills the blocks.
#include <map>

#include "libpool/zap/zap.h"

namespace {

using namespace tarn;

// An object in memory, without txgs.
class MemoryObject : public Object {
 public:
  explicit MemoryObject(std::uint32_t block_bytes) : block_bytes_(block_bytes) {}
  std::map<std::uint64_t, MutableBufferRef> blocks;

  std::uint64_t number() const override { return 1; }
  ObjectInfo info() const override {
    return {.type = DmuType::directory,
            .block_bytes = block_bytes_,
            .max_blkid = blocks.empty() ? 0 : blocks.rbegin()->first};
  }
  Status read(std::uint64_t, MutableByteView) override { return {}; }
  Result<BufferRef> read_block(std::uint64_t blkid) override {
    const auto found = blocks.find(blkid);
    if (found != blocks.end()) return BufferRef(found->second);
    return BufferRef(std::make_shared<Buffer>(Buffer::zeroed(block_bytes_)));
  }
  Status write(const Tx&, std::uint64_t, ByteView) override { return {}; }
  Status write_block(const Tx&, std::uint64_t blkid, Buffer data) override {
    if (blkid > 1000) return Error(Errc::too_large, "block beyond the test's object");
    blocks[blkid] = std::make_shared<Buffer>(std::move(data));
    return {};
  }
  Result<MutableBufferRef> modify_block(const Tx&, std::uint64_t blkid) override {
    MutableBufferRef& block = blocks[blkid];
    if (!block) block = std::make_shared<Buffer>(Buffer::zeroed(block_bytes_));
    return block;
  }
  Status free_range(const Tx&, std::uint64_t, std::uint64_t) override { return {}; }
  Status set_block_size(const Tx&, std::uint32_t bytes) override {
    block_bytes_ = bytes;
    if (!blocks.contains(0)) return {};
    auto grown = std::make_shared<Buffer>(Buffer::zeroed(bytes));
    std::memcpy(grown->data(), blocks[0]->data(), std::min<std::size_t>(bytes, blocks[0]->size()));
    blocks[0] = std::move(grown);
    return {};
  }
  Bytes bonus() const override { return {}; }
  Status set_bonus(const Tx&, ByteView) override { return {}; }
  Status set_bonus_type(const Tx&, DmuType) override { return {}; }
  Status set_type(const Tx&, DmuType) override { return {}; }
  Result<std::optional<BufferRef>> spill() const override { return std::optional<BufferRef>(); }
  Status set_spill(const Tx&, std::optional<Buffer>) override { return {}; }
  Result<std::optional<std::uint64_t>> next_data(std::uint64_t) override {
    return std::optional<std::uint64_t>();
  }
  Result<std::optional<std::uint64_t>> next_hole(std::uint64_t) override {
    return std::optional<std::uint64_t>();
  }
  void prefetch(std::uint64_t, std::uint64_t) override {}
  SharedMutex& content_lock() override { return lock_; }

 private:
  std::uint32_t block_bytes_;
  SharedMutex lock_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t block_bytes = 512u << (data[0] % 6);
  ByteView rest = std::as_bytes(std::span(data, size)).subspan(1);
  auto object = std::make_shared<MemoryObject>(block_bytes);
  for (std::uint64_t blkid = 0; !rest.empty() && blkid < 16; ++blkid) {
    Buffer block = Buffer::zeroed(block_bytes);
    const std::size_t part = std::min<std::size_t>(rest.size(), block_bytes);
    std::memcpy(block.data(), rest.data(), part);
    rest = rest.subspan(part);
    Buffer foreign = Buffer::copy_of(block.view());
    (void)swap_block(foreign.span(), DmuType::directory);
    object->blocks[blkid] = std::make_shared<Buffer>(std::move(block));
  }
  const Tx tx = Tx::syncing(1);
  auto zap = Zap::open(object);
  if (!zap) return 0;
  (void)zap->entries();
  (void)zap->count();
  for (const char* name : {"a", "name", "some longer name that does not fit a single chunk"}) {
    (void)zap->lookup(name);
    (void)zap->lookup_normalized(name, false);
    (void)zap->update(tx, name, 7);
    (void)zap->add(tx, name, ZapValue::of_text(name));
    (void)zap->increment(tx, name, 1);
    (void)zap->remove(tx, name);
  }
  return 0;
}
