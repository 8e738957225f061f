// `list -j` and `get -j` of datasets.
#pragma once

#include <nlohmann/json.hpp>

#include "cmd/fs/datasets.h"

namespace tarn {

nlohmann::ordered_json datasets_json(const char* command, const std::vector<DatasetRow>& rows,
                                     const std::vector<std::string>& properties, bool integers,
                                     bool parsable);

}  // namespace tarn
