// FuseSession: answers the kernel's requests for one mount. Each handler translates its request into one call
// of FileSystem (or of the folders below .zfs) and the result into a reply; several threads do so at once.
#pragma once

#include <memory>
#include <string>

#include "libdataset/fuse/fuse_api.h"
#include "libdataset/fuse/kernel_io.h"
#include "libdataset/fuse/mount.h"
#include "libdataset/fuse/node_id.h"
#include "libdataset/fuse/snapshot_spaces.h"

namespace tarn {

class FuseSession {
 public:
  FuseSession(std::shared_ptr<FileSystem> fs, const MountOptions& options);
  ~FuseSession();
  FuseSession(const FuseSession&) = delete;
  FuseSession& operator=(const FuseSession&) = delete;

  Status mount(const std::vector<std::string>& arguments, const std::string& mountpoint);
  // Serves until the file system is unmounted.
  void serve(unsigned threads);
  // The kernel drops what it cached of `.zfs/snapshot/NAME`; the snapshot is closed.
  void close_snapshot(const std::string& name);
  // After serve(): nothing is retained any more.
  void end();

 private:
  friend struct FuseHandlers;
  struct Node {
    std::shared_ptr<FileSystem> fs;
    NodeId id;
  };

  // The file system and object of a node; the synthetic ones have no file system.
  Result<Node> resolve(fuse_ino_t node);
  struct stat stat_of(const FileAttributes& attributes, NodeId id) const;
  struct stat synthetic_stat(NodeId id) const;
  // What the kernel may keep, and counts the look-up. Nothing is left counted on error.
  Result<fuse_entry_param> entry_for(const Node& parent, const FileAttributes& attributes);
  fuse_entry_param synthetic_entry(NodeId id) const;
  void forget(fuse_ino_t node, std::uint64_t count);
  bool control_offered() const;
  bool control_visible() const;

  Result<fuse_entry_param> lookup(fuse_ino_t parent, const char* name);
  Status list(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, bool plus);
  Status list_synthetic(fuse_req_t req, NodeId id, std::size_t size, off_t offset, bool plus);

  const std::shared_ptr<FileSystem> fs_;
  const MountOptions options_;
  const std::uint64_t root_;
  const bool posix_acls_;
  SnapshotSpaces snapshots_;
  KernelIo kernel_io_;
  fuse_session* session_ = nullptr;
};

}  // namespace tarn
