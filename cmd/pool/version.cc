// pool version, -V, --version: the OpenZFS release whose behaviour we follow, then our own name and version.
#include "cmd/common/version.h"

#include <fmt/format.h>

#include "cmd/pool/commands.h"

namespace tarn {

int pool_version(const std::vector<std::string>& arguments) {
  return print_version(pool_command("version"), "zpool version", arguments);
}

}  // namespace tarn
