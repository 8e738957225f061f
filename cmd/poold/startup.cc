#include "cmd/poold/startup.h"

#include <fmt/format.h>

namespace tarn {

Result<VdevConfig> vdev_from_json(const Json& in) {
  VdevConfig out;
  const std::string type = in.value("type", "");
  if (type == "disk")
    out.kind = VdevKind::disk;
  else if (type == "file")
    out.kind = VdevKind::file;
  else if (type == "mirror")
    out.kind = VdevKind::mirror;
  else if (type == "raidz")
    out.kind = VdevKind::raidz;
  else
    return Error(Errc::unsupported, fmt::format("vdev type '{}' is not supported", type));
  out.path = in.value("path", "");
  out.nparity = in.value("nparity", std::uint64_t{0});
  out.is_log = in.value("is_log", false);
  out.ashift = in.value("ashift", std::uint64_t{0});
  if (const std::string bias = in.value("class", ""); !bias.empty()) out.allocation_bias = bias;
  if (out.kind == VdevKind::disk) out.whole_disk = in.value("whole_disk", std::uint64_t{0});
  for (const Json& child : in.value("children", Json::array()))
    out.children.push_back(TRY(vdev_from_json(child)));
  return out;
}

Result<std::vector<VdevConfig>> vdevs_from_json(const Json& in) {
  std::vector<VdevConfig> out;
  for (const Json& vdev : in) out.push_back(TRY(vdev_from_json(vdev)));
  return out;
}

std::vector<PropertySetting> settings_from_json(const Json& in) {
  std::vector<PropertySetting> out;
  for (const Json& pair : in) out.push_back({pair.at(0).get<std::string>(), pair.at(1).get<std::string>()});
  return out;
}

Result<PoolCreateSpec> create_spec_from_json(const Json& startup) {
  PoolCreateSpec spec;
  spec.name = startup.value("name", "");
  spec.root.kind = VdevKind::root;
  spec.root.children = TRY(vdevs_from_json(startup.value("tree", Json::array())));
  spec.spares = TRY(vdevs_from_json(startup.value("spares", Json::array())));
  spec.caches = TRY(vdevs_from_json(startup.value("caches", Json::array())));
  spec.ashift = startup.value("ashift", std::uint64_t{0});
  spec.version = startup.value("version", std::uint64_t{5000});
  spec.features = startup.value("features", std::map<std::string, bool>{});
  spec.default_features = startup.value("default_features", true);
  spec.properties = startup.value("properties", std::map<std::string, std::string>{});
  spec.history_command = startup.value("command", "");
  return spec;
}

Result<PoolOpenSpec> open_spec_from_json(const Json& startup) {
  DiscoveryOptions options;
  options.folders = startup.value("devices", std::vector<std::string>{});
  options.include_destroyed = startup.value("include_destroyed", false);
  const auto guid = startup.value("guid", std::uint64_t{0});
  PoolOpenSpec spec;
  bool found = false;
  for (DiscoveredPool& pool : TRY(discover_pools(options))) {
    if (pool.config.pool_guid != guid) continue;
    spec.found = std::move(pool);
    found = true;
  }
  if (!found) return Error(Errc::not_found, "no such pool available");
  spec.new_name = startup.value("new_name", "");
  spec.read_only = startup.value("read_only", false);
  spec.force = startup.value("force", false);
  spec.rewind = startup.value("rewind", false);
  spec.max_txg = startup.value("max_txg", UINT64_MAX);
  spec.history_command = startup.value("command", "");
  return spec;
}

}  // namespace tarn
