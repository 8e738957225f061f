// Extensions of DSL objects: a small ZAP in the data of a dataset directory or dataset that holds what its
// bonus has no room for, and the per-dataset features that are active on it (FORMAT.md logical 3.4).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libpool/txg/pool.h"
#include "libpool/zap/zap.h"

namespace tarn {

// The extension ZAP of `object`; nothing if it has none.
Result<std::optional<Zap>> open_extension(ObjectSet& mos, std::uint64_t object);
// The same, made when missing. Needs feature extensible_dataset.
Result<Zap> ensure_extension(SyncContext& context, std::uint64_t object);
// Frees a dataset directory or dataset object, extension included.
Status free_dsl_object(SyncContext& context, std::uint64_t object);

// Guids of the per-dataset features active on dataset `object`.
Result<std::set<std::string, std::less<>>> dataset_features(ObjectSet& mos, std::uint64_t object);
// Marks `guid` active on the dataset and counts it in the pool.
Status activate_dataset_feature(SyncContext& context, std::uint64_t object, std::string_view guid);
Status copy_dataset_features(SyncContext& context, std::uint64_t from, std::uint64_t to);
// Before a dataset goes: its features are counted down.
Status drop_dataset_features(SyncContext& context, std::uint64_t object);

}  // namespace tarn
