#include "libdataset/fuse/handlers.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

#include "libdataset/fuse/session.h"

namespace tarn {
namespace {

constexpr unsigned kTransferBytes = 1u << 20;
constexpr std::size_t kMaxPieces = 1000;  // of one reply: the kernel takes 1024 vectors
constexpr unsigned kBackgroundRequests = 64;
constexpr double kForever = 86400, kSoon = 1;

FuseSession& session_of(fuse_req_t req) { return *static_cast<FuseSession*>(fuse_req_userdata(req)); }

Caller caller_of(fuse_req_t req) {
  const fuse_ctx* context = fuse_req_ctx(req);
  return {.uid = context->uid, .gid = context->gid, .umask = context->umask};
}

void reply(fuse_req_t req, const Status& status) {
  fuse_reply_err(req, status ? 0 : to_errno(status.error().code()));
}
void reply_error(fuse_req_t req, const Error& error) { fuse_reply_err(req, to_errno(error.code())); }

TimeSpec from_timespec(const timespec& time) {
  return {.seconds = time.tv_sec, .nanoseconds = static_cast<std::uint32_t>(time.tv_nsec)};
}

TimeSpec right_now() {
  timespec time = {};
  clock_gettime(CLOCK_REALTIME, &time);
  return from_timespec(time);
}

}  // namespace

// Has access to the session's insides; each function is one request.
struct FuseHandlers {
  using Node = FuseSession::Node;

  // Nodes of real file systems only: the folders below .zfs hold nothing that could be changed.
  static Result<Node> real(FuseSession& session, fuse_ino_t ino) {
    Node node = TRY(session.resolve(ino));
    if (!node.fs) return Error(Errc::not_permitted, "the folders below .zfs cannot be changed");
    return node;
  }

  static void init(void*, fuse_conn_info* connection);
  static void init_session(void* userdata, fuse_conn_info* connection) {
    init(userdata, connection);
    if (static_cast<FuseSession*>(userdata)->posix_acls_)
      connection->want |= connection->capable & FUSE_CAP_POSIX_ACL;
  }

  static void reply_entry(fuse_req_t req, FuseSession& session, Result<fuse_entry_param> entry) {
    if (!entry) return reply_error(req, entry.error());
    const fuse_ino_t ino = entry->ino;
    if (fuse_reply_entry(req, &*entry) != 0) session.forget(ino, 1);  // the kernel never learnt of it
  }

  static void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
    FuseSession& session = session_of(req);
    Result<fuse_entry_param> entry = session.lookup(parent, name);
    if (!entry && entry.error().code() == Errc::not_found) {
      // That there is no such name may be remembered, too, where one spelling is one name.
      const Result<Node> node = session.resolve(parent);
      if (node && node->fs && !node->fs->names_fold()) {
        fuse_entry_param none = {};
        none.entry_timeout =
            node->id.object == session.root_ && std::strcmp(name, ".zfs") == 0 ? kSoon : kForever;
        fuse_reply_entry(req, &none);
        return;
      }
    }
    reply_entry(req, session, std::move(entry));
  }

  static void forget(fuse_req_t req, fuse_ino_t ino, std::uint64_t count) {
    session_of(req).forget(ino, count);
    fuse_reply_none(req);
  }

  static void forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
    for (std::size_t i = 0; i < count; ++i) session_of(req).forget(forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
  }

