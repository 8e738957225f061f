// Compares the datasets of an open pool with what OpenZFS showed of it (a fixture's manifest: expect.zfs_list
// and expect.properties).
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "libdataset/tree/dataset_tree.h"

namespace tarn::support {

inline std::string source_text(const PropertyValue& value) {
  switch (value.source) {
    case Source::none:
      return "-";
    case Source::defaulted:
      return "default";
    case Source::local:
      return "local";
    case Source::inherited:
      return "inherited from " + value.source_dataset;
    case Source::received:
      return "received";
    case Source::temporary:
      return "temporary";
  }
  return "?";
}

inline std::vector<std::string> split(const std::string& line, char at) {
  std::vector<std::string> parts;
  std::stringstream in(line);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// What depends on the size of the meta object set, which grew a little between the making of the images and
// the moment of the listing: the root's sums, and what is available.
inline bool depends_on_pool(const std::string& name, const std::string& property) {
  if (property == "available") return true;
  if (name.find_first_of("/@#") != std::string::npos) return false;
  return property == "used" || property == "usedbychildren" || property == "logicalused" ||
         property == "compressratio";
}

// One line per difference; empty when all is equal. `exact` = false passes over depends_on_pool().
inline std::vector<std::string> dataset_differences(DatasetTree& tree, const nlohmann::json& expect,
                                                    bool exact = false) {
  std::vector<std::string> differences;
  const auto differ = [&](const std::string& name, const std::string& what, const std::string& expected,
                          const std::string& found) {
    if (!exact && depends_on_pool(name, what)) return;
    differences.push_back(fmt::format("{}: {}: expected '{}', found '{}'", name, what, expected, found));
  };
  const auto print = [&](const std::string& name, const std::string& property) {
    auto value = tree.get(name, property);
    return value ? print_value(*value, true) : "error: " + value.error().text();
  };

  // name used available referenced mountpoint guid createtxg
  std::vector<std::string> expected_names, found_names;
  constexpr const char* kColumns[] = {"name",       "used", "available", "referenced",
                                      "mountpoint", "guid", "createtxg"};
  for (const std::string& line : split(expect.at("zfs_list").get<std::string>(), '\n')) {
    const std::vector<std::string> fields = split(line, '\t');
    expected_names.push_back(fields[0]);
    for (std::size_t i = 1; i < std::min(fields.size(), std::size(kColumns)); ++i) {
      const std::string found = print(fields[0], kColumns[i]);
      if (found != fields[i]) differ(fields[0], kColumns[i], fields[i], found);
    }
  }
  auto listed = tree.list("", UINT32_MAX, true);
  if (!listed) return {"list: " + listed.error().text()};
  for (const DatasetInfo& info : *listed) found_names.push_back(info.name);
  if (expected_names != found_names)
    differ("list", "names", fmt::format("{}", fmt::join(expected_names, " ")),
           fmt::format("{}", fmt::join(found_names, " ")));

  for (const auto& [name, properties] : expect.at("properties").items()) {
    std::map<std::string, PropertyValue> found;
    auto values = tree.get_all(name);
    if (!values) {
      differences.push_back(fmt::format("{}: {}", name, values.error().text()));
      continue;
    }
    for (PropertyValue& value : *values) found[value.name] = value;
    for (const auto& [property, expected] : properties.items()) {
      if (property == "mounted") continue;  // of the machine that made the fixture
      if (!found.contains(property)) {
        differ(name, property, expected[0], "(absent)");
        continue;
      }
      const PropertyValue& value = found[property];
      if (print_value(value, true) != expected[0])
        differ(name, property, expected[0], print_value(value, true));
      if (source_text(value) != expected[1])
        differ(name, property + " source", expected[1], source_text(value));
    }
    for (const auto& [property, value] : found)
      if (!properties.contains(property)) differ(name, property, "(absent)", print_value(value, true));
  }
  return differences;
}

}  // namespace tarn::support
