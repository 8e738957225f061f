// MountTable: which file systems of the pool are mounted where. Decides by the properties canmount,
// mountpoint, overlay and the pool's altroot; libdataset/fuse does the mounting.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libdataset/fuse/mount.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"

namespace tarn {

class MountTable {
 public:
  MountTable(DatasetTree& tree, std::string altroot) : tree_(tree), altroot_(std::move(altroot)) {}

  // What `get mountpoint` shows: with the altroot in front; "none" and "legacy" as they are.
  std::string visible_mountpoint(const std::string& mountpoint) const;

  // Mounts every file system whose properties ask for it. Goes on after a failure; the texts say which failed
  // and why.
  std::vector<std::string> mount_all() EXCLUDES(mutex_);
  // One file system, as `fs mount` does: also canmount=noauto. `where` overrides the property (legacy
  // mounts).
  Status mount(const std::string& dataset, const std::string& where = {}) EXCLUDES(mutex_);
  // If its properties ask for it (after create, set, rename); nothing otherwise.
  Status mount_if_wanted(const std::string& dataset) EXCLUDES(mutex_);
  Status unmount(const std::string& dataset, bool force) EXCLUDES(mutex_);
  // The dataset and everything below it, children first.
  Status unmount_tree(const std::string& dataset, bool force) EXCLUDES(mutex_);

  std::string mounted_at(const std::string& dataset) EXCLUDES(mutex_);  // empty: not mounted
  std::map<std::string, std::string> all() EXCLUDES(mutex_);            // dataset -> folder

 private:
  Result<std::string> text_property(const std::string& dataset, const std::string& property);
  // Forgets mounts that somebody ended from outside (umount, fusermount3 -u).
  void drop_dead() REQUIRES(mutex_);

  DatasetTree& tree_;
  const std::string altroot_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Mount>> mounts_ GUARDED_BY(mutex_);
};

}  // namespace tarn
