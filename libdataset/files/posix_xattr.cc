// Extended attributes: all in one attribute of the object (xattr=sa), or each a file in a hidden directory
// (xattr=dir); and POSIX ACLs, which are two of them (FORMAT.md logical 4.10, 4.11). What belongs to an
// object's hidden directory is guarded by the object's own lock.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdataset/files/posix_acl.h"
#include "libdataset/files/posix_file_system.h"
#include "libpool/nvlist/nvlist.h"

namespace tarn {
namespace {

constexpr std::size_t kNameMax = 255;
constexpr std::size_t kSaValueMax = 32768, kSaListMax = 65535;
constexpr std::size_t kValueMax = 64u << 10;  // what Linux lets through
constexpr std::uint64_t kXattrTxBytes = 256u << 10;
constexpr std::string_view kUserPrefix = "user.";
constexpr std::array<std::string_view, 4> kPrefixes = {"user.", "trusted.", "security.", "system."};

bool is_acl(std::string_view name) { return name == kAclAccessXattr || name == kAclDefaultXattr; }
bool has_prefix(std::string_view name) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Error no_such_xattr(std::string_view name) {
  return Error(Errc::no_data, fmt::format("no extended attribute '{}'", name));
}

}  // namespace

Status PosixFileSystem::check_xattr_name(std::string_view name) const {
  if (name.empty() || name.size() > kNameMax)
    return Error(Errc::out_of_range, "name of an extended attribute is too long");
  if (!has_prefix(name)) return Error(Errc::unsupported, fmt::format("'{}' is in no known name space", name));
  if (name.starts_with("system.") && !(is_acl(name) && posix_acls())) {
    return Error(Errc::unsupported, fmt::format("'{}' is not kept by this file system", name));
  }
  return {};
}

Result<std::map<std::string, Bytes>> PosixFileSystem::sa_xattrs(Znode& znode) const {
  std::map<std::string, Bytes> out;
  if (!znode.attributes().has_sa_xattrs) return out;
  const std::optional<Bytes> packed = TRY(znode.value(sa_.get(), SaAttr::dxattr));
  if (!packed || packed->empty()) return out;
  const NvList list = TRY(unpack(*packed).in(fmt::format("object {}: extended attributes", znode.number())));
  for (const NvPair& pair : list.pairs()) {
    if (const Bytes* value = std::get_if<Bytes>(&pair.value)) out.insert_or_assign(pair.name, *value);
  }
  return out;
}

Status PosixFileSystem::store_sa_xattrs(const Tx& tx, Znode& znode,
                                        const std::map<std::string, Bytes>& xattrs) {
  NvList list;
  for (const auto& [name, value] : xattrs) list.set(name, value);
  const Bytes packed = pack(list, NvEncoding::xdr);
  if (packed.size() > kSaListMax) return Error(Errc::too_large, "too many extended attributes");
  const std::uint16_t number = TRY(sa_->require(tx, SaAttr::dxattr));
  return znode.rebuild(*sa_, tx, [&](ZnodeAttributes& a, SaValues& values) -> Status {
    values.remove(number);  // it moves behind whatever was added meanwhile
    values.set(number, packed);
    a.has_sa_xattrs = true;
    a.ctime = now();
    return {};
  });
}

// Other systems store names of the user's name space without its prefix.
Result<std::optional<PosixFileSystem::Entry>> PosixFileSystem::find_xattr_entry(Znode& directory,
                                                                                std::string_view name) const {
  const Zap zap =
      TRY(Zap::open(directory.object_ref()).in(fmt::format("xattr directory {}", directory.number())));
  std::vector<std::string> spellings{std::string(name)};
  if (name.starts_with(kUserPrefix) && !has_prefix(name.substr(kUserPrefix.size())))
    spellings.emplace_back(name.substr(kUserPrefix.size()));
  for (std::string& spelling : spellings) {
    if (spelling.empty()) continue;
    auto found = zap.lookup_u64(spelling);
    if (found) {
      return std::optional<Entry>(Entry{.object = zpl::entry_object(*found),
                                        .type = zpl::entry_type(*found),
                                        .stored_name = std::move(spelling)});
    }
    if (found.error().code() != Errc::not_found) return std::move(found).error();
  }
  return std::optional<Entry>();
}

// Needs the owner's lock, at least shared.
Result<std::optional<Bytes>> PosixFileSystem::find_xattr(Znode& owner, std::string_view name) {
  const auto in_sa = TRY(sa_xattrs(owner));
  if (const auto found = in_sa.find(std::string(name)); found != in_sa.end())
    return std::optional<Bytes>(found->second);
  const std::uint64_t hidden = owner.attributes().xattr_directory;
  if (hidden == 0) return std::optional<Bytes>();
  ZnodeRef directory = TRY(znode(hidden));
  const std::optional<Entry> entry = TRY(find_xattr_entry(*directory, name));
  if (!entry) return std::optional<Bytes>();
  ZnodeRef file = TRY(znode(entry->object));
  const std::uint64_t size = file->attributes().size;
  if (size > kValueMax)
    return Error(Errc::too_large, fmt::format("extended attribute '{}' has {} bytes", name, size));
  Bytes value(size);
  TRY(file->object().read(0, value));
  return std::optional<Bytes>(std::move(value));
}

Result<Bytes> PosixFileSystem::get_xattr(std::uint64_t object, std::string_view name) {
  ZnodeRef z = TRY(znode(object));
  TRY(check_xattr_name(name));
  ReaderLock lock(z->lock);
  TRY(check_alive(*z));
  std::optional<Bytes> value = TRY(find_xattr(*z, name));
  if (!value) return no_such_xattr(name);
  return std::move(*value);
}

Result<std::vector<std::string>> PosixFileSystem::list_xattrs(std::uint64_t object) {
  ZnodeRef z = TRY(znode(object));
  ReaderLock lock(z->lock);
  TRY(check_alive(*z));
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!has_prefix(name)) name.insert(0, kUserPrefix);
    if (name.starts_with("system.") && !(is_acl(name) && posix_acls())) return;
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (const auto& [name, value] : TRY(sa_xattrs(*z))) add(name);
  if (const std::uint64_t hidden = z->attributes().xattr_directory) {
    ZnodeRef directory = TRY(znode(hidden));
    const Zap zap = TRY(Zap::open(directory->object_ref()));
    for (const ZapEntry& entry : TRY(zap.entries())) add(entry.name);
  }
  return names;
}

