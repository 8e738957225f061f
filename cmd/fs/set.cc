// fs set: one or more properties of one or more datasets.
#include <fmt/format.h>

#include <set>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {

int fs_set(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "u");
  if (!args) return fs_misuse("set", args.error().text(), true);
  Json settings = Json::array();
  std::vector<std::string> datasets;
  std::set<std::string> seen;
  for (const std::string& operand : args->operands()) {
    const auto assignment = split_assignment(operand);
    if (!assignment) {
      datasets.push_back(operand);
      continue;
    }
    if (!seen.insert(assignment->first).second)
      return fail(fmt::format("property '{}' specified multiple times", assignment->first));
    settings.push_back({assignment->first, assignment->second});
  }
  if (args->operands().empty()) return fs_misuse("set", "missing arguments", true);
  if (settings.empty())
    return fs_misuse(
        "set", args->operands().size() == 1 ? "missing arguments" : "missing property=value argument(s)",
        true);
  if (datasets.empty()) return fs_misuse("set", "missing dataset name(s)", true);
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  int exit_code = kExitOk;
  for (const std::string& name : datasets) {
    const Result<PoolHandle> pool = connect_for(*client, name);
    if (!pool || !pool->call("dataset.query", {{"roots", Json::array({name})}})) {
      exit_code = fail(
          fmt::format("cannot open '{}': {}", name, pool ? "dataset does not exist" : pool.error().text()));
      continue;
    }
    const Result<Json> done = pool->call("dataset.set", {{"name", name},
                                                         {"properties", settings},
                                                         {"unmounted", args->has("u")},
                                                         {"command", command_line()}});
    if (!done) {
      fail(done.error().text().starts_with("cannot ")
               ? done.error().text()
               : fmt::format("cannot set property for '{}': {}", name, done.error().text()));
      exit_code = kExitRefused;
    }
  }
  return exit_code;
}

}  // namespace tarn
