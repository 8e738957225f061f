// pool list: pools with their sizes and health, with -v their vdevs.
#include <fmt/format.h>

#include <algorithm>

#include "cmd/common/command.h"
#include "cmd/common/table.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/interval.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/property_values.h"
#include "libdataset/property/property.h"

namespace tarn {
namespace {

constexpr const char* kDefaultColumns =
    "name,size,allocated,free,checkpoint,expandsize,fragmentation,capacity,dedupratio,health,altroot";

int misuse_with_properties(const std::string& problem) {
  misuse(pool_command("list"), problem);
  fmt::print(stderr, "{}", pool_property_help());
  return kExitUsage;
}

struct ListStyle {
  bool scripted = false, parsable = false, verbose = false;
  NameStyle names;
};

// Column widths as the original has them: fixed by kind, except for the name.
std::size_t column_width(const std::string& property) {
  const std::string heading = pool_property_heading(property);
  if (property == "checkpoint" || property == "expandsize" || property == "health") return 8;
  return std::max<std::size_t>(heading.size(), 5);
}

// The rows below a pool with -v; columns are always the default ones.
class VdevRows {
 public:
  VdevRows(const ListStyle& style, std::size_t name_width) : style_(style), name_width_(name_width) {}

  static void widen(const Json& vdev, unsigned depth, const NameStyle& names, std::size_t& width) {
    width = std::max(width, depth * 2 + display_width(vdev_display_name(vdev, names)));
    for (const Json& child : vdev.value("children", Json::array())) widen(child, depth + 1, names, width);
  }

  void add_pool(const Json& pool) {
    for (const char* group : {"normal", "dedup", "special", "logs"}) {
      bool first = std::string_view(group) != "normal";
      for (const Json& top : pool.value("vdevs", Json::array())) {
        if (top.value("class", "normal") != group) continue;
        if (first) heading(group);
        first = false;
        add_vdev(top, 1, true);
      }
    }
    add_devices(pool.value("caches", Json::array()), "cache");
    add_devices(pool.value("spares", Json::array()), "spare");
  }

  std::string text;

 private:
  std::string size(std::uint64_t value) const {
    return style_.parsable ? std::to_string(value) : nice_number(value);
  }

  void line(const std::string& name, unsigned depth, const std::vector<std::string>& cells) {
    if (style_.scripted) {
      text += "\t" + name;
      for (const std::string& cell : cells) text += "\t" + cell;
    } else {
      text += pad_right(std::string(depth * 2, ' ') + name, name_width_);
      const std::size_t widths[] = {5, 5, 5, 8, 8, 5, 5, 5, 8};
      for (std::size_t i = 0; i < cells.size(); ++i)
        text += "  " + pad_left(cells[i], std::max(widths[i], size_widths_[i]));
    }
    text += '\n';
  }

  void heading(const char* group) {
    // Group rows stay padded text, also with -H.
    text += pad_right(group, name_width_);
    for (const std::size_t width : {5, 5, 5, 8, 8, 5, 5, 5, 8}) text += "  " + pad_left("-", width);
    text += '\n';
  }

  void add_vdev(const Json& vdev, unsigned depth, bool top) {
    std::vector<std::string> cells(9, "-");
    const auto total = vdev.value("size", std::uint64_t{0}), alloc = vdev.value("alloc", std::uint64_t{0});
    const auto device = vdev.value("device_bytes", std::uint64_t{0});
    if (device) cells[0] = size(device);
    if (top) {
      if (!device) cells[0] = size(total);
      cells[1] = size(alloc);
      cells[2] = size(total > alloc ? total - alloc : 0);
      const auto frag = vdev.value("frag", std::uint64_t{0});
      cells[5] = style_.parsable ? std::to_string(frag) : fmt::format("{}%", frag);
      const std::uint64_t hundredths =
          total
              ? static_cast<std::uint64_t>(static_cast<double>(alloc) * 10000.0 / static_cast<double>(total))
              : 0;
      cells[6] = style_.parsable ? std::to_string(hundredths / 100)
                                 : fmt::format("{}.{:02}%", hundredths / 100, hundredths % 100);
    }
    cells[8] = vdev.value("state", "ONLINE");
    line(vdev_display_name(vdev, style_.names), depth, cells);
    for (const Json& child : vdev.value("children", Json::array())) add_vdev(child, depth + 1, false);
  }

  void add_devices(const Json& devices, const char* group) {
    if (devices.empty()) return;
    heading(group);
    for (const Json& device : devices) {
      std::vector<std::string> cells(9, "-");
      cells[0] = size(device.value("device_bytes", std::uint64_t{0}));
      cells[8] = device.value("state", "AVAIL");
      line(vdev_display_name(device, style_.names), 1, cells);
    }
  }

  const ListStyle& style_;
  const std::size_t name_width_;
  std::vector<std::size_t> size_widths_ = std::vector<std::size_t>(9, 0);

