// fs unmount: by dataset or by folder; returns when nothing is busy any more.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {
namespace {

int unmount_all(const Client& client, bool force) {
  int exit_code = kExitOk;
  for (const std::string& name : live_pools(client)) {
    const Result<PoolHandle> pool = client.connect(name);
    const Result<Json> done =
        pool ? pool->call("dataset.unmount", {{"name", name}, {"tree", true}, {"force", force}})
             : Result<Json>(pool.error());
    if (!done) exit_code = fail(done.error().text());
  }
  return exit_code;
}

}  // namespace

int fs_unmount(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "afu");
  if (!args) return fs_misuse("unmount", args.error().text());
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const bool force = args->has("f");
  if (args->has("a"))
    return args->operands().empty() ? unmount_all(*client, force)
                                    : fs_misuse("unmount", "too many arguments");
  if (args->operands().empty()) return fs_misuse("unmount", "missing filesystem argument");
  if (args->operands().size() > 1) return fs_misuse("unmount", "too many arguments");
  const std::string operand = args->operands()[0];
  unsigned failures = 0;
  const std::vector<DatasetRow> rows =
      query_datasets(*client, {.operands = {operand}, .properties = {"mountpoint"}}, failures);
  if (failures || rows.empty()) return kExitFailed;
  const Result<PoolHandle> pool = connect_for(*client, rows[0].name);
  if (!pool) return fail(pool.error().text());
  // Children are mounted inside their parent: they go first.
  const Result<Json> mounts = pool->call("mount.list");
  if (!mounts) return fail(mounts.error().text());
  if (!mounts->value("mounts", Json::object()).contains(rows[0].name))
    return fail(fmt::format("cannot unmount '{}': not currently mounted", operand));
  const Result<Json> done =
      pool->call("dataset.unmount", {{"name", rows[0].name}, {"tree", true}, {"force", force}});
  if (done) return kExitOk;
  return fail(done.error().text().starts_with("cannot ")
                  ? done.error().text()
                  : fmt::format("cannot unmount '{}': {}", operand, done.error().text()));
}

}  // namespace tarn
