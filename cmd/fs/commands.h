// The subcommands of `fs`, one file each.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/client.h"
#include "cmd/common/options.h"

namespace tarn {

const std::vector<Subcommand>& fs_commands();
const Subcommand& fs_command(const std::string& name);

int fs_create(const std::vector<std::string>& arguments);
int fs_destroy(const std::vector<std::string>& arguments);
int fs_get(const std::vector<std::string>& arguments);
int fs_inherit(const std::vector<std::string>& arguments);
int fs_list(const std::vector<std::string>& arguments);
int fs_mount(const std::vector<std::string>& arguments);
int fs_rename(const std::vector<std::string>& arguments);
int fs_set(const std::vector<std::string>& arguments);
int fs_snapshot(const std::vector<std::string>& arguments);
int fs_unmount(const std::vector<std::string>& arguments);
int fs_version(const std::vector<std::string>& arguments);

// Usage of a subcommand with the hints that end every `fs` usage; `with_properties` adds the property table.
int fs_misuse(const std::string& command, const std::string& problem, bool with_properties = false);
extern const char* const kFsHints;

}  // namespace tarn