  static void getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
    FuseSession& session = session_of(req);
    const Result<Node> node = session.resolve(ino);
    if (!node) return reply_error(req, node.error());
    if (!node->fs) {
      const struct stat st = session.synthetic_stat(node->id);
      fuse_reply_attr(req, &st, 0);
      return;
    }
    reply_attributes(req, session, *node, node->fs->get_attributes(node->id.object));
  }

  static void reply_attributes(fuse_req_t req, FuseSession& session, const Node& node,
                               const Result<FileAttributes>& attributes) {
    if (!attributes) return reply_error(req, attributes.error());
    const struct stat st = session.stat_of(*attributes, node.id);
    fuse_reply_attr(req, &st, attributes->settled ? kForever : kSoon);
  }

  static void setattr(fuse_req_t req, fuse_ino_t ino, struct stat* attr, int to_set, fuse_file_info*) {
    FuseSession& session = session_of(req);
    const Result<Node> node = real(session, ino);
    if (!node) return reply_error(req, node.error());
    AttributeChange change;
    if (to_set & FUSE_SET_ATTR_MODE) change.mode = attr->st_mode & 07777;
    if (to_set & FUSE_SET_ATTR_UID) change.uid = attr->st_uid;
    if (to_set & FUSE_SET_ATTR_GID) change.gid = attr->st_gid;
    if (to_set & FUSE_SET_ATTR_SIZE) change.size_bytes = static_cast<std::uint64_t>(attr->st_size);
    const TimeSpec now = right_now();
    if (to_set & FUSE_SET_ATTR_ATIME) change.atime = from_timespec(attr->st_atim);
    if (to_set & FUSE_SET_ATTR_MTIME) change.mtime = from_timespec(attr->st_mtim);
    if (to_set & FUSE_SET_ATTR_ATIME_NOW) change.atime = now;
    if (to_set & FUSE_SET_ATTR_MTIME_NOW) change.mtime = now;
    if (to_set & FUSE_SET_ATTR_CTIME) change.ctime = from_timespec(attr->st_ctim);
    reply_attributes(req, session, *node, node->fs->set_attributes(node->id.object, change, caller_of(req)));
  }

  static void readlink(fuse_req_t req, fuse_ino_t ino) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    if (!node->fs) return static_cast<void>(fuse_reply_err(req, EINVAL));
    const Result<std::string> target = node->fs->read_symlink(node->id.object);
    if (!target) return reply_error(req, target.error());
    fuse_reply_readlink(req, target->c_str());
  }

  // The new object of `made` in `parent`, counted as looked up.
  static Result<fuse_entry_param> new_entry(FuseSession& session, fuse_ino_t parent,
                                            const std::function<Result<FileAttributes>(const Node&)>& make) {
    const Node node = TRY(real(session, parent));
    return session.entry_for(node, TRY(make(node)));
  }

  static void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
    FuseSession& session = session_of(req);
    reply_entry(req, session, new_entry(session, parent, [&](const Node& node) {
                  return node.fs->create(node.id.object, name, mode, rdev, caller_of(req));
                }));
  }

  static void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
    FuseSession& session = session_of(req);
    reply_entry(req, session, new_entry(session, parent, [&](const Node& node) {
                  return node.fs->make_directory(node.id.object, name, mode, caller_of(req));
                }));
  }

  static void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
    FuseSession& session = session_of(req);
    reply_entry(req, session, new_entry(session, parent, [&](const Node& node) {
                  return node.fs->make_symlink(node.id.object, name, target, caller_of(req));
                }));
  }

  static void link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char* name) {
    FuseSession& session = session_of(req);
    reply_entry(req, session, new_entry(session, parent, [&](const Node& node) -> Result<FileAttributes> {
                  const Node file = TRY(real(session, ino));
                  if (file.id.space != node.id.space) return Error(Errc::cross_device, "another file system");
                  return node.fs->make_link(file.id.object, node.id.object, name, caller_of(req));
                }));
  }

  static void create(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info) {
    FuseSession& session = session_of(req);
    Result<fuse_entry_param> entry = new_entry(session, parent, [&](const Node& node) {
      return node.fs->create(node.id.object, name, (mode & 07777) | S_IFREG, 0, caller_of(req));
    });
    if (!entry) return reply_error(req, entry.error());
    info->keep_cache = 1;
    if (fuse_reply_create(req, &*entry, info) != 0) session.forget(entry->ino, 1);
  }

  static void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
    const Result<Node> node = real(session_of(req), parent);
    if (!node) return reply_error(req, node.error());
    reply(req, node->fs->unlink(node->id.object, name, caller_of(req)));
  }

  static void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
    const Result<Node> node = real(session_of(req), parent);
    if (!node) return reply_error(req, node.error());
    reply(req, node->fs->remove_directory(node->id.object, name, caller_of(req)));
  }

  static void rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
                     const char* new_name, unsigned flags) {
    FuseSession& session = session_of(req);
    const Result<Node> from = real(session, parent), to = real(session, new_parent);
    if (!from) return reply_error(req, from.error());
    if (!to) return reply_error(req, to.error());
    if (from->id.space != to->id.space) return static_cast<void>(fuse_reply_err(req, EXDEV));
    RenameMode mode = RenameMode::replace;
    switch (flags) {
      case 0:
        break;
      case RENAME_NOREPLACE:
        mode = RenameMode::no_replace;
        break;
      case RENAME_EXCHANGE:
        mode = RenameMode::exchange;
        break;
      case RENAME_WHITEOUT:
        mode = RenameMode::whiteout;
        break;
      default:
        return static_cast<void>(fuse_reply_err(req, EINVAL));
    }
    reply(req, from->fs->rename(from->id.object, name, to->id.object, new_name, mode, caller_of(req)));
  }

  // Without a reply of its own the kernel opens files by itself from then on: an open file is a node that it
  // knows.
  static void open(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }

  static void opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    // Listings of real folders may be kept; with .zfs in it, the root's changes by a property.
    info->cache_readdir = info->keep_cache = node->fs && ino != FUSE_ROOT_ID;
    fuse_reply_open(req, info);
  }

  static void read(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info*) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    if (!node->fs) return static_cast<void>(fuse_reply_err(req, EISDIR));
    const Status status = node->fs->read_pieces(
        node->id.object, static_cast<std::uint64_t>(offset), size, [&](std::span<const ByteView> pieces) {
          if (pieces.size() > kMaxPieces) {
            Bytes joined;
            for (const ByteView piece : pieces) joined.insert(joined.end(), piece.begin(), piece.end());
            fuse_reply_buf(req, reinterpret_cast<const char*>(joined.data()), joined.size());
            return;
          }
          std::vector<iovec> vectors;
          vectors.reserve(pieces.size());
          for (const ByteView piece : pieces)
            vectors.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
          fuse_reply_iov(req, vectors.data(), static_cast<int>(vectors.size()));
        });
    if (!status) reply_error(req, status.error());
  }

  static void write(fuse_req_t req, fuse_ino_t ino, const char* data, std::size_t size, off_t offset,
                    fuse_file_info*) {
    const Result<Node> node = real(session_of(req), ino);
    if (!node) return reply_error(req, node.error());
    // A write by an ordinary user takes set-id bits away: the kernel has to hear of the new mode.
    bool mode_changes = false;
    if (fuse_req_ctx(req)->uid != 0) {
      const Result<FileAttributes> before = node->fs->get_attributes(node->id.object);
      mode_changes = before && (before->mode & (S_ISUID | S_ISGID));
    }
    FuseSession& session = session_of(req);
    // The kernel has put the offset of an append at the end of the file.
    const Result<std::size_t> written = node->fs->write(node->id.object, static_cast<std::uint64_t>(offset),
                                                        as_bytes({data, size}), false, caller_of(req));
    if (!written) return reply_error(req, written.error());
    if (mode_changes) fuse_lowlevel_notify_inval_inode(session.session_, ino, -1, 0);
    fuse_reply_write(req, *written);
  }

  static void fsync(fuse_req_t req, fuse_ino_t ino, int, fuse_file_info*) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    reply(req, node->fs ? node->fs->fsync(node->id.object) : Status());
  }

  static void readdir(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info*) {
    if (const Status status = session_of(req).list(req, ino, size, offset, false); !status)
      reply_error(req, status.error());
  }

  static void readdirplus(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info*) {
    if (const Status status = session_of(req).list(req, ino, size, offset, true); !status)
      reply_error(req, status.error());
  }

  static void statfs(fuse_req_t req, fuse_ino_t ino) {
    FuseSession& session = session_of(req);
    const Result<Node> node = session.resolve(ino);
    const std::shared_ptr<FileSystem>& fs = node && node->fs ? node->fs : session.fs_;
    const Result<SpaceInfo> space = fs->space();
    if (!space) return reply_error(req, space.error());
    struct statvfs st = {};
    st.f_bsize = fs->dataset()->property(Property::recordsize);
    st.f_frsize = space->block_bytes;
    st.f_blocks = space->blocks;
    st.f_bfree = st.f_bavail = space->free_blocks;
    st.f_files = space->files;
    st.f_ffree = st.f_favail = space->free_files;
    st.f_namemax = space->name_max;
    fuse_reply_statfs(req, &st);
  }

  // Values and lists: the size alone when the kernel asks with no room.
  static void reply_sized(fuse_req_t req, ByteView value, std::size_t room) {
    if (room == 0) {
      fuse_reply_xattr(req, value.size());
    } else if (value.size() > room) {
      fuse_reply_err(req, ERANGE);
    } else {
      fuse_reply_buf(req, reinterpret_cast<const char*>(value.data()), value.size());
    }
  }

  static void getxattr(fuse_req_t req, fuse_ino_t ino, const char* name, std::size_t room) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    if (!node->fs) return static_cast<void>(fuse_reply_err(req, ENODATA));
    const Result<Bytes> value = node->fs->get_xattr(node->id.object, name);
    if (!value) return reply_error(req, value.error());
    reply_sized(req, *value, room);
  }

  static void listxattr(fuse_req_t req, fuse_ino_t ino, std::size_t room) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    std::string list;
    if (node->fs) {
      const Result<std::vector<std::string>> names = node->fs->list_xattrs(node->id.object);
      if (!names) return reply_error(req, names.error());
      for (const std::string& name : *names) {
        if (name.starts_with("trusted.") && fuse_req_ctx(req)->uid != 0) continue;
        list += name;
        list += '\0';
      }
    }
    reply_sized(req, as_bytes(list), room);
  }

  static void setxattr(fuse_req_t req, fuse_ino_t ino, const char* name, const char* value, std::size_t size,
                       int flags) {
    const Result<Node> node = real(session_of(req), ino);
    if (!node) return reply_error(req, node.error());
    const auto mode = flags == 1   ? FileSystem::XattrMode::create
                      : flags == 2 ? FileSystem::XattrMode::replace
                                   : FileSystem::XattrMode::set;
    reply(req, node->fs->set_xattr(node->id.object, name, as_bytes({value, size}), mode, caller_of(req)));
  }

  static void removexattr(fuse_req_t req, fuse_ino_t ino, const char* name) {
    const Result<Node> node = real(session_of(req), ino);
    if (!node) return reply_error(req, node.error());
    reply(req, node->fs->remove_xattr(node->id.object, name, caller_of(req)));
  }

  static void fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                        fuse_file_info*) {
    const Result<Node> node = real(session_of(req), ino);
    if (!node) return reply_error(req, node.error());
    const auto begin = static_cast<std::uint64_t>(offset), count = static_cast<std::uint64_t>(length);
    const bool keep_size = mode & FALLOC_FL_KEEP_SIZE;
    switch (mode & ~FALLOC_FL_KEEP_SIZE) {
      case 0:
        // Copy-on-write cannot set space aside: only the size is promised.
        return reply(req, keep_size ? Status() : node->fs->extend(node->id.object, begin + count));
      case FALLOC_FL_PUNCH_HOLE:
      case FALLOC_FL_ZERO_RANGE:
        return reply(req, node->fs->punch(node->id.object, begin, count, keep_size));
      default:
        fuse_reply_err(req, EOPNOTSUPP);
    }
  }

  static void lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, fuse_file_info*) {
    const Result<Node> node = session_of(req).resolve(ino);
    if (!node) return reply_error(req, node.error());
    if (!node->fs || (whence != SEEK_DATA && whence != SEEK_HOLE))
      return static_cast<void>(fuse_reply_err(req, EINVAL));
    const auto at = static_cast<std::uint64_t>(offset);
    const Result<std::uint64_t> found = whence == SEEK_DATA ? node->fs->seek_data(node->id.object, at)
                                                            : node->fs->seek_hole(node->id.object, at);
    if (!found)
      return static_cast<void>(fuse_reply_err(
          req, found.error().code() == Errc::no_data ? ENXIO : to_errno(found.error().code())));
    fuse_reply_lseek(req, static_cast<off_t>(*found));
  }

  // chattr and the project id tools.
  static void ioctl(fuse_req_t req, fuse_ino_t ino, unsigned command, void*, fuse_file_info*, unsigned,
                    const void* in, std::size_t in_bytes, std::size_t out_bytes) {
    const Result<Node> node = real(session_of(req), ino);
    if (!node) return reply_error(req, node.error());
    Result<FileFlags> flags = node->fs->get_flags(node->id.object);
    if (!flags) return reply_error(req, flags.error());
    switch (command) {
      case FS_IOC_GETFLAGS: {
        const unsigned value = (flags->immutable ? FS_IMMUTABLE_FL : 0) |
                               (flags->append_only ? FS_APPEND_FL : 0) | (flags->no_dump ? FS_NODUMP_FL : 0) |
                               (flags->project_inherit ? FS_PROJINHERIT_FL : 0);
        fuse_reply_ioctl(req, 0, &value, std::min(sizeof value, out_bytes));
        return;
      }
      case FS_IOC_SETFLAGS: {
        unsigned value = 0;
        if (in_bytes < sizeof value) break;
        std::memcpy(&value, in, sizeof value);
        if (value &
            ~static_cast<unsigned>(FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL | FS_PROJINHERIT_FL)) {
          return static_cast<void>(fuse_reply_err(req, EOPNOTSUPP));
        }
        flags->immutable = value & FS_IMMUTABLE_FL;
        flags->append_only = value & FS_APPEND_FL;
        flags->no_dump = value & FS_NODUMP_FL;
        flags->project_inherit = value & FS_PROJINHERIT_FL;
        return reply_ioctl(req, node->fs->set_flags(node->id.object, *flags, caller_of(req)));
      }
      case FS_IOC_FSGETXATTR: {
        fsxattr value = {};
        value.fsx_xflags =
            (flags->immutable ? FS_XFLAG_IMMUTABLE : 0) | (flags->append_only ? FS_XFLAG_APPEND : 0) |
            (flags->no_dump ? FS_XFLAG_NODUMP : 0) | (flags->project_inherit ? FS_XFLAG_PROJINHERIT : 0);
        value.fsx_projid = static_cast<std::uint32_t>(flags->project);
        fuse_reply_ioctl(req, 0, &value, std::min(sizeof value, out_bytes));
        return;
      }
      case FS_IOC_FSSETXATTR: {
        fsxattr value = {};
        if (in_bytes < sizeof value) break;
        std::memcpy(&value, in, sizeof value);
        if (value.fsx_xflags & ~static_cast<unsigned>(FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND | FS_XFLAG_NODUMP |
                                                      FS_XFLAG_PROJINHERIT)) {
          return static_cast<void>(fuse_reply_err(req, EOPNOTSUPP));
        }
        flags->immutable = value.fsx_xflags & FS_XFLAG_IMMUTABLE;
        flags->append_only = value.fsx_xflags & FS_XFLAG_APPEND;
        flags->no_dump = value.fsx_xflags & FS_XFLAG_NODUMP;
        flags->project_inherit = value.fsx_xflags & FS_XFLAG_PROJINHERIT;
        flags->project = value.fsx_projid;
        return reply_ioctl(req, node->fs->set_flags(node->id.object, *flags, caller_of(req)));
      }
      default:
        return static_cast<void>(fuse_reply_err(req, ENOTTY));
    }
    fuse_reply_err(req, EINVAL);
  }

  static void reply_ioctl(fuse_req_t req, const Status& status) {
    if (!status) return reply_error(req, status.error());
    fuse_reply_ioctl(req, 0, nullptr, 0);
  }
};

