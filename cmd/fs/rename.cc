// fs rename: another name, or another parent, for a dataset or snapshot.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {

int fs_rename(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "fpru");
  if (!args) return fs_misuse("rename", args.error().text());
  const std::vector<std::string>& operands = args->operands();
  if (operands.empty()) return fs_misuse("rename", "missing source dataset argument");
  if (operands.size() < 2) return fs_misuse("rename", "missing target dataset argument");
  if (operands.size() > 2) return fs_misuse("rename", "too many arguments");
  const std::string from = operands[0];
  std::string to = operands[1];
  const bool snapshot = from.find('@') != std::string::npos;
  if (args->has("r")) {
    if (!snapshot) return fs_misuse("rename", "source dataset for recursive rename must be a snapshot");
    return fail("option 'r' of rename is not supported");
  }
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const Result<PoolHandle> pool = connect_for(*client, from);
  if (!pool) return fail(fmt::format("cannot open '{}': {}", from, pool.error().text()));
  if (!pool->call("dataset.query", {{"roots", Json::array({from})}}))
    return fail(fmt::format("cannot open '{}': dataset does not exist", from));
  // A snapshot's new name may be given alone: "@b" or "b".
  if (snapshot && to.find('@') == std::string::npos) to = from.substr(0, from.find('@') + 1) + to;
  if (snapshot && to[0] == '@') to = from.substr(0, from.find('@')) + to;
  if (const auto problem = dataset_name_problem(to))
    return fail(fmt::format("cannot create '{}': {}", to, *problem));
  if (!snapshot && to.find('/') == std::string::npos)
    return fail(fmt::format("cannot create '{}': missing dataset name", to));
  if (pool_of(to) != pool_of(from))
    return fail(fmt::format("cannot rename to '{}': datasets must be within same pool", to));
  if (from == to) return kExitOk;
  if (to.starts_with(from + "/"))
    return fail(fmt::format(
        "cannot rename to '{}': New dataset name cannot be a descendant of current dataset name", to));
  const std::string parent = to.substr(0, to.rfind('/'));
  if (!snapshot && !args->has("p") && !pool->call("dataset.query", {{"roots", Json::array({parent})}}))
    return fail(fmt::format("cannot create '{}': parent does not exist", to));
  const Result<Json> done = pool->call("dataset.rename", {{"from", from},
                                                          {"to", to},
                                                          {"parents", args->has("p")},
                                                          {"unmounted", args->has("u")},
                                                          {"force", args->has("f")},
                                                          {"command", command_line()}});
  if (done) return kExitOk;
  if (done.error().text().starts_with("cannot ")) return fail(done.error().text());
  return fail(fmt::format("cannot rename '{}': {}", from, done.error().text()));
}

}  // namespace tarn
