#include "libdataset/sa/sa_attribute.h"

#include <array>

namespace tarn {
namespace {

constexpr std::array<SaAttrInfo, kSaAttrCount> kTable = {{
    {"ZPL_ATIME", 16, SaSwap::u64_array, true},     {"ZPL_MTIME", 16, SaSwap::u64_array, true},
    {"ZPL_CTIME", 16, SaSwap::u64_array, true},     {"ZPL_CRTIME", 16, SaSwap::u64_array, true},
    {"ZPL_GEN", 8, SaSwap::u64_array, true},        {"ZPL_MODE", 8, SaSwap::u64_array, true},
    {"ZPL_SIZE", 8, SaSwap::u64_array, true},       {"ZPL_PARENT", 8, SaSwap::u64_array, true},
    {"ZPL_LINKS", 8, SaSwap::u64_array, true},      {"ZPL_XATTR", 8, SaSwap::u64_array, true},
    {"ZPL_RDEV", 8, SaSwap::u64_array, true},       {"ZPL_FLAGS", 8, SaSwap::u64_array, true},
    {"ZPL_UID", 8, SaSwap::u64_array, true},        {"ZPL_GID", 8, SaSwap::u64_array, true},
    {"ZPL_PAD", 32, SaSwap::u64_array, true},       {"ZPL_ZNODE_ACL", 88, SaSwap::u8_array, true},
    {"ZPL_DACL_COUNT", 8, SaSwap::u64_array, true}, {"ZPL_SYMLINK", 0, SaSwap::u8_array, true},
    {"ZPL_SCANSTAMP", 32, SaSwap::u8_array, true},  {"ZPL_DACL_ACES", 0, SaSwap::acl, true},
    {"ZPL_DXATTR", 0, SaSwap::u8_array, true},      {"ZPL_PROJID", 8, SaSwap::u64_array, true},
    {"ZPL_SEQ", 8, SaSwap::u64_array, false},
}};

template <typename T>
void swap_array(MutableByteView value) {
  for (std::size_t at = 0; at + sizeof(T) <= value.size(); at += sizeof(T)) {
    store<T>(value.data() + at, byte_swap(load<T>(value.data() + at, kHostOrder)), kHostOrder);
  }
}

// Access control entries have two sizes, told by flags and type: the swapped header says how far to go.
void swap_aces(MutableByteView value) {
  std::size_t at = 0;
  while (at + 8 <= value.size()) {
    swap_array<std::uint16_t>(value.subspan(at, 4));
    swap_array<std::uint32_t>(value.subspan(at + 4, 4));
    const auto type = load<std::uint16_t>(value.data() + at, kHostOrder);
    const auto flags = load<std::uint16_t>(value.data() + at + 2, kHostOrder);
    at += 8;
    const unsigned who = flags & 0x7040;
    if (who == 0x1000 || who == 0x2040 || who == 0x4000) continue;
    if (at + 8 > value.size()) return;
    swap_array<std::uint64_t>(value.subspan(at, 8));
    at += 8;
    if (type >= 5 && type <= 8) at += 32;  // object entries: two GUIDs of bytes
  }
}

}  // namespace

const SaAttrInfo& sa_attr_info(SaAttr attr) { return kTable[static_cast<std::size_t>(attr)]; }

std::optional<SaAttr> find_sa_attr(std::string_view name) {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (name == kTable[i].name) return static_cast<SaAttr>(i);
  }
  return std::nullopt;
}

void swap_sa_value(MutableByteView value, SaSwap swap) {
  switch (swap) {
    case SaSwap::u64_array:
      return swap_array<std::uint64_t>(value);
    case SaSwap::u32_array:
      return swap_array<std::uint32_t>(value);
    case SaSwap::u16_array:
      return swap_array<std::uint16_t>(value);
    case SaSwap::u8_array:
      return;
    case SaSwap::acl:
      return swap_aces(value);
  }
}

}  // namespace tarn
