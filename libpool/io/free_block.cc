// Freeing a block: its DVAs, and for a gang block the whole tree under it.
#include "libpool/io/block_io_impl.h"
#include "libpool/io/gang.h"

namespace tarn {

Status DeviceBlockIo::free(const BlockPointer& bp, std::uint64_t txg) {
  if (bp.is_hole() || bp.embedded) return {};
  assert(allocator_);
  TRY(bp.check(vdevs_.top_count()).in("free of " + bp.describe()));
  return free_tree(bp, txg, 0).in("free of " + bp.describe());
}

Status DeviceBlockIo::free_tree(const BlockPointer& bp, std::uint64_t txg, unsigned depth) {
  if (bp.is_gang()) {
    if (depth >= kMaxGangDepth) return Error(Errc::corrupt, "gang blocks nested too deeply");
    // The header goes last: if a piece cannot be read, what is lost is space, not data.
    for (const BlockPointer& child : TRY(read_gang_header(bp))) TRY(free_tree(child, txg, depth + 1));
  }
  give_back(bp, txg);
  return {};
}

void DeviceBlockIo::give_back(const BlockPointer& bp, std::uint64_t txg) {
  const BlockKey key = bp.is_gang() ? gang_header_key(bp) : BlockKey::of(bp);
  cache_.erase(BlockKey::of(bp));
  pending_.erase(key);
  for (unsigned i = 0; i < bp.dva_count(); ++i) {
    Dva dva = bp.dvas[i];
    // A gang DVA's size includes the children; what lies at its offset is the header.
    if (dva.gang) dva.allocated_bytes = vdevs_.allocated_size(dva.vdev, kGangHeaderBytes);
    dva.gang = false;
    allocator_.load()->free(dva, bp.birth_for_freeing(), txg);
  }
}

}  // namespace tarn
