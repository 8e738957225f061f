// How vdevs are called in listings: short disk names, -P full paths, -L links followed, -g guids.
#pragma once

#include <string>

#include "cmd/common/options.h"
#include "cmd/common/protocol.h"

namespace tarn {

struct NameStyle {
  bool full_path = false, follow_links = false, guid = false;
  // The options -P -L -g and the variables ZPOOL_VDEV_NAME_PATH, _FOLLOW_LINKS, _GUID.
  static NameStyle from(const Args& args);
};

// `vdev` as poold describes it, or as an importable pool's config shows it.
std::string vdev_display_name(const Json& vdev, const NameStyle& style);

}  // namespace tarn
