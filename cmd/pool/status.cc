// pool status: the health of pools in detail, as text or JSON, once or at intervals.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <thread>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "cmd/pool/interval.h"
#include "cmd/pool/pool_name.h"
#include "cmd/pool/status_json.h"
#include "cmd/pool/status_text.h"

namespace tarn {
namespace {

// Descriptions of the pools named (all if none), sorted by name; complains about those that are not there.
std::vector<Json> gather(const Client& client, const std::vector<std::string>& names, int& exit_code) {
  std::vector<Json> pools;
  std::vector<std::string> wanted = names.empty() ? live_pools(client) : names;
  std::sort(wanted.begin(), wanted.end());
  for (const std::string& name : wanted) {
    if (const auto problem = pool_name_problem(name, false)) {
      exit_code = fail(fmt::format("cannot open '{}': {}", name, *problem));
      continue;
    }
    const Result<PoolHandle> pool = client.connect(name);
    Result<Json> status = pool ? pool->call("pool.status") : Result<Json>(pool.error());
    if (!status) {
      exit_code = fail_to_open(name, status.error());
      continue;
    }
    pools.push_back(*std::move(status));
  }
  return pools;
}

}  // namespace

int pool_status(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("status");
  const Result<Args> args = parse_args(
      arguments, "c:jdDegiLpPstT:vx", {"json", "json-int", "json-flat-vdevs", "json-pool-key-guid", "power"});
  if (!args) return misuse(self, args.error().text());
  const bool json = args->has("j") || args->has("json");
  for (const char* option : {"json-int", "json-flat-vdevs", "json-pool-key-guid"})
    if (args->has(option) && !json)
      return misuse(self, fmt::format("'--{}' only works with '-j' option", option));
  for (const char* option : {"c", "D", "i", "t", "power"})
    if (args->has(option)) return fail(fmt::format("option '{}' of status is not supported", option));
  Result<Interval> interval = Interval::take(*args);
  if (!interval) return misuse(self, interval.error().text());

  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  StatusStyle style{.names = NameStyle::from(*args),
                    .parsable = args->has("p"),
                    .only_unhealthy = args->has("e"),
                    .slow_column = args->has("s"),
                    .direct_column = args->has("d")};
  int exit_code = kExitOk;
  do {
    exit_code = kExitOk;
    interval->print_time();
    const std::vector<Json> pools = gather(*client, interval->operands, exit_code);
    if (json) {
      if (exit_code != kExitOk) return exit_code;
      fmt::print("{}\n", status_json(pools, {.integers = args->has("json-int"),
                                             .flat = args->has("json-flat-vdevs"),
                                             .key_guid = args->has("json-pool-key-guid"),
                                             .parsable = args->has("p"),
                                             .names = style.names})
                             .dump());
      continue;
    }
    if (pools.empty() && interval->operands.empty()) {
      fmt::print(stderr, "no pools available\n");
      continue;
    }
    bool first = true, printed = false;
    for (const Json& pool : pools) {
      if (args->has("x") && is_healthy(pool)) {
        if (!interval->operands.empty()) fmt::print("pool '{}' is healthy\n", pool.value("name", ""));
        continue;
      }
      if (!first) fmt::print("\n");
      first = false;
      printed = true;
      fmt::print("{}", render_status(pool, style));
    }
    if (args->has("x") && !printed && interval->operands.empty()) fmt::print("all pools are healthy\n");
  } while (interval->wait());
  return exit_code;
}

}  // namespace tarn
