// pool get: properties of pools, as a table or JSON.
#include <fmt/format.h>

#include <algorithm>

#include "cmd/common/command.h"
#include "cmd/common/table.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/property_values.h"

namespace tarn {
namespace {

int misuse_with_properties(const std::string& problem) {
  misuse(pool_command("get"), problem);
  fmt::print(stderr, "{}", pool_property_help());
  return kExitUsage;
}

struct Field {
  const char* name;
  const char* heading;
};
constexpr Field kFields[] = {
    {"name", "NAME"}, {"property", "PROPERTY"}, {"value", "VALUE"}, {"source", "SOURCE"}};

}  // namespace

int pool_get(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "jHpo:", {"json", "json-int", "json-pool-key-guid"});
  if (!args) return misuse_with_properties(args.error().text());
  const bool json = args->has("j") || args->has("json");
  for (const char* option : {"json-int", "json-pool-key-guid"})
    if (args->has(option) && !json)
      return misuse_with_properties(fmt::format("'--{}' only works with '-j' option", option));
  if (args->operands().empty()) return misuse_with_properties("missing property argument");

  std::vector<Field> fields(std::begin(kFields), std::end(kFields));
  if (const auto wanted = args->value("o"); wanted && *wanted != "all") {
    fields.clear();
    for (const std::string& word : split(*wanted, ',')) {
      const auto* found = std::find_if(std::begin(kFields), std::end(kFields),
                                       [&](const Field& f) { return word == f.name; });
      if (word == "all") {
        fields.assign(std::begin(kFields), std::end(kFields));
      } else if (found == std::end(kFields)) {
        return misuse_with_properties(fmt::format("invalid column name '{}'", word));
      } else {
        fields.push_back(*found);
      }
    }
  }
  std::vector<std::string> properties;
  const std::string& list = args->operands()[0];
  if (list == "all") {
    properties = all_pool_property_names();
  } else {
    for (const std::string& word : split(list, ',')) {
      const auto name = canonical_pool_property(word);
      if (!name) return misuse_with_properties(fmt::format("bad property list: invalid property '{}'", word));
      properties.push_back(*name);
    }
  }

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  std::vector<std::string> names(args->operands().begin() + 1, args->operands().end());
  if (names.empty()) names = live_pools(*client);
  std::sort(names.begin(), names.end());
  const JsonStyle style{.integers = args->has("json-int"),
                        .key_guid = args->has("json-pool-key-guid"),
                        .parsable = args->has("p")};
  std::vector<Column> columns;
  for (const Field& field : fields) columns.push_back({field.heading});
  Table table(columns);
  OrderedJson pools = OrderedJson::object();
  for (const std::string& name : names) {
    const Result<PoolHandle> pool = client->connect(name);
    if (!pool)
      return fail(fmt::format(
          "Cannot get properties of {}: {}", name,
          pool.error().code() == Errc::not_found ? "no such pool available." : pool.error().text()));
    std::vector<std::string> wanted = properties;
    if (list == "all") wanted.push_back("user:");  // poold appends those the pool has
    const Result<std::vector<PoolValue>> values = fetch_pool_values(*pool, wanted);
    if (!values) return fail(fmt::format("Cannot get properties of {}: {}", name, values.error().text()));
    if (json) {
      const Result<Json> status = pool->call("pool.status");
      if (!status) return fail(status.error().text());
      pools[style.key_guid ? std::to_string(status->value("guid", std::uint64_t{0})) : name] =
          pool_json_head(*status, style);
      OrderedJson shown = OrderedJson::object();
      for (const PoolValue& value : *values) shown[value.name] = pool_value_json(value, style);
      pools[style.key_guid ? std::to_string(status->value("guid", std::uint64_t{0})) : name]["properties"] =
          std::move(shown);
      continue;
    }
    for (const PoolValue& value : *values) {
      std::vector<std::string> row;
      for (const Field& field : fields) {
        const std::string_view which = field.name;
        row.push_back(which == "name"       ? name
                      : which == "property" ? value.name
                      : which == "value"    ? print_pool_value(value, args->has("p"))
                                            : value.source);
      }
      table.add(std::move(row));
    }
  }
  if (json) {
    fmt::print("{}\n", OrderedJson{{"output_version", json_version("zpool get")}, {"pools", pools}}.dump());
  } else if (!table.empty()) {
    fmt::print("{}", table.render(args->has("H")));
  }
  return kExitOk;
}

}  // namespace tarn
