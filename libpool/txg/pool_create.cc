// A new pool (FORMAT.md 13.1): labels first, then everything else in one txg.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>

#include "libpool/txg/pool_impl.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr unsigned kDefaultAshift = 12;
constexpr std::uint32_t kDeferredFreesBlockBytes = 16 << 10;
constexpr std::uint32_t kAnyVdev = 1 << 24;
constexpr std::uint64_t kUserAccountingVersion = 15;

// What create -o asks for, by purpose.
struct CreateChoices {
  std::vector<const FeatureInfo*> features;
  std::map<std::string, std::string> stored;  // into pool_props
  std::optional<std::string> comment, compatibility;
};

Result<CreateChoices> choose(const PoolCreateSpec& spec) {
  CreateChoices out;
  std::set<std::string> names;
  std::set<std::string> allowed;
  if (auto compatibility = spec.properties.find("compatibility"); compatibility != spec.properties.end()) {
    allowed = TRY(read_compatibility(compatibility->second)).names;
    if (compatibility->second != "off") out.compatibility = compatibility->second;
  } else {
    allowed = TRY(read_compatibility("off")).names;
  }
  if (spec.default_features) names = allowed;
  for (const auto& [guid, wanted] : spec.features) {
    const FeatureInfo* feature = find_feature_by_guid(guid);
    if (!feature)
      return Error(Errc::unsupported, fmt::format("feature '{}' unsupported by this version", guid));
    if (wanted) {
      names.emplace(feature->name);
    } else {
      names.erase(std::string(feature->name));
    }
  }
  for (const FeatureInfo& feature : all_features())
    if (names.contains(std::string(feature.name))) out.features.push_back(&feature);

  for (const auto& [name, text] : spec.properties) {
    const std::string value = TRY(check_pool_property(name, text));
    if (is_user_pool_property(name)) {
      out.stored[name] = value;
      continue;
    }
    const PoolPropertyInfo* info = find_pool_property(name);
    if (!info || !info->at_creation)
      return Error(Errc::invalid_argument, fmt::format("property '{}' cannot be set at creation time", name));
    if (info->place == PoolPropertyPlace::properties) out.stored[name] = value;
    if (name == "comment" && !value.empty()) out.comment = value;
  }
  return out;
}

Status check_create_spec(const PoolCreateSpec& spec) {
  TRY(check_pool_name(spec.name));
  if (spec.version != kFeatureVersion && (spec.version < 1 || spec.version > kMaxOldVersion))
    return Error(Errc::unsupported, fmt::format("version {} is not one of 1 to 28 or 5000", spec.version));
  if (std::ranges::none_of(spec.root.children, [](const VdevConfig& top) { return !top.is_log; }))
    return Error(Errc::invalid_argument, "a pool needs at least one vdev that is not a log");
  if (spec.version < kFeatureVersion &&
      std::ranges::any_of(spec.features, [](const auto& feature) { return feature.second; }))
    return Error(Errc::invalid_argument, "pools older than version 5000 have no features");
  for (const VdevConfig& top : spec.root.children) {
    if (top.kind == VdevKind::raidz && top.nparity > 1 && spec.version < 3)
      return Error(Errc::unsupported, "raidz2 needs pool version 3");
    if (top.kind == VdevKind::raidz && top.nparity > 2 && spec.version < 17)
      return Error(Errc::unsupported, "raidz3 needs pool version 17");
    if (top.is_log && spec.version < 7) return Error(Errc::unsupported, "log devices need pool version 7");
  }
  return {};
}

}  // namespace

Status PoolImpl::build(const PoolCreateSpec& spec, const DatasetMaker& make_datasets) {
  TRY(check_create_spec(spec));
  const CreateChoices choices = TRY(choose(spec));
  hole_birth_ = spec.version >= kFeatureVersion &&
                std::ranges::any_of(choices.features,
                                    [](const FeatureInfo* feature) { return feature->name == "hole_birth"; });
  opener_ = settings_.disk_opener ? settings_.disk_opener : default_opener(false);
  config_.version = spec.version;
  config_.name = spec.name;
  config_.pool_guid = random_guid();
  VdevConfig root = spec.root;
  root.kind = VdevKind::root;
  root.id = 0;
  root.guid = config_.pool_guid;
  root.create_txg = kFirstTxg;
  for (std::size_t i = 0; i < root.children.size(); ++i) {
    root.children[i].id = i;
    TRY(prepare_new_vdev(root.children[i], spec.ashift, kFirstTxg));
  }
  TRY(open_storage(root, false));
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    VdevConfig& top = vdevs_->mutable_top_config(i);
    top.asize_bytes = vdevs_->usable_bytes(i);
    PoolAllocator::choose_geometry(top);
    TRY(write_new_member_labels(top, kFirstTxg));
  }
  root_ = vdevs_->top_count() ? root : VdevConfig{};
  root_.children.clear();

  TRY(open_mos(BlockPointer{}));
  Tasks tasks{std::make_shared<TxgEngine::Task>()};
  SyncContext* const& context = sync_context_;
  tasks[0]->run = [&] { return create_objects(*context, spec, make_datasets); };
  config_dirty_ = true;
  creating_ = true;
  TRY(sync(kFirstTxg, tasks));
  creating_ = false;
  start_engine(kFirstTxg + 1);
  return {};
}

