// SnapshotSpaces: the snapshots that are open below `.zfs/snapshot` of one mount, each with its space of node
// numbers. A snapshot stays open while the kernel knows a node of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "libdataset/fuse/mount.h"
#include "libpool/base/mutex.h"

namespace tarn {

class SnapshotSpaces {
 public:
  explicit SnapshotSpaces(const MountOptions& options)
      : open_(options.open_snapshot), list_(options.list_snapshots) {}

  struct Space {
    std::uint16_t id = 0;
    std::shared_ptr<FileSystem> fs;
  };
  bool offered() const { return open_ && list_; }
  std::vector<std::string> names() const { return list_ ? list_() : std::vector<std::string>(); }
  Result<Space> open(const std::string& name) EXCLUDES(mutex_);
  std::shared_ptr<FileSystem> find(std::uint16_t id) EXCLUDES(mutex_);
  // The kernel learnt of nodes in the space, or forgot them.
  void remember(std::uint16_t id, std::uint64_t count) EXCLUDES(mutex_);
  void forget(std::uint16_t id, std::uint64_t count) EXCLUDES(mutex_);
  // Closes one by name, whatever the kernel still knows of it.
  void close(const std::string& name) EXCLUDES(mutex_);
  void close_all() EXCLUDES(mutex_);

 private:
  struct Opened {
    std::string name;
    std::shared_ptr<FileSystem> fs;
    std::uint64_t lookups = 0;
  };
  const std::function<Result<std::shared_ptr<FileSystem>>(const std::string&)> open_;
  const std::function<std::vector<std::string>()> list_;
  Mutex mutex_;
  std::map<std::uint16_t, Opened> spaces_ GUARDED_BY(mutex_);
  std::uint16_t next_id_ GUARDED_BY(mutex_) = 1;
};

}  // namespace tarn
