// The ZAPs of vdevs (FORMAT.md 10.4), and vdevs added to an open pool.
#include <fmt/format.h>

#include <algorithm>

#include "libpool/txg/pool_impl.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr std::string_view kAllVdevZapsKey = "com.delphix:vdev_zap_map";
constexpr std::string_view kAllocationBiasKey = "org.zfsonlinux:allocation_bias";
constexpr std::string_view kAllocationClasses = "org.zfsonlinux:allocation_classes";
constexpr std::string_view kVdevZapsV2 = "com.klarasystems:vdev_zaps_v2";

bool has_zaps(VdevKind kind) { return kind != VdevKind::hole && kind != VdevKind::missing; }

}  // namespace

Result<std::uint64_t> PoolImpl::create_vdev_zap(Zap& all_vdev_zaps, const Tx& tx) {
  const std::uint64_t number = TRY(Zap::create(*mos_, tx, DmuType::otn_zap_metadata)).number();
  TRY(all_vdev_zaps.add(tx, Zap::int_key(number), number));
  return number;
}

// Gives a ZAP to every vdev that should have one and has none: all of a new pool, new vdevs, pools made by
// software that did not know them.
Status PoolImpl::ensure_vdev_zaps(const Tx& tx) {
  if (!objects_.all_vdev_zaps) {
    objects_.all_vdev_zaps = TRY(Zap::create(*mos_, tx, DmuType::otn_zap_metadata)).number();
    TRY(directory_->add(tx, kAllVdevZapsKey, objects_.all_vdev_zaps));
  }
  Zap all = TRY(Zap::open(*mos_, objects_.all_vdev_zaps).in("vdev ZAP map"));
  if (!root_.zap_root && features_.refcount(kVdevZapsV2)) {
    root_.zap_root = TRY(create_vdev_zap(all, tx));
    if (TRY(features_.adjust(*mos_, tx, kVdevZapsV2, 1))) config_dirty_ = true;
  }
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    VdevConfig& top = vdevs_->mutable_top_config(i);
    if (!has_zaps(top.kind)) continue;
    Status status;
    if (!top.zap_top) top.zap_top = TRY(create_vdev_zap(all, tx));
    for_each_vdev(top, [&](VdevConfig& vdev) {
      if (!status || vdev.zap_leaf || !is_leaf(vdev.kind)) return;
      auto zap = create_vdev_zap(all, tx);
      if (zap) {
        vdev.zap_leaf = *zap;
      } else {
        status = std::move(zap).error();
      }
    });
    TRY(std::move(status));
  }
  return {};
}

// Records what class of blocks a new top-level vdev is for.
Status PoolImpl::note_allocation_class(SyncContext& context, std::uint32_t vdev) {
  const VdevConfig& top = vdevs_->top_config(vdev);
  const std::optional<std::string> bias =
      top.is_log ? std::optional<std::string>("log") : top.allocation_bias;
  if (!bias) return {};
  if (*bias != "log") {
    if (!feature_enabled(kAllocationClasses))
      return Error(Errc::unsupported, fmt::format("{} vdevs need feature allocation_classes", *bias));
    TRY(feature_adjust(context, kAllocationClasses, 1));
  }
  return TRY(Zap::open(*mos_, top.zap_top)).update(context.tx, kAllocationBiasKey, ZapValue::of_text(*bias));
}

Status PoolImpl::load_vdev_zaps() {
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    VdevConfig& top = vdevs_->mutable_top_config(i);
    if (!top.zap_top || !has_zaps(top.kind)) continue;
    const Zap zap = TRY(Zap::open(*mos_, top.zap_top).in(fmt::format("ZAP of {}", top.display_name())));
    auto bias = zap.lookup(kAllocationBiasKey);
    if (bias) {
      top.allocation_bias = bias->text();
    } else if (bias.error().code() != Errc::not_found) {
      return std::move(bias).error();
    }
  }
  return {};
}

