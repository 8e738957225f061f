#include "libdataset/tree/dsl_phys.h"

namespace tarn {
namespace {

constexpr std::size_t kRootOffset = 128;
constexpr std::size_t kLogHeaderOffset = 512, kTypeOffset = 704, kMinObjsetBytes = 1024;
constexpr std::uint64_t kReplayNeeded = 1;

// One list for decoding and encoding, so that they cannot disagree: `visit` is called with each field in
// order.
template <typename Phys, typename Visit>
void visit_dir(Phys& dir, Visit visit) {
  visit(dir.creation_time);
  visit(dir.head_dataset);
  visit(dir.parent);
  visit(dir.origin);
  visit(dir.child_zap);
  visit(dir.used_bytes);
  visit(dir.compressed_bytes);
  visit(dir.uncompressed_bytes);
  visit(dir.quota);
  visit(dir.reserved);
  visit(dir.props_zap);
  visit(dir.delegation_zap);
  visit(dir.flags);
  for (auto& used : dir.used_breakdown) visit(used);
  visit(dir.clones_zap);
}
constexpr std::size_t kDirWords = 14 + kUsedByCount;
static_assert(kDirWords * 8 + 13 * 8 == DslDirPhys::kEncodedBytes);

template <typename Phys, typename Visit>
void visit_dataset_before_root(Phys& ds, Visit visit) {
  visit(ds.dir);
  visit(ds.prev_snap);
  visit(ds.prev_snap_txg);
  visit(ds.next_snap);
  visit(ds.snapnames_zap);
  visit(ds.num_children);
  visit(ds.creation_time);
  visit(ds.creation_txg);
  visit(ds.deadlist);
  visit(ds.referenced_bytes);
  visit(ds.compressed_bytes);
  visit(ds.uncompressed_bytes);
  visit(ds.unique_bytes);
  visit(ds.fsid_guid);
  visit(ds.guid);
  visit(ds.flags);
}
static_assert(16 * 8 == kRootOffset);

template <typename Phys, typename Visit>
void visit_dataset_after_root(Phys& ds, Visit visit) {
  visit(ds.next_clones_zap);
  visit(ds.props_zap);
  visit(ds.userrefs_zap);
}
static_assert(kRootOffset + kBlockPointerBytes + 3 * 8 + 5 * 8 == DslDatasetPhys::kEncodedBytes);

BlockPointer decode_pointer(ByteView at, ByteOrder order) {
  return BlockPointer::decode(std::span<const std::byte, kBlockPointerBytes>(at.data(), kBlockPointerBytes),
                              order);
}

}  // namespace

Result<DslDirPhys> DslDirPhys::decode(ByteView bonus, ByteOrder order) {
  if (bonus.size() < kEncodedBytes) return Error(Errc::corrupt, "dataset directory: bonus too short");
  DslDirPhys dir;
  ByteReader reader(bonus, order);
  visit_dir(dir, [&](std::uint64_t& field) { field = reader.u64(); });
  return dir;
}

Bytes DslDirPhys::encode(ByteOrder order) const {
  Bytes out(kEncodedBytes);
  ByteWriter writer(out, order);
  visit_dir(*this, [&](const std::uint64_t& field) { writer.u64(field); });
  return out;
}

Result<DslDatasetPhys> DslDatasetPhys::decode(ByteView bonus, ByteOrder order) {
  if (bonus.size() < kEncodedBytes) return Error(Errc::corrupt, "dataset: bonus too short");
  DslDatasetPhys ds;
  ByteReader reader(bonus, order);
  visit_dataset_before_root(ds, [&](std::uint64_t& field) { field = reader.u64(); });
  ds.root = decode_pointer(reader.bytes(kBlockPointerBytes), order);
  visit_dataset_after_root(ds, [&](std::uint64_t& field) { field = reader.u64(); });
  return ds;
}

Bytes DslDatasetPhys::encode(ByteOrder order) const {
  Bytes out(kEncodedBytes);
  ByteWriter writer(out, order);
  visit_dataset_before_root(*this, [&](const std::uint64_t& field) { writer.u64(field); });
  root.encode(std::span<std::byte, kBlockPointerBytes>(out.data() + kRootOffset, kBlockPointerBytes), order);
  writer.seek(kRootOffset + kBlockPointerBytes);
  visit_dataset_after_root(*this, [&](const std::uint64_t& field) { writer.u64(field); });
  return out;
}

Result<ObjsetSummary> ObjsetSummary::decode(ByteView block, ByteOrder order) {
  if (block.size() < kMinObjsetBytes) return Error(Errc::corrupt, "object set block too short");
  ObjsetSummary summary;
  ByteReader reader(block, order);
  reader.seek(kLogHeaderOffset);
  summary.claim_txg = reader.u64();
  reader.skip(8);  // replay_seq
  summary.log = decode_pointer(reader.bytes(kBlockPointerBytes), order);
  reader.skip(8);  // claim_blk_seq
  summary.replay_needed = (reader.u64() & kReplayNeeded) != 0;
  reader.seek(kTypeOffset);
  summary.type = reader.u64();
  summary.flags = reader.u64();
  return summary;
}

}  // namespace tarn
