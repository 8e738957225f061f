// Renaming datasets and snapshots (FORMAT.md logical 3.10 "Rename").

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

std::size_t longest_name_below(const DirNode& dir, std::size_t prefix) {
  std::size_t longest = prefix;
  for (const auto& snapshot : dir.snapshots) longest = std::max(longest, prefix + 1 + snapshot->name.size());
  for (const auto& [name, child] : dir.children)
    longest = std::max(longest, longest_name_below(*child, prefix + 1 + name.size()));
  return longest;
}

}  // namespace

Status TreeImpl::rename(const std::string& from, const std::string& to, bool make_parents) {
  const DatasetName old_name = TRY(parse_dataset_name(from)), new_name = TRY(parse_dataset_name(to));
  if (old_name.kind == NameKind::bookmark) return Error(Errc::unsupported, "bookmarks cannot be renamed");
  if (old_name.kind != new_name.kind)
    return Error(Errc::invalid_argument,
                 "a snapshot can only be renamed to a snapshot, a dataset only to a dataset");
  if (old_name.kind == NameKind::snapshot) return rename_snapshot(old_name, new_name);

  if (parent_name(new_name.dir).empty()) return Error(Errc::invalid_argument, "missing dataset name");
  if (new_name.dir.starts_with(old_name.dir + "/"))
    return Error(Errc::invalid_argument, "New dataset name cannot be a descendant of current dataset name");
  TRY(parse_dir_name(to));
  if (make_parents) {
    const std::string parent(parent_name(new_name.dir));
    bool missing = false;
    {
      ReaderLock lock(mutex_);
      missing = find_dir(parent) == nullptr;
    }
    if (missing)
      return Error(Errc::not_found, fmt::format("parent '{}' does not exist; create it first", parent));
  }
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    DirNode* dir = find_dir(old_name.dir);
    if (!dir || !dir->head || dir->hidden()) return Error(Errc::not_found, "dataset does not exist");
    if (!dir->parent) return Error(Errc::invalid_argument, "operation does not apply to pools");
    if (find_dir(new_name.dir)) return Error(Errc::already_exists, "dataset already exists");
    DirNode* parent = find_dir(parent_name(new_name.dir));
    if (!parent || parent->hidden()) return Error(Errc::not_found, "parent does not exist");
    if (parent->type != ObjsetType::filesystem)
      return Error(Errc::invalid_argument, "parent is not a filesystem");
    if (parent != dir->parent && (parent->crypto_key != 0 || dir->crypto_key != 0))
      return Error(Errc::unsupported, "Tarn cannot move encrypted datasets yet");
    if (longest_name_below(*dir, new_name.dir.size()) > kMaxDatasetNameBytes)
      return Error(Errc::name_too_long, "name is too long");
    if (parent != dir->parent) {
      const std::uint64_t needs = std::max(dir->phys.used_bytes, dir->phys.reserved);
      // Levels above both parents do not change.
      for (const DirNode* level = parent; level; level = level->parent) {
        if (is_below(*dir, *level)) break;
        if (level->phys.quota && level->phys.used_bytes + needs > level->phys.quota)
          return Error(Errc::quota, "out of space");
      }
    }
    TRY(rename_dir_in_sync(context, *dir, *parent, std::string(last_component(new_name.dir))));
    refresh_all_properties();
    return pool_.log_history_internal(context, "rename", fmt::format("-> {}", to), from, dir->head->object);
  });
}

bool TreeImpl::is_below(const DirNode& dir, const DirNode& ancestor) const {
  for (const DirNode* level = dir.parent; level; level = level->parent)
    if (level == &ancestor) return true;
  return false;
}

Status TreeImpl::rename_dir_in_sync(SyncContext& context, DirNode& dir, DirNode& new_parent,
                                    const std::string& name) {
  DirNode& old_parent = *dir.parent;
  if (&new_parent != &old_parent) {
    const auto used = static_cast<std::int64_t>(dir.phys.used_bytes),
               compressed = static_cast<std::int64_t>(dir.phys.compressed_bytes),
               uncompressed = static_cast<std::int64_t>(dir.phys.uncompressed_bytes);
    const std::int64_t unused_reservation =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(dir.phys.reserved) - used);
    Breakdown leaving{}, coming{};
    leaving[static_cast<std::size_t>(UsedBy::children)] = -used;
    leaving[static_cast<std::size_t>(UsedBy::child_reservation)] = -unused_reservation;
    coming[static_cast<std::size_t>(UsedBy::children)] = used;
    coming[static_cast<std::size_t>(UsedBy::child_reservation)] = unused_reservation;
    TRY(charge(context, old_parent, -used - unused_reservation, -compressed, -uncompressed, leaving));
    TRY(charge(context, new_parent, used + unused_reservation, compressed, uncompressed, coming));
    if (dir.filesystem_count) {
      const auto filesystems = static_cast<std::int64_t>(*dir.filesystem_count) + 1,
                 snapshots = static_cast<std::int64_t>(dir.snapshot_count.value_or(0));
      TRY(adjust_counts(context, &old_parent, -filesystems, -snapshots));
      TRY(adjust_counts(context, &new_parent, filesystems, snapshots));
    }
  }
  TRY(TRY(Zap::open(pool_.mos(), old_parent.phys.child_zap)).remove(context.tx, dir.name));
  TRY(TRY(Zap::open(pool_.mos(), new_parent.phys.child_zap)).add(context.tx, name, dir.object));
  TRY(update_dir(context, dir, [&](DslDirPhys& phys) { phys.parent = new_parent.object; }));
  auto node = old_parent.children.extract(dir.name);
  dir.name = name;
  dir.parent = &new_parent;
  node.key() = name;
  new_parent.children.insert(std::move(node));
  return {};
}

Status TreeImpl::rename_snapshot(const DatasetName& from, const DatasetName& to) {
  if (from.dir != to.dir) return Error(Errc::invalid_argument, "snapshots must be part of same dataset");
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    const Place place = TRY(find(from.full()));
    if (find(to.full())) return Error(Errc::already_exists, "dataset already exists");
    Zap names = TRY(Zap::open(pool_.mos(), place.dir->head->phys.snapnames_zap));
    TRY(names.remove(context.tx, from.tail));
    TRY(names.add(context.tx, to.tail, place.snapshot->object));
    place.snapshot->name = to.tail;
    TRY(note_snapshots_changed(context, *place.dir));
    return pool_.log_history_internal(context, "rename", fmt::format("-> {}", to.full()), from.full(),
                                      place.snapshot->object);
  });
}

}  // namespace tarn
