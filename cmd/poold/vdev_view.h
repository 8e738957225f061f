// The vdev tree as JSON, for `status`, `list -v` and `iostat`: what each vdev is, its state and its counters.
#pragma once

#include "cmd/common/protocol.h"
#include "libpool/txg/pool.h"

namespace tarn {

const char* state_name(VdevState state);
// {"name", "type", "guid", "path", "state", "aux", "read_errors", "write_errors", "checksum_errors", "class",
//  "size", "alloc", "frag", "children": [...]}; sizes only where they apply.
Json vdev_to_json(Pool& pool, const VdevConfig& vdev, std::optional<std::uint32_t> top);
Json vdev_tree_to_json(Pool& pool);

}  // namespace tarn
