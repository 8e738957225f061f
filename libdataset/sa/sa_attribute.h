// The attributes of files (FORMAT.md logical 4.2): names, sizes, how their bytes are swapped. On disk an
// attribute has a number that each file system assigns (sa_registry.h); SaAttr is our own name for the known
// ones, in the order in which a new file system registers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "libpool/base/bytes.h"

namespace tarn {

enum class SaAttr : std::uint8_t {
  atime,
  mtime,
  ctime,
  crtime,
  gen,
  mode,
  size,
  parent,
  links,
  xattr,
  rdev,
  flags,
  uid,
  gid,
  pad,
  znode_acl,
  dacl_count,
  symlink,
  scanstamp,
  dacl_aces,
  dxattr,
  projid,
  seq,
};
inline constexpr std::size_t kSaAttrCount = 23;

enum class SaSwap : std::uint8_t { u64_array = 0, u32_array = 1, u16_array = 2, u8_array = 3, acl = 4 };

struct SaAttrInfo {
  const char* name;
  std::uint16_t length;  // bytes; 0 = variable
  SaSwap swap;
  bool registered;  // whether a file system made by Tarn has it
};

const SaAttrInfo& sa_attr_info(SaAttr attr);
std::optional<SaAttr> find_sa_attr(std::string_view name);

// Swaps a value in place. An ACL whose entries do not fit its bytes is swapped as far as they do.
void swap_sa_value(MutableByteView value, SaSwap swap);

}  // namespace tarn
