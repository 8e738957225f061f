// POSIX ACLs in the form of the Linux xattrs system.posix_acl_access and system.posix_acl_default
// (FORMAT.md logical 4.11): how they and the permission bits follow each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

inline constexpr const char* kAclAccessXattr = "system.posix_acl_access";
inline constexpr const char* kAclDefaultXattr = "system.posix_acl_default";

class PosixAcl {
 public:
  enum class Tag : std::uint16_t {
    owner = 1,
    user = 2,
    group_owner = 4,
    group = 8,
    mask = 0x10,
    other = 0x20
  };
  struct Entry {
    Tag tag;
    std::uint16_t rwx;
    std::uint32_t id;
  };

  // Checks that the entries make a valid ACL: each base entry once, a mask if there are named ones.
  static Result<PosixAcl> decode(ByteView xattr);
  Bytes encode() const;

  // No entries but owner, group, other: the mode says it all.
  bool is_minimal() const;
  // The nine permission bits that the ACL stands for (mask in place of group).
  std::uint32_t mode_bits() const;
  // chmod: owner, mask (else group) and other take their bits from `mode`.
  void set_mode(std::uint32_t mode);
  // An object made with `mode` under this default ACL: the ACL is restricted to the mode, and the bits that
  // result.
  std::uint32_t restrict_to(std::uint32_t mode);

 private:
  std::vector<Entry> entries_;
};

}  // namespace tarn
