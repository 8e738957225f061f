#include "cmd/poold/mount_table.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace tarn {
namespace {

// A poold that was killed leaves its mounts behind, dead: nothing can be done there until they are taken
// away.
void detach_dead_mount(const std::string& folder) {
  struct stat st {};
  if (::stat(folder.c_str(), &st) == 0 || errno != ENOTCONN) return;
  if (::umount2(folder.c_str(), MNT_DETACH) == 0) return;
  std::string program = "fusermount3", unmount = "-u", lazy = "-z", where = folder;
  char* arguments[] = {program.data(), unmount.data(), lazy.data(), where.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0)
    ::waitpid(child, nullptr, 0);
}

}  // namespace

std::string MountTable::visible_mountpoint(const std::string& mountpoint) const {
  if (altroot_.empty() || mountpoint.empty() || mountpoint[0] != '/') return mountpoint;
  return mountpoint == "/" ? altroot_ : altroot_ + mountpoint;
}

Result<std::string> MountTable::text_property(const std::string& dataset, const std::string& property) {
  return print_value(TRY(tree_.get(dataset, property)), /*parsable=*/true);
}

std::vector<std::string> MountTable::mount_all() {
  std::vector<std::string> problems;
  Result<std::vector<DatasetInfo>> all = tree_.list(tree_.pool().name(), UINT32_MAX, /*snapshots=*/false);
  if (!all) return {all.error().text()};
  // Parents before children by folder, so that a child's folder is made inside its parent's file system.
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const DatasetInfo& info : *all) {
    if (info.kind != DatasetKind::filesystem) continue;
    const Result<std::string> canmount = text_property(info.name, "canmount");
    const Result<std::string> mountpoint = text_property(info.name, "mountpoint");
    if (!canmount || !mountpoint || *canmount != "on" || mountpoint->empty() || (*mountpoint)[0] != '/')
      continue;
    wanted.emplace_back(*mountpoint, info.name);
  }
  std::sort(wanted.begin(), wanted.end());
  for (const auto& [folder, name] : wanted) {
    if (!mounted_at(name).empty()) continue;
    if (Status done = mount(name); !done)
      problems.push_back(fmt::format("cannot mount '{}': {}", name, done.error().text()));
  }
  return problems;
}

Status MountTable::mount_if_wanted(const std::string& dataset) {
  const std::string canmount = TRY(text_property(dataset, "canmount"));
  const std::string mountpoint = TRY(text_property(dataset, "mountpoint"));
  if (canmount != "on" || mountpoint.empty() || mountpoint[0] != '/' || !mounted_at(dataset).empty())
    return {};
  return mount(dataset);
}

Status MountTable::mount(const std::string& dataset, const std::string& where) {
  MutexLock lock(mutex_);  // held across the mount: two commands must not mount the same dataset twice
  drop_dead();
  if (mounts_.contains(dataset)) return Error(Errc::busy, "filesystem already mounted");
  std::string folder = where;
  if (folder.empty()) {
    const std::string mountpoint = TRY(text_property(dataset, "mountpoint"));
    if (mountpoint == "none") return Error(Errc::invalid_argument, "no mountpoint set");
    if (mountpoint == "legacy") return Error(Errc::invalid_argument, "legacy mountpoint");
    if (TRY(text_property(dataset, "canmount")) == "off")
      return Error(Errc::invalid_argument, "'canmount' property is set to 'off'");
    folder = visible_mountpoint(mountpoint);
  }
  detach_dead_mount(folder);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return Error::system(failure.value(), fmt::format("failed to create mountpoint '{}'", folder));

  MountOptions options;
  options.mountpoint = folder;
  options.source = dataset;
  const auto is_on = [&](const char* property) -> bool {
    const Result<std::string> value = text_property(dataset, property);
    return value && *value == "on";
  };
  options.atime = is_on("atime");
  options.relatime = is_on("relatime");
  options.exec = is_on("exec");
  options.setuid = is_on("setuid");
  options.devices = is_on("devices");
  options.overlay = is_on("overlay");
  if (!options.overlay && !std::filesystem::is_empty(folder, failure))
    return Error(Errc::not_empty, "directory is not empty");
  if (const Result<std::string> snapdir = text_property(dataset, "snapdir"))
    options.snapdir_visible = *snapdir == "visible";
  options.open_snapshot = [this,
                           dataset](const std::string& snapshot) -> Result<std::shared_ptr<FileSystem>> {
    return FileSystem::open(TRY(tree_.open_dataset(dataset + "@" + snapshot)));
  };
  options.list_snapshots = [this, dataset] {
    std::vector<std::string> names;
    if (const Result<std::vector<DatasetInfo>> found = tree_.list(dataset, 1, /*snapshots=*/true))
      for (const DatasetInfo& info : *found)
        if (info.kind == DatasetKind::snapshot && info.name.starts_with(dataset + "@"))
          names.push_back(info.name.substr(dataset.size() + 1));
    return names;
  };
  DatasetRef open = TRY(tree_.open_dataset(dataset));
  options.read_only = open->read_only();
  std::shared_ptr<FileSystem> file_system = TRY(FileSystem::open(std::move(open)));
  mounts_[dataset] = TRY(Mount::create(std::move(file_system), options));
  return {};
}

Status MountTable::unmount(const std::string& dataset, bool force) {
  MutexLock lock(mutex_);
  drop_dead();
  const auto found = mounts_.find(dataset);
  if (found == mounts_.end()) return Error(Errc::not_found, "not currently mounted");
  TRY(found->second->unmount(force));
  mounts_.erase(found);
  return {};
}

Status MountTable::unmount_tree(const std::string& dataset, bool force) {
  std::vector<std::string> names;
  {
    MutexLock lock(mutex_);
    drop_dead();
    for (const auto& [name, mount] : mounts_)
      if (name == dataset || name.starts_with(dataset + "/")) names.push_back(name);
  }
  for (auto it = names.rbegin(); it != names.rend(); ++it) {
    const std::string folder = mounted_at(*it);
    if (folder.empty()) continue;
    if (Status done = unmount(*it, force); !done) {
      const bool busy = done.error().code() == Errc::busy;
      return Error(done.error().code(), fmt::format("cannot unmount '{}': {}", folder,
                                                    busy ? "pool or dataset is busy" : done.error().text()));
    }
  }
  return {};
}

std::string MountTable::mounted_at(const std::string& dataset) {
  MutexLock lock(mutex_);
  drop_dead();
  const auto found = mounts_.find(dataset);
  return found == mounts_.end() ? std::string() : found->second->mountpoint();
}

std::map<std::string, std::string> MountTable::all() {
  MutexLock lock(mutex_);
  drop_dead();
  std::map<std::string, std::string> out;
  for (const auto& [name, mount] : mounts_) out[name] = mount->mountpoint();
  return out;
}

void MountTable::drop_dead() {
  std::erase_if(mounts_, [](const auto& entry) { return !entry.second->alive(); });
}

}  // namespace tarn
