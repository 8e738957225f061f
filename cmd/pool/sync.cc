// pool sync: returns when everything done so far is on stable storage.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"

namespace tarn {

int pool_sync(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("sync");
  // -f forces the sync of a pool with nothing to write; ours always returns only when all is durable.
  const Result<Args> args = parse_args(arguments, "f");
  if (!args) return misuse(self, args.error().text());
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  int exit_code = kExitOk;
  for (const std::string& name : args->operands().empty() ? live_pools(*client) : args->operands()) {
    const Result<PoolHandle> pool = client->connect(name);
    if (!pool) {
      exit_code = fail_to_open(name, pool.error());
      continue;
    }
    if (const Result<Json> done = pool->call("pool.sync"); !done)
      exit_code = fail(fmt::format("sync '{}' failed: {}", name, done.error().text()));
  }
  return exit_code;
}

}  // namespace tarn