Status PoolImpl::prepare_new_vdev(VdevConfig& top, std::uint64_t ashift, std::uint64_t txg) {
  unsigned sector_shift = 0;
  Status opened;
  for_each_leaf(top, [&](const VdevConfig& leaf) {
    if (!opened) return;
    auto disk = opener_(leaf);
    if (!disk) {
      opened = std::move(disk).error();
      return;
    }
    if ((*disk)->size_bytes() < kMinDeviceBytes)
      opened =
          Error(Errc::too_large, fmt::format("{}: device is too small: {} bytes, at least 64 MiB are needed",
                                             leaf.path, (*disk)->size_bytes()));
    sector_shift =
        std::max(sector_shift, static_cast<unsigned>(std::bit_width((*disk)->logical_sector_bytes()) - 1));
  });
  TRY(std::move(opened));
  if (ashift != 0 && ashift < sector_shift)
    return Error(Errc::invalid_argument,
                 fmt::format("ashift {} is too small: the devices have sectors of {} bytes", ashift,
                             1u << sector_shift));
  top.ashift = ashift ? ashift : std::max(kDefaultAshift, sector_shift);
  for_each_vdev(top, [&](VdevConfig& vdev) {
    if (!vdev.guid) vdev.guid = random_guid();
    vdev.create_txg = txg;
    for (std::size_t i = 0; i < vdev.children.size(); ++i) vdev.children[i].id = i;
  });
  return {};
}

// A label with txg 0: the device is taken, but not yet part of the pool.
Status PoolImpl::write_new_member_labels(const VdevConfig& top, std::uint64_t txg) {
  PoolConfig config = pool_config_for(0);
  config.vdev_children = std::max<std::uint64_t>(config.vdev_children, top.id + 1);
  for (const VdevTree::LeafRef& leaf : vdevs_->leaves()) {
    if (leaf.top != top.id) continue;
    if (!leaf.disk) return Error(Errc::io, fmt::format("{}: cannot be opened", leaf.config->path));
    Label label = member_label(config, top, *leaf.config);
    label.create_txg = txg;
    TRY(write_initial_labels(*leaf.disk, label.encode()).in(leaf.config->path));
    TRY(leaf.disk->flush());
  }
  return {};
}

DiskOpener PoolImpl::default_opener(bool read_only) {
  if (!io_engine_) io_engine_ = make_io_engine();
  return [engine = io_engine_.get(), read_only](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
    return std::shared_ptr<Disk>(TRY(open_disk(leaf.path, {.read_only = read_only}, *engine)));
  };
}

Status PoolImpl::open_storage(const VdevConfig& root, bool read_only) {
  vdevs_ = TRY(VdevTree::open(root, opener_, read_only));
  TRY(vdevs_->usable());
  std::uint64_t min_ashift = kDefaultAshift;
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i)
    if (!vdevs_->top_config(i).is_log && vdevs_->ashift(i))
      min_ashift = std::min<std::uint64_t>(min_ashift, vdevs_->ashift(i));
  io_ = BlockIo::create(*vdevs_, {.cache_limit_bytes = settings_.cache_limit_bytes,
                                  .min_alloc_bytes = std::uint64_t{1} << min_ashift,
                                  .hole_birth = hole_birth_});
  return {};
}

Status PoolImpl::open_mos(const BlockPointer& root) {
  ObjectSetEnv env;
  env.io = io_.get();
  env.workers = workers_.get();
  env.owner = this;
  env.vdev_count = kAnyVdev;  // vdevs may be added; the tree itself refuses ids that it does not have
  env.hole_birth = hole_birth_;
  env.new_objset_bytes = config_.version >= kUserAccountingVersion ? 4096 : 1024;
  mos_ = TRY(ObjectSet::open(env, root, ObjsetType::meta).in("meta object set"));
  return {};
}

