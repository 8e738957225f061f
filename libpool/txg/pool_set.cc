// Properties, features and history of an open pool.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "libpool/txg/pool_impl.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr std::string_view kFeaturePrefix = "feature@";
constexpr std::string_view kUnsupportedPrefix = "unsupported@";

}  // namespace

HistoryOrigin PoolImpl::origin() const { return {.uid = getuid(), .host = host_.name}; }

Status PoolImpl::append_history(const Tx& tx, const NvList& record) {
  if (!objects_.history) {
    objects_.history = TRY(History::create(*mos_, tx, allocator_->totals().size_bytes));
    TRY(directory_->add(tx, "history", objects_.history));
  }
  return TRY(History::open(*mos_, objects_.history)).append(tx, record);
}

Status PoolImpl::log_history(const std::string& command) {
  return run_sync_task([&](SyncContext& context) {
    return append_history(context.tx, command_record(command, origin(), *clock_));
  });
}

Status PoolImpl::log_history_internal(SyncContext& context, const std::string& event, const std::string& text,
                                      const std::string& dataset, std::uint64_t dataset_id) {
  return append_history(context.tx,
                        internal_record(context.txg(), event, text, dataset, dataset_id, origin(), *clock_));
}

Result<std::vector<NvList>> PoolImpl::history() {
  if (!objects_.history) return std::vector<NvList>{};
  return TRY(History::open(*mos_, objects_.history)).records();
}

Status PoolImpl::feature_adjust(SyncContext& context, std::string_view guid, std::int64_t delta) {
  if (TRY(features_.adjust(*mos_, context.tx, guid, delta))) config_dirty_ = true;
  return {};
}

Status PoolImpl::enable_features_in_sync(SyncContext& context,
                                         const std::vector<const FeatureInfo*>& features) {
  for (const FeatureInfo* feature : features) {
    for (const std::string& name : TRY(features_.enable(*mos_, *directory_, context.tx, *feature))) {
      TRY(log_history_internal(context, "set", fmt::format("feature@{}=enabled", name), "", 0));
      if (find_feature_by_name(name)->active_when_enabled) config_dirty_ = true;
      if (name == "vdev_zaps_v2") config_dirty_ = true;  // the root vdev gets its ZAP
    }
  }
  return {};
}

Status PoolImpl::set_property(const std::string& name, const std::string& text) {
  const std::string value = TRY(check_pool_property(name, text));
  const PoolPropertyInfo* info = find_pool_property(name);
  if (info && info->place == PoolPropertyPlace::runtime) {
    MutexLock lock(config_mutex_);
    runtime_properties_[name] = value;
    return {};
  }
  TRY(require_writable());
  if (info && !info->settable)
    return Error(Errc::read_only, fmt::format("property '{}' can only be set at creation or import", name));
  if (name == "multihost" && value == "on")
    return Error(Errc::unsupported, "multihost=on needs heartbeats, which this version does not write");
  if (name.starts_with(kFeaturePrefix)) {
    if (value != "enabled")
      return Error(Errc::invalid_argument, fmt::format("property '{}' can only be set to 'enabled'", name));
    if (config_.version < kFeatureVersion)
      return Error(Errc::unsupported, fmt::format("pool version {} has no features", config_.version));
    if (name == "feature@hole_birth" && !hole_birth_)
      return Error(Errc::unsupported,
                   "feature 'hole_birth' can only be enabled when the pool is created: the datasets in use "
                   "would go on without it");
    if (TRY(stored_property("compatibility")) == "legacy")
      return Error(
          Errc::invalid_argument,
          fmt::format("property '{}' cannot be enabled while compatibility is set to 'legacy'", name));
  }
  return run_sync_task([&](SyncContext& context) { return set_property_in_sync(context, name, value); });
}

Status PoolImpl::set_property_in_sync(SyncContext& context, const std::string& name,
                                      const std::string& value) {
  const Tx& tx = context.tx;
  if (name.starts_with(kFeaturePrefix))
    return enable_features_in_sync(
        context, {find_feature_by_name(std::string_view(name).substr(kFeaturePrefix.size()))});
  const PoolPropertyInfo* info = find_pool_property(name);
  if (name == "version") return upgrade_in_sync(context, TRY(pool_property_to_u64(*info, value)));
  if (info && info->place == PoolPropertyPlace::config) {
    MutexLock lock(config_mutex_);
    std::optional<std::string>& field = name == "comment" ? config_.comment : config_.compatibility;
    field =
        value.empty() || (name == "compatibility" && value == "off") ? std::nullopt : std::optional(value);
    config_dirty_ = true;
  } else {
    if (config_.version < 6)
      return Error(Errc::unsupported, fmt::format("pool version {} has no properties", config_.version));
    if (!objects_.pool_props) {
      objects_.pool_props = TRY(Zap::create(*mos_, tx, DmuType::pool_props)).number();
      TRY(directory_->add(tx, "pool_props", objects_.pool_props));
    }
    Zap props = TRY(Zap::open(*mos_, objects_.pool_props));
    if (!info && value.empty()) {
      Status removed = props.remove(tx, name);
      if (!removed && removed.error().code() != Errc::not_found) return removed;
    } else if (!info) {
      TRY(props.update(tx, name, ZapValue::of_text(value)));
    } else {
      TRY(props.update(
          tx, name,
          name == "bootfs" && value.empty() ? std::uint64_t{0} : TRY(pool_property_to_u64(*info, value))));
    }
  }
  return log_history_internal(context, "set", fmt::format("{}={}", name, value), "", 0);
}

