// fs snapshot: one or more snapshots, all in one transaction group.
#include <fmt/format.h>

#include <set>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {

int fs_snapshot(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "ro:");
  if (!args) return fs_misuse("snapshot", args.error().text());
  if (args->operands().empty()) return fs_misuse("snapshot", "missing snapshot argument");
  Json properties = Json::array();
  for (const std::string& option : args->values("o")) {
    const auto assignment = split_assignment(option);
    if (!assignment) return fail("missing '=' for property=value argument");
    properties.push_back({assignment->first, assignment->second});
  }
  const std::string pool_name = pool_of(args->operands()[0]);
  for (const std::string& name : args->operands()) {
    if (name.find('@') == std::string::npos)
      return fail(fmt::format("cannot create snapshot '{}': missing '@' delimiter in snapshot name", name));
    if (const auto problem = dataset_name_problem(name))
      return fail(fmt::format("cannot create snapshot '{}': {}", name, *problem));
    if (pool_of(name) != pool_name)
      return fail("cannot create snapshots: all snapshots must be in the same pool");
  }
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const Result<PoolHandle> pool = client->connect(pool_name);
  for (const std::string& name : args->operands()) {
    const std::string head = name.substr(0, name.find('@'));
    // A missing dataset counts as misuse here: scripts rely on the exit code.
    if (!pool || !pool->call("dataset.query", {{"roots", Json::array({head})}}))
      return fs_misuse("snapshot", fmt::format("cannot open '{}': dataset does not exist", head));
  }
  const Result<Json> done = pool->call("dataset.snapshot", {{"names", args->operands()},
                                                            {"recursive", args->has("r")},
                                                            {"properties", properties},
                                                            {"command", command_line()}});
  if (done) return kExitOk;
  if (done.error().code() == Errc::already_exists)
    return fail(fmt::format("cannot create snapshot '{}': dataset already exists", args->operands()[0]));
  return fail(fmt::format("cannot create snapshots : {}", done.error().text()));
}

}  // namespace tarn
