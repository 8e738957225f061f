// Destroying snapshots (FORMAT.md logical 3.10 "Destroy snapshot"; the numbered steps are those of that
// section).
//
//     P <- S <- N <- NN        P previous, S the one that goes, N next (a snapshot or the head)
//
// What only S references died between S and N, so it is on N's deadlist and was born after P. The rest of N's
// deadlist, and what died between P and S (S's deadlist), is from then on what died between P and N.

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/dsl_create.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::size_t kBookmarkFlags = 4, kBookmarkFreed = 8, kBookmarkWords = 12;
constexpr std::uint64_t kHasFreed = 1, kSnapshotExists = 2;

}  // namespace

Status TreeImpl::check_snapshot_destroyable(const Place& place) const {
  const DatasetNode& node = *place.snapshot;
  if (node.userrefs != 0)
    return Error(Errc::busy,
                 fmt::format("it's being held. Run 'zfs holds -r {}' to see holders.", full_name(node)));
  if (node.phys.num_children > 1) return Error(Errc::not_empty, "snapshot has dependent clones");
  if (!pool_.directory().lookup_u64("free_bpobj"))
    return Error(Errc::unsupported, "Tarn cannot destroy snapshots in pools before version 26");
  return {};
}

Status TreeImpl::destroy_snapshot(const std::string& name) {
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    const Place place = TRY(find(name));
    TRY(check_snapshot_destroyable(place));
    TRY(close_idle(*place.snapshot));
    if (const auto extension = TRY(open_extension(pool_.mos(), place.snapshot->object));
        extension && extension->lookup("com.delphix:remap_deadlist")) {
      return Error(Errc::unsupported,
                   "the snapshot has blocks on a removed device, which Tarn cannot free yet");
    }
    return destroy_snapshot_in_sync(context, *place.dir, *place.snapshot);
  });
}

// Step 1. A bookmark between P and S counts what its next snapshot lost of it; that will be N. Tells whether
// a bookmark at S still needs S's entry in later deadlists.
Result<bool> TreeImpl::adjust_bookmarks(SyncContext& context, DirNode& dir, const DatasetNode& node,
                                        const DatasetNode* next) {
  if (dir.bookmarks.empty()) return false;
  const auto extension = TRY(open_extension(pool_.mos(), dir.head->object));
  if (!extension) return false;
  Zap zap = TRY(Zap::open(pool_.mos(), TRY(extension->lookup_u64("com.delphix:bookmarks"))));
  const Deadlist next_deadlist = TRY(Deadlist::open(pool_, next->phys.deadlist));
  bool still_needed = false;
  for (BookmarkNode& mark : dir.bookmarks) {
    ZapValue value = TRY(zap.lookup(mark.name));
    if (value.integers.size() < kBookmarkWords) continue;
    std::uint64_t& flags = value.integers[kBookmarkFlags];
    if (mark.creation_txg == node.phys.creation_txg && (flags & kSnapshotExists)) {
      flags &= ~kSnapshotExists;
      TRY(zap.update(context.tx, mark.name, value));
      still_needed |= (flags & kHasFreed) != 0;
      continue;
    }
    if (!(flags & kHasFreed) || mark.creation_txg < node.phys.prev_snap_txg ||
        mark.creation_txg > node.phys.creation_txg)
      continue;
    still_needed |= mark.creation_txg == node.phys.creation_txg;
    const BlockSpace freed = TRY(next_deadlist.range(0, mark.creation_txg));
    value.integers[kBookmarkFreed] += static_cast<std::uint64_t>(freed.used);
    value.integers[kBookmarkFreed + 1] += static_cast<std::uint64_t>(freed.compressed);
    value.integers[kBookmarkFreed + 2] += static_cast<std::uint64_t>(freed.uncompressed);
    mark.freed_before_next = value.integers[kBookmarkFreed];
    TRY(zap.update(context.tx, mark.name, value));
  }
  return still_needed;
}

// Step 8, through clones of clones.
Status TreeImpl::drop_deadlist_key(SyncContext& context, DirNode& dir, std::uint64_t key) {
  Deadlist deadlist = TRY(Deadlist::open(pool_, dir.head->phys.deadlist));
  TRY(deadlist.remove_key(context, key));
  for (std::uint64_t clone_head : TRY(int_key_set(pool_.mos(), dir.phys.clones_zap))) {
    DatasetNode* clone = dataset(clone_head);
    if (!clone || clone->dir == &dir) continue;
    const DatasetNode* origin = dataset(clone->dir->phys.origin);
    if (origin && origin->phys.creation_txg > key) TRY(drop_deadlist_key(context, *clone->dir, key));
  }
  return {};
}

