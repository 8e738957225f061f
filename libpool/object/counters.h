// The counters of user, group and project accounting are ZAPs, and ZAPs lie above objects: this room declares
// what it needs, libpool/zap/counters.cc provides it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "libpool/object/object_set.h"

namespace tarn {

// Adds each delta to the counter of that name; a counter that becomes 0 goes. `fresh`: the object was just
// created.
Status add_to_counters(const ObjectRef& object, const Tx& tx, bool fresh,
                       const std::unordered_map<std::string, std::int64_t>& deltas);

}  // namespace tarn
