// FeatureState: the features of one pool with their reference counts, in memory and in the MOS
// (FORMAT.md 12.13).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libpool/base/mutex.h"
#include "libpool/txg/features.h"
#include "libpool/zap/zap.h"

namespace tarn {

class FeatureState {
 public:
  // MOS objects of a version 5000 pool; all 0 on older pools.
  struct Objects {
    std::uint64_t for_read = 0, for_write = 0, descriptions = 0, enabled_txg = 0;
  };

  // Makes the ZAPs and enters them in the pool directory.
  Status create(ObjectSet& mos, Zap& directory, const Tx& tx);
  Status load(ObjectSet& mos, const Zap& directory) EXCLUDES(mutex_);

  // Enables the feature and what it depends on; returns the names of those that were disabled before.
  Result<std::vector<std::string>> enable(ObjectSet& mos, Zap& directory, const Tx& tx,
                                          const FeatureInfo& feature) EXCLUDES(mutex_);
  // True if the set of features that labels must list changed.
  Result<bool> adjust(ObjectSet& mos, const Tx& tx, std::string_view guid, std::int64_t delta)
      EXCLUDES(mutex_);

  std::optional<std::uint64_t> refcount(std::string_view guid) const EXCLUDES(mutex_);
  // Active features that labels list, in the table's order.
  std::vector<std::string> label_features() const EXCLUDES(mutex_);
  // Entries that this version does not know: guid, and whether a read-only import tolerates it.
  struct Unknown {
    std::string guid;
    std::uint64_t refcount;
    bool read_only_compatible;
  };
  std::vector<Unknown> unknown() const EXCLUDES(mutex_);
  // Why the pool cannot be opened (for writing), naming every feature; success if it can.
  Status check(bool for_writing) const EXCLUDES(mutex_);

 private:
  struct Entry {
    std::uint64_t refcount = 0;
    bool for_write = false;
  };
  Status store(ObjectSet& mos, const Tx& tx, const std::string& guid, const Entry& entry);

  Objects objects_;
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);
};

// The same check on what a label says: unsupported guids of `features_for_read`, or success.
Status check_label_features(const std::vector<std::string>& features_for_read);

}  // namespace tarn
