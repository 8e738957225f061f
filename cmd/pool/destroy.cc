// pool destroy: unmount everything and mark the pool destroyed; `import -D` still finds it.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/pool_name.h"

namespace tarn {

int pool_destroy(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("destroy");
  const Result<Args> args = parse_args(arguments, "f");
  if (!args) return misuse(self, args.error().text());
  if (args->operands().empty()) return misuse(self, "missing pool argument");
  if (args->operands().size() > 1) return misuse(self, "too many arguments");
  const std::string name = args->operands()[0];
  if (const auto problem = pool_name_problem(name, false)) {
    fail(fmt::format("cannot open '{}': {}", name, *problem));
    if (name.find('/') != std::string::npos) fail("use 'zfs destroy' to destroy a dataset");
    return kExitFailed;
  }
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  Result<PoolHandle> pool = client->connect(name);
  if (!pool) return fail_to_open(name, pool.error());
  const Result<Json> done = pool->call("pool.destroy", {{"force", args->has("f")}});
  if (done) return kExitOk;
  if (done.error().text().starts_with("cannot unmount"))
    return fail(
        fmt::format("{}\ncould not destroy '{}': could not unmount datasets", done.error().text(), name));
  return fail(fmt::format("cannot destroy '{}': {}", name, done.error().text()));
}

}  // namespace tarn
