// What keeps a device from being used for a new pool: our own labels, mounts, swap, or something that
// libblkid knows.
#include <blkid/blkid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>

#include "libpool/label/label.h"

namespace tarn {
namespace {

// Somebody holds the device: a pool's process (flock), the kernel (O_EXCL fails for mounted or mapped
// devices).
bool is_held(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_EXCL : 0));
  if (fd < 0) return errno == EBUSY;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

// Named in the first column of /proc/swaps or /proc/mounts, under whatever name.
bool is_listed(const char* table, const std::string& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return false;
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string device;
    words >> device;
    struct stat st {};
    if (!device.starts_with("/") || ::stat(device.c_str(), &st) != 0) continue;
    const bool same = S_ISBLK(wanted.st_mode) ? S_ISBLK(st.st_mode) && st.st_rdev == wanted.st_rdev
                                              : st.st_dev == wanted.st_dev && st.st_ino == wanted.st_ino;
    if (same) return true;
  }
  return false;
}

// File system or partition table found by libblkid; empty if none.
std::string probe_content(const std::string& path, const char* key) {
  const std::unique_ptr<blkid_struct_probe, decltype(&blkid_free_probe)> probe(
      blkid_new_probe_from_filename(path.c_str()), blkid_free_probe);
  if (!probe) return {};
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE);
  blkid_probe_enable_partitions(probe.get(), 1);
  constexpr int kAmbivalent = -2;
  const int outcome = blkid_do_safeprobe(probe.get());
  if (outcome == kAmbivalent) return "several file systems";
  if (outcome != 0) return {};
  const char* value = nullptr;
  return blkid_probe_lookup_value(probe.get(), key, &value, nullptr) == 0 && value ? value : "";
}

std::optional<DeviceUse> from_label(const std::string& path, bool held) {
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  Result<std::unique_ptr<Disk>> disk = open_disk(path, {.read_only = true, .exclusive = false}, *engine);
  if (!disk) return std::nullopt;
  const LabelSet labels = read_labels(**disk);
  const Label* label = labels.best();
  if (!label || label->is_former_member()) return std::nullopt;
  const std::string& name = label->pool.name;
  switch (label->pool.state) {
    case PoolState::active:
      if (held) return DeviceUse{DeviceUse::Kind::active_pool, name, false};
      return DeviceUse{DeviceUse::Kind::potentially_active_pool, name, true};
    case PoolState::exported:
      return DeviceUse{DeviceUse::Kind::exported_pool, name, !held};
    case PoolState::destroyed:
      return DeviceUse{DeviceUse::Kind::destroyed_pool, name, true};
    case PoolState::spare:
      return DeviceUse{DeviceUse::Kind::spare, name, !held};
    case PoolState::l2cache:
      return DeviceUse{DeviceUse::Kind::cache, name, !held};
  }
  return std::nullopt;
}

}  // namespace

Result<DeviceUse> probe_device_use(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) return Error::system(errno, fmt::format("cannot open '{}'", path));
  const bool held = is_held(path);
  if (std::optional<DeviceUse> use = from_label(path, held)) return *use;
  if (is_listed("/proc/swaps", path)) return DeviceUse{DeviceUse::Kind::swap, "swap", false};
  std::string content = probe_content(path, "TYPE");
  if (content == "zfs_member") content.clear();  // our own reading of the labels decides
  if (is_listed("/proc/mounts", path)) return DeviceUse{DeviceUse::Kind::mounted, content, false};
  if (held) return DeviceUse{DeviceUse::Kind::other, content, false};
  if (!content.empty()) return DeviceUse{DeviceUse::Kind::file_system, content, true};
  if (const std::string table = probe_content(path, "PTTYPE"); !table.empty())
    return DeviceUse{DeviceUse::Kind::partition_table, table, true};
  return DeviceUse{};
}

}  // namespace tarn
