#include "libpool/txg/feature_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::string_view kEnabledTxgGuid = "com.delphix:enabled_txg";

Result<std::uint64_t> optional_u64(const Zap& zap, std::string_view name) {
  auto value = zap.lookup_u64(name);
  if (!value && value.error().code() == Errc::not_found) return std::uint64_t{0};
  return value;
}

}  // namespace

Status FeatureState::create(ObjectSet& mos, Zap& directory, const Tx& tx) {
  objects_.for_read = TRY(Zap::create(mos, tx, DmuType::otn_zap_metadata)).number();
  objects_.for_write = TRY(Zap::create(mos, tx, DmuType::otn_zap_metadata)).number();
  objects_.descriptions = TRY(Zap::create(mos, tx, DmuType::otn_zap_metadata)).number();
  TRY(directory.add(tx, "features_for_read", objects_.for_read));
  TRY(directory.add(tx, "features_for_write", objects_.for_write));
  return directory.add(tx, "feature_descriptions", objects_.descriptions);
}

Status FeatureState::load(ObjectSet& mos, const Zap& directory) {
  Objects objects;
  objects.for_read = TRY(directory.lookup_u64("features_for_read").in("pool directory: features_for_read"));
  objects.for_write =
      TRY(directory.lookup_u64("features_for_write").in("pool directory: features_for_write"));
  objects.descriptions =
      TRY(directory.lookup_u64("feature_descriptions").in("pool directory: feature_descriptions"));
  objects.enabled_txg = TRY(optional_u64(directory, "feature_enabled_txg"));
  std::map<std::string, Entry, std::less<>> entries;
  for (const bool for_write : {false, true}) {
    const Zap zap = TRY(Zap::open(mos, for_write ? objects.for_write : objects.for_read)
                            .in(for_write ? "features_for_write" : "features_for_read"));
    for (const ZapEntry& entry :
         TRY(zap.entries().in(for_write ? "features_for_write" : "features_for_read")))
      entries[entry.name] = {.refcount = entry.value.first(), .for_write = for_write};
  }
  MutexLock lock(mutex_);
  objects_ = objects;
  entries_ = std::move(entries);
  return {};
}

Status FeatureState::store(ObjectSet& mos, const Tx& tx, const std::string& guid, const Entry& entry) {
  Zap zap = TRY(Zap::open(mos, entry.for_write ? objects_.for_write : objects_.for_read));
  return zap.update(tx, guid, entry.refcount);
}

Result<std::vector<std::string>> FeatureState::enable(ObjectSet& mos, Zap& directory, const Tx& tx,
                                                      const FeatureInfo& feature) {
  std::vector<std::string> enabled;
  if (refcount(feature.guid)) return enabled;
  if (!objects_.for_read) return Error(Errc::unsupported, "pools older than version 5000 have no features");
  for (const std::string_view guid : feature.depends_on) {
    const FeatureInfo* needed = find_feature_by_guid(guid);
    for (std::string& name : TRY(enable(mos, directory, tx, *needed))) enabled.push_back(std::move(name));
  }
  const Entry entry{.refcount = feature.active_when_enabled ? 1u : 0u,
                    .for_write = feature.read_only_compatible};
  TRY(store(mos, tx, std::string(feature.guid), entry));
  TRY(TRY(Zap::open(mos, objects_.descriptions))
          .update(tx, feature.guid, ZapValue::of_text(feature.description)));
  {
    MutexLock lock(mutex_);
    entries_[std::string(feature.guid)] = entry;
  }
  // From enabled_txg itself on, each feature is entered with its txg, and counts once for enabled_txg.
  if (refcount(kEnabledTxgGuid)) {
    if (!objects_.enabled_txg) {
      objects_.enabled_txg = TRY(Zap::create(mos, tx, DmuType::otn_zap_metadata)).number();
      TRY(directory.add(tx, "feature_enabled_txg", objects_.enabled_txg));
    }
    TRY(TRY(Zap::open(mos, objects_.enabled_txg)).update(tx, feature.guid, tx.txg()));
    TRY(adjust(mos, tx, kEnabledTxgGuid, 1));
  }
  enabled.emplace_back(feature.name);
  return enabled;
}

Result<bool> FeatureState::adjust(ObjectSet& mos, const Tx& tx, std::string_view guid, std::int64_t delta) {
  Entry entry;
  bool crossed_zero = false;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(guid);
    if (found == entries_.end())
      return Error(Errc::unsupported, fmt::format("feature {} is not enabled", guid));
    const std::uint64_t old = found->second.refcount;
    if (delta < 0 && old < static_cast<std::uint64_t>(-delta))
      return Error(Errc::corrupt, fmt::format("feature {} would be counted below zero", guid));
    found->second.refcount += static_cast<std::uint64_t>(delta);
    entry = found->second;
    crossed_zero = (old == 0) != (entry.refcount == 0);
  }
  TRY(store(mos, tx, std::string(guid), entry));
  const FeatureInfo* feature = find_feature_by_guid(guid);
  return crossed_zero && feature && feature->in_labels;
}

std::optional<std::uint64_t> FeatureState::refcount(std::string_view guid) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(guid);
  if (found == entries_.end()) return std::nullopt;
  return found->second.refcount;
}

std::vector<std::string> FeatureState::label_features() const {
  std::vector<std::string> guids;
  for (const FeatureInfo& feature : all_features())
    if (feature.in_labels && refcount(feature.guid).value_or(0) > 0) guids.emplace_back(feature.guid);
  return guids;
}

std::vector<FeatureState::Unknown> FeatureState::unknown() const {
  MutexLock lock(mutex_);
  std::vector<Unknown> out;
  for (const auto& [guid, entry] : entries_)
    if (!find_feature_by_guid(guid))
      out.push_back({.guid = guid, .refcount = entry.refcount, .read_only_compatible = entry.for_write});
  return out;
}

Status FeatureState::check(bool for_writing) const {
  MutexLock lock(mutex_);
  std::vector<std::string> blocking, write_blocking;
  for (const auto& [guid, entry] : entries_) {
    if (entry.refcount == 0) continue;
    const FeatureInfo* feature = find_feature_by_guid(guid);
    const std::string label = feature ? fmt::format("{} ({})", guid, feature->name) : guid;
    const FeatureSupport support = feature ? feature->support : FeatureSupport::none;
    if (support == FeatureSupport::none && !entry.for_write) {
      blocking.push_back(label);
    } else if (support != FeatureSupport::read_write) {
      write_blocking.push_back(label);
    }
  }
  if (!blocking.empty())
    return Error(Errc::unsupported,
                 fmt::format("the pool uses features that this version does not support: {}",
                             fmt::join(blocking, ", ")));
  if (for_writing && !write_blocking.empty())
    return Error(Errc::unsupported, fmt::format("the pool can only be opened read-only (readonly=on), "
                                                "because it uses features that this version cannot write: {}",
                                                fmt::join(write_blocking, ", ")));
  return {};
}

Status check_label_features(const std::vector<std::string>& features_for_read) {
  std::vector<std::string> blocking;
  for (const std::string& guid : features_for_read) {
    const FeatureInfo* feature = find_feature_by_guid(guid);
    if (!feature) {
      blocking.push_back(guid);
    } else if (feature->support == FeatureSupport::none) {
      blocking.push_back(fmt::format("{} ({})", guid, feature->name));
    }
  }
  if (blocking.empty()) return {};
  return Error(Errc::unsupported, fmt::format("the pool uses features that this version does not support: {}",
                                              fmt::join(blocking, ", ")));
}

}  // namespace tarn
