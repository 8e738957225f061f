#include "libdataset/files/posix_file_system.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "libdataset/files/nfs4_acl.h"
#include "libdataset/files/posix_acl.h"
#include "libdataset/files/utf8.h"

namespace tarn {
namespace {

constexpr std::size_t kCachedZnodes = 32768;
constexpr std::size_t kNameMax = 255, kLongNameMax = 1023;
constexpr std::uint64_t kMetadataTxBytes = 64u << 10;
constexpr std::uint64_t kObjectsMax = std::uint64_t{1} << 48;

// Linux stores major << 20 | minor, others major << 32 | minor (FORMAT.md logical 4.5).
std::uint64_t decode_rdev(std::uint64_t stored) {
  if (stored >> 32) return makedev(static_cast<unsigned>(stored >> 32), static_cast<unsigned>(stored));
  return makedev(static_cast<unsigned>(stored >> 20), static_cast<unsigned>(stored & 0xfffff));
}

}  // namespace

PosixHost PosixHost::of(Pool& pool) {
  return {.clock = &pool.clock(),
          .sync_now = [&pool] { return pool.sync_now(); },
          .synced_txg = [&pool] { return pool.synced_txg(); },
          .feature_enabled = [&pool](const char* guid) { return pool.feature_enabled(guid); }};
}

Result<std::shared_ptr<FileSystem>> FileSystem::open(DatasetRef dataset) {
  PosixHost host = PosixHost::of(dataset->pool());
  return PosixFileSystem::open(std::move(dataset), std::move(host));
}

PosixFileSystem::PosixFileSystem(DatasetRef dataset, PosixHost host)
    : dataset_(std::move(dataset)),
      objset_(dataset_->objset()),
      host_(std::move(host)),
      cache_(kCachedZnodes) {}

PosixFileSystem::~PosixFileSystem() = default;

Result<std::shared_ptr<FileSystem>> PosixFileSystem::open(DatasetRef dataset, PosixHost host) {
  const std::string where = fmt::format("file system '{}'", dataset->name());
  std::shared_ptr<PosixFileSystem> fs(new PosixFileSystem(std::move(dataset), std::move(host)));
  if (fs->objset_.type() != ObjsetType::filesystem)
    return Error(Errc::invalid_argument, where + ": is no file system");
  TRY(fs->load_master().in(where));
  TRY(fs->directory_znode(fs->root_).in(where + ": root directory"));
  if (fs->check_writable()) TRY(fs->drain_queue().in(where + ": delete queue"));
  return std::shared_ptr<FileSystem>(std::move(fs));
}

Status PosixFileSystem::load_master() {
  Zap master = TRY(Zap::open(objset_, zpl::kMasterNode).in("master node"));
  const auto value = [&](const char* key, std::optional<std::uint64_t> if_absent) -> Result<std::uint64_t> {
    auto found = master.lookup_u64(key);
    if (!found && found.error().code() == Errc::not_found && if_absent) return *if_absent;
    return std::move(found).in(fmt::format("master node: {}", key));
  };
  version_ = TRY(value("VERSION", std::nullopt));
  if (version_ < 1 || version_ > zpl::kVersion) {
    return Error(Errc::unsupported, fmt::format("file system version {} is not known", version_));
  }
  root_ = TRY(value("ROOT", std::nullopt));
  delete_queue_ = TRY(value("DELETE_QUEUE", std::nullopt));
  utf8_only_ = TRY(value("utf8only", 0)) != 0;
  const std::uint64_t normalization = TRY(value("normalization", 0));
  const std::uint64_t sensitivity = TRY(value("casesensitivity", 0));
  norm_flags_ = normalization | (sensitivity != 0 ? zpl::kNormUpper : 0);
  fold_case_ = sensitivity == 1;
  projects_ = (objset_.flags() & 4) != 0;
  const std::uint64_t sa_master = TRY(value("SA_ATTRS", 0));
  if (sa_master != 0) {
    sa_ = TRY(SaRegistry::open(objset_, sa_master));
  } else if (version_ >= 5) {
    return Error(Errc::corrupt, "master node lacks SA_ATTRS");
  }
  return {};
}

Status PosixFileSystem::check_writable() const {
  if (dataset_->read_only())
    return Error(Errc::read_only, fmt::format("file system '{}' is read-only", dataset_->name()));
  if (version_ < zpl::kVersion) {
    return Error(Errc::read_only, fmt::format("file system '{}' has version {}: it can only be read",
                                              dataset_->name(), version_));
  }
  return {};
}

Status PosixFileSystem::check_alive(const Znode& znode) {
  if (znode.dead)
    return Error(Errc::not_found, fmt::format("object {} was removed", znode.object_ref()->number()));
  return {};
}

Status PosixFileSystem::check_name(std::string_view name) const {
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos) {
    return Error(Errc::invalid_argument, "name is empty or has a slash in it");
  }
  if (name == "." || name == "..") return Error(Errc::already_exists, "'.' and '..' exist always");
  const bool long_names =
      dataset_->property(Property::longname) != 0 && host_.feature_enabled("org.zfsonlinux:longname");
  if (name.size() > (long_names ? kLongNameMax : kNameMax))
    return Error(Errc::name_too_long, "name is too long");
  if (utf8_only_ && !is_utf8(name)) return Error(Errc::invalid_argument, "name is not UTF-8");
  return {};
}

