// The vdev arguments of `pool create` and `pool add`: what the words mean, which devices they name, and
// whether the layout makes sense; the checks that must pass before anything is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/protocol.h"
#include "libpool/base/result.h"

namespace tarn {

struct VdevSpec {
  std::string type;   // "file", "disk", "mirror", "raidz"
  std::string path;   // leaves: full path
  std::string given;  // as typed
  unsigned nparity = 0;
  std::string vdev_class;  // top-level: "", "log", "special", "dedup"
  std::uint64_t whole_disk = 0;
  std::vector<VdevSpec> children;

  Json to_json() const;
  bool leaf() const { return children.empty(); }
};

struct LayoutSpec {
  std::vector<VdevSpec> tops, spares, caches;
  Json tree_json() const;
  static Json list_json(const std::vector<VdevSpec>& list);
};

// Errors carry the lines that OpenZFS prints.
Result<LayoutSpec> parse_layout(const std::vector<std::string>& words);

// A short name is looked for in $POOL_DEVICE_PATH / $ZPOOL_IMPORT_PATH, the /dev/disk folders and /dev.
Result<VdevSpec> resolve_device(const std::string& word);

struct LayoutProblem {
  std::vector<std::string> lines;  // one per problem
  bool force_helps = true;
};
// Devices in use, too small, given twice. With `force` only what force cannot override.
LayoutProblem check_devices(const LayoutSpec& layout, bool force);
// Mismatched replication inside the new layout, and against the pool's (`pool_tops`: JSON of status, may be
// empty).
std::optional<std::string> check_replication(const LayoutSpec& layout, const Json& pool_tops);

}  // namespace tarn
