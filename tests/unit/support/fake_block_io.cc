#include "tests/unit/support/fake_block_io.h"

#include <fmt/format.h>

namespace tarn::support {

VdevTree& FakeBlockIo::vdevs() { std::abort(); }

Result<BufferRef> FakeBlockIo::read(const BlockPointer& bp, const Bookmark&, bool) {
  if (bp.is_hole()) return BufferRef(std::make_shared<Buffer>(Buffer::zeroed(bp.logical_bytes)));
  MutexLock lock(lock_);
  ++reads_;
  const auto found = blocks_.find(bp.dvas[0].offset_bytes);
  if (found == blocks_.end())
    return Error(Errc::checksum, fmt::format("read of a freed block at {}", bp.dvas[0].offset_bytes));
  return found->second;
}

Result<BlockPointer> FakeBlockIo::write(const BlockWrite& block, const Bookmark&, WriteBatch&) {
  const auto bytes = static_cast<std::uint32_t>(block.data->size());
  MutexLock lock(lock_);
  std::uint64_t place = 0;
  if (block.rewrite) {
    if (!blocks_.contains(block.rewrite->dvas[0].offset_bytes))
      faults_.push_back("rewrite of a block that is not allocated");
    blocks_.erase(block.rewrite->dvas[0].offset_bytes);
    if (block.rewrite->logical_bytes == bytes) place = block.rewrite->dvas[0].offset_bytes;
  }
  if (block.compression.type != CompressionType::off && all_zero(block.data->view()))
    return BlockPointer::hole(block.type, block.level, bytes, block.txg);
  if (place == 0) {
    place = next_;
    next_ += round_up(bytes, 512);
  }
  blocks_[place] = block.data;
  BlockPointer bp;
  bp.dvas[0] = {.vdev = 0, .offset_bytes = place, .allocated_bytes = round_up(bytes, 512)};
  bp.logical_bytes = bp.physical_bytes = bytes;
  bp.compression = CompressionType::off;
  bp.checksum_type = block.checksum;
  bp.type = block.type;
  bp.level = block.level;
  bp.logical_birth = block.txg;
  bp.fill = block.fill;
  return bp;
}

Status FakeBlockIo::free(const BlockPointer& bp, std::uint64_t) {
  if (bp.is_hole() || bp.embedded) return {};
  MutexLock lock(lock_);
  if (blocks_.erase(bp.dvas[0].offset_bytes) == 0)
    faults_.push_back(fmt::format("double free at {}", bp.dvas[0].offset_bytes));
  return {};
}

std::set<std::uint64_t> FakeBlockIo::allocated() const {
  MutexLock lock(lock_);
  std::set<std::uint64_t> out;
  for (const auto& [place, data] : blocks_) out.insert(place);
  return out;
}

std::uint64_t FakeBlockIo::reads() const {
  MutexLock lock(lock_);
  return reads_;
}

std::vector<std::string> FakeBlockIo::faults() const {
  MutexLock lock(lock_);
  return faults_;
}

void FakeBlockIo::poke(const BlockPointer& bp, Buffer content) {
  MutexLock lock(lock_);
  blocks_[bp.dvas[0].offset_bytes] = std::make_shared<Buffer>(std::move(content));
}

void FakeOwner::block_born(const BlockPointer&, std::uint64_t) {
  MutexLock lock(lock_);
  ++live_;
}

void FakeOwner::block_freed(const BlockPointer& bp, std::uint64_t txg) {
  (void)io_.free(bp, txg);
  MutexLock lock(lock_);
  --live_;
}

void FakeOwner::block_rewritten(const BlockPointer&, const BlockPointer& now, std::uint64_t) {
  MutexLock lock(lock_);
  if (now.is_hole()) --live_;
}

std::int64_t FakeOwner::live() const {
  MutexLock lock(lock_);
  return live_;
}

}  // namespace tarn::support
