// pool upgrade: which features this software knows, and which pools lack some.
#include <fmt/format.h>

#include "cmd/common/command.h"
#include "cmd/pool/commands.h"
#include "libpool/txg/features.h"

namespace tarn {
namespace {

int print_features() {
  fmt::print(
      "This system supports ZFS pool feature flags.\n\nThe following features are supported:\n\nFEAT "
      "DESCRIPTION\n"
      "-------------------------------------------------------------\n");
  for (const FeatureInfo& feature : all_features()) {
    if (feature.support == FeatureSupport::none) continue;
    fmt::print("{:<37} {}\n     {}\n", feature.name,
               feature.read_only_compatible ? "(read-only compatible)" : "", feature.description);
  }
  fmt::print(
      "\nThe following legacy versions are also supported:\n\nVER  DESCRIPTION\n---  "
      "--------------------------------------------------------\n");
  constexpr const char* kVersions[] = {"Initial ZFS version",
                                       "Ditto blocks (replicated metadata)",
                                       "Hot spares and double parity RAID-Z",
                                       "zpool history",
                                       "Compression using the gzip algorithm",
                                       "bootfs pool property",
                                       "Separate intent log devices",
                                       "Delegated administration",
                                       "refquota and refreservation properties",
                                       "Cache devices",
                                       "Improved scrub performance",
                                       "Snapshot properties",
                                       "snapused property",
                                       "passthrough-x aclinherit",
                                       "user/group space accounting",
                                       "stmf property support",
                                       "Triple-parity RAID-Z",
                                       "Snapshot user holds",
                                       "Log device removal",
                                       "Compression using zle (zero-length encoding)",
                                       "Deduplication",
                                       "Received properties",
                                       "Slim ZIL",
                                       "System attributes",
                                       "Improved scrub stats",
                                       "Improved snapshot deletion performance",
                                       "Improved snapshot creation performance",
                                       "Multiple vdev replacements"};
  unsigned version = 1;
  for (const char* text : kVersions) fmt::print(" {:<3} {}\n", version++, text);
  fmt::print(
      "\nFor more information on a particular version, including supported releases,\nsee the ZFS "
      "Administration Guide.\n\n");
  return kExitOk;
}

}  // namespace

int pool_upgrade(const std::vector<std::string>& arguments) {
  const Subcommand& self = pool_command("upgrade");
  const Result<Args> args = parse_args(arguments, "avV:");
  if (!args) return misuse(self, args.error().text());
  if (args->has("v")) return args->operands().empty() ? print_features() : misuse(self, "too many arguments");
  if (args->has("a") || args->has("V") || !args->operands().empty())
    return fail(
        "upgrading pools is not supported; enable a feature with 'pool set feature@NAME=enabled POOL'");
  const Result<Client> client = Client::open();
  if (!client) return fail(client.error().text());
  std::string legacy, lacking;
  for (const std::string& name : live_pools(*client)) {
    const Result<PoolHandle> pool = client->connect(name);
    const Result<Json> status = pool ? pool->call("pool.status") : Result<Json>(pool.error());
    if (!status) continue;
    if (const auto version = status->value("version", std::uint64_t{5000}); version < 5000) {
      legacy += fmt::format("{:<4} {}\n", version, name);
    } else if (status->value("features_missing", false)) {
      lacking += name + "\n";
      for (const Json& feature : status->value("disabled_features", Json::array()))
        lacking += fmt::format("      {}\n", feature.get<std::string>());
    }
  }
  fmt::print("This system supports ZFS pool feature flags.\n\n");
  if (legacy.empty()) {
    fmt::print("All pools are formatted using feature flags.\n\n");
  } else {
    fmt::print(
        "The following pools are formatted with legacy version numbers and can\nbe upgraded to use feature "
        "flags.  After being upgraded, these pools\n"
        "will no longer be accessible by software that does not support feature\nflags.\n\nNote that setting "
        "a pool's 'compatibility' feature to 'legacy' will\n"
        "inhibit upgrades.\n\nVER  POOL\n---  ------------\n{}\nUse 'zpool upgrade -v' for a list of "
        "available legacy versions.\n",
        legacy);
  }
  if (lacking.empty()) {
    fmt::print("Every feature flags pool has all supported and requested features enabled.\n");
  } else {
    fmt::print(
        "Some supported features are not enabled on the following pools. Once a\nfeature is enabled the pool "
        "may become incompatible with software\n"
        "that does not support the feature. See zpool-features(7) for details.\n\nNote that the pool "
        "'compatibility' feature can be used to inhibit\nfeature upgrades.\n\n"
        "POOL  FEATURE\n---------------\n{}\n",
        lacking);
  }
  return kExitOk;
}

}  // namespace tarn
