// pool set: one property of one pool.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/property_values.h"

namespace tarn {

int pool_set(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("set");
  const auto misused = [&](const std::string& problem) {
    misuse(self, problem);
    fmt::print(stderr, "{}", pool_property_help());
    return kExitUsage;
  };
  const Result<Args> args = parse_args(arguments, "");
  if (!args) return misused(args.error().text());
  const std::vector<std::string>& operands = args->operands();
  if (operands.empty()) return misused("missing property=value argument");
  if (operands.size() < 2) return misused("missing pool name");
  if (operands.size() > 3) return misused("too many pool names");
  const auto assignment = split_assignment(operands[0]);
  if (!assignment) return misused("missing value in property=value argument");
  const std::string& name = operands[1];
  if (operands.size() == 3)
    return fail(
        fmt::format("cannot set property {} for {} on {}: properties of single devices are not supported",
                    assignment->first, operands[2], name));
  if (const auto problem = pool_name_problem(name, false))
    return fail(fmt::format("cannot open '{}': {}", name, *problem));
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const Result<PoolHandle> pool = client->connect(name);
  if (!pool) return fail_to_open(name, pool.error());
  const std::string property = canonical_pool_property(assignment->first).value_or(assignment->first);
  const Result<Json> done = pool->call(
      "pool.set", {{"name", property}, {"value", assignment->second}, {"command", command_line()}});
  if (!done) return fail(fmt::format("cannot set property for '{}': {}", name, done.error().text()));
  return kExitOk;
}

}  // namespace tarn
