// What `version` prints in both programs.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/options.h"

namespace tarn {

inline constexpr const char* kCompatibleVersion = "zfs-2.3.2";  // scripts read the first line
inline constexpr const char* kOwnVersion = "tarn-0.1.0";

int print_version(const Subcommand& self, const char* json_command,
                  const std::vector<std::string>& arguments);

}  // namespace tarn