// Raising the version: from 26 on nothing on disk has to be converted, and 5000 only adds the feature
// objects.
Status PoolImpl::upgrade_in_sync(SyncContext& context, std::uint64_t version) {
  if (version == config_.version) return {};
  if (version < config_.version)
    return Error(Errc::invalid_argument,
                 fmt::format("cannot downgrade from version {} to {}", config_.version, version));
  if (version > kMaxOldVersion && version != kFeatureVersion)
    return Error(Errc::unsupported, fmt::format("version {} is not supported", version));
  const std::uint64_t old = config_.version;
  if (version == kFeatureVersion) TRY(features_.create(*mos_, *directory_, context.tx));
  config_.version = version;
  config_dirty_ = true;
  return log_history_internal(context, "set", fmt::format("version={} from {}", version, old), "", 0);
}

Result<std::string> PoolImpl::stored_property(const std::string& name) const {
  const PoolPropertyInfo* info = find_pool_property(name);
  if (info && info->place == PoolPropertyPlace::config) {
    MutexLock lock(config_mutex_);
    return (name == "comment" ? config_.comment : config_.compatibility)
        .value_or(std::string(info->default_text));
  }
  const std::string fallback(info ? info->default_text : "-");
  if (!objects_.pool_props) return fallback;
  const Zap props = TRY(Zap::open(*mos_, objects_.pool_props).in("pool properties"));
  auto value = props.lookup(name);
  if (!value && value.error().code() == Errc::not_found) return fallback;
  if (!value) return std::move(value).error();
  if (value->integer_bytes == 1) return value->text();
  if (!info || info->kind == PoolPropertyKind::text)
    return value->first() ? std::to_string(value->first()) : fallback;
  return pool_property_from_u64(*info, value->first());
}

Result<std::string> PoolImpl::property(const std::string& name) const {
  if (name.starts_with(kFeaturePrefix)) {
    const FeatureInfo* feature = find_feature_by_name(std::string_view(name).substr(kFeaturePrefix.size()));
    if (!feature)
      return Error(Errc::not_found, fmt::format("feature '{}' unsupported by this version",
                                                name.substr(kFeaturePrefix.size())));
    const std::optional<std::uint64_t> count = features_.refcount(feature->guid);
    return std::string(!count ? "disabled" : *count ? "active" : "enabled");
  }
  if (name.starts_with(kUnsupportedPrefix)) {
    for (const FeatureState::Unknown& unknown : features_.unknown())
      if (unknown.guid == name.substr(kUnsupportedPrefix.size()))
        return std::string(unknown.refcount ? "readonly" : "inactive");
    return Error(Errc::not_found, fmt::format("no property '{}'", name));
  }
  if (is_user_pool_property(name)) return stored_property(name);
  const PoolPropertyInfo* info = find_pool_property(name);
  if (name == "name") return config_.name;
  if (!info) return Error(Errc::not_found, fmt::format("bad property '{}': no such pool property", name));
  switch (info->place) {
    case PoolPropertyPlace::runtime: {
      if (info->name == "readonly") return std::string(read_only_ ? "on" : "off");
      MutexLock lock(config_mutex_);
      const auto set = runtime_properties_.find(std::string(info->name));
      return set == runtime_properties_.end() ? std::string(info->default_text) : set->second;
    }
    case PoolPropertyPlace::derived:
      return derived_property(info->name);
    default:
      return stored_property(std::string(info->name));
  }
}

Result<std::string> PoolImpl::derived_property(std::string_view name) const {
  const PoolPropertyInfo& info = *find_pool_property(name);
  const auto number = [&](std::uint64_t value) { return pool_property_from_u64(info, value); };
  std::uint64_t size = 0, allocated = 0, expandable = 0;
  VdevState worst = VdevState::healthy;
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    const VdevConfig& top = vdevs_->top_config(i);
    if (top.kind == VdevKind::hole || top.kind == VdevKind::indirect) continue;
    worst = std::min(worst, vdevs_->state(i));
    if (top.is_log) continue;
    const SpaceTotals totals = allocator_->totals(i);
    size += totals.size_bytes;
    allocated += totals.allocated_bytes;
    // Room that has come up behind the vdev, in whole metaslabs.
    const std::uint64_t now = vdevs_->usable_bytes(i);
    if (now > top.asize_bytes && top.metaslab_shift < 64)
      expandable += round_down(now - top.asize_bytes, std::uint64_t{1} << top.metaslab_shift);
  }
  if (name == "size") return number(size);
  if (name == "allocated") return number(allocated);
  if (name == "free") return number(size - std::min(size, allocated));
  if (name == "capacity") return number(size ? allocated * 100 / size : 0);
  if (name == "fragmentation") return number(allocator_->totals().fragmentation_percent);
  if (name == "expandsize") return number(expandable);
  if (name == "guid") return number(config_.pool_guid);
  if (name == "load_guid") return number(load_guid_);
  if (name == "version")
    return config_.version == kFeatureVersion ? std::string("-") : number(config_.version);
  if (name == "freeing") return number(TRY(dsl_->freeing_bytes()));
  if (name == "last_scrubbed_txg") return number(TRY(directory_u64("last_scrubbed_txg")));
  if (name == "health") {
    if (engine_ && engine_->failure()) return std::string("SUSPENDED");
    if (worst == VdevState::healthy) return std::string("ONLINE");
    return std::string(worst == VdevState::degraded ? "DEGRADED" : "UNAVAIL");
  }
  return std::string(info.default_text);
}

}  // namespace tarn
