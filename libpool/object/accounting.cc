#include "libpool/object/accounting.h"

#include <fmt/format.h>

namespace tarn {

namespace {

constexpr std::int64_t kDnodeCharge = 512;  // whatever the dnode's size

}  // namespace

std::uint8_t AccountingDeltas::flags(const ObjectSetEnv& env) {
  if (!env.user_accounting) return 0;
  return static_cast<std::uint8_t>(kDnodeUserAccounted | (env.object_accounting ? kDnodeObjectAccounted : 0));
}

void AccountingDeltas::add(const ObjectSetEnv& env, const Dnode& dnode, int sign) {
  if (!env.user_accounting || !env.find_owner || dnode.type == DmuType::none) return;
  if (!(dnode.flags & kDnodeUserAccounted)) return;
  const std::optional<OwnerIds> owner = env.find_owner(dnode.bonus_type, dnode.bonus, dnode.flags);
  if (!owner) return;
  const std::int64_t bytes = sign * (kDnodeCharge + static_cast<std::int64_t>(dnode.used_bytes));
  const bool counted = env.object_accounting && (dnode.flags & kDnodeObjectAccounted);
  const std::array<std::uint64_t, 3> ids{owner->uid, owner->gid, owner->projid};
  const std::size_t kinds = env.project_accounting ? 3 : 2;
  MutexLock lock(lock_);
  for (std::size_t i = 0; i < kinds; ++i) {
    deltas_[i][fmt::format("{:x}", ids[i])] += bytes;
    if (counted) deltas_[i][fmt::format("obj-{:x}", ids[i])] += sign;
  }
}

std::unordered_map<std::string, std::int64_t> AccountingDeltas::take(std::size_t which) {
  MutexLock lock(lock_);
  auto out = std::exchange(deltas_[which], {});
  std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
  return out;
}

}  // namespace tarn
