#include "cmd/common/version.h"

#include <fmt/format.h>

#include "cmd/common/protocol.h"

namespace tarn {

int print_version(const Subcommand& self, const char* json_command,
                  const std::vector<std::string>& arguments) {
  const Result<Args> args = parse_args(arguments, "j", {"json"});
  if (!args) return misuse(self, args.error().text());
  if (args->has("j") || args->has("json")) {
    const nlohmann::ordered_json out{
        {"output_version", {{"command", json_command}, {"vers_major", 0}, {"vers_minor", 1}}},
        {"zfs_version", {{"userland", kCompatibleVersion}, {"kernel", kOwnVersion}}}};
    fmt::print("{}\n", out.dump());
  } else {
    fmt::print("{}\n{}\n", kCompatibleVersion, kOwnVersion);
  }
  return kExitOk;
}

}  // namespace tarn
