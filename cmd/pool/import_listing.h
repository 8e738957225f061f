// What `pool import` prints about a pool that could be imported: its state as far as its devices are there.
#pragma once

#include <string>

#include "cmd/common/protocol.h"
#include "cmd/pool/vdev_names.h"
#include "libpool/label/label.h"

namespace tarn {

// ONLINE, DEGRADED or UNAVAIL with the reason, for the pool and each vdev.
struct ImportableState {
  std::string state;
  std::string note;
  std::vector<ImportableState> children;
};
ImportableState judge(const DiscoveredPool& pool);
std::string render_importable(const DiscoveredPool& pool, const NameStyle& style);

}  // namespace tarn
