// The property table that usage texts of get, set, inherit and list end with.
#pragma once

#include <string>

namespace tarn {
std::string dataset_property_help();
}
