#include "libpool/block/dmu_type.h"

#include <array>

namespace tarn {
namespace {

struct TypeInfo {
  const char* name;
  SwapClass swap;
  bool metadata, encrypted;
};

constexpr std::array<TypeInfo, 54> kTypes{{
    {"unallocated", SwapClass::u8, true, false},
    {"object directory", SwapClass::zap, true, false},
    {"object array", SwapClass::u64, true, false},
    {"packed nvlist", SwapClass::u8, true, false},
    {"packed nvlist size", SwapClass::u64, true, false},
    {"bpobj", SwapClass::u64, true, false},
    {"bpobj header", SwapClass::u64, true, false},
    {"SPA space map header", SwapClass::u64, true, false},
    {"SPA space map", SwapClass::u64, true, false},
    {"ZIL intent log", SwapClass::u64, true, true},
    {"DMU dnode", SwapClass::dnode, true, true},
    {"DMU objset", SwapClass::objset, true, false},
    {"DSL directory", SwapClass::u64, true, false},
    {"DSL directory child map", SwapClass::zap, true, false},
    {"DSL dataset snap map", SwapClass::zap, true, false},
    {"DSL props", SwapClass::zap, true, false},
    {"DSL dataset", SwapClass::u64, true, false},
    {"ZFS znode", SwapClass::znode, true, false},
    {"ZFS V0 ACL", SwapClass::old_acl, true, true},
    {"ZFS plain file", SwapClass::u8, false, true},
    {"ZFS directory", SwapClass::zap, true, true},
    {"ZFS master node", SwapClass::zap, true, false},
    {"ZFS delete queue", SwapClass::zap, true, true},
    {"zvol object", SwapClass::u8, false, true},
    {"zvol prop", SwapClass::zap, true, false},
    {"other uint8[]", SwapClass::u8, false, true},
    {"other uint64[]", SwapClass::u64, false, true},
    {"other ZAP", SwapClass::zap, true, false},
    {"persistent error log", SwapClass::zap, true, false},
    {"SPA history", SwapClass::u8, true, false},
    {"SPA history offsets", SwapClass::u64, true, false},
    {"Pool properties", SwapClass::zap, true, false},
    {"DSL permissions", SwapClass::zap, true, false},
    {"ZFS ACL", SwapClass::acl, true, true},
    {"ZFS SYSACL", SwapClass::u8, true, true},
    {"FUID table", SwapClass::u8, true, true},
    {"FUID table size", SwapClass::u64, true, false},
    {"DSL dataset next clones", SwapClass::zap, true, false},
    {"scan work queue", SwapClass::zap, true, false},
    {"ZFS user/group/project used", SwapClass::zap, true, true},
    {"ZFS user/group/project quota", SwapClass::zap, true, true},
    {"snapshot refcount tags", SwapClass::zap, true, false},
    {"DDT ZAP algorithm", SwapClass::zap, true, false},
    {"DDT statistics", SwapClass::zap, true, false},
    {"System attributes", SwapClass::u8, true, true},
    {"SA master node", SwapClass::zap, true, true},
    {"SA attr registration", SwapClass::zap, true, true},
    {"SA attr layouts", SwapClass::zap, true, true},
    {"scan translations", SwapClass::zap, true, false},
    {"deduplicated block", SwapClass::u8, false, true},
    {"DSL deadlist map", SwapClass::zap, true, false},
    {"DSL deadlist map hdr", SwapClass::u64, true, false},
    {"DSL dir clones", SwapClass::zap, true, false},
    {"bpobj subobj", SwapClass::u64, true, false},
}};

// New-style types carry their properties in their bits (FORMAT.md 13.3).
constexpr std::uint8_t kNewType = 0x80, kNewMetadata = 0x40, kNewEncrypted = 0x20, kNewSwapMask = 0x1f;

std::uint8_t number(DmuType type) { return static_cast<std::uint8_t>(type); }
bool is_new(DmuType type) { return number(type) & kNewType; }

}  // namespace

bool is_valid(DmuType type) {
  return is_new(type) ? (number(type) & kNewSwapMask) <= static_cast<std::uint8_t>(SwapClass::acl)
                      : number(type) < kTypes.size();
}

bool is_metadata(DmuType type) {
  return is_new(type) ? number(type) & kNewMetadata
                      : number(type) < kTypes.size() && kTypes[number(type)].metadata;
}

bool is_encrypted_type(DmuType type) {
  return is_new(type) ? number(type) & kNewEncrypted
                      : number(type) < kTypes.size() && kTypes[number(type)].encrypted;
}

SwapClass swap_class(DmuType type) {
  if (is_new(type))
    return is_valid(type) ? static_cast<SwapClass>(number(type) & kNewSwapMask) : SwapClass::u8;
  return number(type) < kTypes.size() ? kTypes[number(type)].swap : SwapClass::u8;
}

const char* name_of(DmuType type) {
  if (!is_new(type)) return number(type) < kTypes.size() ? kTypes[number(type)].name : "invalid type";
  switch (number(type) & (kNewMetadata | kNewSwapMask)) {
    case 0x00:
      return "uint8";
    case 0x03:
      return "uint64";
    case 0x04:
      return "zap";
    case 0x40:
      return "uint8 (metadata)";
    case 0x42:
      return "uint32 (metadata)";
    case 0x43:
      return "uint64 (metadata)";
    case 0x44:
      return "zap (metadata)";
    default:
      return "other new type";
  }
}

}  // namespace tarn
