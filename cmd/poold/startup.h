// What a command hands to a new poold: the pool to create or import, as JSON (built by `pool create` and
// `pool import`, decoded here).
//
//   {"action": "create", "name", "tree": [VDEV...], "spares": [VDEV...], "caches": [VDEV...], "ashift",
//   "version",
//    "features": {guid: bool}, "default_features", "properties": {name: value},
//    "root_properties": [[name, value]...], "altroot", "mount", "command"}
//   {"action": "import", "devices": [PATH...], "guid", "new_name", "read_only", "force", "rewind", "max_txg",
//    "include_destroyed", "altroot", "mount", "properties": {...}, "command"}
//   VDEV = {"type": "disk" | "file" | "mirror" | "raidz", "path", "nparity", "whole_disk", "is_log", "class",
//    "ashift", "children": [VDEV...]}
#pragma once

#include "cmd/common/protocol.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/label/label.h"
#include "libpool/txg/pool.h"
#include "libpool/vdev/vdev_config.h"

namespace tarn {

Result<VdevConfig> vdev_from_json(const Json& in);
Result<std::vector<VdevConfig>> vdevs_from_json(const Json& in);

Result<PoolCreateSpec> create_spec_from_json(const Json& startup);
// Reads the labels of the devices named and picks the pool by its guid.
Result<PoolOpenSpec> open_spec_from_json(const Json& startup);
std::vector<PropertySetting> settings_from_json(const Json& in);

}  // namespace tarn
