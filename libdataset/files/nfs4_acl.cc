#include "libdataset/files/nfs4_acl.h"

#include <sys/stat.h>

#include <functional>

namespace tarn {
namespace {

constexpr std::uint16_t kAllow = 0, kDeny = 1;
constexpr std::uint16_t kInheritOnly = 8, kOwner = 0x1000, kGroup = 0x2040, kEveryone = 0x4000,
                        kWhoMask = 0x7040;
constexpr std::uint32_t kOwnerAlways = 0x1E0198, kOthersAlways = 0x120088;
constexpr std::size_t kAceBytes = 8, kWhoBytes = 8, kObjectAceBytes = 32;

void append_ace(Bytes& out, std::uint16_t type, std::uint16_t who, std::uint32_t mask) {
  const std::size_t at = out.size();
  out.resize(at + kAceBytes);
  store<std::uint16_t>(out.data() + at, type, kHostOrder);
  store<std::uint16_t>(out.data() + at + 2, who, kHostOrder);
  store<std::uint32_t>(out.data() + at + 4, mask, kHostOrder);
}

std::uint32_t rights(std::uint32_t rwx, bool directory) {
  return ((rwx & 4) ? 1u : 0u) | ((rwx & 2) ? (directory ? 0x46u : 0x6u) : 0u) | ((rwx & 1) ? 0x20u : 0u);
}

void for_each_ace(ByteView aces, const std::function<void(ByteView)>& visit) {
  std::size_t at = 0;
  while (at + kAceBytes <= aces.size()) {
    const auto type = load<std::uint16_t>(aces.data() + at, kHostOrder);
    const std::uint16_t who = load<std::uint16_t>(aces.data() + at + 2, kHostOrder) & kWhoMask;
    std::size_t length = kAceBytes;
    if (who != kOwner && who != kGroup && who != kEveryone)
      length += kWhoBytes + (type >= 5 && type <= 8 ? kObjectAceBytes : 0);
    if (length > aces.size() - at) return;
    visit(aces.subspan(at, length));
    at += length;
  }
}

}  // namespace

Bytes trivial_acl(std::uint32_t mode) {
  const bool directory = S_ISDIR(mode);
  const std::uint32_t u = mode >> 6 & 7, g = mode >> 3 & 7, o = mode & 7;
  Bytes out;
  if (const std::uint32_t bits = u & ~g & o) append_ace(out, kAllow, kOwner, rights(bits, directory));
  if (const std::uint32_t bits = ~u & (g | o) & 7) append_ace(out, kDeny, kOwner, rights(bits, directory));
  if (const std::uint32_t bits = ~g & o & 7) append_ace(out, kDeny, kGroup, rights(bits, directory));
  append_ace(out, kAllow, kOwner, kOwnerAlways | rights(u, directory));
  append_ace(out, kAllow, kGroup, kOthersAlways | rights(g, directory));
  append_ace(out, kAllow, kEveryone, kOthersAlways | rights(o, directory));
  return out;
}

Bytes chmod_acl(ByteView aces, std::uint32_t mode) {
  Bytes out;
  for_each_ace(aces, [&](ByteView ace) {
    const auto flags = load<std::uint16_t>(ace.data() + 2, kHostOrder);
    const std::uint16_t who = flags & kWhoMask;
    const bool from_mode = who == kOwner || who == kGroup || who == kEveryone;
    if (!from_mode || (flags & kInheritOnly)) out.insert(out.end(), ace.begin(), ace.end());
  });
  const Bytes trivial = trivial_acl(mode);
  out.insert(out.end(), trivial.begin(), trivial.end());
  return out;
}

std::uint64_t count_aces(ByteView aces) {
  std::uint64_t count = 0;
  for_each_ace(aces, [&](ByteView) { ++count; });
  return count;
}

}  // namespace tarn
