// Names of ZAP entries: their hash, their normal form (FORMAT.md logical 2.2, 2.7), and the values beside
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "libpool/base/result.h"
#include "libpool/zap/zap.h"

namespace tarn {

inline constexpr std::uint64_t kMicroZapType = 0x8000000000000003ULL;
inline constexpr std::uint64_t kFatZapType = 0x8000000000000001ULL;
inline constexpr std::uint64_t kLeafType = 0x8000000000000000ULL;

enum ZapFlag : std::uint64_t { kZapHash64 = 1, kZapU64Keys = 2, kZapPreHashed = 4 };
enum NormFlag : std::uint64_t { kNormToUpper = 0x02, kNormUnicode = 0x70 };

// What decides about the hash of a name.
struct ZapKeying {
  std::uint64_t salt = 0;
  std::uint64_t norm_flags = 0;
  std::uint64_t flags = 0;
  unsigned hash_bits() const { return flags & kZapHash64 ? 48 : 28; }
};

// The name as comparisons and hash see it. Unicode forms of names beyond ASCII need tables that we lack:
// Errc::unsupported; ASCII is its own normal form.
Result<std::string> normalize_name(std::string_view name, std::uint64_t norm_flags);
// `name` checked for what its ZAP can hold (no NUL; u64 keys: whole words).
Status check_name(std::string_view name, const ZapKeying& keying);
Result<std::uint64_t> hash_name(std::string_view name, const ZapKeying& keying);

// Cursors as stored in directory offsets: (hash, cd) in one word.
struct ZapPosition {
  std::uint64_t hash = 0;
  std::uint32_t cd = 0;
  friend auto operator<=>(const ZapPosition&, const ZapPosition&) = default;
  std::uint64_t serialize(unsigned hash_bits) const {
    return hash >> (64 - hash_bits) | std::uint64_t{cd} << hash_bits;
  }
  static ZapPosition parse(std::uint64_t cursor, unsigned hash_bits) {
    return {cursor << (64 - hash_bits), static_cast<std::uint32_t>(cursor >> hash_bits)};
  }
};

}  // namespace tarn