Status TreeImpl::destroy_snapshot_in_sync(SyncContext& context, DirNode& dir, DatasetNode& node) {
  ObjectSet& mos = pool_.mos();
  const DslDatasetPhys gone = node.phys;
  const std::uint64_t id = node.object;
  const std::string name = full_name(node);
  DatasetNode* previous = dataset(gone.prev_snap);
  DatasetNode* next = dataset(gone.next_snap);
  DirNode* free_dir = special_dir("$FREE");
  if (!next || !free_dir)
    return Error(Errc::corrupt, fmt::format("'{}': no dataset follows this snapshot", name));
  const bool previous_is_ours = previous && previous->phys.next_snap == id;

  const bool bookmark_needs_key = TRY(adjust_bookmarks(context, dir, node, next));  // 1
  TRY(drop_dataset_features(context, id));                                          // 2
  if (previous) TRY(replace_next(context, *previous, id, next->object));            // 3
  Deadlist next_deadlist = TRY(Deadlist::open(pool_, next->phys.deadlist));
  if (previous_is_ours) {  // 5
    const BlockSpace shared = TRY(next_deadlist.range(previous->phys.prev_snap_txg, gone.prev_snap_txg));
    TRY(update_dataset(context, *previous, [&](DslDatasetPhys& phys) {
      phys.unique_bytes += static_cast<std::uint64_t>(shared.used);
    }));
  }
  TRY(update_dataset(context, *next, [&](DslDatasetPhys& phys) {  // 4
    phys.prev_snap = gone.prev_snap;
    phys.prev_snap_txg = gone.prev_snap_txg;
  }));
  if (const auto open = opened(next->object)) open->set_previous_snapshot_txg(gone.prev_snap_txg);

  Bpobj free_list = TRY(Bpobj::open(mos, TRY(pool_.directory().lookup_u64("free_bpobj"))));  // 6
  const BlockSpace freed = TRY(next_deadlist.move_from(context, gone.prev_snap_txg, free_list));
  Breakdown from_snapshots{}, freeing{};
  from_snapshots[static_cast<std::size_t>(UsedBy::snapshots)] = -freed.used;
  freeing[static_cast<std::size_t>(UsedBy::head)] = freed.used;
  TRY(charge(context, dir, -freed.used, -freed.compressed, -freed.uncompressed, from_snapshots));
  TRY(charge(context, *free_dir, freed.used, freed.compressed, freed.uncompressed, freeing));

  TRY(next_deadlist.merge(context, TRY(Deadlist::open(pool_, gone.deadlist))));  // 7
  // 9 comes before 8, which takes away the entry that tells the two parts of the range apart.
  if (next->is_snapshot()) {
    const DatasetNode* after = dataset(next->phys.next_snap);
    if (!after)
      return Error(Errc::corrupt, fmt::format("'{}': no dataset follows this snapshot", full_name(*next)));
    const Deadlist after_deadlist = TRY(Deadlist::open(pool_, after->phys.deadlist));
    const BlockSpace more = TRY(after_deadlist.range(gone.prev_snap_txg, gone.creation_txg));
    TRY(update_dataset(context, *next, [&](DslDatasetPhys& phys) {
      phys.unique_bytes += static_cast<std::uint64_t>(more.used);
    }));
  } else {
    TRY(recompute_unique(context, dir, previous));
  }
  if (!bookmark_needs_key) TRY(drop_deadlist_key(context, dir, gone.creation_txg));  // 8

  TRY(TRY(Zap::open(mos, dir.head->phys.snapnames_zap)).remove(context.tx, node.name));  // 10
  if (gone.next_clones_zap) TRY(mos.free_object(context.tx, gone.next_clones_zap));
  if (gone.props_zap) TRY(mos.free_object(context.tx, gone.props_zap));
  if (gone.userrefs_zap) TRY(mos.free_object(context.tx, gone.userrefs_zap));
  TRY(free_dsl_object(context, id));
  TRY(note_snapshots_changed(context, dir));
  if (!node.name.starts_with('%')) TRY(adjust_counts(context, &dir, 0, -1));
  datasets_.erase(id);
  std::erase_if(dir.snapshots, [&](const auto& other) { return other.get() == &node; });
  return pool_.log_history_internal(context, "destroy", "", name, id);
}

// The head alone references what its previous snapshot does not have.
Status TreeImpl::recompute_unique(SyncContext& context, DirNode& dir, const DatasetNode* previous) {
  DatasetNode& head = *dir.head;
  const std::uint64_t dead = static_cast<std::uint64_t>(TRY(deadlist_total(head)).used);
  const std::uint64_t shared = previous ? previous->phys.referenced_bytes - dead : 0;
  const std::uint64_t old_unique = head.phys.unique_bytes;
  const std::uint64_t unique = head.phys.referenced_bytes - shared;
  TRY(update_dataset(context, head, [&](DslDatasetPhys& phys) { phys.unique_bytes = unique; }));
  const std::uint64_t refreservation = effective_number(dir, Property::refreservation);
  if (old_unique >= refreservation || unique <= old_unique) return {};
  const auto less = static_cast<std::int64_t>(std::min(unique - old_unique, refreservation - old_unique));
  Breakdown breakdown{};
  breakdown[static_cast<std::size_t>(UsedBy::refreservation)] = -less;
  return charge(context, dir, -less, 0, 0, breakdown);
}

}  // namespace tarn
