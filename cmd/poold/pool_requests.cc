// Requests about the pool itself.
#include <fmt/format.h>

#include "cmd/poold/pool_service.h"
#include "cmd/poold/startup.h"
#include "cmd/poold/vdev_view.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

// Worst state of the top-level vdevs: DEGRADED as soon as one is, FAULTED/UNAVAIL when one cannot serve.
std::string pool_state(const Json& tops) {
  std::string worst = "ONLINE";
  for (const Json& top : tops) {
    const std::string state = top.value("state", "ONLINE");
    if (state == "ONLINE") continue;
    if (state == "DEGRADED" && worst == "ONLINE") worst = "DEGRADED";
    if (state != "DEGRADED")
      worst = top.value("class", "") == "logs" ? (worst == "ONLINE" ? "DEGRADED" : worst) : state;
  }
  return worst;
}

Json aux_devices(const std::vector<VdevConfig>& devices, const char* state) {
  Json out = Json::array();
  for (const VdevConfig& device : devices)
    out.push_back({{"name", device.display_name()},
                   {"path", device.path},
                   {"guid", device.guid},
                   {"type", name_of(device.kind)},
                   {"whole_disk", device.whole_disk.value_or(0)},
                   {"state", state},
                   {"device_bytes", device.asize_bytes}});
  return out;
}

}  // namespace

Result<Json> PoolService::pool_status(const Json&) {
  Json tops = vdev_tree_to_json(*pool_);
  const SpaceTotals space = pool_->allocator().totals();
  Json out{{"name", pool_->name()},
           {"guid", pool_->guid()},
           {"version", pool_->version()},
           {"read_only", pool_->read_only()},
           {"state", pool_state(tops)},
           {"txg", pool_->synced_txg()},
           {"altroot", altroot_},
           {"size", space.size_bytes},
           {"alloc", space.allocated_bytes},
           {"frag", space.fragmentation_percent},
           {"spares", aux_devices(pool_->spares(), "AVAIL")},
           {"caches", aux_devices(pool_->caches(), "ONLINE")}};
  out["vdevs"] = std::move(tops);
  return out;
}

// {"names": [NAME...]} -> values; "user:" stands for all user properties of the pool.
Result<Json> PoolService::pool_get(const Json& params) {
  Json values = Json::array();
  for (const std::string& name : params.value("names", std::vector<std::string>{})) {
    if (name == "user:") continue;
    if (name == "name") {
      values.push_back({{"name", name}, {"raw", name_}, {"source", "-"}});
      continue;
    }
    const PoolPropertyInfo* info = find_pool_property(name);
    if (name == "altroot") {
      values.push_back({{"name", name},
                        {"raw", altroot_.empty() ? "-" : altroot_},
                        {"source", altroot_.empty() ? "default" : "local"}});
      continue;
    }
    const Result<std::string> value = pool_->property(name);
    std::string raw = value ? *value : "-";
    std::string source = "local";
    if (info && info->place == PoolPropertyPlace::derived && !info->settable) {
      source = "-";
    } else if (info && (raw == info->default_text || raw == "-" || raw.empty())) {
      source = "default";
    }
    if (raw.empty()) raw = "-";
    values.push_back({{"name", name}, {"raw", raw}, {"source", source}});
  }
  return Json{{"values", std::move(values)}};
}

Result<Json> PoolService::pool_set(const Json& params) {
  TRY(pool_->set_property(params.value("name", ""), params.value("value", "")));
  return Json::object();
}

Result<Json> PoolService::pool_add(const Json& params) {
  TRY(pool_->add_vdevs(TRY(vdevs_from_json(params.value("tree", Json::array()))),
                       TRY(vdevs_from_json(params.value("spares", Json::array()))),
                       TRY(vdevs_from_json(params.value("caches", Json::array())))));
  return Json::object();
}

Result<Json> PoolService::pool_export(const Json& params) {
  if (const std::string command = params.value("command", ""); !command.empty() && !pool_->read_only())
    (void)pool_->log_history(command);
  TRY(close(PoolState::exported, params.value("force", false)));
  return Json::object();
}

Result<Json> PoolService::pool_destroy(const Json& params) {
  TRY(close(PoolState::destroyed, params.value("force", false)));
  return Json::object();
}

Result<Json> PoolService::pool_sync(const Json&) {
  if (!pool_->read_only()) TRY(pool_->sync_now());
  return Json::object();
}

Result<Json> PoolService::pool_log_history(const Json& params) {
  TRY(pool_->log_history(params.value("text", "")));
  return Json::object();
}

Result<Json> PoolService::pool_history(const Json&) {
  Json records = Json::array();
  for (const NvList& record : TRY(pool_->history())) {
    Json out{{"time", record.u64("history time").value_or(0)}};
    for (const char* key :
         {"history command", "history hostname", "internal_name", "history internal str", "dsname", "ioctl"})
      if (const auto text = record.text(key)) out[key] = *text;
    for (const char* key : {"history who", "history txg", "dsid"})
      if (const auto number = record.u64(key)) out[key] = *number;
    records.push_back(std::move(out));
  }
  return Json{{"records", std::move(records)}};
}

}  // namespace tarn
