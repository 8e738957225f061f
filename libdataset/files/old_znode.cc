#include "libdataset/files/old_znode.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "libdataset/files/nfs4_acl.h"
#include "libdataset/files/zpl_constants.h"

namespace tarn {
namespace {

constexpr std::size_t kAclAt = 176, kAclDataAt = kAclAt + 16, kInlineAclBytes = 72;
constexpr std::size_t kOneSlotBonusBytes = 320;
constexpr std::uint64_t kMaxTargetBytes = 4096;

}  // namespace

Result<ZnodeAttributes> decode_old_znode(ByteView bonus) {
  if (bonus.size() < kOldZnodeBytes)
    return Error(Errc::corrupt, fmt::format("znode of only {} bytes", bonus.size()));
  ByteReader reader(bonus, kHostOrder);
  const auto time = [&] {
    const auto seconds = static_cast<std::int64_t>(reader.u64());
    return TimeSpec{.seconds = seconds, .nanoseconds = static_cast<std::uint32_t>(reader.u64())};
  };
  ZnodeAttributes a;
  a.atime = time();
  a.mtime = time();
  a.ctime = time();
  a.crtime = time();
  a.gen = reader.u64();
  a.mode = reader.u64();
  a.size = reader.u64();
  a.parent = reader.u64();
  a.links = reader.u64();
  a.xattr_directory = reader.u64();
  a.rdev = reader.u64();
  a.flags = reader.u64();
  a.uid = reader.u64();
  a.gid = reader.u64();
  return a;
}

Result<SaValues> convert_old_znode(SaRegistry& registry, const Tx& tx, Object& object) {
  const Bytes bonus = object.bonus();
  const ZnodeAttributes a = TRY(decode_old_znode(bonus));
  SaValues values;
  const auto set_u64 = [&](SaAttr attr, std::uint64_t value) -> Status {
    values.set_u64(TRY(registry.require(tx, attr)), value);
    return {};
  };
  for (const SaAttr attr : kSaFixedOrder) {
    values.set(TRY(registry.require(tx, attr)), Bytes(sa_attr_info(attr).length));  // filled in by the caller
  }
  if (S_ISCHR(a.mode) || S_ISBLK(a.mode)) TRY(set_u64(SaAttr::rdev, a.rdev));
  // An inline ACL of version 1 has the present form; others are replaced by what the mode says, which is all
  // that Linux enforces.
  const auto external = load<std::uint64_t>(bonus.data() + kAclAt, kHostOrder);
  const auto acl_bytes = load<std::uint32_t>(bonus.data() + kAclAt + 8, kHostOrder);
  const auto acl_version = load<std::uint16_t>(bonus.data() + kAclAt + 12, kHostOrder);
  Bytes aces = trivial_acl(static_cast<std::uint32_t>(a.mode));
  if (external == 0 && acl_version == 1 && acl_bytes > 0 && acl_bytes <= kInlineAclBytes) {
    aces.assign(bonus.begin() + kAclDataAt, bonus.begin() + kAclDataAt + acl_bytes);
  }
  TRY(set_u64(SaAttr::dacl_count, count_aces(aces)));
  values.set(TRY(registry.require(tx, SaAttr::dacl_aces)), aces);
  if (S_ISLNK(a.mode))
    values.set(TRY(registry.require(tx, SaAttr::symlink)), as_bytes(TRY(old_symlink_target(object))));
  if (a.xattr_directory != 0) TRY(set_u64(SaAttr::xattr, a.xattr_directory));
  return values;
}

Result<std::string> old_symlink_target(Object& object) {
  const Bytes bonus = object.bonus();
  const ZnodeAttributes a = TRY(decode_old_znode(bonus));
  if (a.size > kMaxTargetBytes)
    return Error(Errc::corrupt, fmt::format("symbolic link with a target of {} bytes", a.size));
  std::string target(a.size, '\0');
  if (kOldZnodeBytes + a.size <= kOneSlotBonusBytes) {
    if (bonus.size() < kOldZnodeBytes + a.size)
      return Error(Errc::corrupt, "symbolic link without its target");
    target = as_text(ByteView(bonus).subspan(kOldZnodeBytes, a.size));
  } else {
    TRY(object.read(0, std::as_writable_bytes(std::span(target))));
  }
  return target;
}

}  // namespace tarn
