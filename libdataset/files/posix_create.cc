// New objects and new names: create, mkdir, symlink, link, nameless files.
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "libdataset/files/nfs4_acl.h"
#include "libdataset/files/posix_acl.h"
#include "libdataset/files/posix_file_system.h"
#include "libpool/nvlist/nvlist.h"

namespace tarn {
namespace {

constexpr std::uint64_t kCreateTxBytes = 96u << 10;
constexpr std::size_t kTargetMax = 4095;
constexpr std::uint64_t kLinksMax = INT32_MAX;
constexpr std::uint64_t kDnodesizeAuto = 1;

// The kernel's own form of a device number (FORMAT.md logical 4.5).
std::uint64_t encode_rdev(std::uint64_t device) {
  return std::uint64_t{major(device) & 0xfff} << 20 | (minor(device) & 0xfffff);
}

Bytes bytes_of(std::uint64_t value) {
  Bytes out(sizeof value);
  store<std::uint64_t>(out.data(), value, kHostOrder);
  return out;
}

}  // namespace

std::uint32_t PosixFileSystem::dnode_slots() const {
  const std::uint64_t size = dataset_->property(Property::dnodesize);
  if (size == 0 || !host_.feature_enabled("org.zfsonlinux:large_dnode")) return 1;
  if (size == kDnodesizeAuto) return 2;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(size / 512, 1, 32));
}

// Permission bits and ACLs of an object made in `parent`: its default ACL decides, else the caller's umask.
Status PosixFileSystem::inherit_acl(Znode& parent, NewNode& node, const Caller& caller) {
  if (S_ISLNK(node.mode)) return {};
  const std::optional<Bytes> inherited =
      posix_acls() ? TRY(find_xattr(parent, kAclDefaultXattr)) : std::nullopt;
  if (!inherited) {
    node.mode &= ~(caller.umask & 0777);
    return {};
  }
  if (S_ISDIR(node.mode)) node.default_acl = *inherited;
  PosixAcl acl =
      TRY(PosixAcl::decode(*inherited).in(fmt::format("default ACL of directory {}", parent.number())));
  node.mode = acl.restrict_to(node.mode);
  if (!acl.is_minimal()) node.access_acl = acl.encode();
  return {};
}

