#include "libdataset/tree/extension.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::string_view kExtensibleDataset = "com.delphix:extensible_dataset";
constexpr std::string_view kDatasetFeatures[] = {
    "org.open-zfs:large_blocks",
    "org.zfsonlinux:large_dnode",
    "org.illumos:sha512",
    "org.illumos:skein",
    "org.illumos:edonr",
    "org.openzfs:blake3",
    "org.zfsonlinux:userobj_accounting",
    "org.zfsonlinux:project_quota",
    "com.datto:encryption",
    "org.freebsd:zstd_compress",
    "org.openzfs:zilsaxattr",
    "org.zfsonlinux:longname",
    "com.klarasystems:large_microzap",
    "com.truenas:physical_rewrite",
    "com.delphix:redacted_datasets",
};

bool is_dataset_feature(std::string_view name) {
  return std::find(std::begin(kDatasetFeatures), std::end(kDatasetFeatures), name) !=
         std::end(kDatasetFeatures);
}

}  // namespace

Result<std::optional<Zap>> open_extension(ObjectSet& mos, std::uint64_t object) {
  ObjectRef opened = TRY(mos.open_object(object));
  if (opened->info().type != DmuType::otn_zap_metadata) return std::optional<Zap>();
  return std::optional<Zap>(
      TRY(Zap::open(std::move(opened)).in(fmt::format("extension of object {}", object))));
}

Result<Zap> ensure_extension(SyncContext& context, std::uint64_t object) {
  ObjectRef opened = TRY(context.pool.mos().open_object(object));
  if (opened->info().type == DmuType::otn_zap_metadata) return Zap::open(std::move(opened));
  if (!context.pool.feature_enabled(kExtensibleDataset))
    return Error(Errc::unsupported, "the pool lacks feature extensible_dataset");
  TRY(opened->set_type(context.tx, DmuType::otn_zap_metadata));
  Zap zap = TRY(Zap::format(std::move(opened), context.tx));
  TRY(context.pool.feature_adjust(context, kExtensibleDataset, 1));
  return zap;
}

Status free_dsl_object(SyncContext& context, std::uint64_t object) {
  ObjectSet& mos = context.pool.mos();
  const bool extended = TRY(mos.open_object(object))->info().type == DmuType::otn_zap_metadata;
  TRY(mos.free_object(context.tx, object));
  return extended ? context.pool.feature_adjust(context, kExtensibleDataset, -1) : Status();
}

Result<std::set<std::string, std::less<>>> dataset_features(ObjectSet& mos, std::uint64_t object) {
  std::set<std::string, std::less<>> features;
  const std::optional<Zap> zap = TRY(open_extension(mos, object));
  if (!zap) return features;
  for (const ZapEntry& entry : TRY(zap->entries()))
    if (is_dataset_feature(entry.name)) features.insert(entry.name);
  return features;
}

Status activate_dataset_feature(SyncContext& context, std::uint64_t object, std::string_view guid) {
  Zap zap = TRY(ensure_extension(context, object));
  const Status added = zap.add(context.tx, guid, std::uint64_t{0});
  if (!added) return added.error().code() == Errc::already_exists ? Status() : added;
  return context.pool.feature_adjust(context, guid, 1);
}

Status copy_dataset_features(SyncContext& context, std::uint64_t from, std::uint64_t to) {
  const std::optional<Zap> source = TRY(open_extension(context.pool.mos(), from));
  if (!source) return {};
  for (const ZapEntry& entry : TRY(source->entries())) {
    if (!is_dataset_feature(entry.name)) continue;
    Zap target = TRY(ensure_extension(context, to));
    TRY(target.update(context.tx, entry.name, entry.value));
    TRY(context.pool.feature_adjust(context, entry.name, 1));
  }
  return {};
}

Status drop_dataset_features(SyncContext& context, std::uint64_t object) {
  for (const std::string& guid : TRY(dataset_features(context.pool.mos(), object)))
    TRY(context.pool.feature_adjust(context, guid, -1));
  return {};
}

}  // namespace tarn
