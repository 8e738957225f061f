// Requests about datasets: parse the parameters, call libdataset, keep the mounts in step.
#include <fmt/format.h>
#include <unistd.h>

#include "cmd/poold/pool_service.h"
#include "cmd/poold/startup.h"
#include "libdataset/files/file_system.h"

namespace tarn {
namespace {

const char* type_name(DatasetKind kind) {
  switch (kind) {
    case DatasetKind::filesystem:
      return "filesystem";
    case DatasetKind::volume:
      return "volume";
    case DatasetKind::snapshot:
      return "snapshot";
    case DatasetKind::bookmark:
      return "bookmark";
  }
  return "filesystem";
}

const char* source_name(Source source) {
  switch (source) {
    case Source::none:
      return "-";
    case Source::defaulted:
      return "default";
    case Source::local:
      return "local";
    case Source::inherited:
      return "inherited";
    case Source::received:
      return "received";
    case Source::temporary:
      return "temporary";
  }
  return "-";
}

Json value_to_json(const PropertyValue& value) {
  Json out{{"value", print_value(value, false)},
           {"raw", print_value(value, true)},
           {"source", source_name(value.source)}};
  if (value.source == Source::inherited) out["from"] = value.source_dataset;
  if (!value.received.empty()) out["received"] = value.received;
  if (value.type != PropertyType::text) out["number"] = value.number;
  return out;
}

}  // namespace

Json PoolService::dataset_row(const DatasetInfo& info, const std::vector<std::string>& properties, bool all) {
  Json row{{"name", info.name},
           {"type", type_name(info.kind)},
           {"createtxg", info.creation_txg},
           {"creation", info.creation_time},
           {"guid", info.guid}};
  Json values = Json::array();
  const auto add = [&](const PropertyValue& value) {
    Json json = value_to_json(value);
    json["name"] = value.name;
    if (value.name == "mounted" && info.kind == DatasetKind::filesystem) {
      json["value"] = json["raw"] = mounts_->mounted_at(info.name).empty() ? "no" : "yes";
    } else if (value.name == "mountpoint" && info.kind == DatasetKind::filesystem) {
      json["value"] = json["raw"] = mounts_->visible_mountpoint(print_value(value, true));
    }
    values.push_back(std::move(json));
  };
  if (all) {
    if (Result<std::vector<PropertyValue>> found = tree_->get_all(info.name))
      for (const PropertyValue& value : *found) add(value);
  }
  for (const std::string& property : properties) {
    if (property == "name") {
      values.push_back({{"name", "name"}, {"value", info.name}, {"raw", info.name}, {"source", "-"}});
      continue;
    }
    Result<PropertyValue> value = tree_->get(info.name, property);
    if (value) {
      add(*value);
    } else {
      values.push_back({{"name", property}, {"value", "-"}, {"raw", "-"}, {"source", "-"}});
    }
  }
  row["properties"] = std::move(values);
  return row;
}

// {"roots": [NAME...], "depth": N, "snapshots": bool, "properties": [NAME...], "all": bool} -> rows in
// listing order. A root may be a folder: it stands for the dataset mounted there.
Result<Json> PoolService::dataset_query(const Json& params) {
  const auto depth = params.value("depth", std::uint32_t{0});
  const bool snapshots = params.value("snapshots", false);
  const auto properties = params.value("properties", std::vector<std::string>{});
  const bool all = params.value("all", false);
  Json rows = Json::array();
  for (const std::string& root : params.value("roots", std::vector<std::string>{pool_->name()}))
    for (const DatasetInfo& info : TRY(tree_->list(root, depth, snapshots)))
      rows.push_back(dataset_row(info, properties, all));
  return Json{{"datasets", std::move(rows)}};
}

Result<Json> PoolService::dataset_create(const Json& params) {
  CreateDatasetSpec spec;
  spec.name = params.value("name", "");
  spec.properties = settings_from_json(params.value("properties", Json::array()));
  spec.make_parents = params.value("parents", false);
  spec.format = [](ObjectSet& objset, const Tx& tx, const std::map<std::string, std::uint64_t>& zpl) {
    return FileSystem::format(objset, tx, zpl, {.uid = ::geteuid(), .gid = ::getegid()},
                              Clock::system().now());
  };
  TRY(tree_->create(spec));
  Json reply{{"mounted", true}};
  if (!params.value("unmounted", false)) {
    // -p: parents made on the way are mounted too, outermost first.
    for (std::size_t slash = spec.name.find('/'); spec.make_parents && slash != std::string::npos;
         slash = spec.name.find('/', slash + 1))
      (void)mounts_->mount_if_wanted(spec.name.substr(0, slash));
    if (Status mounted = mounts_->mount_if_wanted(spec.name); !mounted)
      reply = {{"mounted", false}, {"why", mounted.error().text()}};
  }
  return reply;
}

// {"names": [NAME...]} in the order in which they go; each is unmounted first.
Result<Json> PoolService::dataset_destroy(const Json& params) {
  for (const std::string& name : params.value("names", std::vector<std::string>{})) {
    if (name.find('@') == std::string::npos) TRY(mounts_->unmount_tree(name, params.value("force", false)));
    TRY(tree_->destroy(name));
  }
  return Json::object();
}

Result<Json> PoolService::dataset_rename(const Json& params) {
  const std::string from = params.value("from", ""), to = params.value("to", "");
  std::vector<std::string> was_mounted;
  if (from.find('@') == std::string::npos && !params.value("unmounted", false)) {
    for (const auto& [name, folder] : mounts_->all())
      if (name == from || name.starts_with(from + "/")) was_mounted.push_back(name);
    TRY(mounts_->unmount_tree(from, params.value("force", false)));
  }
  const Status renamed = tree_->rename(from, to, params.value("parents", false));
  // On failure the old names are mounted again, so that a refused rename changes nothing.
  for (const std::string& name : was_mounted)
    (void)mounts_->mount(renamed ? to + name.substr(from.size()) : name);
  TRY(renamed);
  return Json::object();
}

Result<Json> PoolService::dataset_set(const Json& params) {
  const std::string name = params.value("name", "");
  const std::vector<PropertySetting> settings = settings_from_json(params.value("properties", Json::array()));
  bool moves = false;
  for (const PropertySetting& setting : settings)
    moves |= setting.name == "mountpoint" || setting.name == "canmount";
  TRY(tree_->set(name, settings));
  if (moves && !params.value("unmounted", false)) {
    TRY(mounts_->unmount_tree(name, false));
    for (const DatasetInfo& info : TRY(tree_->list(name, UINT32_MAX, false)))
      (void)mounts_->mount_if_wanted(info.name);
  }
  return Json::object();
}

Result<Json> PoolService::dataset_inherit(const Json& params) {
  const std::string property = params.value("property", "");
  const bool received = params.value("received", false);
  const std::string name = params.value("name", "");
  for (const DatasetInfo& info :
       TRY(tree_->list(name, params.value("recursive", false) ? UINT32_MAX : 0, false)))
    TRY(tree_->inherit(info.name, property, received));
  if (property == "mountpoint") {
    TRY(mounts_->unmount_tree(name, false));
    for (const DatasetInfo& info : TRY(tree_->list(name, UINT32_MAX, false)))
      (void)mounts_->mount_if_wanted(info.name);
  }
  return Json::object();
}

// {"names": ["fs@snap"...], "recursive": bool, "properties": [[name, value]...]}: all or none.
Result<Json> PoolService::dataset_snapshot(const Json& params) {
  std::vector<std::string> names;
  for (const std::string& name : params.value("names", std::vector<std::string>{})) {
    const std::size_t at = name.find('@');
    if (!params.value("recursive", false) || at == std::string::npos) {
      names.push_back(name);
      continue;
    }
    for (const DatasetInfo& info : TRY(tree_->list(name.substr(0, at), UINT32_MAX, false)))
      names.push_back(info.name + name.substr(at));
  }
  TRY(tree_->snapshot(names, settings_from_json(params.value("properties", Json::array()))));
  return Json::object();
}

Result<Json> PoolService::dataset_mount(const Json& params) {
  if (params.value("all", false)) return Json{{"problems", mounts_->mount_all()}};
  TRY(mounts_->mount(params.value("name", ""), params.value("where", "")));
  return Json::object();
}

Result<Json> PoolService::dataset_unmount(const Json& params) {
  const std::string name = params.value("name", "");
  if (params.value("tree", false)) {
    TRY(mounts_->unmount_tree(name, params.value("force", false)));
  } else {
    TRY(mounts_->unmount(name, params.value("force", false)));
  }
  return Json::object();
}

Result<Json> PoolService::mount_list(const Json&) { return Json{{"mounts", mounts_->all()}}; }

}  // namespace tarn
