#include "cmd/pool/status_json.h"

#include "cmd/pool/status_text.h"
#include "libdataset/property/property.h"

namespace tarn {
namespace {

class VdevJson {
 public:
  VdevJson(const Json& pool, const JsonStyle& style) : pool_(pool), style_(style) {}

  OrderedJson root() const {
    const auto alloc = pool_.value("alloc", std::uint64_t{0}), size = pool_.value("size", std::uint64_t{0});
    OrderedJson out{{"name", pool_.value("name", "")},
                    {"vdev_type", "root"},
                    {"guid", json_exact(pool_.value("guid", std::uint64_t{0}), style_)},
                    {"class", "normal"},
                    {"state", pool_.value("state", "ONLINE")},
                    {"alloc_space", json_size(alloc, style_)},
                    {"total_space", json_size(size, style_)},
                    {"def_space", json_size(size, style_)}};
    add_counters(pool_, out, false);
    OrderedJson children = OrderedJson::object();
    for (const Json& top : tops("normal"))
      children[vdev_display_name(top, style_.names)] = describe(top, "normal", pool_.value("name", ""), true);
    out["vdevs"] = std::move(children);
    return out;
  }

  OrderedJson group(const char* vdev_class, const char* shown_class) const {
    OrderedJson out = OrderedJson::object();
    for (const Json& top : tops(vdev_class))
      out[vdev_display_name(top, style_.names)] = describe(top, shown_class, pool_.value("name", ""), true);
    return out;
  }

  OrderedJson devices(const char* list, const char* shown_class) const {
    OrderedJson out = OrderedJson::object();
    for (const Json& device : pool_.value(list, Json::array())) {
      const std::string name = vdev_display_name(device, style_.names);
      out[name] = {{"name", name},
                   {"vdev_type", device.value("type", "file")},
                   {"guid", json_exact(device.value("guid", std::uint64_t{0}), style_)},
                   {"path", device.value("path", "")},
                   {"class", shown_class},
                   {"state", device.value("state", "AVAIL")}};
      if (std::string(list) == "caches") add_counters(device, out[name], true);
    }
    return out;
  }

 private:
  std::vector<Json> tops(const std::string& vdev_class) const {
    std::vector<Json> out;
    for (const Json& top : pool_.value("vdevs", Json::array()))
      if (top.value("class", "normal") == vdev_class) out.push_back(top);
    return out;
  }

  void add_counters(const Json& vdev, OrderedJson& out, bool leaf) const {
    for (const char* counter : {"read_errors", "write_errors", "checksum_errors"})
      out[counter] = style_.integers ? OrderedJson(vdev.value(counter, std::uint64_t{0}))
                                     : OrderedJson(nice_number(vdev.value(counter, std::uint64_t{0})));
    if (leaf) out["slow_ios"] = json_exact(0, style_);
  }

  OrderedJson describe(const Json& vdev, const char* vdev_class, const std::string& parent, bool top) const {
    const std::string name = vdev_display_name(vdev, style_.names);
    const Json children = vdev.value("children", Json::array());
    OrderedJson out{{"name", name},
                    {"vdev_type", vdev.value("type", "")},
                    {"guid", json_exact(vdev.value("guid", std::uint64_t{0}), style_)}};
    for (const char* key : {"path", "phys_path", "devid"})
      if (vdev.contains(key)) out[key] = vdev[key].get<std::string>();
    out["class"] = vdev_class;
    out["state"] = vdev.value("state", "ONLINE");
    if (style_.flat) out["parent"] = parent;
    if (top) {
      if (vdev.value("alloc", std::uint64_t{0}))
        out["alloc_space"] = json_size(vdev.value("alloc", std::uint64_t{0}), style_);
      out["total_space"] = json_size(vdev.value("size", std::uint64_t{0}), style_);
      out["def_space"] = json_size(vdev.value("size", std::uint64_t{0}), style_);
    }
    if (vdev.contains("device_bytes")) {
      out["rep_dev_size"] = json_size(vdev.value("device_bytes", std::uint64_t{0}), style_);
      out["phys_space"] = json_size(vdev.value("device_bytes", std::uint64_t{0}), style_);
    } else if (top) {
      out["rep_dev_size"] = json_size(vdev.value("size", std::uint64_t{0}), style_);
    }
    add_counters(vdev, out, children.empty());
    if (!children.empty()) {
      OrderedJson below = OrderedJson::object();
      for (const Json& child : children)
        below[vdev_display_name(child, style_.names)] = describe(child, vdev_class, name, false);
      out["vdevs"] = std::move(below);
    }
    return out;
  }