Status PosixFileSystem::erase_xattr(const Tx& tx, Znode& owner, std::string_view name) {
  auto in_sa = TRY(sa_xattrs(owner));
  if (in_sa.erase(std::string(name)) > 0) TRY(store_sa_xattrs(tx, owner, in_sa));
  return erase_directory_xattr(tx, owner, name);
}

// Removes it from the hidden directory if it is there.
Status PosixFileSystem::erase_directory_xattr(const Tx& tx, Znode& owner, std::string_view name) {
  const std::uint64_t hidden = owner.attributes().xattr_directory;
  if (hidden == 0) return {};
  ZnodeRef directory = TRY(znode(hidden));
  const std::optional<Entry> entry = TRY(find_xattr_entry(*directory, name));
  if (!entry) return {};
  TRY(remove_entry(tx, *directory, entry->stored_name));
  TRY(touch_directory(tx, *directory, -1, 0));
  cache_.drop(entry->object);
  return objset_.free_object(tx, entry->object);
}

Status PosixFileSystem::put_directory_xattr(const Tx& tx, Znode& owner, std::string_view name, ByteView value,
                                            const Caller& caller) {
  const ZnodeAttributes a = owner.attributes();
  const std::pair owner_ids{a.uid, a.gid};
  ZnodeRef directory;
  if (a.xattr_directory != 0) {
    directory = TRY(znode(a.xattr_directory));
  } else {
    directory = TRY(make_node(
        tx, owner, {.mode = S_IFDIR | 01777u, .links = 2, .xattr_object = true, .owner = owner_ids}, caller));
    const std::uint16_t number = TRY(sa_->require(tx, SaAttr::xattr));
    TRY(owner.rebuild(*sa_, tx, [&](ZnodeAttributes& changed, SaValues& values) -> Status {
      changed.xattr_directory = directory->number();
      values.set_u64(number, directory->number());
      return {};
    }));
  }
  // A fresh file each time: its value is replaced as a whole, and readers hold no piece of the old one.
  TRY(erase_directory_xattr(tx, owner, name));
  ZnodeRef file = TRY(
      make_node(tx, *directory, {.mode = S_IFREG | 0644u, .xattr_object = true, .owner = owner_ids}, caller));
  TRY(add_entry(tx, *directory, name, file->number(), S_IFREG));
  TRY(touch_directory(tx, *directory, 1, 0));
  if (!value.empty()) {
    TRY(grow_block(tx, *file, value.size()));
    TRY(file->object().write(tx, 0, value));
  }
  TRY(file->update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.size = value.size(); }));
  return owner.update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.ctime = now(); });
}

