// pool import: list the pools found on devices, or start the process that takes one over.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/import_listing.h"
#include "cmd/pool/pool_name.h"
#include "libpool/label/label.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

struct ImportOptions {
  std::vector<std::string> folders;
  std::map<std::string, std::string> properties;
  std::string altroot;
  bool read_only = false, force = false, no_mount = false, rewind = false, missing_log = false,
       destroyed = false;
};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// -o: pool properties; what is no pool property is refused (mount options are not taken here).
Result<ImportOptions> collect(const Args& args) {
  ImportOptions out;
  for (const std::string& folder : args.values("d")) out.folders.push_back(folder);
  if (out.folders.empty())
    for (const char* variable : {"POOL_IMPORT_PATH", "ZPOOL_IMPORT_PATH"})
      if (const char* path = std::getenv(variable); path && *path && out.folders.empty())
        out.folders = split(path, ':');
  out.altroot = args.value("R").value_or("");
  out.force = args.has("f");
  out.no_mount = args.has("N");
  out.rewind = args.has("F");
  out.missing_log = args.has("m");
  out.destroyed = args.has("D");
  for (const std::string& option : args.values("o")) {
    const auto assignment = split_assignment(option);
    if (!assignment)
      return Error(Errc::invalid_argument,
                   fmt::format("property '{}' is not a valid pool or vdev property", option));
    const auto& [name, value] = *assignment;
    if (name == "readonly") {
      if (value != "on" && value != "off")
        return Error(Errc::invalid_argument, "'readonly' must be one of 'on | off'");
      out.read_only = value == "on";
    } else if (name == "altroot") {
      out.altroot = value;
    } else if (!find_pool_property(name)) {
      return Error(Errc::invalid_argument,
                   fmt::format("property '{}' is not a valid pool or vdev property", name));
    } else {
      out.properties[name] = value;
    }
  }
  if (!out.altroot.empty() && out.altroot[0] != '/')
    return Error(Errc::invalid_argument,
                 fmt::format("invalid alternate root '{}': must be an absolute path", out.altroot));
  if (out.altroot.empty() && geteuid() != 0)
    if (const char* home = std::getenv("HOME"); home && *home) out.altroot = std::string(home) + "/tarn";
  return out;
}

int import_one(const Client& client, const DiscoveredPool& pool, const std::string& new_name,
               const ImportOptions& options) {
  const std::string name = new_name.empty() ? pool.config.name : new_name;
  if (client.connect(name))
    return fail(
        fmt::format("cannot import '{}': a pool with that name already exists\nuse the form 'zpool import "
                    "<pool | id> <newpool>' to give it a new name",
                    name));
  if (pool.config.state == PoolState::destroyed && !options.force)
    return fail(fmt::format(
        "cannot import '{}': pool was destroyed; use 'zpool import -Df' to import it anyway", name));
  const ImportableState state = judge(pool);
  if (state.state == "UNAVAIL" && !options.missing_log)
    return fail(fmt::format("cannot import '{}': one or more devices is currently unavailable", name));
  Json devices = Json::array();
  for (const DiscoveredDevice& device : pool.devices) devices.push_back(device.path);
  const Json startup{{"action", "import"},
                     {"devices", devices},
                     {"guid", pool.config.pool_guid},
                     {"new_name", new_name},
                     {"read_only", options.read_only},
                     {"force", options.force},
                     {"rewind", options.rewind},
                     {"include_destroyed", options.destroyed},
                     {"altroot", options.altroot},
                     {"mount", !options.no_mount},
                     {"properties", options.properties},
                     {"search", options.folders},
                     {"command", command_line()}};
  const Result<Json> started = client.start(name, startup);
  if (!started) return fail(fmt::format("cannot import '{}': {}", name, started.error().text()));
  for (const Json& problem : started->value("problems", Json::array()))
    fmt::print(stderr, "{}\n", problem.get<std::string>());
  return kExitOk;
}

}  // namespace

int pool_import(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("import");
  const Result<Args> args = parse_args(arguments, "aCc:d:DEfFlmnNo:R:stT:VX", {"rewind-to-checkpoint"});
  if (!args) return misuse(self, args.error().text());
  for (const char* option : {"c", "E", "V", "s", "t", "T", "X", "C", "l", "rewind-to-checkpoint"})
    if (args->has(option)) return fail(fmt::format("option '{}' of import is not supported", option));
  if (args->has("n") && !args->has("F")) return misuse(self, "-n or -X only meaningful with -F");
  const bool all = args->has("a");
  const std::vector<std::string>& operands = args->operands();
  if ((all && !operands.empty()) || operands.size() > 2) return misuse(self, "too many arguments");
  const Result<ImportOptions> options = collect(*args);
  if (!options) return fail(options.error().text());

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  Result<std::vector<DiscoveredPool>> found =
      discover_pools({.folders = options->folders, .include_destroyed = options->destroyed});
  if (!found) return fail(found.error().text());
  // Pools that are imported here are not importable; neither are destroyed ones without -D, nor, with -D,
  // others.
  std::vector<std::uint64_t> imported;
  for (const std::string& name : live_pools(*client))
    if (const Result<PoolHandle> pool = client->connect(name))
      if (const Result<Json> status = pool->call("pool.status"))
        imported.push_back(status->value("guid", std::uint64_t{0}));
  const auto excluded = [&](const DiscoveredPool& pool) {
    const bool here = std::find(imported.begin(), imported.end(), pool.config.pool_guid) != imported.end();
    return (pool.config.state == PoolState::destroyed) != options->destroyed || (here && operands.empty());
  };
  std::erase_if(*found, excluded);
  std::sort(found->begin(), found->end(),
            [](const auto& a, const auto& b) { return a.config.name < b.config.name; });

  if (operands.empty()) {
    if (found->empty()) {
      fmt::print(stderr, "no pools available to import\n");
      return kExitOk;
    }
    if (all) {
      int exit_code = kExitOk;
      for (const DiscoveredPool& pool : *found) exit_code |= import_one(*client, pool, "", *options);
      return exit_code;
    }
    const NameStyle style = NameStyle::from(*args);
    for (std::size_t i = 0; i < found->size(); ++i)
      fmt::print("{}{}", i ? "\n" : "", render_importable((*found)[i], style));
    return kExitOk;
  }

  const std::string& wanted = operands[0];
  const std::string new_name = operands.size() > 1 ? operands[1] : "";
  std::vector<const DiscoveredPool*> matches;
  for (const DiscoveredPool& pool : *found)
    if (is_number(wanted) ? std::to_string(pool.config.pool_guid) == wanted : pool.config.name == wanted)
      matches.push_back(&pool);
  if (matches.empty()) return fail(fmt::format("cannot import '{}': no such pool available", wanted));
  if (matches.size() > 1) {
    fmt::print(stderr, "cannot import '{}': more than one matching pool\nimport by numeric ID instead\n",
               wanted);
    return kExitFailed;
  }
  if (!new_name.empty())
    if (const auto problem = pool_name_problem(new_name, true))
      return fail(fmt::format("cannot import '{}': {}", new_name, *problem));
  if (args->has("n")) return kExitOk;  // -Fn: it could be imported
  return import_one(*client, *matches[0], new_name, *options);
}

}  // namespace tarn