Status PoolImpl::add_vdevs(const std::vector<VdevConfig>& tops, const std::vector<VdevConfig>& spares,
                           const std::vector<VdevConfig>& caches) {
  TRY(require_writable());
  std::uint64_t ashift = 0;
  if (auto text = property("ashift"))
    ashift = TRY(pool_property_to_u64(*find_pool_property("ashift"), *text));
  return run_sync_task([&](SyncContext& context) -> Status {
    for (const VdevConfig& top : tops) TRY(add_top_in_sync(context, top, top.ashift ? top.ashift : ashift));
    TRY(add_aux_in_sync(context, spares, PoolState::spare));
    TRY(add_aux_in_sync(context, caches, PoolState::l2cache));
    TRY(log_history_internal(
        context, "vdev add",
        fmt::format("{} vdevs, {} spares, {} caches", tops.size(), spares.size(), caches.size()), "", 0));
    return {};
  });
}

Status PoolImpl::add_top_in_sync(SyncContext& context, const VdevConfig& wanted, std::uint64_t ashift) {
  VdevConfig top = wanted;
  top.id = vdevs_->top_count();
  TRY(prepare_new_vdev(top, ashift, context.txg()));
  TRY(vdevs_->add_top(top, opener_));
  const auto id = static_cast<std::uint32_t>(top.id);
  VdevConfig& added = vdevs_->mutable_top_config(id);
  added.asize_bytes = vdevs_->usable_bytes(id);
  PoolAllocator::choose_geometry(added);
  TRY(write_new_member_labels(added, context.txg()));
  config_dirty_ = true;
  TRY(ensure_vdev_zaps(context.tx));
  TRY(note_allocation_class(context, id));
  return allocator_->create_vdev(id, context.tx);
}

Status PoolImpl::add_aux_in_sync(SyncContext& context, const std::vector<VdevConfig>& added,
                                 PoolState state) {
  if (added.empty()) return {};
  const bool spare = state == PoolState::spare;
  if (config_.version < (spare ? 3u : 10u))
    return Error(Errc::unsupported,
                 fmt::format("{} devices need pool version {}", spare ? "spare" : "cache", spare ? 3 : 10));
  std::vector<VdevConfig> list = spare ? this->spares() : this->caches();
  std::vector<std::shared_ptr<Disk>> disks;
  for (VdevConfig leaf : added) {
    std::shared_ptr<Disk> disk = TRY(opener_(leaf));
    if (disk->size_bytes() < kMinDeviceBytes)
      return Error(Errc::too_large, fmt::format("{}: device is too small", leaf.path));
    if (!leaf.guid) leaf.guid = random_guid();
    leaf.is_spare = spare;
    if (!leaf.ashift) leaf.ashift = std::max<std::uint64_t>(vdevs_->ashift(0), 9);
    TRY(write_initial_labels(*disk, aux_label(config_.version, leaf, state)).in(leaf.path));
    TRY(disk->flush());
    list.push_back(std::move(leaf));
    disks.push_back(std::move(disk));
  }
  const std::string key = spare ? "spares" : "l2cache";
  std::uint64_t& object = spare ? objects_.spares : objects_.caches;
  if (!object) {
    object = TRY(create_packed_nvlist(*mos_, context.tx));
    TRY(directory_->add(context.tx, key, object));
  }
  std::vector<NvList> encoded;
  for (const VdevConfig& leaf : list) {
    NvList entry = leaf.encode(VdevConfig::For::label);
    for (const std::string_view not_in_lists :
         {"id", "create_txg", "metaslab_array", "metaslab_shift", "asize", "is_log"})
      entry.remove(not_in_lists);
    if (leaf.ashift) entry.set_u64("ashift", leaf.ashift);
    encoded.push_back(std::move(entry));
  }
  TRY(write_packed_nvlist(*mos_, context.tx, object, NvList().set(key, std::move(encoded))));
  MutexLock lock(config_mutex_);
  (spare ? spares_ : caches_) = std::move(list);
  for (auto& disk : disks) aux_disks_.push_back(std::move(disk));
  return {};
}

}  // namespace tarn