Result<ZnodeRef> PosixFileSystem::znode(std::uint64_t object) {
  return cache_.get(object, [&] { return Znode::load(objset_, sa_.get(), object); });
}

Result<ZnodeRef> PosixFileSystem::directory_znode(std::uint64_t object) {
  ZnodeRef found = TRY(znode(object));
  if (!found->attributes().is_directory())
    return Error(Errc::not_a_directory, fmt::format("object {} is no directory", object));
  return found;
}

PosixFileSystem::LockSet::LockSet(std::vector<ZnodeRef> znodes) : znodes_(std::move(znodes)) {
  std::ranges::sort(znodes_, {}, [](const ZnodeRef& z) { return z->number(); });
  znodes_.erase(std::ranges::unique(znodes_).begin(), znodes_.end());
  for (const ZnodeRef& z : znodes_) z->lock.lock();
}

PosixFileSystem::LockSet::~LockSet() {
  for (const ZnodeRef& z : znodes_) z->lock.unlock();
}

Status PosixFileSystem::finish() {
  if (dataset_->property(Property::sync) != zpl::kSyncAlways) return {};
  return host_.sync_now();
}

FileAttributes PosixFileSystem::describe(Znode& znode) const {
  const ZnodeAttributes a = znode.attributes();
  const ObjectInfo info = znode.object().info();
  return {.object = znode.number(),
          .generation = a.gen,
          .mode = static_cast<std::uint32_t>(a.mode),
          .uid = a.uid,
          .gid = a.gid,
          .links = a.links,
          .size_bytes = a.size,
          .rdev = S_ISCHR(a.mode) || S_ISBLK(a.mode) ? decode_rdev(a.rdev) : 0,
          .allocated_bytes = info.used_bytes,
          .block_bytes = info.block_bytes,
          .atime = a.atime,
          .mtime = a.mtime,
          .ctime = a.ctime,
          .crtime = a.crtime,
          .settled = znode.last_txg.load(std::memory_order_relaxed) <= host_.synced_txg()};
}

Result<FileAttributes> PosixFileSystem::get_attributes(std::uint64_t object) {
  return describe(*TRY(znode(object)));
}

