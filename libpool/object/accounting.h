// AccountingDeltas: how much each user, group and project gained or lost in one sync (FORMAT.md logical 1.9).
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "libpool/base/mutex.h"
#include "libpool/object/dnode.h"
#include "libpool/object/object_set.h"

namespace tarn {

class AccountingDeltas {
 public:
  // Counts one dnode with `sign` -1 (as it was) or +1 (as it is).
  void add(const ObjectSetEnv& env, const Dnode& dnode, int sign) EXCLUDES(lock_);
  // Non-zero changes of one accounting object (0 user, 1 group, 2 project), by entry name.
  std::unordered_map<std::string, std::int64_t> take(std::size_t which) EXCLUDES(lock_);
  // Flag bits of a dnode that is accounted.
  static std::uint8_t flags(const ObjectSetEnv& env);

 private:
  Mutex lock_;
  std::array<std::unordered_map<std::string, std::int64_t>, 3> deltas_ GUARDED_BY(lock_);
};

}  // namespace tarn
