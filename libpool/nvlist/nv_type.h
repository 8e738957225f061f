// Type codes of name/value pairs (FORMAT.md 3.2) and how they map to NvValue.
#pragma once

#include <cstdint>

#include "libpool/nvlist/nvlist.h"

namespace tarn {

enum class NvType : std::uint32_t {
  boolean = 1,
  byte = 2,
  int16 = 3,
  uint16 = 4,
  int32 = 5,
  uint32 = 6,
  int64 = 7,
  uint64 = 8,
  string = 9,
  byte_array = 10,
  int16_array = 11,
  uint16_array = 12,
  int32_array = 13,
  uint32_array = 14,
  int64_array = 15,
  uint64_array = 16,
  string_array = 17,
  hrtime = 18,
  nvlist = 19,
  nvlist_array = 20,
  boolean_value = 21,
  int8 = 22,
  uint8 = 23,
  boolean_array = 24,
  int8_array = 25,
  uint8_array = 26,
  double_value = 27,
};

inline constexpr unsigned kMaxNvDepth = 64;
inline constexpr std::uint32_t kNvUniqueName = 1;

NvType type_of(const NvValue& value);
// Elements as the pair's count field has them: 0 for boolean, 1 for scalars.
std::uint32_t element_count(const NvValue& value);

Bytes pack_xdr(const NvList& list);
Bytes pack_native(const NvList& list);
Result<NvList> unpack_xdr(ByteView body);
Result<NvList> unpack_native(ByteView body);

}  // namespace tarn