// New permission bits, and all that follows them: the NFSv4 ACL, one flag, the POSIX ACL.
Status PosixFileSystem::apply_mode(const Tx& tx, Znode& znode, std::uint32_t mode, bool with_posix_acl,
                                   const Caller& caller) {
  const std::uint16_t aces_number = TRY(sa_->require(tx, SaAttr::dacl_aces));
  const std::uint16_t count_number = TRY(sa_->require(tx, SaAttr::dacl_count));
  TRY(znode.rebuild(*sa_, tx, [&](ZnodeAttributes& a, SaValues& values) -> Status {
    a.mode = (a.mode & S_IFMT) | (mode & 07777);
    a.flags = (mode & 0111) == 0111 ? a.flags | zpl::kFlagNoExecsDenied : a.flags & ~zpl::kFlagNoExecsDenied;
    const Bytes* old = values.find(aces_number);
    const auto full_mode = static_cast<std::uint32_t>(a.mode);
    const Bytes aces =
        !old || (a.flags & zpl::kFlagAclTrivial) ? trivial_acl(full_mode) : chmod_acl(*old, full_mode);
    values.set_u64(count_number, count_aces(aces));
    values.set(aces_number, aces);
    return {};
  }));
  if (!with_posix_acl || !posix_acls()) return {};
  const std::optional<Bytes> stored = TRY(find_xattr(znode, kAclAccessXattr));
  if (!stored) return {};
  PosixAcl acl = TRY(PosixAcl::decode(*stored));
  acl.set_mode(mode);
  return put_xattr(tx, znode, kAclAccessXattr, acl.encode(), caller);
}

Result<FileAttributes> PosixFileSystem::set_attributes(std::uint64_t object, const AttributeChange& change,
                                                       const Caller& caller) {
  TRY(check_writable());
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes before = z->attributes();
    const bool more_than_atime =
        change.mode || change.uid || change.gid || change.size_bytes || change.mtime || change.ctime;
    if ((before.flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly)) && more_than_atime) {
      return Error(Errc::not_permitted, "file is immutable or append-only");
    }
    if (change.size_bytes) {
      if (before.is_directory()) return Error(Errc::is_a_directory, "directories have no size to set");
      if (!before.is_regular()) return Error(Errc::invalid_argument, "only regular files have a size to set");
      if (*change.size_bytes > INT64_MAX) return Error(Errc::too_large, "size is too large");
      if (before.flags & zpl::kFlagReadOnly) return Error(Errc::not_permitted, "file has the read-only flag");
    }
    Tx tx = TRY(begin(kMetadataTxBytes, change.size_bytes && *change.size_bytes < before.size));
    if (change.size_bytes) TRY(set_size(tx, *z, *change.size_bytes));
    const bool new_owner = change.uid || change.gid;
    if (!before.is_directory() && (new_owner || change.size_bytes)) {
      TRY(drop_privileges(tx, *z, !change.mode && (new_owner || caller.uid != 0), caller));
    }
    if (change.mode) TRY(apply_mode(tx, *z, *change.mode, true, caller));
    const TimeSpec time = now();
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& a) {
      if (change.uid) a.uid = *change.uid;
      if (change.gid) a.gid = *change.gid;
      if (change.size_bytes) a.mtime = time;
      if (change.atime) a.atime = *change.atime;
      if (change.mtime) a.mtime = *change.mtime;
      a.ctime = change.ctime.value_or(time);
    }));
    // The hidden directory of extended attributes belongs to the same owner (quotas charge it).
    if ((change.uid || change.gid) && before.xattr_directory != 0) {
      ZnodeRef hidden = TRY(znode(before.xattr_directory));
      TRY(hidden->update(*sa_, tx, [&](ZnodeAttributes& a) {
        if (change.uid) a.uid = *change.uid;
        if (change.gid) a.gid = *change.gid;
      }));
    }
  }
  TRY(finish());
  return describe(*z);
}

Result<FileFlags> PosixFileSystem::get_flags(std::uint64_t object) {
  const ZnodeAttributes a = TRY(znode(object))->attributes();
  return FileFlags{.immutable = (a.flags & zpl::kFlagImmutable) != 0,
                   .append_only = (a.flags & zpl::kFlagAppendOnly) != 0,
                   .no_dump = (a.flags & zpl::kFlagNoDump) != 0,
                   .project_inherit = (a.flags & zpl::kFlagProjInherit) != 0,
                   .project = a.projid.value_or(0)};
}

