// pool export: unmount, write the last state, let go of the devices.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/pool_name.h"

namespace tarn {
namespace {

int export_one(const Client& client, const std::string& name, bool force) {
  if (const auto problem = pool_name_problem(name, false))
    return fail(fmt::format("cannot open '{}': {}", name, *problem));
  const Result<PoolHandle> pool = client.connect(name);
  if (!pool) return fail_to_open(name, pool.error());
  const Result<Json> done = pool->call("pool.export", {{"force", force}, {"command", command_line()}});
  if (done) return kExitOk;
  if (done.error().text().starts_with("cannot unmount")) return fail(done.error().text());
  return fail(fmt::format("cannot export '{}': {}", name, done.error().text()));
}

}  // namespace

int pool_export(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("export");
  const Result<Args> args = parse_args(arguments, "af");
  if (!args) return misuse(self, args.error().text());
  const bool all = args->has("a");
  if (all && !args->operands().empty()) return misuse(self, "too many arguments");
  if (!all && args->operands().empty()) return misuse(self, "missing pool argument");
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  int exit_code = kExitOk;
  for (const std::string& name : all ? live_pools(*client) : args->operands())
    exit_code |= export_one(*client, name, args->has("f"));
  return exit_code;
}

}  // namespace tarn