// Allocates and fills the object; no directory names it yet.
Result<ZnodeRef> PosixFileSystem::make_node(const Tx& tx, Znode& parent, const NewNode& node,
                                            const Caller& caller) {
  const ZnodeAttributes p = parent.attributes();
  const bool directory = S_ISDIR(node.mode);
  ZnodeAttributes a;
  a.mode = node.mode;
  a.uid = caller.uid;
  a.gid = caller.gid;
  if (!node.xattr_object && (p.mode & S_ISGID)) {  // set-gid directories hand down their group
    a.gid = p.gid;
    if (directory) a.mode |= S_ISGID;
  }
  if (node.owner) std::tie(a.uid, a.gid) = *node.owner;
  a.size = directory ? 2 : node.symlink_target.size();
  a.gen = tx.txg();
  a.parent = parent.number();
  a.links = node.links;
  a.atime = a.mtime = a.ctime = a.crtime = now();
  a.rdev = node.rdev;
  a.flags =
      zpl::kFlagArchive | zpl::kFlagAvModified | zpl::kFlagAclTrivial | (p.flags & zpl::kFlagProjInherit);
  if (node.xattr_object) a.flags |= zpl::kFlagXattr;
  if (directory) a.flags |= zpl::kFlagAclAutoInherit;
  if ((a.mode & 0111) == 0111) a.flags |= zpl::kFlagNoExecsDenied;
  // Links, devices, pipes and sockets belong to no project.
  if (directory || S_ISREG(node.mode)) {
    a.flags |= p.flags & zpl::kFlagProjInherit;
    if (projects_) {
      a.flags |= zpl::kFlagProjid;
      a.projid = (p.flags & zpl::kFlagProjInherit) ? p.projid.value_or(0) : 0;
    }
  }

  std::vector<std::pair<SaAttr, Bytes>> extra;
  if (S_ISCHR(node.mode) || S_ISBLK(node.mode)) extra.emplace_back(SaAttr::rdev, bytes_of(node.rdev));
  Bytes aces = trivial_acl(static_cast<std::uint32_t>(a.mode));
  extra.emplace_back(SaAttr::dacl_count, bytes_of(count_aces(aces)));
  extra.emplace_back(SaAttr::dacl_aces, std::move(aces));
  if (S_ISLNK(node.mode)) {
    const ByteView target = as_bytes(node.symlink_target);
    extra.emplace_back(SaAttr::symlink, Bytes(target.begin(), target.end()));
  }
  const bool acls_in_sa = dataset_->property(Property::xattr) == zpl::kXattrSa;
  if ((node.access_acl || node.default_acl) && acls_in_sa) {
    NvList list;
    if (node.access_acl) list.set(kAclAccessXattr, *node.access_acl);
    if (node.default_acl) list.set(kAclDefaultXattr, *node.default_acl);
    extra.emplace_back(SaAttr::dxattr, pack(list, NvEncoding::xdr));
    a.has_sa_xattrs = true;
  }

  ObjectRef object;
  if (directory) {
    const Zap zap =
        TRY(Zap::create(objset_, tx, DmuType::directory, {.norm_flags = node.xattr_object ? 0 : norm_flags_},
                        DmuType::sa, 0, dnode_slots()));
    object = zap.object();
  } else {
    object = TRY(objset_.create_object(tx, {.type = DmuType::plain_file,
                                            .bonus_type = DmuType::sa,
                                            .bonus_bytes = 0,
                                            .dnode_slots = dnode_slots()}));
  }
  const std::uint64_t number = object->number();
  Result<ZnodeRef> made = Znode::create(*sa_, tx, std::move(object), a, extra);
  if (!made) {
    (void)objset_.free_object(tx, number).ok();
    return std::move(made).error();
  }
  cache_.put(*made);
  if (!acls_in_sa) {
    if (node.access_acl) TRY(put_xattr(tx, **made, kAclAccessXattr, *node.access_acl, caller));
    if (node.default_acl) TRY(put_xattr(tx, **made, kAclDefaultXattr, *node.default_acl, caller));
  }
  return made;
}

Result<FileAttributes> PosixFileSystem::create_named(std::uint64_t directory, std::string_view name,
                                                     NewNode node, const Caller& caller) {
  TRY(check_writable());
  TRY(check_name(name));
  ZnodeRef dir = TRY(directory_znode(directory));
  ZnodeRef made;
  {
    WriterLock lock(dir->lock);
    TRY(check_alive(*dir));
    const ZnodeAttributes d = dir->attributes();
    if (d.links == 0) return Error(Errc::not_found, fmt::format("directory {} was removed", directory));
    if (d.flags & zpl::kFlagImmutable) return Error(Errc::not_permitted, "directory is immutable");
    if (TRY(find_entry(*dir, name))) return Error(Errc::already_exists, fmt::format("'{}' exists", name));
    if (S_ISDIR(node.mode) && d.links >= kLinksMax)
      return Error(Errc::too_many_links, "too many subdirectories");
    TRY(inherit_acl(*dir, node, caller));
    Tx tx = TRY(begin(kCreateTxBytes));
    made = TRY(make_node(tx, *dir, node, caller));
    if (Status added = add_entry(tx, *dir, name, made->number(), node.mode); !added) {
      cache_.drop(made->number());
      (void)objset_.free_object(tx, made->number()).ok();
      return std::move(added).error();
    }
    TRY(touch_directory(tx, *dir, 1, S_ISDIR(node.mode) ? 1 : 0));
  }
  TRY(finish());
  return describe(*made);
}

Result<FileAttributes> PosixFileSystem::create(std::uint64_t directory, std::string_view name,
                                               std::uint32_t mode, std::uint64_t rdev, const Caller& caller) {
  if ((mode & S_IFMT) == 0) mode |= S_IFREG;
  if (S_ISDIR(mode) || S_ISLNK(mode))
    return Error(Errc::invalid_argument, "not a kind of file that create() makes");
  const bool device = S_ISCHR(mode) || S_ISBLK(mode);
  return create_named(directory, name,
                      {.mode = mode & (S_IFMT | 07777u), .rdev = device ? encode_rdev(rdev) : 0}, caller);
}

