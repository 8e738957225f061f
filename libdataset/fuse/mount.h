// Mount: a FileSystem served through FUSE at a folder. Translates only: no policy lives here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libdataset/files/file_system.h"
#include "libpool/base/result.h"

namespace tarn {

struct MountOptions {
  std::string mountpoint;  // an existing folder
  std::string source;      // dataset name, shown in /proc/mounts with type fuse.zfs
  bool read_only = false, atime = true, relatime = true, exec = true, setuid = true, devices = true,
       overlay = true;
  bool snapdir_visible = false;
  bool allow_other = true;      // only for root or with user_allow_other
  unsigned worker_threads = 0;  // 0 = from the number of CPUs
  // Opens a snapshot of this dataset for .zfs/snapshot; lists their names.
  std::function<Result<std::shared_ptr<FileSystem>>(const std::string& snapshot)> open_snapshot;
  std::function<std::vector<std::string>()> list_snapshots;
};

class Mount {
 public:
  // Mounted when it returns. As an ordinary user through fusermount3.
  static Result<std::unique_ptr<Mount>> create(std::shared_ptr<FileSystem> fs, const MountOptions& options);
  virtual ~Mount() = default;
  virtual const std::string& mountpoint() const = 0;
  // Unmounts and returns when nothing is busy any more; Errc::busy if files are open and !force.
  virtual Status unmount(bool force) = 0;
  // Lets go of a snapshot that is open below .zfs, so that it can be destroyed or renamed.
  virtual void close_snapshot(const std::string& name) = 0;
  virtual bool alive() const = 0;  // false after somebody unmounted it from outside
};

}  // namespace tarn