Status PosixFileSystem::set_flags(std::uint64_t object, const FileFlags& flags, const Caller& caller) {
  TRY(check_writable());
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes before = z->attributes();
    const bool immutable = before.flags & zpl::kFlagImmutable,
               append_only = before.flags & zpl::kFlagAppendOnly;
    if (caller.uid != 0 && caller.uid != before.uid)
      return Error(Errc::not_permitted, "only the owner changes flags");
    if (caller.uid != 0 && (flags.immutable != immutable || flags.append_only != append_only)) {
      return Error(Errc::not_permitted, "only root makes files immutable or append-only");
    }
    const bool changes_project = flags.project != before.projid.value_or(0) ||
                                 flags.project_inherit != ((before.flags & zpl::kFlagProjInherit) != 0);
    if (changes_project && !(before.is_directory() || before.is_regular())) {
      return Error(Errc::unsupported, "only files and directories belong to a project");
    }
    if (changes_project && !projects_)
      return Error(Errc::unsupported, "feature project_quota is not enabled");
    if (flags.project > UINT32_MAX) return Error(Errc::invalid_argument, "project id is too large");
    Tx tx = TRY(begin(kMetadataTxBytes));
    const auto with = [](std::uint64_t all, std::uint64_t bit, bool on) {
      return on ? all | bit : all & ~bit;
    };
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& a) {
      a.flags = with(a.flags, zpl::kFlagImmutable, flags.immutable);
      a.flags = with(a.flags, zpl::kFlagAppendOnly, flags.append_only);
      a.flags = with(a.flags, zpl::kFlagNoDump, flags.no_dump);
      a.flags = with(a.flags, zpl::kFlagProjInherit, flags.project_inherit);
      if (flags.project != a.projid.value_or(0)) {
        a.flags |= zpl::kFlagProjid;
        a.projid = flags.project;
      }
      a.ctime = now();
    }));
  }
  return finish();
}

Status PosixFileSystem::retain(std::uint64_t object, std::uint64_t generation) {
  // Counted first: a removal under way either sees the count or has made the object unreadable.
  cache_.retain(object);
  const Result<ZnodeRef> found = znode(object);
  if (found && (*found)->attributes().gen == generation) {
    ReaderLock lock((*found)->lock);
    if (!(*found)->dead) return {};
  }
  cache_.release(object, 1);
  return Error(Errc::not_found, fmt::format("object {} was removed", object));
}

void PosixFileSystem::release(std::uint64_t object, std::uint64_t count) {
  // What cannot be removed now (no space, an I/O error) stays in the delete queue for the next open.
  if (cache_.release(object, count)) {
    (void)reap(object).ok();
    return;
  }
  if (ZnodeRef found = cache_.cached(object); found && found->atime_pending()) (void)flush_atime(*found).ok();
}

void PosixFileSystem::release_all() {
  for (const std::uint64_t object : cache_.release_all()) (void)reap(object).ok();
  for (const ZnodeRef& znode : cache_.all()) {
    if (znode->atime_pending()) (void)flush_atime(*znode).ok();
  }
}

Result<SpaceInfo> PosixFileSystem::space() {
  const Dataset::Space space = dataset_->space();
  SpaceInfo info{.block_bytes = 512, .name_max = kNameMax};
  info.blocks = (space.referenced + space.available) / 512;
  info.free_blocks = space.available / 512;
  info.free_files = std::min(kObjectsMax - std::min(space.objects_used, kObjectsMax), info.free_blocks);
  info.files = info.free_files + space.objects_used;
  if (dataset_->property(Property::longname) != 0) info.name_max = kLongNameMax;
  return info;
}

}  // namespace tarn
