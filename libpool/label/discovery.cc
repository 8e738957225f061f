// Discovery: which pools do the labels of a set of devices describe (FORMAT.md 4, 5.4).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "libpool/base/thread_pool.h"
#include "libpool/label/label.h"

namespace tarn {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kScanThreads = 16;

struct ScannedDevice {
  std::string path;
  std::uint64_t bytes = 0;
  std::pair<std::uint64_t, std::uint64_t> identity;  // same device under several names
  LabelSet labels;
  std::optional<Uberblock> uberblock;
  const Label* label = nullptr;
};

// Names to look at: everything in the folders (not below them), or a device named itself.
std::vector<std::string> candidates(const std::vector<std::string>& folders) {
  static const std::vector<std::string> kDefault{"/dev/disk/by-vdev", "/dev/mapper", "/dev/disk/by-id",
                                                 "/dev/disk/by-path", "/dev"};
  std::vector<std::string> paths;
  for (const std::string& folder : folders.empty() ? kDefault : folders) {
    std::error_code failure;
    if (!fs::is_directory(folder, failure)) {
      if (fs::exists(folder, failure)) paths.push_back(folder);
      continue;
    }
    std::vector<std::string> names;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, failure))
      names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    paths.insert(paths.end(), names.begin(), names.end());
  }
  return paths;
}

std::optional<ScannedDevice> scan(const std::string& path, IoEngine& engine) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))) return std::nullopt;
  Result<std::unique_ptr<Disk>> disk = open_disk(path, {.read_only = true, .exclusive = false}, engine);
  if (!disk || (*disk)->size_bytes() < kMinDeviceBytes) return std::nullopt;
  ScannedDevice device;
  device.path = path;
  device.bytes = (*disk)->size_bytes();
  device.identity = S_ISBLK(st.st_mode) ? std::pair<std::uint64_t, std::uint64_t>{UINT64_MAX, st.st_rdev}
                                        : std::pair<std::uint64_t, std::uint64_t>{st.st_dev, st.st_ino};
  device.labels = read_labels(**disk);
  if (!device.labels.best()) return std::nullopt;
  device.uberblock = read_best_uberblock(**disk);
  return device;
}

void collect_guids(const VdevConfig& vdev, std::set<std::uint64_t>& guids) {
  guids.insert(vdev.guid);
  for (const VdevConfig& child : vdev.children) collect_guids(child, guids);
}

// Leaves get the path under which they were found.
void place_paths(VdevConfig& vdev, const std::map<std::uint64_t, std::string>& found) {
  if (const auto it = found.find(vdev.guid); it != found.end() && is_leaf(vdev.kind)) vdev.path = it->second;
  for (VdevConfig& child : vdev.children) place_paths(child, found);
}

// One pool out of all devices whose labels name its guid.
DiscoveredPool assemble(std::vector<ScannedDevice*>& devices) {
  DiscoveredPool pool;
  for (const ScannedDevice* device : devices)
    if (device->uberblock && (!pool.best_uberblock || newer(*device->uberblock, *pool.best_uberblock)))
      pool.best_uberblock = device->uberblock;
  const std::uint64_t limit = pool.best_uberblock ? pool.best_uberblock->txg : UINT64_MAX;

  // Each device speaks through its newest label that is not ahead of the uberblock; the newest of all
  // describes the pool.
  const Label* newest = nullptr;
  std::map<std::uint64_t, const Label*> tops;  // by id
  for (ScannedDevice* device : devices) {
    device->label = device->labels.best(limit);
    if (!device->label) device->label = device->labels.best();
    if (!newest || device->label->pool.txg > newest->pool.txg) newest = device->label;
  }
  pool.config = newest->pool;
  for (const ScannedDevice* device : devices) {
    const Label& label = *device->label;
    const Label*& top = tops[label.top.id];
    if (!top || label.pool.txg > top->pool.txg) top = &label;
  }
  pool.root.kind = VdevKind::root;
  pool.root.guid = pool.config.pool_guid;
  const std::uint64_t count =
      std::min<std::uint64_t>(std::max<std::uint64_t>(pool.config.vdev_children, 1), 4096);
  std::set<std::uint64_t> members;
  for (std::uint64_t id = 0; id < count; ++id) {
    VdevConfig top;
    const auto found = tops.find(id);
    const bool hole = std::find(pool.config.hole_array.begin(), pool.config.hole_array.end(), id) !=
                      pool.config.hole_array.end();
    if (hole) {
      top.kind = VdevKind::hole;
    } else if (found != tops.end()) {
      top = found->second->top;
    }
    top.id = id;
    collect_guids(top, members);
    pool.root.children.push_back(std::move(top));
  }

  std::map<std::uint64_t, std::string> paths;
  for (const ScannedDevice* device : devices) {
    // A former member still carries the pool's name, but no top-level vdev knows it any more.
    if (!members.contains(device->label->guid)) continue;
    if (!paths.emplace(device->label->guid, device->path).second) {
      pool.problems.push_back(
          fmt::format("{} and {} carry the same device guid", paths[device->label->guid], device->path));
      continue;
    }
    pool.devices.push_back({device->path, device->label->guid, device->label->pool.txg, device->bytes});
    for (const std::string& problem : device->labels.problems)
      if (!problem.empty()) pool.problems.push_back(fmt::format("{}: {}", device->path, problem));
  }
  place_paths(pool.root, paths);
  return pool;
}

}  // namespace

Result<std::vector<DiscoveredPool>> discover_pools(const DiscoveryOptions& options) {
  const std::vector<std::string> paths = candidates(options.folders);
  const std::unique_ptr<IoEngine> engine =
      make_thread_engine(1);  // reads are blocking calls of the scanning threads
  std::vector<std::optional<ScannedDevice>> scanned(paths.size());
  {
    ThreadPool scanners("label-scan",
                        std::min<unsigned>(kScanThreads, static_cast<unsigned>(paths.size()) + 1));
    TaskGroup group(scanners);
    for (std::size_t i = 0; i < paths.size(); ++i)
      group.run([&, i] { scanned[i] = scan(paths[i], *engine); });
  }
  // The same device under several names counts once, under the first.
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::map<std::uint64_t, std::vector<ScannedDevice*>> by_pool;
  for (std::optional<ScannedDevice>& device : scanned) {
    if (!device || !seen.insert(device->identity).second) continue;
    const Label* label = device->labels.best();
    if (label->pool.pool_guid == 0) continue;  // idle spare or cache
    by_pool[label->pool.pool_guid].push_back(&*device);
  }
  std::vector<DiscoveredPool> pools;
  for (auto& [guid, devices] : by_pool) {
    DiscoveredPool pool = assemble(devices);
    if (pool.devices.empty()) continue;
    if (pool.config.state == PoolState::destroyed && !options.include_destroyed) continue;
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace tarn
