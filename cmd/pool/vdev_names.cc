#include "cmd/pool/vdev_names.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace tarn {
namespace {

bool environment_says(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) return false;
  const std::string text = value;
  return text == "1" || text == "yes" || text == "YES" || text == "on" || text == "ON" || text == "true" ||
         text == "TRUE";
}

}  // namespace

NameStyle NameStyle::from(const Args& args) {
  return {.full_path = args.has("P") || environment_says("ZPOOL_VDEV_NAME_PATH"),
          .follow_links = args.has("L") || environment_says("ZPOOL_VDEV_NAME_FOLLOW_LINKS"),
          .guid = args.has("g") || environment_says("ZPOOL_VDEV_NAME_GUID")};
}

std::string vdev_display_name(const Json& vdev, const NameStyle& style) {
  const auto guid = vdev.value("guid", std::uint64_t{0});
  if (style.guid) return std::to_string(guid);
  std::string path = vdev.value("path", "");
  if (path.empty()) return vdev.value("name", std::to_string(guid));
  // A device that is not there is known by its guid.
  if (vdev.value("state", "") == "UNAVAIL" && vdev.value("type", "") == "disk" &&
      !std::filesystem::exists(path))
    return std::to_string(guid);
  if (style.follow_links) {
    std::error_code failure;
    const std::filesystem::path target = std::filesystem::canonical(path, failure);
    if (!failure) path = target.string();
  }
  if (style.full_path || vdev.value("type", "") != "disk") return path;
  std::string name = std::filesystem::path(path).filename().string();
  if (vdev.value("whole_disk", 0) == 1) {
    // The partition that the tools made on a whole disk is not shown.
    if (const std::size_t part = name.rfind("-part1"); part != std::string::npos && part + 6 == name.size()) {
      name.resize(part);
    } else if (name.starts_with("nvme") && name.ends_with("p1")) {
      name.resize(name.size() - 2);
    } else if (name.starts_with("sd") && name.ends_with("1")) {
      name.resize(name.size() - 1);
    }
  }
  return name;
}

}  // namespace tarn