void PoolImpl::make_allocator() {
  const auto enabled = [&](std::string_view guid) { return features_.refcount(guid).has_value(); };
  const PoolAllocator::Features features{
      .spacemap_histogram = enabled("com.delphix:spacemap_histogram"),
      .spacemap_v2 = enabled("com.delphix:spacemap_v2"),
      .log_spacemap = features_.refcount("com.delphix:log_spacemap").value_or(0) > 0};
  allocator_ =
      PoolAllocator::create(*vdevs_, *mos_, features, {.histogram_objects = [this](std::int64_t delta) {
        if (Status counted = feature_adjust(*sync_context_, "com.delphix:spacemap_histogram", delta);
            !counted) {
          MutexLock lock(frees_mutex_);
          if (!free_error_) free_error_ = std::move(counted).error();
        }
      }});
  io_->set_allocator(allocator_.get());
}

void PoolImpl::set_mos_policy() {
  StoragePolicy policy;
  const bool lz4 =
      config_.version >= kFeatureVersion && features_.refcount("org.illumos:lz4_compress").value_or(0) > 0;
  policy.data_compression =
      policy.metadata_compression = {lz4 ? CompressionType::lz4 : CompressionType::lzjb, 0};
  policy.data_copies = policy.metadata_copies = config_.version >= 2 ? 3 : 1;
  policy.may_embed = features_.refcount("com.delphix:embedded_data").has_value();
  mos_->set_policy(policy);
}

// The MOS of a new pool. Features come first: what follows asks them.
Status PoolImpl::create_objects(SyncContext& context, const PoolCreateSpec& spec,
                                const DatasetMaker& make_datasets) {
  const Tx& tx = context.tx;
  const CreateChoices choices = TRY(choose(spec));
  {
    MutexLock lock(config_mutex_);
    config_.comment = choices.comment;
    config_.compatibility = choices.compatibility;
  }
  ObjectRef directory = TRY(mos_->claim_object(tx, kDirectoryObject, {.type = DmuType::object_directory}));
  directory_ = TRY(Zap::format(directory, tx));
  std::uint64_t size_bytes = 0;
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) size_bytes += vdevs_->top_config(i).asize_bytes;
  objects_.history = TRY(History::create(*mos_, tx, size_bytes));
  TRY(directory_->add(tx, "history", objects_.history));
  utsname host{};
  (void)uname(&host);
  TRY(log_history_internal(
      context, "create",
      fmt::format("pool version {}; software version tarn; uts {} {} {} {}", config_.version, host.nodename,
                  host.release, host.version, host.machine),
      "", 0));
  if (config_.version >= kFeatureVersion) {
    TRY(features_.create(*mos_, *directory_, tx));
    TRY(enable_features_in_sync(context, choices.features));
  }
  set_mos_policy();
  if (feature_enabled("com.delphix:log_spacemap")) {
    objects_.log_spacemaps = TRY(Zap::create(*mos_, tx, DmuType::otn_zap_metadata)).number();
    TRY(directory_->add(tx, "com.delphix:log_spacemap_zap", objects_.log_spacemaps));
    TRY(feature_adjust(context, "com.delphix:log_spacemap", 1));
  }
  make_allocator();
  TRY(ensure_vdev_zaps(tx));
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) TRY(note_allocation_class(context, i));
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) TRY(allocator_->create_vdev(i, tx));
  allocator_->begin_sync(context.txg());

  // From here on blocks can be allocated: what the datasets write, and the MOS itself at the end of the sync.
  TRY(make_datasets(context).in("root dataset"));
  dsl_ = TRY(DslSpace::open(*mos_, TRY(directory_->lookup_u64("root_dataset"))));

  objects_.config = TRY(create_packed_nvlist(*mos_, tx));
  TRY(directory_->add(tx, "config", objects_.config));
  objects_.deferred_frees = TRY(Bpobj::create(*mos_, tx, kDeferredFreesBlockBytes, config_.version));
  TRY(directory_->add(tx, "sync_bplist", objects_.deferred_frees));
  TRY(directory_->add(tx, "creation_version", config_.version));
  if (config_.version >= 3) TRY(directory_->add(tx, "deflate", 1));

  ZapValue salt{.integer_bytes = 1, .integers = std::vector<std::uint64_t>(sizeof(ChecksumSalt))};
  ChecksumSalt bytes;
  random_bytes(bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) salt.integers[i] = std::to_integer<std::uint64_t>(bytes[i]);
  TRY(directory_->add(tx, "org.illumos:checksum_salt", salt));
  io_->set_salt(bytes);

  TRY(add_aux_in_sync(context, spec.spares, PoolState::spare));
  TRY(add_aux_in_sync(context, spec.caches, PoolState::l2cache));
  for (const auto& [name, value] : choices.stored) TRY(set_property_in_sync(context, name, value));
  if (spec.ashift) TRY(set_property_in_sync(context, "ashift", std::to_string(spec.ashift)));

  if (!spec.history_command.empty())
    TRY(append_history(tx, command_record(spec.history_command, origin(), *clock_)));
  return TRY(History::open(*mos_, objects_.history)).keep_all_so_far(tx);
}

}  // namespace tarn
