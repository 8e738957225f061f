// fs mount: what is mounted, or mount one or all file systems.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {
namespace {

int show_mounts(const Client& client, bool json) {
  nlohmann::ordered_json datasets = nlohmann::ordered_json::object();
  for (const std::string& name : live_pools(client)) {
    const Result<PoolHandle> pool = client.connect(name);
    const Result<Json> mounts = pool ? pool->call("mount.list") : Result<Json>(pool.error());
    if (!mounts) return fail_to_open(name, mounts.error());
    for (const auto& [dataset, folder] : mounts->value("mounts", Json::object()).items()) {
      if (json) {
        datasets[dataset] = {{"filesystem", dataset}, {"mountpoint", folder}};
      } else {
        fmt::print("{:<30}  {}\n", dataset, folder.get<std::string>());
      }
    }
  }
  if (json)
    fmt::print("{}\n",
               nlohmann::ordered_json{
                   {"output_version", {{"command", "zfs mount"}, {"vers_major", 0}, {"vers_minor", 1}}},
                   {"datasets", datasets}}
                   .dump());
  return kExitOk;
}

int mount_all(const Client& client) {
  int exit_code = kExitOk;
  for (const std::string& name : live_pools(client)) {
    const Result<PoolHandle> pool = client.connect(name);
    const Result<Json> done =
        pool ? pool->call("dataset.mount", {{"all", true}}) : Result<Json>(pool.error());
    if (!done) {
      exit_code = fail_to_open(name, done.error());
      continue;
    }
    for (const Json& problem : done->value("problems", Json::array()))
      exit_code = fail(problem.get<std::string>());
  }
  return exit_code;
}

}  // namespace

int fs_mount(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "afjlo:ORv", {"json"});
  if (!args) return fs_misuse("mount", args.error().text());
  for (const char* option : {"f", "l", "o", "O", "R"})
    if (args->has(option)) return fail(fmt::format("option '{}' of mount is not supported", option));
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  if (args->has("a"))
    return args->operands().empty() ? mount_all(*client) : fs_misuse("mount", "too many arguments");
  if (args->operands().empty()) return show_mounts(*client, args->has("j") || args->has("json"));
  if (args->operands().size() > 1) return fs_misuse("mount", "too many arguments");
  const std::string name = args->operands()[0];
  const Result<PoolHandle> pool = connect_for(*client, name);
  if (!pool || !pool->call("dataset.query", {{"roots", Json::array({name})}}))
    return fail(
        fmt::format("cannot open '{}': {}", name, pool ? "dataset does not exist" : pool.error().text()));
  const Result<Json> done = pool->call("dataset.mount", {{"name", name}});
  if (done) return kExitOk;
  fail(fmt::format("cannot mount '{}': {}", name, done.error().text()));
  if (done.error().text() == "legacy mountpoint") fail(fmt::format("use mount(8) to mount this filesystem"));
  return kExitFailed;
}

}  // namespace tarn
