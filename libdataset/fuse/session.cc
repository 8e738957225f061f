#include "libdataset/fuse/session.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <cstring>

#include "libdataset/fuse/handlers.h"

namespace tarn {
namespace {

// We are the only writer, and every change comes through the kernel: what it knows stays right.
constexpr double kForever = 86400;
constexpr double kSoon = 1;
constexpr std::uint64_t kControlIno = 0xFFFFFFFFFFFF,
                        kSnapshotsIno = 0xFFFFFFFFFFFD;  // as OpenZFS shows them
constexpr std::uint64_t kSnapdirVisible = 1, kSnapdirDisabled = 2;

timespec to_timespec(TimeSpec time) { return {.tv_sec = time.seconds, .tv_nsec = time.nanoseconds}; }

}  // namespace

FuseSession::FuseSession(std::shared_ptr<FileSystem> fs, const MountOptions& options)
    : fs_(std::move(fs)),
      options_(options),
      root_(fs_->root()),
      posix_acls_(fs_->dataset()->property(Property::acltype) == 1),
      snapshots_(options) {}

FuseSession::~FuseSession() {
  if (session_) fuse_session_destroy(session_);
}

Status FuseSession::mount(const std::vector<std::string>& arguments, const std::string& mountpoint) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);  // libfuse counts on it when it copies the list
  fuse_args args{.argc = static_cast<int>(arguments.size()), .argv = argv.data(), .allocated = 0};
  const fuse_lowlevel_ops operations = fuse_operations();
  session_ = fuse_session_new(&args, &operations, sizeof operations, this);
  fuse_opt_free_args(&args);
  if (!session_) return Error(Errc::invalid_argument, "libfuse refuses the mount options");
  if (fuse_session_mount(session_, mountpoint.c_str()) != 0) {
    const int error = errno;
    return Error::system(error != 0 ? error : EPERM, fmt::format("cannot mount at '{}'", mountpoint));
  }
  // The descriptor that libfuse just opened, read and written through our hands.
  const fuse_custom_io io{.writev =
                              [](int fd, iovec* pieces, int count, void* self) {
                                return static_cast<FuseSession*>(self)->kernel_io_.writev(fd, pieces, count);
                              },
                          .read =
                              [](int fd, void* buffer, std::size_t length, void* self) {
                                return static_cast<FuseSession*>(self)->kernel_io_.read(fd, buffer, length);
                              }};
  if (fuse_session_custom_io(session_, &io, fuse_session_fd(session_)) != 0) {
    return Error(Errc::unsupported, "libfuse does not let us read requests");
  }
  return {};
}

void FuseSession::serve(unsigned threads) {
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, threads);
  fuse_session_loop_mt(session_, config);
  fuse_loop_cfg_destroy(config);
}

void FuseSession::end() {
  snapshots_.close_all();
  fs_->release_all();
  // Unmounted means safe. If the pool cannot write any more, whoever closes it will hear of that.
  const DatasetRef dataset = fs_->dataset();
  if (!dataset->read_only()) (void)dataset->pool().sync_now().ok();
}

void FuseSession::close_snapshot(const std::string& name) {
  const NodeId parent{.space = NodeId::kSynthetic, .object = NodeId::kSnapshots};
  fuse_lowlevel_notify_inval_entry(session_, parent.encode(root_), name.c_str(), name.size());
  snapshots_.close(name);
}

Result<FuseSession::Node> FuseSession::resolve(fuse_ino_t node) {
  const NodeId id = NodeId::decode(node, root_);
  if (id.space == 0) return Node{.fs = fs_, .id = id};
  if (id.space == NodeId::kSynthetic) return Node{.fs = nullptr, .id = id};
  std::shared_ptr<FileSystem> snapshot = snapshots_.find(id.space);
  if (!snapshot) return Error(Errc::not_found, "snapshot is no longer open");
  return Node{.fs = std::move(snapshot), .id = id};
}

