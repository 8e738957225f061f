#include "libdataset/files/posix_acl.h"

#include <algorithm>

namespace tarn {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 4, kEntryBytes = 8;
constexpr std::uint32_t kNoId = 0xffffffff;

}  // namespace

Result<PosixAcl> PosixAcl::decode(ByteView xattr) {
  if (xattr.size() < kHeaderBytes || (xattr.size() - kHeaderBytes) % kEntryBytes != 0) {
    return Error(Errc::invalid_argument, "ACL of an odd size");
  }
  ByteReader reader(xattr, ByteOrder::little);
  if (reader.u32() != kVersion) return Error(Errc::unsupported, "ACL of an unknown version");
  PosixAcl acl;
  unsigned owners = 0, groups = 0, others = 0, masks = 0, named = 0;
  while (reader.remaining() > 0) {
    Entry entry{.tag = static_cast<Tag>(reader.u16()), .rwx = reader.u16(), .id = reader.u32()};
    if (entry.rwx > 7) return Error(Errc::invalid_argument, "ACL entry with unknown permissions");
    switch (entry.tag) {
      case Tag::owner:
        ++owners;
        break;
      case Tag::group_owner:
        ++groups;
        break;
      case Tag::other:
        ++others;
        break;
      case Tag::mask:
        ++masks;
        break;
      case Tag::user:
      case Tag::group:
        ++named;
        break;
      default:
        return Error(Errc::invalid_argument, "ACL entry of an unknown kind");
    }
    acl.entries_.push_back(entry);
  }
  if (owners != 1 || groups != 1 || others != 1 || masks > 1 || (named > 0 && masks == 0)) {
    return Error(Errc::invalid_argument, "ACL lacks an entry or has one twice");
  }
  return acl;
}

Bytes PosixAcl::encode() const {
  Bytes out(kHeaderBytes + entries_.size() * kEntryBytes);
  ByteWriter writer(out, ByteOrder::little);
  writer.u32(kVersion);
  for (const Entry& entry : entries_) {
    writer.u16(static_cast<std::uint16_t>(entry.tag));
    writer.u16(entry.rwx);
    const bool named = entry.tag == Tag::user || entry.tag == Tag::group;
    writer.u32(named ? entry.id : kNoId);
  }
  return out;
}

bool PosixAcl::is_minimal() const { return entries_.size() == 3; }

std::uint32_t PosixAcl::mode_bits() const {
  std::uint32_t owner = 0, group = 0, other = 0;
  std::optional<std::uint32_t> mask;
  for (const Entry& entry : entries_) {
    if (entry.tag == Tag::owner) owner = entry.rwx;
    if (entry.tag == Tag::group_owner) group = entry.rwx;
    if (entry.tag == Tag::mask) mask = entry.rwx;
    if (entry.tag == Tag::other) other = entry.rwx;
  }
  return owner << 6 | mask.value_or(group) << 3 | other;
}

void PosixAcl::set_mode(std::uint32_t mode) {
  const bool has_mask =
      std::ranges::any_of(entries_, [](const Entry& entry) { return entry.tag == Tag::mask; });
  for (Entry& entry : entries_) {
    if (entry.tag == Tag::owner) entry.rwx = mode >> 6 & 7;
    if (entry.tag == Tag::mask || (entry.tag == Tag::group_owner && !has_mask)) entry.rwx = mode >> 3 & 7;
    if (entry.tag == Tag::other) entry.rwx = mode & 7;
  }
}

std::uint32_t PosixAcl::restrict_to(std::uint32_t mode) {
  const bool has_mask =
      std::ranges::any_of(entries_, [](const Entry& entry) { return entry.tag == Tag::mask; });
  for (Entry& entry : entries_) {
    if (entry.tag == Tag::owner) entry.rwx &= mode >> 6 & 7;
    if (entry.tag == Tag::mask || (entry.tag == Tag::group_owner && !has_mask)) entry.rwx &= mode >> 3 & 7;
    if (entry.tag == Tag::other) entry.rwx &= mode & 7;
  }
  return (mode & ~0777u) | mode_bits();
}

}  // namespace tarn
