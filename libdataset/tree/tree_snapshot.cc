// Taking snapshots (FORMAT.md logical 3.10 "Snapshot"). A snapshot happens after the transaction group's data
// was written, so that it contains all of it.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "libdataset/tree/dsl_create.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {

Status TreeImpl::snapshot(const std::vector<std::string>& names,
                          const std::vector<PropertySetting>& properties) {
  const std::vector<PreparedSetting> settings =
      TRY(prepare(properties, PropertyTarget::snapshot, SetOccasion::create));
  std::vector<DatasetName> wanted;
  std::set<std::string> dirs;
  for (const std::string& name : names) {
    DatasetName parsed = TRY(parse_dataset_name(name));
    if (parsed.kind != NameKind::snapshot)
      return Error(Errc::invalid_argument, "missing '@' delimiter in snapshot name");
    if (!dirs.insert(parsed.dir).second)
      return Error(Errc::invalid_argument, "multiple snapshots of same fs not allowed");
    wanted.push_back(std::move(parsed));
  }
  for (;;) {
    Status taken = pool_.run_sync_task([&](SyncContext& context) -> Status {
      WriterLock lock(mutex_);
      for (const DatasetName& name : wanted) {
        DirNode* dir = find_dir(name.dir);
        if (!dir || !dir->head || dir->hidden()) return Error(Errc::not_found, "dataset does not exist");
        const bool exists = std::any_of(dir->snapshots.begin(), dir->snapshots.end(),
                                        [&](const auto& other) { return other->name == name.tail; });
        if (exists) return Error(Errc::already_exists, "dataset already exists");
        if (dir->head->phys.flags & DslDatasetPhys::kInconsistent)
          return Error(Errc::busy, "dataset is busy");
        // Two snapshots of one file system in one group could not be told apart by their txg.
        if (dir->head->phys.prev_snap_txg >= context.txg())
          return Error(Errc::would_block, "a snapshot was taken in this transaction group");
        if (const auto extension = TRY(open_extension(pool_.mos(), dir->head->object));
            extension && extension->lookup("com.delphix:remap_deadlist")) {
          return Error(
              Errc::unsupported,
              "the dataset has blocks on a removed device, which Tarn cannot take a snapshot of yet");
        }
      }
      for (const DatasetName& name : wanted)
        TRY(snapshot_in_sync(context, *find_dir(name.dir), name.tail, settings));
      return {};
    });
    if (taken || taken.error().code() != Errc::would_block) return taken;
  }
}

// P.next_snap, or P's set of clones, names the new one instead of the old.
Status TreeImpl::replace_next(SyncContext& context, DatasetNode& previous, std::uint64_t old_next,
                              std::uint64_t new_next) {
  if (previous.phys.next_snap == old_next)
    return update_dataset(context, previous, [&](DslDatasetPhys& phys) { phys.next_snap = new_next; });
  if (previous.phys.next_clones_zap == 0) return {};
  TRY(remove_from_set(context, previous.phys.next_clones_zap, old_next));
  TRY(add_to_set(context, previous.phys.next_clones_zap, DmuType::next_clones, new_next));
  return {};
}

Status TreeImpl::note_snapshots_changed(SyncContext& context, DirNode& dir) {
  if (!pool_.feature_enabled("com.delphix:extensible_dataset")) return {};
  const TimeSpec now = pool_.clock().now();
  Zap zap = TRY(ensure_extension(context, dir.object));
  const ZapValue value{.integer_bytes = 8,
                       .integers = {static_cast<std::uint64_t>(now.seconds), now.nanoseconds}};
  TRY(zap.update(context.tx, "com.ixsystems:snapshots_changed", value));
  dir.snapshots_changed = static_cast<std::uint64_t>(now.seconds);
  return {};
}

Status TreeImpl::snapshot_in_sync(SyncContext& context, DirNode& dir, const std::string& name,
                                  const std::vector<PreparedSetting>& settings) {
  DatasetNode& head = *dir.head;
  const std::shared_ptr<OpenDataset> open = opened(head.object);
  // A file system made in this very group has not been written yet.
  if (open && open->objset().is_dirty(context.txg())) {
    const BlockPointer root = TRY(write_objset(context, *open));
    TRY(book_sync(context, *open, root));
  }
  auto snapshot = std::make_unique<DatasetNode>();
  snapshot->dir = &dir;
  snapshot->name = name;
  DslDatasetPhys& phys = snapshot->phys;
  phys = new_dataset_phys(context, dir.object, context.txg());
  phys.prev_snap = head.phys.prev_snap;
  phys.prev_snap_txg = head.phys.prev_snap_txg;
  phys.next_snap = head.object;
  phys.num_children = 1;
  phys.deadlist = head.phys.deadlist;
  phys.referenced_bytes = head.phys.referenced_bytes;
  phys.compressed_bytes = head.phys.compressed_bytes;
  phys.uncompressed_bytes = head.phys.uncompressed_bytes;
  phys.flags = head.phys.flags;
  phys.root = head.phys.root;
  snapshot->object = TRY(create_dataset_object(context, phys));
  TRY(copy_dataset_features(context, head.object, snapshot->object));
  if (DatasetNode* previous = dataset(head.phys.prev_snap))
    TRY(replace_next(context, *previous, head.object, snapshot->object));

  // What the reservation promised is needed again: nothing is the head's alone any more.
  const std::uint64_t refreservation = effective_number(dir, Property::refreservation);
  if (const auto again = static_cast<std::int64_t>(std::min(head.phys.unique_bytes, refreservation));
      again > 0) {
    Breakdown breakdown{};
    breakdown[static_cast<std::size_t>(UsedBy::refreservation)] = again;
    TRY(charge(context, dir, again, 0, 0, breakdown));
  }
  const std::uint64_t old_previous_txg = head.phys.prev_snap_txg;
  const Deadlist old_deadlist = TRY(Deadlist::open(pool_, head.phys.deadlist));
  const std::uint64_t deadlist = TRY(old_deadlist.clone_keys(context, UINT64_MAX));
  Deadlist new_deadlist = TRY(Deadlist::open(pool_, deadlist));
  TRY(new_deadlist.add_key(context, old_previous_txg));
  // A bookmark that counts what is freed needs its own entry (FORMAT.md logical 3.5).
  for (const BookmarkNode& mark : dir.bookmarks)
    if (mark.has_totals && mark.creation_txg > old_previous_txg)
      TRY(new_deadlist.add_key(context, mark.creation_txg));
  TRY(update_dataset(context, head, [&](DslDatasetPhys& after) {
    after.deadlist = deadlist;
    after.prev_snap = snapshot->object;
    after.prev_snap_txg = snapshot->phys.creation_txg;
    after.unique_bytes = 0;
  }));
  if (open) open->set_previous_snapshot_txg(context.txg());
  TRY(TRY(Zap::open(pool_.mos(), head.phys.snapnames_zap)).add(context.tx, name, snapshot->object));
  TRY(note_snapshots_changed(context, dir));
  if (!name.starts_with('%')) TRY(adjust_counts(context, &dir, 0, 1));
  DatasetNode& added = *snapshot;
  datasets_[added.object] = &added;
  dir.snapshots.push_back(std::move(snapshot));
  for (const PreparedSetting& setting : settings) TRY(set_snapshot_property(context, added, setting));
  return pool_.log_history_internal(context, "snapshot", "", full_name(added), added.object);
}

}  // namespace tarn
