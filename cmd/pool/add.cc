// pool add: more data devices, logs, caches or spares for a pool that is imported.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/layout_print.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/vdev_spec.h"

namespace tarn {
namespace {

// A single disk beside a mirror or RAID-Z: when it dies, the pool dies. Say so, and what was probably meant.
void explain_lost_redundancy(const std::string& pool) {
  fmt::print(stderr,
             "the new device would hold a part of all data without redundancy: if it fails, pool '{0}' is "
             "lost, whatever the other "
             "devices are,\nand it can not be taken out again. Did you mean one of these?\n"
             "\tpool attach {0} DEVICE NEW-DEVICE    (another copy of a device)\n"
             "\tpool replace {0} DEVICE NEW-DEVICE   (in place of a device)\n"
             "\tpool add {0} log DEVICE              (a log device)\n"
             "\tpool add {0} spare DEVICE            (a hot spare)\n",
             pool);
}

}  // namespace

int pool_add(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("add");
  Result<Args> args = parse_args(arguments, "afgLno:P",
                                 {"allow-in-use", "allow-replication-mismatch", "allow-ashift-mismatch"});
  if (!args) return misuse(self, args.error().text());
  std::uint64_t ashift = 0;
  for (const std::string& option : args->values("o")) {
    const auto assignment = split_assignment(option);
    if (!assignment) return misuse(self, "missing '=' for -o option");
    if (assignment->first != "ashift") return misuse(self, "");
    char* end = nullptr;
    ashift = std::strtoull(assignment->second.c_str(), &end, 10);
    if (*end) return fail("ashift must be a number.");
    if (ashift != 0 && (ashift < 9 || ashift > 16))
      return fail(fmt::format("invalid 'ashift={}' property: only values between 9 and 16 are allowed.",
                              assignment->second));
  }
  if (args->operands().empty()) return misuse(self, "missing pool name argument");
  const std::string name = args->operands()[0];
  if (args->operands().size() < 2) return misuse(self, "missing vdev specification");
  if (const auto problem = pool_name_problem(name, false))
    return fail(fmt::format("cannot open '{}': {}", name, *problem));
  const bool force = args->has("f");

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const Result<PoolHandle> pool = client->connect(name);
  if (!pool) return fail_to_open(name, pool.error());
  const Result<Json> status = pool->call("pool.status");
  if (!status) return fail_to_open(name, status.error());
  const Json existing = status->value("vdevs", Json::array());

  Result<LayoutSpec> layout = parse_layout({args->operands().begin() + 1, args->operands().end()});
  if (!layout) return fail(layout.error().text());
  LayoutProblem problem = check_devices(*layout, force || args->has("allow-in-use"));
  bool loses_redundancy = false;
  if (problem.lines.empty() && !force && !args->has("allow-replication-mismatch")) {
    if (const auto mismatch = check_replication(*layout, existing)) {
      problem = {{*mismatch}, !args->has("allow-in-use")};
      loses_redundancy = mismatch->ends_with("is file") || mismatch->ends_with("is disk");
    }
  }
  if (!problem.lines.empty()) {
    fmt::print(stderr, "invalid vdev specification\n{}\n",
               force || !problem.force_helps ? "the following errors must be manually repaired:"
                                             : "use '-f' to override the following errors:");
    for (const std::string& line : problem.lines) fmt::print(stderr, "{}\n", line);
    if (loses_redundancy) explain_lost_redundancy(name);
    return kExitFailed;
  }
  if (args->has("n")) {
    fmt::print("would update '{}' to the following configuration:\n\n{}", name,
               print_layout(name, *layout, existing));
    return kExitOk;
  }
  Json tree = layout->tree_json();
  if (ashift)
    for (Json& top : tree) top["ashift"] = ashift;
  const Result<Json> done = pool->call("pool.add", {{"tree", tree},
                                                    {"spares", LayoutSpec::list_json(layout->spares)},
                                                    {"caches", LayoutSpec::list_json(layout->caches)},
                                                    {"command", command_line()}});
  if (!done) return fail(fmt::format("cannot add to '{}': {}", name, done.error().text()));
  return kExitOk;
}

}  // namespace tarn
