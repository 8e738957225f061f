// Creating file systems (FORMAT.md logical 3.10 "Create dataset", 10.2).

#include <fmt/format.h>

#include "libdataset/tree/dsl_create.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::uint64_t kUserAccounting = 1, kObjectAccounting = 2, kProjectAccounting = 4;  // os_flags
constexpr std::string_view kUserobjFeature = "org.zfsonlinux:userobj_accounting";
constexpr std::string_view kProjectFeature = "org.zfsonlinux:project_quota";
constexpr std::uint64_t kSmallestQuotaBytes = 24u << 10;  // what an empty file system takes at least

// The newest file system version that a pool version allows (FORMAT.md logical 4).
std::uint64_t newest_zpl_version(std::uint64_t pool_version) {
  if (pool_version >= 24) return 5;
  if (pool_version >= 15) return 4;
  return pool_version >= 9 ? 3 : 2;
}

Error out_of_space() { return Error(Errc::no_space, "out of space"); }

}  // namespace

Status TreeImpl::create(const CreateDatasetSpec& spec) {
  const std::string name = TRY(parse_dir_name(spec.name));
  if (spec.kind != DatasetKind::filesystem) return Error(Errc::unsupported, "Tarn cannot create volumes yet");
  if (parent_name(name).empty()) return Error(Errc::invalid_argument, "missing dataset name");
  const std::string pool_part = name.substr(0, name.find('/'));
  if (pool_part != pool_.name()) return Error(Errc::not_found, fmt::format("no such pool '{}'", pool_part));

  std::vector<std::string> missing{name};
  {
    ReaderLock lock(mutex_);
    if (find_dir(name)) {
      if (spec.make_parents) return {};
      return Error(Errc::already_exists, "dataset already exists");
    }
    for (std::string_view parent = parent_name(name); !find_dir(parent); parent = parent_name(parent)) {
      if (!spec.make_parents) return Error(Errc::not_found, "parent does not exist");
      missing.push_back(std::string(parent));
    }
  }
  for (auto next = missing.rbegin(); next != missing.rend(); ++next)
    TRY(create_one(spec, *next, *next == name));
  return {};
}

Status TreeImpl::create_one(const CreateDatasetSpec& spec, const std::string& name, bool with_properties) {
  std::vector<PreparedSetting> settings;
  if (with_properties)
    settings = TRY(prepare(spec.properties, PropertyTarget::filesystem, SetOccasion::create));
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    if (find_dir(name)) return Error(Errc::already_exists, "dataset already exists");
    DirNode* parent = find_dir(parent_name(name));
    if (!parent) return Error(Errc::not_found, "parent does not exist");
    if (parent->type != ObjsetType::filesystem)
      return Error(Errc::invalid_argument, "parent is not a filesystem");
    if (parent->crypto_key != 0)
      return Error(Errc::unsupported,
                   "the parent is encrypted, and Tarn cannot create encrypted datasets yet");
    TRY(check_creation_fits(*parent, settings));
    const auto zpl = TRY(zpl_properties(parent, settings));
    return create_in_sync(context, *parent, std::string(last_component(name)), spec, settings, zpl);
  });
}

// Everything that could refuse a setting, before the first change.
Status TreeImpl::check_creation_fits(const DirNode& parent,
                                     const std::vector<PreparedSetting>& settings) const {
  std::uint64_t quota = 0, reservation = 0;
  for (const PreparedSetting& setting : settings) {
    if (!setting.info) continue;
    const std::uint64_t value = setting.value.number;
    switch (setting.info->id) {
      case Property::quota:
        quota = value;
        [[fallthrough]];
      case Property::refquota:
        if (value != 0 && value < kSmallestQuotaBytes) return out_of_space();
        break;
      case Property::reservation:
      case Property::refreservation:
        reservation = std::max(reservation, value);
        break;
      default:
        break;
    }
  }
  if (reservation > available(parent, false) || (quota != 0 && reservation > quota)) return out_of_space();
  return {};
}

Result<std::map<std::string, std::uint64_t>> TreeImpl::zpl_properties(
    DirNode* parent, const std::vector<PreparedSetting>& settings) {
  std::map<std::string, std::uint64_t> zpl{{"version", newest_zpl_version(pool_.version())},
                                           {"utf8only", 0},
                                           {"normalization", 0},
                                           {"casesensitivity", 0}};
  if (parent && parent->head) {
    const HeadDetails* above = TRY(details_of(*parent));
    zpl["utf8only"] = above->utf8only;
    zpl["normalization"] = above->normalization;
    zpl["casesensitivity"] = above->casesensitivity;
  }
  for (const PreparedSetting& setting : settings)
    if (setting.info && zpl.contains(setting.info->name)) zpl[setting.info->name] = setting.value.number;
  if (zpl["version"] > newest_zpl_version(pool_.version()))
    return Error(Errc::unsupported,
                 fmt::format("file system version {} needs a newer pool version", zpl["version"]));
  if (zpl["normalization"] != 0) zpl["utf8only"] = 1;
  return zpl;
}

