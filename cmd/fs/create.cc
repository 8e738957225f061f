// fs create: a new file system, mounted at once.
#include <fmt/format.h>

#include <set>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"

namespace tarn {

int fs_create(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "b:no:PpsuvV:");
  if (!args) return fs_misuse("create", args.error().text());
  if (args->has("V") || args->has("b") || args->has("s"))
    return fail("cannot create volume: volumes (-V) are not supported");
  if (args->operands().empty()) return fs_misuse("create", "missing filesystem argument");
  if (args->operands().size() > 1) return fs_misuse("create", "too many arguments");
  const std::string name = args->operands()[0];
  const bool parents = args->has("p"), parsable = args->has("P"), dry_run = args->has("n");
  const bool verbose = args->has("v") || parsable;

  std::set<std::string> seen;
  Json properties = Json::array();
  for (const std::string& option : args->values("o")) {
    const auto assignment = split_assignment(option);
    if (!assignment) return fail(fmt::format("missing '=' for property=value argument"));
    if (!seen.insert(assignment->first).second)
      return fail(fmt::format("property '{}' specified multiple times", assignment->first));
    properties.push_back({assignment->first, assignment->second});
  }
  if (const auto problem = dataset_name_problem(name))
    return fail(fmt::format("cannot create '{}': {}", name, *problem));
  if (name.find('/') == std::string::npos)
    return fail(fmt::format("cannot create '{}': missing dataset name", name));
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const Result<PoolHandle> pool = client->connect(pool_of(name));
  if (!pool)
    return fail(fmt::format("cannot create '{}': {}", name,
                            pool.error().code() == Errc::not_found
                                ? fmt::format("no such pool '{}'", pool_of(name))
                                : pool.error().text()));

  const auto exists = [&](const std::string& dataset) {
    return pool->call("dataset.query", {{"roots", Json::array({dataset})}}).ok();
  };
  if (parents && exists(name)) return kExitOk;  // -p: nothing to do is success
  const std::string parent = name.substr(0, name.rfind('/'));
  const bool makes_ancestors = parents && !exists(parent);
  if (verbose) {
    const char* would = dry_run ? "would create" : "create";
    if (makes_ancestors)
      fmt::print("{}", parsable ? fmt::format("create_ancestors\t{}\n", name)
                                : fmt::format("{} ancestors of {}\n", would, name));
    fmt::print("{}", parsable ? fmt::format("create\t{}\n", name) : fmt::format("{} {}\n", would, name));
    for (const Json& property : properties) {
      const auto key = property[0].get<std::string>(), value = property[1].get<std::string>();
      fmt::print("{}", parsable ? fmt::format("property\t{}\t{}\n", key, value)
                                : fmt::format("\t{}={}\n", key, value));
    }
  }
  if (dry_run) return kExitOk;
  const Result<Json> done = pool->call("dataset.create", {{"name", name},
                                                          {"properties", properties},
                                                          {"parents", parents},
                                                          {"unmounted", args->has("u")},
                                                          {"command", command_line()}});
  if (!done) return fail(fmt::format("cannot create '{}': {}", name, done.error().text()));
  if (!done->value("mounted", true)) {
    fmt::print(stderr, "cannot mount '{}': {}\nfilesystem successfully created, but not mounted\n", name,
               done->value("why", ""));
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace tarn
