#include "cmd/fs/dataset_json.h"

#include <algorithm>
#include <cctype>

namespace tarn {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson shown(const std::string& human, const std::string& raw, bool integers, bool parsable) {
  if (integers && !raw.empty() && raw.find_first_not_of("0123456789") == std::string::npos)
    return std::strtoull(raw.c_str(), nullptr, 10);
  return integers || parsable ? raw : human;
}

OrderedJson source_json(const DatasetValue& value) {
  std::string type = value.source == "-" ? "NONE" : value.source;
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return {{"type", type}, {"data", value.source == "inherited" ? value.from : "-"}};
}

}  // namespace

OrderedJson datasets_json(const char* command, const std::vector<DatasetRow>& rows,
                          const std::vector<std::string>& properties, bool integers, bool parsable) {
  OrderedJson datasets = OrderedJson::object();
  for (const DatasetRow& row : rows) {
    std::string type = row.type;
    std::transform(type.begin(), type.end(), type.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const std::string createtxg = std::to_string(row.createtxg);
    OrderedJson out{{"name", row.name},
                    {"type", type},
                    {"pool", pool_of(row.name)},
                    {"createtxg", shown(createtxg, createtxg, integers, parsable)}};
    if (const std::size_t at = row.name.find('@'); at != std::string::npos) {
      out["dataset"] = row.name.substr(0, at);
      out["snapshot_name"] = row.name.substr(at + 1);
    }
    OrderedJson values = OrderedJson::object();
    for (const DatasetValue& value : row.values) {
      if (value.property == "name") continue;
      if (!properties.empty() &&
          std::find(properties.begin(), properties.end(), value.property) == properties.end())
        continue;
      values[value.property] = {{"value", shown(value.value, value.raw, integers, parsable)},
                                {"source", source_json(value)}};
    }
    out["properties"] = std::move(values);
    datasets[row.name] = std::move(out);
  }
  return {{"output_version", {{"command", command}, {"vers_major", 0}, {"vers_minor", 1}}},
          {"datasets", std::move(datasets)}};
}

}  // namespace tarn
