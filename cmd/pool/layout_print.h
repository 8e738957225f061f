// "would create 'tank' with the following layout": the dry runs of create and add.
#pragma once

#include <string>

#include "cmd/pool/vdev_spec.h"

namespace tarn {

// `existing`: top-level vdevs of the pool as status gives them (empty for create).
std::string print_layout(const std::string& pool, const LayoutSpec& layout, const Json& existing);

}  // namespace tarn
