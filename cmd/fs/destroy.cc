// fs destroy: datasets and snapshots, with -r their descendants.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"
#include "libdataset/property/property.h"

namespace tarn {
namespace {

bool is_snapshot(const std::string& name) { return name.find('@') != std::string::npos; }

// Everything below `name`, in the order in which it must go: snapshots and children before what holds them.
std::vector<std::string> dependents(const std::vector<DatasetRow>& rows, const std::string& name) {
  std::vector<std::string> heads, out;
  for (const DatasetRow& row : rows)
    if (!is_snapshot(row.name) && row.name != name) heads.push_back(row.name);
  const auto add_snapshots = [&](const std::string& head) {
    for (const DatasetRow& row : rows)
      if (row.name.starts_with(head + "@")) out.push_back(row.name);
  };
  for (auto it = heads.rbegin(); it != heads.rend(); ++it) {
    add_snapshots(*it);
    out.push_back(*it);
  }
  add_snapshots(name);
  return out;
}

// "a@x,y" stands for a@x and a@y.
std::vector<std::string> expand_snapshots(const std::string& operand) {
  const std::size_t at = operand.find('@');
  std::vector<std::string> names;
  for (const std::string& part : split(operand.substr(at + 1), ','))
    names.push_back(operand.substr(0, at + 1) + part);
  return names;
}

}  // namespace

int fs_destroy(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "dfnpRrv");
  if (!args) return fs_misuse("destroy", args.error().text());
  if (args->operands().empty()) return fs_misuse("destroy", "missing dataset argument");
  if (args->operands().size() > 1) return fs_misuse("destroy", "too many arguments");
  for (const char* option : {"d", "R"})
    if (args->has(option)) return fail(fmt::format("option '{}' of destroy is not supported", option));
  const std::string operand = args->operands()[0];
  if (operand.find('#') != std::string::npos)
    return fail(fmt::format("bookmark '{}' does not exist.", operand));
  if (operand.find('%') != std::string::npos)
    return fail("ranges of snapshots (%) are not supported; name them, separated by commas");
  const bool recursive = args->has("r"), dry_run = args->has("n"), parsable = args->has("p"),
             verbose = args->has("v") || parsable;

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  std::vector<std::string> doomed;
  if (is_snapshot(operand)) {
    if (recursive) return fail("option 'r' of destroy is not supported for snapshots");
    for (const std::string& name : expand_snapshots(operand)) {
      const Result<PoolHandle> pool = connect_for(*client, name);
      if (!pool) return fail(fmt::format("cannot open '{}': {}", name, pool.error().text()));
      if (pool->call("dataset.query", {{"roots", Json::array({name})}})) doomed.push_back(name);
    }
    if (doomed.empty()) return fail("could not find any snapshots to destroy; check snapshot names.");
  } else {
    unsigned failures = 0;
    const std::vector<DatasetRow> rows =
        query_datasets(*client, {.operands = {operand}, .depth = UINT32_MAX, .snapshots = true}, failures);
    if (failures) return kExitFailed;
    if (operand.find('/') == std::string::npos)
      return fail(
          fmt::format("cannot destroy '{0}': operation does not apply to pools\nuse 'zfs destroy -r {0}' to "
                      "destroy all datasets in the pool\nuse 'zpool destroy {0}' to destroy the pool itself",
                      operand));
    doomed = dependents(rows, operand);
    if (!doomed.empty() && !recursive) {
      fmt::print(
          stderr,
          "cannot destroy '{}': filesystem has children\nuse '-r' to destroy the following datasets:\n",
          operand);
      for (const std::string& name : doomed) fmt::print(stderr, "{}\n", name);
      return kExitFailed;
    }
    doomed.push_back(operand);
  }
  if (verbose)
    for (const std::string& name : doomed)
      fmt::print("{}", parsable ? fmt::format("destroy\t{}\n", name)
                                : fmt::format("{} destroy {}\n", dry_run ? "would" : "will", name));
  if (dry_run) return kExitOk;
  const Result<PoolHandle> pool = connect_for(*client, operand.substr(0, operand.find('@')));
  if (!pool) return fail(fmt::format("cannot open '{}': {}", operand, pool.error().text()));
  const Result<Json> done = pool->call(
      "dataset.destroy", {{"names", doomed}, {"force", args->has("f")}, {"command", command_line()}});
  if (done) return kExitOk;
  if (done.error().text().starts_with("cannot ")) return fail(done.error().text());
  return fail(fmt::format("cannot destroy '{}': {}", operand, done.error().text()));
}

}  // namespace tarn
