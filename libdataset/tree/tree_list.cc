// Listings: what a dataset is and how much space it takes, from the nodes in memory.

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/tree_impl.h"

namespace tarn {

Result<BlockSpace> TreeImpl::deadlist_total(const DatasetNode& node) const {
  if (node.phys.deadlist == 0) return BlockSpace{};
  // The header alone: listings do not need the entries.
  ObjectRef object = TRY(pool_.mos().open_object(node.phys.deadlist));
  if (object->info().type == DmuType::bpobj) return TRY(Bpobj::open(pool_.mos(), node.phys.deadlist)).space();
  const Bytes header = object->bonus();
  if (header.size() < 24)
    return Error(Errc::corrupt, fmt::format("deadlist {}: header too short", node.phys.deadlist));
  ByteReader reader(header, kHostOrder);
  BlockSpace total;
  total.used = static_cast<std::int64_t>(reader.u64());
  total.compressed = static_cast<std::int64_t>(reader.u64());
  total.uncompressed = static_cast<std::int64_t>(reader.u64());
  return total;
}

Result<std::uint64_t> TreeImpl::written(const DatasetNode& node) const {
  const DatasetNode* previous = dataset(node.phys.prev_snap);
  const std::int64_t dead = TRY(deadlist_total(node)).used;
  return node.phys.referenced_bytes - (previous ? previous->phys.referenced_bytes : 0) +
         static_cast<std::uint64_t>(dead);
}

// FORMAT.md logical 3.13: what `node` has more than a past state, plus what the snapshots between them lost
// of it.
Result<std::uint64_t> TreeImpl::written_since(const DatasetNode& node, std::uint64_t since_txg,
                                              std::uint64_t since_referenced,
                                              std::optional<std::uint64_t> freed_before_next) const {
  std::uint64_t bytes = node.phys.referenced_bytes - since_referenced;
  const DatasetNode* at = &node;
  while (at->phys.prev_snap_txg > since_txg) {
    const Deadlist deadlist = TRY(Deadlist::open(pool_, at->phys.deadlist));
    bytes += static_cast<std::uint64_t>(TRY(deadlist.range(0, since_txg)).used);
    const DatasetNode* previous = dataset(at->phys.prev_snap);
    if (!previous)
      return Error(Errc::corrupt, fmt::format("'{}': previous snapshot is missing", full_name(*at)));
    if (previous->phys.prev_snap_txg >= at->phys.prev_snap_txg && previous->phys.prev_snap_txg != 0)
      return Error(Errc::corrupt, "snapshots out of order");
    at = previous;
  }
  return bytes +
         (freed_before_next ? *freed_before_next : static_cast<std::uint64_t>(TRY(deadlist_total(*at)).used));
}

DatasetInfo TreeImpl::describe(const Place& place) const {
  const DirNode& dir = *place.dir;
  DatasetInfo info;
  info.dir_object = dir.object;
  if (place.bookmark) {
    const BookmarkNode& mark = *place.bookmark;
    info.name = dir.full_name() + "#" + mark.name;
    info.kind = DatasetKind::bookmark;
    info.guid = mark.guid;
    info.creation_txg = mark.creation_txg;
    info.creation_time = mark.creation_time;
    info.referenced = mark.referenced;
    info.compressed = mark.compressed;
    info.uncompressed = mark.uncompressed;
    return info;
  }
  const DatasetNode& node = place.snapshot ? *place.snapshot : *dir.head;
  const DslDatasetPhys& phys = node.phys;
  info.name = full_name(node);
  info.object = node.object;
  info.guid = phys.guid;
  info.creation_txg = phys.creation_txg;
  info.creation_time = phys.creation_time;
  info.referenced = phys.referenced_bytes;
  info.unique = phys.unique_bytes;
  info.compressed = phys.compressed_bytes;
  info.uncompressed = phys.uncompressed_bytes;
  info.inconsistent = (phys.flags & DslDatasetPhys::kInconsistent) != 0;
  info.written = written(node).value_or(0);
  if (place.snapshot) {
    info.kind = DatasetKind::snapshot;
    info.used = phys.unique_bytes;
    info.userrefs = node.userrefs;
    info.defer_destroy = (phys.flags & DslDatasetPhys::kDeferDestroy) != 0;
    if (phys.next_clones_zap != 0) {
      for (std::uint64_t member : int_key_set(pool_.mos(), phys.next_clones_zap).value_or({})) {
        if (const DatasetNode* clone = dataset(member)) info.clones.push_back(clone->dir->full_name());
      }
      std::sort(info.clones.begin(), info.clones.end());
    }
    return info;
  }
  info.kind = dir.type == ObjsetType::volume ? DatasetKind::volume : DatasetKind::filesystem;
  info.used = dir.phys.used_bytes;
  info.available = dataset_available(dir);
  info.dir_compressed = dir.phys.compressed_bytes;
  info.dir_uncompressed = dir.phys.uncompressed_bytes;
  info.used_by_dataset = dir.phys.used_by(UsedBy::head);
  info.used_by_snapshots = dir.phys.used_by(UsedBy::snapshots);
  info.used_by_children = dir.phys.used_by(UsedBy::children) + dir.phys.used_by(UsedBy::child_reservation);
  info.used_by_refreservation = dir.phys.used_by(UsedBy::refreservation);
  const DatasetNode* origin = dataset(dir.phys.origin);
  if (origin && !origin->dir->hidden()) info.origin = full_name(*origin);
  if (dir.details) {
    info.volsize = dir.details->volsize;
    info.volblocksize = dir.details->volblocksize;
  }
  return info;
}

// A clone is a directory whose origin is a snapshot of a visible directory; of hidden ones only $ORIGIN has
// any.
void TreeImpl::collect(DirNode& dir, unsigned depth, bool snapshots, std::vector<Place>& out) const {
  if (dir.hidden() || !dir.head) return;
  out.push_back({.dir = &dir});
  if (snapshots && depth > 0) {
    for (auto& snapshot : dir.snapshots) {
      if (!snapshot->name.starts_with('%')) out.push_back({.dir = &dir, .snapshot = snapshot.get()});
    }
    for (BookmarkNode& mark : dir.bookmarks) out.push_back({.dir = &dir, .bookmark = &mark});
  }
  if (depth == 0) return;
  for (auto& [name, child] : dir.children) collect(*child, depth - 1, snapshots, out);
}

Result<DatasetInfo> TreeImpl::info(const std::string& name) {
  WriterLock lock(mutex_);
  const Place place = TRY(find(name));
  if (place.is_head() && place.dir->type == ObjsetType::volume) TRY(details_of(*place.dir));
  return describe(place);
}

Result<std::vector<DatasetInfo>> TreeImpl::list(const std::string& root, unsigned depth, bool snapshots) {
  WriterLock lock(mutex_);
  const Place start = root.empty() ? Place{.dir = root_.get()} : TRY(find(root));
  std::vector<DatasetInfo> infos;
  if (!start.is_head()) {
    infos.push_back(describe(start));
    return infos;
  }
  std::vector<Place> places;
  collect(*start.dir, depth, snapshots, places);
  for (const Place& place : places) {
    // A volume whose object set is damaged is still listed.
    if (place.is_head() && place.dir->type == ObjsetType::volume) (void)details_of(*place.dir);
    infos.push_back(describe(place));
  }
  // By the directory's whole name, so that "a-b" comes before "a/b"; what belongs to one directory keeps its
  // order.
  std::stable_sort(infos.begin(), infos.end(), [](const DatasetInfo& a, const DatasetInfo& b) {
    const std::string_view left(a.name), right(b.name);
    return left.substr(0, left.find_first_of("@#")) < right.substr(0, right.find_first_of("@#"));
  });
  return infos;
}

}  // namespace tarn