  const Json& pool_;
  const JsonStyle& style_;
};

// Every vdev once, at one level; the leaves first, as the original orders them.
void flatten(const OrderedJson& vdev, OrderedJson& out) {
  if (vdev.contains("vdevs"))
    for (const auto& [name, child] : vdev["vdevs"].items()) flatten(child, out);
  OrderedJson copy = vdev;
  copy.erase("vdevs");
  out[vdev["name"].get<std::string>()] = std::move(copy);
}

}  // namespace

OrderedJson json_size(std::uint64_t value, const JsonStyle& style) {
  if (style.integers) return value;
  return style.parsable ? std::to_string(value) : nice_number(value);
}

OrderedJson json_exact(std::uint64_t value, const JsonStyle& style) {
  if (style.integers) return value;
  return std::to_string(value);
}

OrderedJson json_version(const char* command) {
  return {{"command", command}, {"vers_major", 0}, {"vers_minor", 1}};
}

OrderedJson pool_json_head(const Json& status, const JsonStyle& style) {
  return {{"name", status.value("name", "")},
          {"type", "POOL"},
          {"state", status.value("state", "ONLINE")},
          {"pool_guid", json_exact(status.value("guid", std::uint64_t{0}), style)},
          {"txg", json_exact(status.value("txg", std::uint64_t{0}), style)},
          {"spa_version", json_exact(status.value("version", std::uint64_t{5000}), style)},
          {"zpl_version", json_exact(5, style)}};
}

OrderedJson status_json(const std::vector<Json>& pools, const JsonStyle& style) {
  OrderedJson all = OrderedJson::object();
  for (const Json& pool : pools) {
    const auto guid = pool.value("guid", std::uint64_t{0});
    OrderedJson out{{"name", pool.value("name", "")},
                    {"state", pool.value("state", "ONLINE")},
                    {"pool_guid", json_exact(guid, style)},
                    {"txg", json_exact(pool.value("txg", std::uint64_t{0}), style)},
                    {"spa_version", json_exact(pool.value("version", std::uint64_t{5000}), style)},
                    {"zpl_version", json_exact(5, style)}};
    const Diagnosis diagnosis = diagnose(pool);
    if (!diagnosis.status.empty()) out["status"] = diagnosis.status;
    if (!diagnosis.action.empty()) out["action"] = diagnosis.action;
    if (!diagnosis.message_id.empty()) out["msgid"] = diagnosis.message_id;
    if (!diagnosis.see.empty()) out["moreinfo"] = diagnosis.see;
    const VdevJson vdevs(pool, style);
    if (style.flat) {
      OrderedJson flat = OrderedJson::object();
      flatten(vdevs.root(), flat);
      out["vdevs"] = std::move(flat);
    } else {
      out["vdevs"] = {{pool.value("name", ""), vdevs.root()}};
    }
    if (OrderedJson logs = vdevs.group("logs", "log"); !logs.empty()) out["logs"] = std::move(logs);
    if (OrderedJson caches = vdevs.devices("caches", "l2cache"); !caches.empty())
      out["l2cache"] = std::move(caches);
    if (OrderedJson spares = vdevs.devices("spares", "spare"); !spares.empty())
      out["spares"] = std::move(spares);
    out["error_count"] = json_exact(pool.value("error_count", std::uint64_t{0}), style);
    all[style.key_guid ? std::to_string(guid) : pool.value("name", "")] = std::move(out);
  }
  return {{"output_version", json_version("zpool status")}, {"pools", std::move(all)}};
}

}  // namespace tarn