// Needs the owner's lock exclusively (or an owner that nobody else can reach yet).
Status PosixFileSystem::put_xattr(const Tx& tx, Znode& owner, std::string_view name, ByteView value,
                                  const Caller& caller) {
  const bool prefer_sa = dataset_->property(Property::xattr) == zpl::kXattrSa;
  auto in_sa = TRY(sa_xattrs(owner));
  const std::string key(name);
  if (prefer_sa && value.size() <= kSaValueMax) {
    auto changed = in_sa;
    changed[key] = Bytes(value.begin(), value.end());
    Status stored = store_sa_xattrs(tx, owner, changed);
    if (stored) return erase_directory_xattr(tx, owner, name);
    if (stored.error().code() != Errc::too_large) return stored;  // too large: a file of its own
  }
  TRY(put_directory_xattr(tx, owner, name, value, caller));
  if (in_sa.erase(key) > 0) TRY(store_sa_xattrs(tx, owner, in_sa));
  return {};
}

Status PosixFileSystem::set_xattr(std::uint64_t object, std::string_view name, ByteView value, XattrMode mode,
                                  const Caller& caller) {
  TRY(check_writable());
  TRY(check_xattr_name(name));
  if (dataset_->property(Property::xattr) == zpl::kXattrOff)
    return Error(Errc::unsupported, "extended attributes are switched off");
  if (value.size() > kValueMax) return Error(Errc::too_large, "value of an extended attribute is too large");
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes a = z->attributes();
    if (a.flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly))
      return Error(Errc::not_permitted, "file is immutable or append-only");
    z->capability = Znode::Capability::unknown;
    std::optional<PosixAcl> acl;
    if (is_acl(name)) {
      if (S_ISLNK(a.mode)) return Error(Errc::unsupported, "symbolic links have no ACL");
      if (name == kAclDefaultXattr && !a.is_directory())
        return Error(Errc::permission, "only directories have a default ACL");
      acl = TRY(PosixAcl::decode(value));
    }
    if (mode != XattrMode::set) {
      const bool exists = TRY(find_xattr(*z, name)).has_value();
      if (exists && mode == XattrMode::create)
        return Error(Errc::already_exists, fmt::format("extended attribute '{}' exists", name));
      if (!exists && mode == XattrMode::replace) return no_such_xattr(name);
    }
    const bool sets_mode = acl && name == kAclAccessXattr;
    const bool mode_says_all = sets_mode && acl->is_minimal();
    Tx tx = TRY(begin(kXattrTxBytes + value.size()));
    if (mode_says_all) {
      TRY(erase_xattr(tx, *z, name));
    } else {
      TRY(put_xattr(tx, *z, name, value, caller));
    }
    if (sets_mode) {
      TRY(apply_mode(tx, *z, static_cast<std::uint32_t>(a.mode & ~std::uint64_t{0777}) | acl->mode_bits(),
                     false, caller));
      TRY(z->update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.ctime = now(); }));
    }
  }
  return finish();
}

Status PosixFileSystem::remove_xattr(std::uint64_t object, std::string_view name, const Caller&) {
  TRY(check_writable());
  TRY(check_xattr_name(name));
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    if (z->attributes().flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly)) {
      return Error(Errc::not_permitted, "file is immutable or append-only");
    }
    if (!TRY(find_xattr(*z, name))) return no_such_xattr(name);
    Tx tx = TRY(begin(kXattrTxBytes, true));
    TRY(erase_xattr(tx, *z, name));
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.ctime = now(); }));
  }
  return finish();
}

}  // namespace tarn
