// Pool properties as `get`, `list` and JSON show them.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/client.h"
#include "cmd/pool/status_json.h"

namespace tarn {

struct PoolValue {
  std::string name;    // canonical
  std::string raw;     // as poold gave it: plain numbers
  std::string source;  // "-", "default", "local"
};

// Canonical name for a property the user named (alias, feature@NAME, user property); nothing if there is
// none.
std::optional<std::string> canonical_pool_property(const std::string& name);
std::string pool_property_heading(const std::string& name);
bool pool_property_right_aligned(const std::string& name);
// All names that `get all` shows, in order (features included, without user properties).
std::vector<std::string> all_pool_property_names();

Result<std::vector<PoolValue>> fetch_pool_values(const PoolHandle& pool,
                                                 const std::vector<std::string>& names);
std::string print_pool_value(const PoolValue& value, bool parsable);
OrderedJson pool_value_json(const PoolValue& value, const JsonStyle& style);

// The property table that usage texts of get, set and list end with.
std::string pool_property_help();

}  // namespace tarn
