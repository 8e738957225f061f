// pool history: the commands that changed a pool, oldest first.
#include <fmt/format.h>
#include <pwd.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"

namespace tarn {
namespace {

std::string user_name(std::uint64_t uid) {
  const passwd* entry = getpwuid(static_cast<uid_t>(uid));
  return entry ? entry->pw_name : "";
}

// One record as a line, or nothing if it is internal and those are not wanted.
std::optional<std::string> describe(const Json& record, bool internal, bool long_form) {
  std::string line = format_time(record.value("time", std::uint64_t{0}), "%Y-%m-%d.%H:%M:%S") + " ";
  const bool is_command = record.contains("history command");
  if (is_command) {
    line += record["history command"].get<std::string>();
  } else {
    if (!internal) return std::nullopt;
    if (!record.contains("internal_name")) return std::nullopt;
    line += fmt::format("[txg:{}] {} ", record.value("history txg", std::uint64_t{0}),
                        record["internal_name"].get<std::string>());
    if (record.contains("dsname"))
      line += fmt::format("{} ({}) ", record["dsname"].get<std::string>(),
                          record.value("dsid", std::uint64_t{0}));
    line += record.value("history internal str", "");
  }
  if (long_form) {
    const std::string host = record.value("history hostname", "");
    if (record.contains("history who")) {
      const auto uid = record["history who"].get<std::uint64_t>();
      const std::string user = user_name(uid);
      line +=
          fmt::format(" [user {}{} on {}:linux]", uid, user.empty() ? "" : fmt::format(" ({})", user), host);
    } else if (!host.empty()) {
      line += fmt::format(" [on {}]", host);
    }
  }
  return line;
}

}  // namespace

int pool_history(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("history");
  const Result<Args> args = parse_args(arguments, "il");
  if (!args) return misuse(self, args.error().text());
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  const std::vector<std::string> names = args->operands().empty() ? live_pools(*client) : args->operands();
  if (names.empty()) {
    fmt::print(stderr, "no pools available\n");
    return kExitOk;
  }
  int exit_code = kExitOk;
  for (const std::string& name : names) {
    const Result<PoolHandle> pool = client->connect(name);
    if (!pool) {
      exit_code = fail_to_open(name, pool.error());
      continue;
    }
    const Result<Json> reply = pool->call("pool.history");
    if (!reply) {
      exit_code = fail(fmt::format("cannot get history for '{}': {}", name, reply.error().text()));
      continue;
    }
    fmt::print("History for '{}':\n", name);
    for (const Json& record : reply->value("records", Json::array()))
      if (const auto line = describe(record, args->has("i"), args->has("l"))) fmt::print("{}\n", *line);
    fmt::print("\n");
  }
  return exit_code;
}

}  // namespace tarn
