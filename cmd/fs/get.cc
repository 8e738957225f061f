// fs get: properties with their sources.
#include <fmt/format.h>

#include <algorithm>

#include "cmd/common/command.h"
#include "cmd/common/table.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/dataset_json.h"
#include "cmd/fs/datasets.h"
#include "libdataset/property/property.h"

namespace tarn {
namespace {

constexpr const char* kFieldNames[] = {"name", "property", "value", "received", "source"};
constexpr const char* kSources[] = {"local", "default", "inherited", "received", "temporary", "none"};

std::string heading(const std::string& field) {
  std::string out = field;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

}  // namespace

int fs_get(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "d:jo:s:jrt:Hp", {"json", "json-int"});
  if (!args) return fs_misuse("get", args.error().text(), true);
  const bool json = args->has("j") || args->has("json");
  if (args->has("json-int") && !json)
    return fs_misuse("get", "'--json-int' only works with '-j' option", true);
  if (args->operands().empty()) return fs_misuse("get", "missing property argument", true);

  std::vector<std::string> fields{"name", "property", "value", "source"};
  if (const auto list = args->value("o")) {
    fields.clear();
    for (const std::string& word : split(*list, ',')) {
      if (word == "all") {
        fields.assign(std::begin(kFieldNames), std::end(kFieldNames));
      } else if (std::find(std::begin(kFieldNames), std::end(kFieldNames), word) == std::end(kFieldNames)) {
        return fs_misuse("get", fmt::format("invalid column name '{}'", word), true);
      } else {
        fields.push_back(word);
      }
    }
  }
  std::set<std::string> sources;
  if (const auto list = args->value("s")) {
    for (const std::string& word : split(*list, ',')) {
      if (std::find(std::begin(kSources), std::end(kSources), word) == std::end(kSources))
        return fs_misuse("get", fmt::format("invalid source '{}'", word), true);
      sources.insert(word == "none" ? "-" : word);
    }
  }
  std::set<std::string> types{"filesystem", "volume", "snapshot", "bookmark"};
  if (const auto list = args->value("t")) {
    Result<std::set<std::string>> parsed = parse_types(*list);
    if (!parsed) return fs_misuse("get", parsed.error().text(), true);
    types = *std::move(parsed);
  }
  DatasetQuery query{.operands = {args->operands().begin() + 1, args->operands().end()}};
  query.all_properties = args->operands()[0] == "all";
  if (!query.all_properties) {
    for (const std::string& word : split(args->operands()[0], ',')) {
      const PropertyInfo* info = find_property(word);
      if (!info && !is_user_property(word) && !word.starts_with("written@") && !word.starts_with("written#"))
        return fs_misuse("get", fmt::format("bad property list: invalid property '{}'", word), true);
      query.properties.push_back(info ? info->name : word);
    }
  }
  // Without operands all datasets, with them only they themselves unless -r or -d say more.
  query.depth = query.operands.empty() || args->has("r") ? UINT32_MAX : 0;
  if (const auto depth = args->value("d")) {
    if (depth->empty() || depth->find_first_not_of("0123456789") != std::string::npos)
      return fs_misuse("get", fmt::format("{} is not an integer", *depth), true);
    query.depth = static_cast<unsigned>(std::strtoul(depth->c_str(), nullptr, 10));
  }
  query.snapshots = query.depth > 0 && types.contains("snapshot");

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  unsigned failures = 0;
  std::vector<DatasetRow> rows = query_datasets(*client, query, failures);
  std::erase_if(rows, [&](const DatasetRow& row) { return !types.contains(row.type); });
  if (!sources.empty())
    for (DatasetRow& row : rows)
      std::erase_if(row.values, [&](const DatasetValue& value) { return !sources.contains(value.source); });
  const int exit_code = failures ? kExitFailed : kExitOk;
  if (json) {
    fmt::print("{}\n", datasets_json("zfs get", rows, {}, args->has("json-int"), args->has("p")).dump());
    return exit_code;
  }
  std::vector<Column> columns;
  for (const std::string& field : fields) columns.push_back({heading(field)});
  Table table(columns);
  for (const DatasetRow& row : rows) {
    for (const DatasetValue& value : row.values) {
      std::vector<std::string> cells;
      for (const std::string& field : fields) {
        if (field == "name")
          cells.push_back(row.name);
        else if (field == "property")
          cells.push_back(value.property);
        else if (field == "value")
          cells.push_back(args->has("p") ? value.raw : value.value);
        else if (field == "received")
          cells.push_back(value.received.empty() ? "-" : value.received);
        else
          cells.push_back(value.source_text());
      }
      table.add(std::move(cells));
    }
  }
  if (!table.empty()) fmt::print("{}", table.render(args->has("H")));
  return exit_code;
}

}  // namespace tarn
