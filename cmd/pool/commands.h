// The subcommands of `pool`, one file each.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/options.h"

namespace tarn {

const std::vector<Subcommand>& pool_commands();
// The table entry of `name`, for its usage.
const Subcommand& pool_command(const std::string& name);

int pool_add(const std::vector<std::string>& arguments);
int pool_create(const std::vector<std::string>& arguments);
int pool_destroy(const std::vector<std::string>& arguments);
int pool_export(const std::vector<std::string>& arguments);
int pool_get(const std::vector<std::string>& arguments);
int pool_history(const std::vector<std::string>& arguments);
int pool_import(const std::vector<std::string>& arguments);
int pool_labelclear(const std::vector<std::string>& arguments);
int pool_list(const std::vector<std::string>& arguments);
int pool_set(const std::vector<std::string>& arguments);
int pool_status(const std::vector<std::string>& arguments);
int pool_sync(const std::vector<std::string>& arguments);
int pool_upgrade(const std::vector<std::string>& arguments);
int pool_version(const std::vector<std::string>& arguments);

}  // namespace tarn