Result<FileAttributes> PosixFileSystem::make_directory(std::uint64_t directory, std::string_view name,
                                                       std::uint32_t mode, const Caller& caller) {
  return create_named(directory, name, {.mode = S_IFDIR | (mode & 07777u), .links = 2}, caller);
}

Result<FileAttributes> PosixFileSystem::make_symlink(std::uint64_t directory, std::string_view name,
                                                     std::string_view target, const Caller& caller) {
  if (target.empty()) return Error(Errc::not_found, "symbolic link to an empty name");
  if (target.size() > kTargetMax) return Error(Errc::name_too_long, "target of a symbolic link is too long");
  return create_named(directory, name, {.mode = S_IFLNK | 0777u, .symlink_target = target}, caller);
}

Result<std::string> PosixFileSystem::read_symlink(std::uint64_t object) {
  ZnodeRef z = TRY(znode(object));
  if (!S_ISLNK(z->attributes().mode))
    return Error(Errc::invalid_argument, fmt::format("object {} is no symbolic link", object));
  return z->symlink_target(sa_.get());
}

Result<FileAttributes> PosixFileSystem::make_tmpfile(std::uint64_t directory, std::uint32_t mode,
                                                     const Caller& caller) {
  TRY(check_writable());
  ZnodeRef dir = TRY(directory_znode(directory));
  ZnodeRef made;
  {
    ReaderLock lock(dir->lock);
    TRY(check_alive(*dir));
    NewNode node{.mode = S_IFREG | (mode & 07777u), .links = 0};
    TRY(inherit_acl(*dir, node, caller));
    Tx tx = TRY(begin(kCreateTxBytes));
    made = TRY(make_node(tx, *dir, node, caller));
    TRY(enqueue(tx, made->number()));
    cache_.retain(made->number());
    cache_.orphan(made->number());
  }
  TRY(finish());
  return describe(*made);
}

Result<FileAttributes> PosixFileSystem::make_link(std::uint64_t object, std::uint64_t directory,
                                                  std::string_view name, const Caller&) {
  TRY(check_writable());
  TRY(check_name(name));
  ZnodeRef dir = TRY(directory_znode(directory));
  ZnodeRef z = TRY(znode(object));
  {
    LockSet locks({dir, z});
    TRY(check_alive(*dir));
    TRY(check_alive(*z));
    const ZnodeAttributes d = dir->attributes(), a = z->attributes();
    if (a.is_directory()) return Error(Errc::not_permitted, "directories have one name only");
    if (d.links == 0) return Error(Errc::not_found, fmt::format("directory {} was removed", directory));
    if (d.flags & zpl::kFlagImmutable) return Error(Errc::not_permitted, "directory is immutable");
    if (a.flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly)) {
      return Error(Errc::not_permitted, "file is immutable or append-only");
    }
    if (a.links >= kLinksMax) return Error(Errc::too_many_links, "file has too many names");
    if ((d.flags & zpl::kFlagProjInherit) && d.projid.value_or(0) != a.projid.value_or(0)) {
      return Error(Errc::cross_device, "directory belongs to another project");
    }
    if (TRY(find_entry(*dir, name))) return Error(Errc::already_exists, fmt::format("'{}' exists", name));
    Tx tx = TRY(begin(kCreateTxBytes));
    TRY(add_entry(tx, *dir, name, object, a.mode));
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& changed) {
      ++changed.links;
      changed.parent = directory;
      changed.ctime = now();
    }));
    if (a.links == 0) {  // a nameless file gets its first name
      TRY(dequeue(tx, object));
      cache_.adopt(object);
    }
    TRY(touch_directory(tx, *dir, 1, 0));
  }
  TRY(finish());
  return describe(*z);
}

}  // namespace tarn