struct stat FuseSession::stat_of(const FileAttributes& a, NodeId id) const {
  struct stat st = {};
  st.st_ino = id.space == 0 ? a.object : id.encode(root_);
  st.st_mode = a.mode;
  st.st_nlink = a.links;
  st.st_uid = static_cast<uid_t>(a.uid);
  st.st_gid = static_cast<gid_t>(a.gid);
  st.st_rdev = a.rdev;
  st.st_size = static_cast<off_t>(a.size_bytes);
  st.st_blksize = a.block_bytes;
  st.st_blocks = static_cast<blkcnt_t>((a.allocated_bytes + 511) / 512);
  st.st_atim = to_timespec(a.atime);
  st.st_mtim = to_timespec(a.mtime);
  st.st_ctim = to_timespec(a.ctime);
  return st;
}

struct stat FuseSession::synthetic_stat(NodeId id) const {
  struct stat st = {};
  st.st_ino = id.is_control() ? kControlIno : kSnapshotsIno;
  st.st_mode = S_IFDIR | 0555;
  st.st_nlink = 2;
  st.st_size = 2;
  clock_gettime(CLOCK_REALTIME, &st.st_mtim);
  st.st_atim = st.st_ctim = st.st_mtim;
  return st;
}

Result<fuse_entry_param> FuseSession::entry_for(const Node& parent, const FileAttributes& attributes) {
  const NodeId id{.space = parent.id.space, .object = attributes.object};
  if (id.space == 0) {
    TRY(fs_->retain(attributes.object, attributes.generation));
  } else {
    snapshots_.remember(id.space, 1);
  }
  fuse_entry_param entry = {};
  entry.ino = id.encode(root_);
  entry.generation = attributes.generation;
  entry.attr = stat_of(attributes, id);
  entry.attr_timeout = attributes.settled ? kForever : kSoon;
  entry.entry_timeout = parent.fs->names_fold() ? 0 : kForever;
  return entry;
}

fuse_entry_param FuseSession::synthetic_entry(NodeId id) const {
  fuse_entry_param entry = {};
  entry.ino = id.encode(root_);
  entry.attr = synthetic_stat(id);
  entry.entry_timeout = kSoon;  // snapshots come and go, the property changes
  return entry;
}

void FuseSession::forget(fuse_ino_t node, std::uint64_t count) {
  const NodeId id = NodeId::decode(node, root_);
  if (id.space == NodeId::kSynthetic) return;
  if (id.space == 0) {
    if (id.object != root_) fs_->release(id.object, count);
  } else {
    snapshots_.forget(id.space, count);
  }
}

bool FuseSession::control_offered() const {
  return snapshots_.offered() && fs_->dataset()->property(Property::snapdir) != kSnapdirDisabled;
}

bool FuseSession::control_visible() const {
  return control_offered() &&
         (options_.snapdir_visible || fs_->dataset()->property(Property::snapdir) == kSnapdirVisible);
}

Result<fuse_entry_param> FuseSession::lookup(fuse_ino_t parent_node, const char* name) {
  const Node parent = TRY(resolve(parent_node));
  const std::string_view text(name);
  if (parent.id.is_control()) {
    if (text == "snapshot")
      return synthetic_entry({.space = NodeId::kSynthetic, .object = NodeId::kSnapshots});
    return Error(Errc::not_found, "no such folder below .zfs");
  }
  if (parent.id.is_snapshots()) {
    const SnapshotSpaces::Space space = TRY(snapshots_.open(std::string(text)));
    const Node inside{.fs = space.fs, .id = {.space = space.id, .object = space.fs->root()}};
    fuse_entry_param entry = TRY(entry_for(inside, TRY(space.fs->get_attributes(space.fs->root()))));
    entry.entry_timeout = kSoon;
    return entry;
  }
  if (!parent.fs) return Error(Errc::not_found, "no such folder");
  if (parent.id.space == 0 && parent.id.object == root_ && text == ".zfs" && control_offered()) {
    return synthetic_entry({.space = NodeId::kSynthetic, .object = NodeId::kControl});
  }
  return entry_for(parent, TRY(parent.fs->lookup(parent.id.object, text)));
}

}  // namespace tarn