void FuseHandlers::init(void*, fuse_conn_info* connection) {
  const auto want = [&](unsigned capability, bool on) {
    connection->want =
        on ? connection->want | (connection->capable & capability) : connection->want & ~capability;
  };
  connection->max_write = kTransferBytes;
  connection->max_read = kTransferBytes;  // must repeat the mount option
  connection->max_readahead = kTransferBytes;
  connection->max_background = kBackgroundRequests;
  connection->congestion_threshold = kBackgroundRequests * 3 / 4;
  connection->time_gran = 1;
  want(FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_EXPORT_SUPPORT, true);
  want(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_NO_OPEN_SUPPORT,
       true);
  want(FUSE_CAP_DONT_MASK, true);  // the umask does not count below a default ACL
  want(FUSE_CAP_IOCTL_DIR, true);
  // Every change comes through the kernel, so its cache needs no second opinion.
  want(FUSE_CAP_AUTO_INVAL_DATA, false);
  // Files are never opened (see open), so truncation comes as a change of size.
  want(FUSE_CAP_ATOMIC_O_TRUNC, false);
  // Writes are copied once, from the request into the dirty block; replies are written from cached blocks.
  want(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
}

Status FuseSession::list_synthetic(fuse_req_t req, NodeId id, std::size_t size, off_t offset, bool plus) {
  std::vector<std::string> names{".", ".."};
  if (id.is_control()) {
    names.emplace_back("snapshot");
  } else {
    for (std::string& name : snapshots_.names()) names.push_back(std::move(name));
  }
  std::vector<char> out(size);
  std::size_t used = 0;
  for (auto i = static_cast<std::size_t>(offset); i < names.size(); ++i) {
    // Inodes of snapshots are known when they are looked up; a nodeless entry makes the kernel do that.
    fuse_entry_param entry = {};
    entry.attr.st_mode = S_IFDIR;
    entry.attr.st_ino = synthetic_stat(id).st_ino;
    const std::size_t need = plus
                                 ? fuse_add_direntry_plus(req, out.data() + used, size - used,
                                                          names[i].c_str(), &entry, static_cast<off_t>(i + 1))
                                 : fuse_add_direntry(req, out.data() + used, size - used, names[i].c_str(),
                                                     &entry.attr, static_cast<off_t>(i + 1));
    if (need > size - used) break;
    used += need;
  }
  fuse_reply_buf(req, out.data(), used);
  return {};
}

Status FuseSession::list(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, bool plus) {
  const Node node = TRY(resolve(ino));
  if (!node.fs) return list_synthetic(req, node.id, size, offset, plus);
  constexpr std::uint64_t kCookieControl = 2, kCookieFirst = 3;  // FORMAT.md logical 4.7
  std::vector<char> out(size);
  std::size_t used = 0;
  std::vector<fuse_ino_t> counted;
  const bool with_control = node.id.space == 0 && node.id.object == root_ && control_visible();

  const auto add = [&](const DirectoryEntry& entry) {
    fuse_entry_param param = {};
    const NodeId id{.space = node.id.space, .object = entry.object};
    param.attr.st_ino = id.space == 0 ? entry.object : id.encode(root_);
    param.attr.st_mode = entry.type;
    const auto next = static_cast<off_t>(entry.next_cookie);
    // Asked without room for the answer, it tells the size: nothing may be counted for an entry that does not
    // fit.
    const std::size_t need = plus ? fuse_add_direntry_plus(req, nullptr, 0, entry.name.c_str(), nullptr, 0)
                                  : fuse_add_direntry(req, nullptr, 0, entry.name.c_str(), nullptr, 0);
    if (need > size - used) return false;
    if (plus) {
      if (entry.name != "." && entry.name != "..") {
        const Result<FileAttributes> attributes = node.fs->get_attributes(entry.object);
        if (attributes) {
          if (Result<fuse_entry_param> known = entry_for(node, *attributes)) {
            param = *known;
            counted.push_back(param.ino);
          }
        }
      }
      fuse_add_direntry_plus(req, out.data() + used, size - used, entry.name.c_str(), &param, next);
    } else {
      fuse_add_direntry(req, out.data() + used, size - used, entry.name.c_str(), &param.attr, next);
    }
    used += need;
    return true;
  };

  auto cookie = static_cast<std::uint64_t>(offset);
  bool full = false;
  if (cookie < kCookieControl) {
    TRY(node.fs->read_directory(node.id.object, cookie, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") return false;  // .zfs comes first
      DirectoryEntry numbered = entry;
      if (entry.name == "..") numbered.next_cookie = kCookieControl;
      full = !add(numbered);
      return !full;
    }));
    cookie = kCookieControl;
  }
  if (!full && cookie == kCookieControl) {
    if (with_control) {
      const DirectoryEntry control{
          .name = ".zfs",
          .object = NodeId{.space = NodeId::kSynthetic, .object = NodeId::kControl}.encode(root_),
          .type = S_IFDIR,
          .next_cookie = kCookieFirst};
      fuse_entry_param param = {};
      param.attr = synthetic_stat({.space = NodeId::kSynthetic, .object = NodeId::kControl});
      const std::size_t need =
          plus ? fuse_add_direntry_plus(req, out.data() + used, size - used, ".zfs", &param, kCookieFirst)
               : fuse_add_direntry(req, out.data() + used, size - used, ".zfs", &param.attr, kCookieFirst);
      full = need > size - used;
      if (!full) used += need;
    }
    cookie = kCookieFirst;
  }
  Status status;
  if (!full) status = node.fs->read_directory(node.id.object, cookie, add);
  if (!status && used == 0) return status;
  if (fuse_reply_buf(req, out.data(), used) != 0) {
    for (const fuse_ino_t each : counted) forget(each, 1);
  }
  return {};
}

