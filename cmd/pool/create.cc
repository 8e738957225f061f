// pool create: check the layout and the devices, then start the pool's process, which makes the pool.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/layout_print.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/pool_options.h"
#include "cmd/pool/vdev_spec.h"

namespace tarn {
namespace {

// Refusals of the layout, in OpenZFS's words.
int refuse(const LayoutProblem& problem, bool force) {
  fmt::print(stderr, "invalid vdev specification\n{}\n",
             force || !problem.force_helps ? "the following errors must be manually repaired:"
                                           : "use '-f' to override the following errors:");
  for (const std::string& line : problem.lines) fmt::print(stderr, "{}\n", line);
  return kExitFailed;
}

// A folder with something in it would be hidden by the mount.
std::optional<std::string> mountpoint_problem(const std::string& folder) {
  std::error_code failure;
  if (std::filesystem::exists(folder, failure) && !std::filesystem::is_empty(folder, failure))
    return fmt::format(
        "mountpoint '{}' exists and is not empty\nuse '-m' option to provide a different default", folder);
  return std::nullopt;
}

}  // namespace

int pool_create(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("create");
  Result<Args> args = parse_args(arguments, "fndR:m:o:O:t:");
  if (!args) return misuse(self, args.error().text());
  if (args->operands().empty()) return misuse(self, "missing pool name argument");
  const std::string name = args->operands()[0];
  const std::vector<std::string> words(args->operands().begin() + 1, args->operands().end());
  const bool force = args->has("f");

  Result<PoolOptions> options = collect_pool_options(*args, name);
  if (!options)
    return options.error().code() == Errc::usage
               ? (fmt::print(stderr, "{}\n", options.error().text()), kExitUsage)
               : fail(options.error().text());
  if (words.empty()) return misuse(self, "missing vdev specification");
  if (args->has("t")) return fail("cannot create '" + name + "': temporary names (-t) are not supported");

  if (const std::optional<std::string> problem = pool_name_problem(name, true))
    return fail(fmt::format("cannot create '{}': {}\n{}", name, *problem,
                            problem->find("'/'") != std::string::npos ? "use 'zfs create' to create a dataset"
                                                                      : "pool name may have been omitted"));
  Result<LayoutSpec> layout = parse_layout(words);
  if (!layout) return fail(layout.error().text());
  const bool has_normal = std::any_of(layout->tops.begin(), layout->tops.end(),
                                      [](const VdevSpec& top) { return top.vdev_class.empty(); });
  if (!has_normal) return refuse({{"at least one general top-level vdev must be specified"}, true}, false);
  const LayoutProblem problem = check_devices(*layout, force);
  if (!problem.lines.empty()) return refuse(problem, force);
  if (!force)
    if (const std::optional<std::string> mismatch = check_replication(*layout, Json::array()))
      return refuse({{*mismatch}, true}, false);

  if (args->has("n")) {
    fmt::print("would create '{}' with the following layout:\n\n{}", name,
               print_layout(name, *layout, Json::array()));
    return kExitOk;
  }

  // An ordinary user's pools are mounted below a folder of his own.
  std::string altroot = options->altroot;
  if (altroot.empty() && geteuid() != 0)
    if (const char* home = std::getenv("HOME"); home && *home) altroot = std::string(home) + "/tarn";
  std::string mountpoint = "/" + name;
  for (const auto& [property, value] : options->root_properties)
    if (property == "mountpoint") mountpoint = value;
  if (mountpoint.starts_with("/"))
    if (const std::optional<std::string> text = mountpoint_problem(altroot + mountpoint)) return fail(*text);

  Result<Client> client = Client::open();
  if (!client) return fail(fmt::format("cannot create '{}': {}", name, client.error().text()));
  if (client->connect(name)) return fail(fmt::format("cannot create '{}': pool already exists", name));
  Json startup{{"action", "create"},
               {"name", name},
               {"tree", layout->tree_json()},
               {"spares", LayoutSpec::list_json(layout->spares)},
               {"caches", LayoutSpec::list_json(layout->caches)},
               {"ashift", options->ashift},
               {"version", options->version},
               {"features", options->features},
               {"default_features", !args->has("d")},
               {"properties", options->properties},
               {"root_properties", options->root_properties},
               {"altroot", altroot},
               {"search", search_folders(*layout)},
               {"mount", true},
               {"command", command_line()}};
  Result<Json> started = client->start(name, startup);
  if (!started) return fail(fmt::format("cannot create '{}': {}", name, started.error().text()));
  int exit_code = kExitOk;
  for (const Json& text : started->value("problems", Json::array())) {
    fmt::print(stderr, "{}\n", text.get<std::string>());
    exit_code = kExitFailed;
  }
  return exit_code;
}

}  // namespace tarn