 public:
  void set_widths(std::vector<std::size_t> widths) { size_widths_ = std::move(widths); }
};

}  // namespace

int pool_list(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "gjHLo:pPT:v", {"json", "json-int", "json-pool-key-guid"});
  if (!args) return misuse_with_properties(args.error().text());
  const bool json = args->has("j") || args->has("json");
  for (const char* option : {"json-int", "json-pool-key-guid"})
    if (args->has(option) && !json)
      return misuse_with_properties(fmt::format("'--{}' only works with '-j' option", option));
  Result<Interval> interval = Interval::take(*args);
  if (!interval) return misuse_with_properties(interval.error().text());
  std::vector<std::string> columns;
  for (const std::string& word : split(args->value("o").value_or(kDefaultColumns), ',')) {
    if (word == "all") {
      columns.push_back("name");
      for (const std::string& name : all_pool_property_names()) columns.push_back(name);
      continue;
    }
    const auto name = canonical_pool_property(word);
    if (!name) return misuse_with_properties(fmt::format("bad property list: invalid property '{}'", word));
    columns.push_back(*name);
  }
  const ListStyle style{.scripted = args->has("H"),
                        .parsable = args->has("p"),
                        .verbose = args->has("v"),
                        .names = NameStyle::from(*args)};
  const JsonStyle json_style{.integers = args->has("json-int"),
                             .key_guid = args->has("json-pool-key-guid"),
                             .parsable = args->has("p"),
                             .names = style.names};
  if (json && style.verbose)
    return fail("option 'v' of list is not supported together with '-j'; use 'status -j'");

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  do {
    interval->print_time();
    std::vector<std::string> names = interval->operands.empty() ? live_pools(*client) : interval->operands;
    std::sort(names.begin(), names.end());
    struct Found {
      std::string name;
      std::vector<PoolValue> values;
      Json status;
    };
    std::vector<Found> found;
    std::size_t failures = 0;
    for (const std::string& name : names) {
      if (const auto problem = pool_name_problem(name, false)) {
        fail(fmt::format("cannot open '{}': {}", name, *problem));
        ++failures;
        continue;
      }
      const Result<PoolHandle> pool = client->connect(name);
      Result<std::vector<PoolValue>> values =
          pool ? fetch_pool_values(*pool, columns) : Result<std::vector<PoolValue>>(pool.error());
      Result<Json> status =
          pool && (json || style.verbose) ? pool->call("pool.status") : Result<Json>(Json::object());
      if (!values || !status) {
        fail_to_open(name, values ? status.error() : values.error());
        ++failures;
        continue;
      }
      found.push_back({name, *std::move(values), *std::move(status)});
    }
    if (found.empty()) {
      if (failures) return kExitFailed;
      if (!style.scripted && !json) fmt::print("no pools available\n");
      return kExitOk;
    }
    if (json) {
      OrderedJson pools = OrderedJson::object();
      for (const Found& pool : found) {
        OrderedJson head = pool_json_head(pool.status, json_style);
        OrderedJson shown = OrderedJson::object();
        for (const PoolValue& value : pool.values)
          if (value.name != "name") shown[value.name] = pool_value_json(value, json_style);
        head["properties"] = std::move(shown);
        pools[json_style.key_guid ? std::to_string(pool.status.value("guid", std::uint64_t{0})) : pool.name] =
            std::move(head);
      }
      fmt::print("{}\n",
                 OrderedJson{{"output_version", json_version("zpool list")}, {"pools", pools}}.dump());
      continue;
    }
    // Names share one width over all pools and their vdevs; sizes are at least five wide.
    std::size_t name_width = 4;
    for (const Found& pool : found) {
      name_width = std::max(name_width, display_width(pool.name));
      if (!style.verbose) continue;
      for (const Json& top : pool.status.value("vdevs", Json::array()))
        VdevRows::widen(top, 1, style.names, name_width);
      for (const char* list : {"caches", "spares"})
        for (const Json& device : pool.status.value(list, Json::array()))
          VdevRows::widen(device, 1, style.names, name_width);
    }
    std::vector<Column> table_columns;
    for (const std::string& column : columns)
      table_columns.push_back({pool_property_heading(column), pool_property_right_aligned(column),
                               column == "name" ? name_width : column_width(column)});
    Table heading(table_columns);
    std::vector<std::vector<std::string>> rows;
    for (const Found& pool : found) {
      std::vector<std::string> row;
      for (const PoolValue& value : pool.values)
        row.push_back(value.name == "name" ? pool.name : print_pool_value(value, style.parsable));
      rows.push_back(std::move(row));
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (const auto& row : rows)
        table_columns[i].min_width = std::max(table_columns[i].min_width, display_width(row[i]));
    if (!style.scripted) fmt::print("{}", Table(table_columns).render(false));
    for (std::size_t i = 0; i < found.size(); ++i) {
      Table one(table_columns);
      one.add(rows[i]);
      std::string text = one.render(style.scripted);
      if (!style.scripted) text.erase(0, text.find('\n') + 1);
      fmt::print("{}", text);
      if (!style.verbose) continue;
      VdevRows below(style, name_width);
      below.add_pool(found[i].status);
      fmt::print("{}", below.text);
    }
  } while (interval->wait());
  return kExitOk;
}

}  // namespace tarn
