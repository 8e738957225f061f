// TreeEditor: changes the block tree of one object during a sync. Indirect blocks that change are copied into
// memory, changed, and written once each, bottom up; the tree on disk stays as it is until then.
//
// Order of use: grow(), free_range()..., pointer()/set_pointer() for data blocks, write_indirects().
#pragma once

#include <map>
#include <unordered_map>

#include "libpool/object/object_set_impl.h"

namespace tarn {

class TreeEditor {
 public:
  // `dnode` is the new dnode: its roots, levels and used bytes are changed.
  TreeEditor(ObjectSetImpl& set, SyncRun& run, std::uint64_t object, Dnode& dnode)
      : set_(set), run_(run), object_(object), dnode_(dnode) {}

  // Adds levels until `blkid` has a place.
  void grow(std::uint64_t blkid);
  Status free_range(std::uint64_t first, std::uint64_t last);
  Result<BlockPointer> pointer(std::uint64_t blkid);
  Status set_pointer(std::uint64_t blkid, const BlockPointer& bp);
  Status write_indirects();
  std::int64_t& charged() { return charged_; }

 private:
  Result<Buffer*> indirect(unsigned level, std::uint64_t id);
  // The block pointer of block `id` of `level`, and where it is kept.
  Result<BlockPointer> pointer_at(unsigned level, std::uint64_t id);
  Status set_pointer_at(unsigned level, std::uint64_t id, const BlockPointer& bp);
  Status free_under(unsigned level, std::uint64_t id, std::uint64_t first, std::uint64_t last);
  void drop_all(unsigned level, std::uint64_t id, const BlockPointer& bp);
  BlockPointer hole_in_place_of(unsigned level) const;
  Result<BufferRef> read_indirect(const BlockPointer& bp, unsigned level, std::uint64_t id);
  Bookmark bookmark(unsigned level, std::uint64_t id) const;

  ObjectSetImpl& set_;
  SyncRun& run_;
  const std::uint64_t object_;
  Dnode& dnode_;
  std::int64_t charged_ = 0;
  // By level (0 unused) and id; host order.
  std::array<std::map<std::uint64_t, std::shared_ptr<Buffer>>, kMaxLevels> changed_;
};

}  // namespace tarn
