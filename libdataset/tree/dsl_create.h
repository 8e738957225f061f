// New DSL objects in the MOS (FORMAT.md logical 3.10, 10.1, 10.2). Shared by new pools and new datasets.
#pragma once

#include <cstdint>

#include "libdataset/tree/dsl_phys.h"
#include "libpool/txg/pool.h"

namespace tarn {

inline constexpr std::uint64_t kSnapnamesNormFlags = 0x02;
inline constexpr std::uint64_t kVersionUsedBreakdown = 13, kVersionOrigin = 11, kVersionDirClones = 26,
                               kVersionUniqueAccurate = 9, kVersionUserSpace = 15;

// A directory with an empty props ZAP and child map; not yet in its parent's child map.
Result<std::uint64_t> create_dir_object(SyncContext& context, std::uint64_t parent, std::uint64_t origin);
// A dataset object holding `phys`.
Result<std::uint64_t> create_dataset_object(SyncContext& context, const DslDatasetPhys& phys);
// What every new head or snapshot has: fresh guids, the time, `creation_txg`.
DslDatasetPhys new_dataset_phys(SyncContext& context, std::uint64_t dir, std::uint64_t creation_txg);
// Adds `member` to the int-key set `zap`, which is made (as `type`) when 0. Returns the set's object.
Result<std::uint64_t> add_to_set(SyncContext& context, std::uint64_t zap, DmuType type, std::uint64_t member);
Status remove_from_set(SyncContext& context, std::uint64_t zap, std::uint64_t member);

}  // namespace tarn