// A new head in `dir`, which has none: a clone of the empty snapshot $ORIGIN@$ORIGIN.
Status TreeImpl::create_head(SyncContext& context, DirNode& dir, ObjsetType type,
                             std::uint64_t creation_txg) {
  ObjectSet& mos = pool_.mos();
  DirNode* origin_dir = special_dir("$ORIGIN");
  DatasetNode* origin =
      origin_dir && !origin_dir->snapshots.empty() ? origin_dir->snapshots[0].get() : nullptr;
  if (!origin && pool_.version() >= kVersionOrigin)
    return Error(Errc::corrupt, "the pool has no $ORIGIN snapshot");

  auto head = std::make_unique<DatasetNode>();
  head->dir = &dir;
  head->phys = new_dataset_phys(context, dir.object, creation_txg);
  head->phys.snapnames_zap =
      TRY(Zap::create(mos, context.tx, DmuType::dsl_snap_map, {.norm_flags = kSnapnamesNormFlags})).number();
  if (origin) {
    head->phys.prev_snap = origin->object;
    head->phys.prev_snap_txg = origin->phys.creation_txg;
    const Deadlist above = TRY(Deadlist::open(pool_, origin_dir->head->phys.deadlist));
    head->phys.deadlist = TRY(above.clone_keys(context, origin->phys.creation_txg));
  } else {
    head->phys.deadlist = TRY(Deadlist::create(context));
  }
  head->object = TRY(create_dataset_object(context, head->phys));
  if (origin) {
    const std::uint64_t next_clones =
        TRY(add_to_set(context, origin->phys.next_clones_zap, DmuType::next_clones, head->object));
    TRY(update_dataset(context, *origin, [&](DslDatasetPhys& phys) {
      ++phys.num_children;
      phys.next_clones_zap = next_clones;
    }));
    if (pool_.version() >= kVersionDirClones) {
      const std::uint64_t clones =
          TRY(add_to_set(context, origin_dir->phys.clones_zap, DmuType::dsl_clones, head->object));
      TRY(update_dir(context, *origin_dir, [&](DslDirPhys& phys) { phys.clones_zap = clones; }));
    }
  }
  TRY(update_dir(context, dir, [&](DslDirPhys& phys) {
    phys.head_dataset = head->object;
    phys.origin = origin ? origin->object : 0;
  }));
  datasets_[head->object] = head.get();
  dir.head = std::move(head);
  dir.type = type;
  return {};
}

// The object set, with what `spec.format` puts into it; written at the end of this sync.
Status TreeImpl::create_objset(SyncContext& context, DirNode& dir, const CreateDatasetSpec& spec,
                               const std::map<std::string, std::uint64_t>& zpl) {
  std::uint64_t flags = 0;
  if (pool_.version() >= kVersionUserSpace) flags |= kUserAccounting;
  if (pool_.feature_enabled(kUserobjFeature)) flags |= kObjectAccounting;
  if (pool_.feature_enabled(kProjectFeature)) flags |= kProjectAccounting;
  if (flags & kObjectAccounting) TRY(activate_dataset_feature(context, dir.head->object, kUserobjFeature));
  if (flags & kProjectAccounting) TRY(activate_dataset_feature(context, dir.head->object, kProjectFeature));
  dir.objset_flags = flags;
  auto open = std::make_shared<OpenDataset>(*this, *dir.head);
  TRY(open->open_objset(BlockPointer{}, dir.type, flags));
  refresh_properties(*open);
  open_[dir.head->object] = open;
  open->objset().set_policy(open->policy());
  open->objset().set_flags(context.tx, flags);
  if (spec.format) TRY(spec.format(open->objset(), context.tx, zpl));
  open->objset().close_txg(context.txg());
  return {};
}

Status TreeImpl::create_in_sync(SyncContext& context, DirNode& parent, const std::string& name,
                                const CreateDatasetSpec& spec, const std::vector<PreparedSetting>& settings,
                                const std::map<std::string, std::uint64_t>& zpl) {
  auto dir = std::make_unique<DirNode>();
  dir->name = name;
  dir->parent = &parent;
  dir->object = TRY(create_dir_object(context, parent.object, 0));
  dir->phys = TRY(DslDirPhys::decode(TRY(pool_.mos().open_object(dir->object))->bonus()));
  TRY(TRY(Zap::open(pool_.mos(), parent.phys.child_zap)).add(context.tx, name, dir->object));
  dirs_[dir->object] = dir.get();
  DirNode& added = *dir;
  parent.children[name] = std::move(dir);

  TRY(create_head(context, added, ObjsetType::filesystem, context.txg()));
  TRY(adjust_counts(context, &parent, 1, 0));
  for (const PreparedSetting& setting : settings) TRY(apply_setting(context, added, setting));
  TRY(create_objset(context, added, spec, zpl));
  return pool_.log_history_internal(context, "create", "", added.full_name(), added.head->object);
}

// Counts exist only below a directory with a limit (FORMAT.md logical 3.12).
Status TreeImpl::adjust_counts(SyncContext& context, DirNode* from, std::int64_t filesystems,
                               std::int64_t snapshots) {
  for (DirNode* dir = from; dir && dir->filesystem_count; dir = dir->parent) {
    Zap zap = TRY(ensure_extension(context, dir->object));
    *dir->filesystem_count += static_cast<std::uint64_t>(filesystems);
    TRY(zap.update(context.tx, "com.joyent:filesystem_count", *dir->filesystem_count));
    if (!dir->snapshot_count) continue;
    *dir->snapshot_count += static_cast<std::uint64_t>(snapshots);
    TRY(zap.update(context.tx, "com.joyent:snapshot_count", *dir->snapshot_count));
  }
  return {};
}

}  // namespace tarn
