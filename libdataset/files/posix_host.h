// What the POSIX layer needs of its pool besides the dataset: a small interface, so that tests run it over a
// bare object set.
#pragma once

#include <functional>

#include "libdataset/tree/dataset_tree.h"

namespace tarn {

struct PosixHost {
  const Clock* clock = nullptr;
  std::function<Status()> sync_now;  // everything done so far is on stable storage
  std::function<std::uint64_t()> synced_txg;
  std::function<bool(const char*)> feature_enabled;  // by guid
  static PosixHost of(Pool& pool);
};

}  // namespace tarn