fuse_lowlevel_ops fuse_operations() {
  fuse_lowlevel_ops table = {};
  table.init = FuseHandlers::init_session;
  table.lookup = FuseHandlers::lookup;
  table.forget = FuseHandlers::forget;
  table.forget_multi = FuseHandlers::forget_multi;
  table.getattr = FuseHandlers::getattr;
  table.setattr = FuseHandlers::setattr;
  table.readlink = FuseHandlers::readlink;
  table.mknod = FuseHandlers::mknod;
  table.mkdir = FuseHandlers::mkdir;
  table.symlink = FuseHandlers::symlink;
  table.link = FuseHandlers::link;
  table.create = FuseHandlers::create;
  table.unlink = FuseHandlers::unlink;
  table.rmdir = FuseHandlers::rmdir;
  table.rename = FuseHandlers::rename;
  table.open = FuseHandlers::open;
  table.opendir = FuseHandlers::opendir;
  table.read = FuseHandlers::read;
  table.write = FuseHandlers::write;
  table.fsync = FuseHandlers::fsync;
  table.fsyncdir = FuseHandlers::fsync;
  table.readdir = FuseHandlers::readdir;
  table.readdirplus = FuseHandlers::readdirplus;
  table.statfs = FuseHandlers::statfs;
  table.getxattr = FuseHandlers::getxattr;
  table.listxattr = FuseHandlers::listxattr;
  table.setxattr = FuseHandlers::setxattr;
  table.removexattr = FuseHandlers::removexattr;
  table.fallocate = FuseHandlers::fallocate;
  table.lseek = FuseHandlers::lseek;
  table.ioctl = FuseHandlers::ioctl;
  return table;
}

}  // namespace tarn
