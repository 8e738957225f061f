// Import: from the devices that discovery found to an open pool (FORMAT.md 5.4). Nothing is written here; the
// first sync marks the pool active and rewrites every label.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libpool/txg/pool_impl.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

// Freed space is not used again for this many txgs, so that older uberblocks stay whole.
constexpr std::uint64_t kSafeRewindTxgs = 3;
// Older pools keep deadlists and origins in forms that are read but not written.
constexpr std::uint64_t kOldestWritableVersion = 26;

bool known_version(std::uint64_t version) {
  return version == kFeatureVersion || (version >= 1 && version <= kMaxOldVersion);
}

std::map<std::uint64_t, VdevConfig> leaves_by_guid(const VdevConfig& root) {
  std::map<std::uint64_t, VdevConfig> out;
  for_each_leaf(root, [&](const VdevConfig& leaf) { out.emplace(leaf.guid, leaf); });
  return out;
}

// Devices of an existing pool are known by the guid in their label, never by their path alone.
DiskOpener checking_guid(DiskOpener inner) {
  return [inner = std::move(inner)](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
    std::shared_ptr<Disk> disk = TRY(inner(leaf));
    if (leaf.kind == VdevKind::dspare) return disk;
    const LabelSet labels = read_labels(*disk);
    const Label* label = labels.best();
    if (!label) return Error(Errc::corrupt, fmt::format("{}: no readable label", disk->path()));
    if (label->guid != leaf.guid)
      return Error(Errc::in_use_elsewhere,
                   fmt::format("{}: belongs to vdev {}, not {}", disk->path(), label->guid, leaf.guid));
    return disk;
  };
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::open(const PoolOpenSpec& spec, const PoolSettings& settings) {
  const std::string where = fmt::format("pool '{}'", spec.found.config.name);
  std::uint64_t max_txg = spec.max_txg, newest_tried = 0;
  for (;;) {
    auto pool = std::make_unique<PoolImpl>(settings);
    std::uint64_t tried = 0;
    Status loaded = pool->load(spec, max_txg, tried);
    if (loaded) return std::unique_ptr<Pool>(std::move(pool));
    const Errc code = loaded.error().code();
    const bool damaged =
        code == Errc::corrupt || code == Errc::checksum || code == Errc::io || code == Errc::not_found;
    if (newest_tried == 0) newest_tried = tried;
    if (!spec.rewind || !damaged || tried == 0 || tried - 1 + kSafeRewindTxgs < newest_tried)
      return std::move(loaded).error().in(where);
    max_txg = tried - 1;
  }
}

Status PoolImpl::load(const PoolOpenSpec& spec, std::uint64_t max_txg, std::uint64_t& tried_txg) {
  const PoolConfig& label = spec.found.config;
  read_only_ = spec.read_only;
  if (!known_version(label.version))
    return Error(Errc::unsupported,
                 fmt::format("version {} is newer than this software knows", label.version));
  TRY(check_label_features(label.features_for_read));
  TRY(check_host(spec));
  if (!spec.new_name.empty()) TRY(check_pool_name(spec.new_name, false));
  opener_ = checking_guid(settings_.disk_opener ? settings_.disk_opener : default_opener(read_only_));

  // With the tree as the labels describe it, read the one in the MOS, which is right.
  TRY(open_storage(spec.found.root, true));
  Uberblock uberblock = TRY(choose_uberblock(max_txg));
  tried_txg = uberblock.txg;
  if (!known_version(uberblock.version))
    return Error(Errc::unsupported,
                 fmt::format("version {} is newer than this software knows", uberblock.version));
  vdevs_->set_reflow(uberblock.raidz_reflow_info);
  TRY(open_mos(uberblock.root));
  DecodedPoolConfig trusted = TRY(read_trusted_config());
  const std::uint64_t newest_txg = TRY(choose_uberblock(UINT64_MAX)).txg;

  if (trusted.root.guid_sum() != uberblock.guid_sum)
    return Error(
        Errc::corrupt,
        fmt::format("the vdevs of the pool config do not match the uberblock: guid sum {}, expected {}",
                    trusted.root.guid_sum(), uberblock.guid_sum));
  // Where the devices are now is what discovery saw, not what the pool remembers.
  const auto found = leaves_by_guid(spec.found.root);
  for_each_vdev(trusted.root, [&](VdevConfig& vdev) {
    const auto here = is_leaf(vdev.kind) ? found.find(vdev.guid) : found.end();
    if (here == found.end()) return;
    vdev.path = here->second.path;
    vdev.devid = here->second.devid;
    vdev.phys_path = here->second.phys_path;
  });

  hole_birth_ = std::ranges::find(trusted.pool.features_for_read, "com.delphix:hole_birth") !=
                trusted.pool.features_for_read.end();
  directory_.reset();
  mos_.reset();
  io_.reset();
  vdevs_.reset();  // gives the devices up, so that they can be opened for writing
  TRY(open_storage(trusted.root, read_only_));
  vdevs_->set_reflow(uberblock.raidz_reflow_info);
  TRY(open_mos(uberblock.root));
  config_ = trusted.pool;
  config_.version = uberblock.version;
  config_.pool_guid = trusted.root.guid;
  if (!spec.new_name.empty()) config_.name = spec.new_name;
  config_.state = PoolState::active;
  root_ = trusted.root;
  root_.children.clear();
  // From here on the devices are the right ones and hold still; the rest is reading.
  TRY(load_objects());
  if (!read_only_) TRY(check_writable_structures());

  config_dirty_ = !read_only_;
  start_engine(std::max(newest_txg, uberblock.txg) + 1);
  pending_history_ = spec.history_command;
  return {};
}

Status PoolImpl::check_host(const PoolOpenSpec& spec) const {
  const PoolConfig& label = spec.found.config;
  if (spec.force || label.state != PoolState::active || label.hostid == 0 || label.hostid == host_.id)
    return {};
  return Error(Errc::in_use_elsewhere,
               fmt::format("pool was previously in use from another system: last accessed by {} "
                           "(hostid={:x}); it can be imported with -f",
                           label.hostname.empty() ? "an unknown host" : label.hostname, label.hostid));
}

Result<Uberblock> PoolImpl::choose_uberblock(std::uint64_t max_txg) const {
  std::optional<Uberblock> best;
  for (const VdevTree::LeafRef& leaf : vdevs_->leaves()) {
    if (!leaf.disk) continue;
    const std::optional<Uberblock> candidate = read_best_uberblock(*leaf.disk, max_txg);
    if (candidate && (!best || newer(*candidate, *best))) best = candidate;
  }
  if (!best)
    return Error(Errc::corrupt, max_txg == UINT64_MAX
                                    ? "no valid uberblock on any device"
                                    : fmt::format("no valid uberblock up to txg {} on any device", max_txg));
  return *best;
}

Result<DecodedPoolConfig> PoolImpl::read_trusted_config() {
  directory_ = TRY(Zap::open(*mos_, kDirectoryObject).in("pool directory"));
  const std::uint64_t object = TRY(directory_->lookup_u64("config").in("pool directory: config"));
  DecodedPoolConfig decoded =
      TRY(decode_pool_config(TRY(read_packed_nvlist(*mos_, object).in("pool config"))));
  if (decoded.root.kind != VdevKind::root)
    return Error(Errc::corrupt, "pool config: the vdev tree has no root");
  return decoded;
}

Result<std::uint64_t> PoolImpl::directory_u64(std::string_view key) const {
  auto value = directory_->lookup_u64(key);
  if (!value && value.error().code() == Errc::not_found) return std::uint64_t{0};
  return std::move(value).in(fmt::format("pool directory: {}", key));
}

Status PoolImpl::load_objects() {
  directory_ = TRY(Zap::open(*mos_, kDirectoryObject).in("pool directory"));
  if (config_.version >= kFeatureVersion) {
    TRY(features_.load(*mos_, *directory_));
    TRY(features_.check(!read_only_));
  }
  set_mos_policy();

  // The salt may be absent as long as no salted checksum was used.
  auto salt = directory_->lookup("org.illumos:checksum_salt");
  if (salt) {
    ChecksumSalt bytes{};
    if (salt->integers.size() != bytes.size())
      return Error(Errc::corrupt, "pool directory: the checksum salt has a wrong length");
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(salt->integers[i]);
    io_->set_salt(bytes);
  } else if (salt.error().code() != Errc::not_found) {
    return std::move(salt).error();
  }

  objects_.config = TRY(directory_u64("config"));
  objects_.deferred_frees = TRY(directory_u64("sync_bplist"));
  objects_.history = TRY(directory_u64("history"));
  objects_.pool_props = TRY(directory_u64("pool_props"));
  objects_.all_vdev_zaps = TRY(directory_u64("com.delphix:vdev_zap_map"));
  objects_.log_spacemaps = TRY(directory_u64("com.delphix:log_spacemap_zap"));
  TRY(load_aux_list("spares", "spares", objects_.spares, spares_));
  TRY(load_aux_list("l2cache", "l2cache", objects_.caches, caches_));
  TRY(load_vdev_zaps());
  TRY(load_dtls());

  dsl_ = TRY(
      DslSpace::open(*mos_, TRY(directory_->lookup_u64("root_dataset").in("pool directory: root_dataset"))));
  make_allocator();
  return allocator_->load(objects_.log_spacemaps).in("space maps");
}

Status PoolImpl::load_aux_list(std::string_view key, std::string_view list_name, std::uint64_t& object,
                               std::vector<VdevConfig>& out) {
  object = TRY(directory_u64(key));
  if (!object) return {};
  const NvList list = TRY(read_packed_nvlist(*mos_, object).in(std::string(key)));
  const auto* entries = list.lists(list_name);
  if (!entries) return {};
  for (const NvList& entry : *entries) {
    VdevConfig leaf = TRY(VdevConfig::decode(entry).in(std::string(key)));
    // Held open, so that nobody else takes it. An absent one is the fault monitor's matter.
    if (!read_only_)
      if (auto disk = opener_(leaf)) aux_disks_.push_back(std::move(disk).value());
    out.push_back(std::move(leaf));
  }
  return {};
}

// Structures that reading does not need and that a writer has to keep up, where Tarn does not.
Status PoolImpl::check_writable_structures() {
  const auto refuse = [](std::string_view why) {
    return Error(Errc::unsupported,
                 fmt::format("the pool can only be opened read-only (readonly=on): {}", why));
  };
  if (config_.version < kOldestWritableVersion)
    return refuse(fmt::format("version {} keeps its deadlists in a form that this software only reads",
                              config_.version));
  for (const ZapEntry& entry : TRY(directory_->entries()))
    if (entry.name.starts_with("DDT-") && entry.name != "DDT-statistics")
      return refuse("it has a dedup table, which this software does not maintain");
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i)
    if (vdevs_->top_config(i).raidz_expanding)
      return refuse("a raidz vdev is being expanded, which this software cannot carry on");
  if (TRY(directory_u64("com.delphix:zpool_checkpoint")))
    return refuse("it has a checkpoint, whose blocks this software would not keep");
  if (TRY(stored_property("multihost")) == "on")
    return refuse("multihost=on needs heartbeats, which this software does not write");
  if (!objects_.deferred_frees) return Error(Errc::corrupt, "pool directory: sync_bplist is missing");
  return {};
}

}  // namespace tarn
