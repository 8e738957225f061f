// fs inherit: removes a local value, so that the parent's or the default counts.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/fs/commands.h"
#include "cmd/fs/datasets.h"
#include "libdataset/property/property.h"

namespace tarn {

int fs_inherit(const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "rS");
  if (!args) return fs_misuse("inherit", args.error().text(), true);
  const std::vector<std::string>& operands = args->operands();
  if (operands.empty()) return fs_misuse("inherit", "missing property argument", true);
  if (operands.size() < 2) return fs_misuse("inherit", "missing dataset argument", true);
  std::string property = operands[0];
  const bool received = args->has("S");
  if (const PropertyInfo* info = find_property(property)) {
    property = info->name;
    if (info->attr == PropertyAttr::read_only) return fail(fmt::format("{} property is read-only", property));
    if (info->attr != PropertyAttr::inherited && !received) {
      fail(fmt::format("'{}' property cannot be inherited", property));
      if (property == "quota" || property == "reservation" || property == "refquota" ||
          property == "refreservation")
        fail(fmt::format(
            "use 'zfs set {0}=none' to clear\nuse 'zfs inherit -S {0}' to revert to received value",
            property));
      return kExitFailed;
    }
  } else if (!is_user_property(property)) {
    return fs_misuse("inherit", fmt::format("invalid property '{}'", property), true);
  }
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  int exit_code = kExitOk;
  for (auto it = operands.begin() + 1; it != operands.end(); ++it) {
    const Result<PoolHandle> pool = connect_for(*client, *it);
    if (!pool || !pool->call("dataset.query", {{"roots", Json::array({*it})}})) {
      exit_code = fail(
          fmt::format("cannot open '{}': {}", *it, pool ? "dataset does not exist" : pool.error().text()));
      continue;
    }
    const Result<Json> done = pool->call("dataset.inherit", {{"name", *it},
                                                             {"property", property},
                                                             {"recursive", args->has("r")},
                                                             {"received", received},
                                                             {"command", command_line()}});
    if (!done)
      exit_code = fail(fmt::format("cannot inherit {} for '{}': {}", property, *it, done.error().text()));
  }
  return exit_code;
}

}  // namespace tarn
