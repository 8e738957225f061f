// FakeBlockIo: a BlockIo over memory. Hands out DVAs one after the other, remembers what is allocated, and so
// finds double frees and leaks. Embeds nothing; stores holes as holes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "libpool/base/mutex.h"
#include "libpool/io/block_io.h"
#include "libpool/object/object_set.h"

namespace tarn::support {

class FakeBlockIo : public BlockIo {
 public:
  void set_allocator(Allocator*) override {}
  void set_salt(const ChecksumSalt&) override {}
  void set_cache_limit(std::uint64_t) override {}
  VdevTree& vdevs() override;  // has none: aborts
  Result<BufferRef> read(const BlockPointer& bp, const Bookmark& bookmark, bool cache) override;
  Result<BlockPointer> write(const BlockWrite& block, const Bookmark& bookmark, WriteBatch& batch) override;
  Status free(const BlockPointer& bp, std::uint64_t txg) override;
  std::uint64_t deflated_size(const BlockPointer& bp) const override {
    return bp.is_hole() || bp.embedded ? 0 : bp.allocated_bytes();
  }
  BlockIoStats stats() const override { return {}; }
  void drop_cache() override {}

  std::set<std::uint64_t> allocated() const;  // offsets
  std::uint64_t reads() const;
  std::vector<std::string> faults() const;  // double frees, reads of freed blocks
  // Replaces the content of a stored block (damage, other byte order).
  void poke(const BlockPointer& bp, Buffer content);

 private:
  mutable Mutex lock_;
  std::map<std::uint64_t, BufferRef> blocks_ GUARDED_BY(lock_);
  std::uint64_t next_ GUARDED_BY(lock_) = 1 << 20;
  std::uint64_t reads_ GUARDED_BY(lock_) = 0;
  std::vector<std::string> faults_ GUARDED_BY(lock_);
};

// Frees at once what the object set gives up, and counts.
class FakeOwner : public BlockOwner {
 public:
  explicit FakeOwner(FakeBlockIo& io) : io_(io) {}
  void block_born(const BlockPointer& bp, std::uint64_t txg) override;
  void block_freed(const BlockPointer& bp, std::uint64_t txg) override;
  void block_rewritten(const BlockPointer& before, const BlockPointer& now, std::uint64_t txg) override;
  std::int64_t live() const;

 private:
  FakeBlockIo& io_;
  mutable Mutex lock_;
  std::int64_t live_ GUARDED_BY(lock_) = 0;
};

}  // namespace tarn::support
