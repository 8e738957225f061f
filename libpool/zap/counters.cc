#include "libpool/object/counters.h"

#include "libpool/zap/zap.h"

namespace tarn {

Status add_to_counters(const ObjectRef& object, const Tx& tx, bool fresh,
                       const std::unordered_map<std::string, std::int64_t>& deltas) {
  if (fresh) TRY(Zap::format(object, tx));
  Zap zap = TRY(Zap::open(object));
  for (const auto& [name, delta] : deltas) TRY(zap.increment(tx, name, delta));
  return {};
}

}  // namespace tarn
