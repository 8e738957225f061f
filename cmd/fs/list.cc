// fs list: datasets with the properties asked for, as a table or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cmd/common/command.h"
#include "cmd/common/table.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/dataset_json.h"
#include "cmd/fs/datasets.h"
#include "libdataset/property/property.h"

namespace tarn {
namespace {

struct SortKey {
  std::string property;
  bool descending = false;
};

std::optional<std::string> canonical(const std::string& word) {
  if (const PropertyInfo* info = find_property(word)) return info->name;
  if (is_user_property(word) || word.starts_with("written@") || word.starts_with("written#") ||
      word.find("used@") != std::string::npos || word.find("quota@") != std::string::npos)
    return word;
  return std::nullopt;
}

// Numbers compare as numbers, "-" before everything; ties by name.
int compare(const DatasetRow& a, const DatasetRow& b, const std::string& property) {
  if (property == "name") return a.name.compare(b.name);
  const DatasetValue* x = a.find(property);
  const DatasetValue* y = b.find(property);
  const std::string left = x ? x->raw : "-", right = y ? y->raw : "-";
  const bool numeric = !left.empty() && !right.empty() &&
                       left.find_first_not_of("0123456789.") == std::string::npos &&
                       right.find_first_not_of("0123456789.") == std::string::npos;
  if (numeric) {
    const double p = std::strtod(left.c_str(), nullptr), q = std::strtod(right.c_str(), nullptr);
    return p < q ? -1 : p > q;
  }
  if ((left == "-") != (right == "-")) return left == "-" ? -1 : 1;
  return left.compare(right);
}

Column column_for(const std::string& property) {
  const PropertyInfo* info = find_property(property);
  if (!info) {
    std::string heading = property;
    std::transform(heading.begin(), heading.end(), heading.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return {heading, false, 0};
  }
  Column column{info->column, info->right_aligned, 0};
  if (info->type == PropertyType::number && info->right_aligned) column.min_width = 5;
  if (info->type == PropertyType::index)
    for (const IndexValue& value : info->index)
      column.min_width = std::max(column.min_width, std::string_view(value.text).size());
  if (property == "creation") column.min_width = 20;
  return column;
}

}  // namespace

int fs_list(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "jHS:d:o:prs:t:", {"json", "json-int"});
  if (!args) return fs_misuse("list", args.error().text(), true);
  const bool json = args->has("j") || args->has("json");
  if (args->has("json-int") && !json)
    return fs_misuse("list", "'--json-int' only works with '-j' option", true);
  std::vector<std::string> columns{"name", "used", "available", "referenced", "mountpoint"};
  if (const auto list = args->value("o")) {
    columns.clear();
    for (const std::string& word : split(*list, ',')) {
      if (word == "space") {
        columns.insert(columns.end(), {"name", "available", "used", "usedbysnapshots", "usedbydataset",
                                       "usedbyrefreservation", "usedbychildren"});
        continue;
      }
      const auto name = canonical(word);
      if (!name)
        return fs_misuse("list", fmt::format("bad property list: invalid property '{}'", word), true);
      columns.push_back(*name);
    }
  }
  std::vector<SortKey> keys;
  for (const Args::Option& option : args->options()) {
    if (option.name != "s" && option.name != "S") continue;
    const auto name = canonical(option.value);
    if (!name) return fs_misuse("list", fmt::format("invalid property '{}'", option.value), true);
    keys.push_back({*name, option.name == "S"});
  }
  std::set<std::string> types{"filesystem", "volume"};
  if (const auto list = args->value("t")) {
    Result<std::set<std::string>> parsed = parse_types(*list);
    if (!parsed) return fs_misuse("list", parsed.error().text(), true);
    types = *std::move(parsed);
  }
  DatasetQuery query{.operands = args->operands()};
  // Without operands everything is listed; with them only they themselves, unless -r or -d say more.
  query.depth = query.operands.empty() || args->has("r") ? UINT32_MAX : 0;
  if (const auto depth = args->value("d")) {
    if (depth->empty() || depth->find_first_not_of("0123456789") != std::string::npos)
      return fs_misuse("list", fmt::format("{} is not an integer", *depth), true);
    query.depth = static_cast<unsigned>(std::strtoul(depth->c_str(), nullptr, 10));
  }
  query.snapshots = types.contains("snapshot");
  for (const std::string& operand : query.operands)
    if (operand.find('@') != std::string::npos && !args->has("t")) types.insert("snapshot");
  // `-t snapshot DS` lists DS's own snapshots.
  if (args->has("t") && types.contains("snapshot") && !types.contains("filesystem") && query.depth == 0)
    query.depth = 1;
  query.properties = columns;
  for (const SortKey& key : keys)
    if (std::find(columns.begin(), columns.end(), key.property) == columns.end())
      query.properties.push_back(key.property);

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  unsigned failures = 0;
  std::vector<DatasetRow> rows = query_datasets(*client, query, failures);
  std::erase_if(rows, [&](const DatasetRow& row) { return !types.contains(row.type); });
  std::set<std::string> seen;
  std::erase_if(rows, [&](const DatasetRow& row) { return !seen.insert(row.name).second; });
  if (!keys.empty()) {
    std::stable_sort(rows.begin(), rows.end(), [&](const DatasetRow& a, const DatasetRow& b) {
      for (const SortKey& key : keys)
        if (const int order = compare(a, b, key.property); order != 0)
          return key.descending ? order > 0 : order < 0;
      return false;
    });
  }
  const int exit_code = failures ? kExitFailed : kExitOk;
  if (json) {
    fmt::print("{}\n",
               datasets_json("zfs list", rows, columns, args->has("json-int"), args->has("p")).dump());
    return exit_code;
  }
  if (rows.empty()) {
    if (!failures && !args->has("H")) fmt::print(stderr, "no datasets available\n");
    return exit_code;
  }
  std::vector<Column> headings;
  for (const std::string& column : columns) headings.push_back(column_for(column));
  Table table(headings);
  for (const DatasetRow& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const DatasetValue* value = row.find(column);
      cells.push_back(!value ? "-" : args->has("p") ? value->raw : value->value);
    }
    table.add(std::move(cells));
  }
  fmt::print("{}", table.render(args->has("H")));
  return exit_code;
}

}  // namespace tarn
