// DeviceBlockIo: what stands behind BlockIo. The pipelines are in read_pipeline.cc and write_pipeline.cc,
// each a table of contents of its stages; freeing is in free_block.cc.
#pragma once

#include <atomic>

#include "libpool/base/mutex.h"
#include "libpool/io/block_cache.h"
#include "libpool/io/block_io.h"
#include "libpool/io/pending_writes.h"

namespace tarn {

class DeviceBlockIo final : public BlockIo {
 public:
  DeviceBlockIo(VdevTree& vdevs, const Settings& settings)
      : vdevs_(vdevs),
        min_alloc_bytes_(std::max<std::uint64_t>(settings.min_alloc_bytes, kSectorBytes)),
        hole_birth_(settings.hole_birth),
        cache_(settings.cache_limit_bytes),
        salt_(settings.salt) {}

  void set_allocator(Allocator* allocator) override { allocator_ = allocator; }
  void set_salt(const ChecksumSalt& salt) override {
    WriterLock lock(salt_mutex_);
    salt_ = salt;
  }
  void set_cache_limit(std::uint64_t bytes) override { cache_.set_limit(bytes); }
  VdevTree& vdevs() override { return vdevs_; }

  Result<BufferRef> read(const BlockPointer& bp, const Bookmark& bookmark, bool cache) override;
  Result<BlockPointer> write(const BlockWrite& block, const Bookmark& bookmark, WriteBatch& batch) override;
  Status free(const BlockPointer& bp, std::uint64_t txg) override;
  std::uint64_t deflated_size(const BlockPointer& bp) const override;
  BlockIoStats stats() const override {
    return {.cache_hits = cache_.hits(), .cache_misses = cache_.misses(), .cache_bytes = cache_.bytes()};
  }
  void drop_cache() override { cache_.clear(); }

 private:
  // read_pipeline.cc
  Result<BufferRef> read_stored(const BlockPointer& bp, unsigned gang_depth);
  Result<BufferRef> read_plain(const BlockPointer& bp);
  Result<BufferRef> read_gang(const BlockPointer& bp, unsigned depth);
  Result<std::vector<BlockPointer>> read_gang_header(const BlockPointer& bp);
  Status read_copies(const BlockPointer& bp, Buffer& out, const Verifier& verify);
  bool checksum_right(const BlockPointer& bp, ByteView data) const;

  // write_pipeline.cc
  Status place(BlockPointer& bp, const BlockWrite& block, const BufferRef& stored, WriteBatch& batch);
  bool rewrite_in_place(BlockPointer& bp, const BlockPointer& old, std::uint64_t txg) const;
  // Allocates `data` as one piece or as a gang, writes it, fills bp's DVAs.
  Status write_new(BlockPointer& bp, const BlockWrite& block, const BufferRef& data, unsigned depth,
                   WriteBatch& batch);
  Status write_gang(BlockPointer& bp, const BlockWrite& block, const BufferRef& data, unsigned depth,
                    WriteBatch& batch);
  void write_devices(const BlockPointer& bp, const BlockKey& key, const BufferRef& data, std::uint64_t txg,
                     WriteBatch& batch);

  // free_block.cc
  Status free_tree(const BlockPointer& bp, std::uint64_t txg, unsigned depth);
  void give_back(const BlockPointer& bp, std::uint64_t txg);

  ChecksumSalt salt() const {
    ReaderLock lock(salt_mutex_);
    return salt_;
  }

  VdevTree& vdevs_;
  const std::uint64_t min_alloc_bytes_;
  const bool hole_birth_;
  std::atomic<Allocator*> allocator_{nullptr};
  BlockCache cache_;
  PendingWrites pending_;
  mutable SharedMutex salt_mutex_;
  ChecksumSalt salt_ GUARDED_BY(salt_mutex_);
};

// Key of a gang block's header: its own checksum is not in any block pointer.
inline BlockKey gang_header_key(const BlockPointer& gang) {
  BlockKey key = BlockKey::of(gang);
  key.logical_bytes = 0;
  return key;
}

}  // namespace tarn
