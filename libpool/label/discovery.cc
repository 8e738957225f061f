// Discovery: which pools do the labels of a set of devices describe (FORMAT.md 4, 5.4).
//
// Labels of one pool need not agree: a device may have been away while the pool changed, detached, or caught
// by a power cut between two label writes. So each device speaks through its newest label that is not ahead
// of the pool's uberblock, each top-level vdev is as the newest label of its devices has it, and a device
// whose guid that vdev does not know is no member. Labels without a txg (being added, detached, removed) say
// nothing about the pool.
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
constexpr std::uint64_t kMaxTops = 4096;  // bounds what a hostile label can make us build

struct ScannedDevice {
  std::string path;
  std::uint64_t bytes = 0;
  std::pair<std::uint64_t, std::uint64_t> identity;  // same device under several names
  LabelSet labels;
  std::optional<Uberblock> uberblock;
  const Label* label = nullptr;
};

// Names to look at: everything in the folders (not below them), or a device named itself.
Result<std::vector<std::string>> candidates(const std::vector<std::string>& folders) {
  static const std::vector<std::string> kDefault{"/dev/disk/by-vdev", "/dev/mapper", "/dev/disk/by-id",
                                                 "/dev/disk/by-path", "/dev"};
  std::vector<std::string> paths;
  for (const std::string& folder : folders.empty() ? kDefault : folders) {
    std::error_code failure;
    if (!fs::is_directory(folder, failure)) {
      if (fs::exists(folder, failure)) {
        paths.push_back(folder);
      } else if (!folders.empty()) {
        return Error(Errc::not_found, fmt::format("cannot open '{}': no such file or directory", folder));
      }
      continue;
    }
    std::vector<std::string> names;
    fs::directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure))
      names.push_back(entry->path().string());
    if (failure && !folders.empty())
      return Error::system(failure.value(), fmt::format("cannot read '{}'", folder));
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
  const Label* label = device.labels.best();
  if (!label) return std::nullopt;
  if (!label->is_aux()) device.uberblock = read_best_uberblock(**disk);
  return device;
}

void collect_leaf_guids(const VdevConfig& vdev, std::set<std::uint64_t>& guids) {
  if (is_leaf(vdev.kind)) guids.insert(vdev.guid);
  for (const VdevConfig& child : vdev.children) collect_leaf_guids(child, guids);
}

// Leaves get the path under which they were found.
void place_paths(VdevConfig& vdev, const std::map<std::uint64_t, std::string>& found) {
  if (const auto it = found.find(vdev.guid); it != found.end() && is_leaf(vdev.kind)) vdev.path = it->second;
  for (VdevConfig& child : vdev.children) place_paths(child, found);
}

// Where no member describes the top-level vdev: one that is being added has no other labels yet; of a removed
// one its former device still says that it is indirect, which needs no device.
bool may_stand_in(const Label& label) {
  return label.is_being_added() || label.top.kind == VdevKind::indirect;
}

VdevConfig assemble_root(const PoolConfig& config, const std::vector<ScannedDevice*>& devices) {
  std::map<std::uint64_t, const Label*> tops;  // by id
  for (const ScannedDevice* device : devices) {
    const Label& label = *device->label;
    if (label.pool.txg == 0 && !may_stand_in(label)) continue;
    const Label*& top = tops[label.top.id];
    if (!top || label.pool.txg > top->pool.txg) top = &label;
  }
  VdevConfig root;
  root.kind = VdevKind::root;
  root.guid = config.pool_guid;
  const std::uint64_t count = std::clamp<std::uint64_t>(config.vdev_children, 1, kMaxTops);
  const std::set<std::uint64_t> holes(config.hole_array.begin(), config.hole_array.end());
  for (std::uint64_t id = 0; id < count; ++id) {
    VdevConfig top;
    const auto found = tops.find(id);
    if (holes.contains(id)) {
      top.kind = VdevKind::hole;
    } else if (found != tops.end()) {
      top = found->second->top;
    }
    top.id = id;
    root.children.push_back(std::move(top));
  }
  return root;
}

// The members among the devices, one for each guid.
void place_devices(DiscoveredPool& pool, const std::vector<ScannedDevice*>& devices) {
  std::set<std::uint64_t> leaves;
  collect_leaf_guids(pool.root, leaves);
  std::map<std::uint64_t, const ScannedDevice*> members;
  for (const ScannedDevice* device : devices) {
    if (!leaves.contains(device->label->guid) || device->label->is_former_member()) continue;
    const ScannedDevice*& member = members[device->label->guid];
    if (member) {
      const bool fresher = device->label->pool.txg > member->label->pool.txg;
      pool.problems.push_back(fmt::format("{} and {} carry the same device guid; {} is used", member->path,
                                          device->path, fresher ? device->path : member->path));
      if (!fresher) continue;
    }
    member = device;
  }
  std::map<std::uint64_t, std::string> paths;
  for (const auto& [guid, device] : members) {
    paths[guid] = device->path;
    pool.devices.push_back({device->path, guid, device->label->pool.txg, device->bytes});
    for (const std::string& problem : device->labels.problems)
      if (!problem.empty()) pool.problems.push_back(fmt::format("{}: {}", device->path, problem));
  }
  place_paths(pool.root, paths);
}

// One pool out of all devices whose labels name its guid; nothing if none of them is a member.
std::optional<DiscoveredPool> assemble(const std::vector<ScannedDevice*>& devices) {
  DiscoveredPool pool;
  for (const ScannedDevice* device : devices)
    if (device->uberblock && (!pool.best_uberblock || newer(*device->uberblock, *pool.best_uberblock)))
      pool.best_uberblock = device->uberblock;
  const std::uint64_t limit = pool.best_uberblock ? pool.best_uberblock->txg : UINT64_MAX;

  const Label* newest = nullptr;
  for (ScannedDevice* device : devices) {
    device->label = device->labels.best(limit);
    if (!device->label) device->label = device->labels.best();
    if (device->label->pool.txg == 0) continue;
    if (!newest || device->label->pool.txg > newest->pool.txg) newest = device->label;
  }
  if (!newest) return std::nullopt;
  pool.config = newest->pool;
  pool.root = assemble_root(pool.config, devices);
  place_devices(pool, devices);
  if (pool.devices.empty()) return std::nullopt;
  return pool;
}

}  // namespace

Result<std::vector<DiscoveredPool>> discover_pools(const DiscoveryOptions& options) {
  const std::vector<std::string> paths = TRY(candidates(options.folders));
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
  std::vector<DiscoveredAux> aux_devices;
  for (std::optional<ScannedDevice>& device : scanned) {
    if (!device || !seen.insert(device->identity).second) continue;
    const Label* label = device->labels.best();
    if (label->is_aux()) {
      aux_devices.push_back({device->path, label->guid, label->pool.state == PoolState::l2cache});
    } else {
      by_pool[label->pool.pool_guid].push_back(&*device);
    }
  }
  std::vector<DiscoveredPool> pools;
  for (auto& [guid, devices] : by_pool) {
    std::optional<DiscoveredPool> pool = assemble(devices);
    if (!pool || (pool->config.state == PoolState::destroyed && !options.include_destroyed)) continue;
    pool->aux_devices = aux_devices;
    pools.push_back(*std::move(pool));
  }
  return pools;
}

}  // namespace tarn
