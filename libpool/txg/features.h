// Pool features (FORMAT.md 12.13): what they are called, what they depend on, and what Tarn can do with a
// pool in which they are active. The reference counts of an open pool are in feature_state.h.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpool/base/result.h"

namespace tarn {

// What Tarn can do with a pool in which a feature is active.
enum class FeatureSupport : std::uint8_t { none, read, read_write };

struct FeatureInfo {
  std::string_view name;  // as in feature@NAME
  std::string_view guid;
  std::string_view description;  // stored in the pool's feature_descriptions
  bool read_only_compatible =
      false;                         // R: listed in features_for_write, unknown ones allow a read-only import
  bool in_labels = false;            // M: must be understood to read the MOS, so labels list it while active
  bool active_when_enabled = false;  // A: refcount 1 from the start
  bool per_dataset = false;          // D
  bool on_new_pools = true;          // enabled by default, as OpenZFS 2.3 does
  FeatureSupport support = FeatureSupport::read_write;
  std::span<const std::string_view> depends_on;  // guids
};

// In the order in which `get all` lists them.
std::span<const FeatureInfo> all_features();
const FeatureInfo* find_feature_by_name(std::string_view name);
const FeatureInfo* find_feature_by_guid(std::string_view guid);

// Names of features that may be enabled under a `compatibility` property value: off (all), legacy (none), or
// a list of files, each a path or a name in one of `folders` (earlier folders win).
struct CompatibilitySet {
  std::set<std::string> names;
  std::vector<std::string> warnings;  // unknown feature names in files of the distribution's folder
};
const std::vector<std::string>& compatibility_folders();
Result<CompatibilitySet> read_compatibility(
    std::string_view value, const std::vector<std::string>& folders = compatibility_folders());

}  // namespace tarn
