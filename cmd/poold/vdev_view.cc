#include "cmd/poold/vdev_view.h"

namespace tarn {

const char* state_name(VdevState state) {
  switch (state) {
    case VdevState::unknown:
      return "UNKNOWN";
    case VdevState::closed:
      return "OFFLINE";
    case VdevState::offline:
      return "OFFLINE";
    case VdevState::removed:
      return "REMOVED";
    case VdevState::cant_open:
      return "UNAVAIL";
    case VdevState::faulted:
      return "FAULTED";
    case VdevState::degraded:
      return "DEGRADED";
    case VdevState::healthy:
      return "ONLINE";
  }
  return "UNKNOWN";
}

Json vdev_to_json(Pool& pool, const VdevConfig& vdev, std::optional<std::uint32_t> top) {
  const VdevStats stats = pool.vdevs().stats(vdev.guid);
  Json out{{"name", vdev.display_name()},
           {"type", name_of(vdev.kind)},
           {"guid", vdev.guid},
           {"state", state_name(stats.state)},
           {"aux", static_cast<int>(stats.aux)},
           {"read_errors", stats.read_errors},
           {"write_errors", stats.write_errors},
           {"checksum_errors", stats.checksum_errors},
           {"read_ops", stats.read_ops},
           {"write_ops", stats.write_ops},
           {"read_bytes", stats.read_bytes},
           {"write_bytes", stats.write_bytes}};
  if (!vdev.path.empty()) out["path"] = vdev.path;
  if (vdev.whole_disk) out["whole_disk"] = *vdev.whole_disk;
  if (vdev.phys_path) out["phys_path"] = *vdev.phys_path;
  if (vdev.devid) out["devid"] = *vdev.devid;
  if (is_leaf(vdev.kind)) out["device_bytes"] = stats.device_bytes;
  if (top) {
    const SpaceTotals space = pool.allocator().totals(*top);
    out["size"] = space.size_bytes;
    out["alloc"] = space.allocated_bytes;
    out["frag"] = space.fragmentation_percent;
    out["ashift"] = vdev.ashift;
    out["class"] = vdev.is_log ? "logs" : vdev.allocation_bias.value_or("normal");
  }
  Json children = Json::array();
  for (const VdevConfig& child : vdev.children) children.push_back(vdev_to_json(pool, child, std::nullopt));
  out["children"] = std::move(children);
  return out;
}

Json vdev_tree_to_json(Pool& pool) {
  const VdevConfig root = pool.config_tree();
  Json tops = Json::array();
  for (const VdevConfig& top : root.children) {
    if (top.kind == VdevKind::hole) continue;
    tops.push_back(vdev_to_json(pool, top, static_cast<std::uint32_t>(top.id)));
  }
  return tops;
}

}  // namespace tarn
