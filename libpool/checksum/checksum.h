// Block checksums: one file per algorithm and this registry (FORMAT.md 7).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

// The numbers are on disk; a decoded value may be none of these (8 bits).
enum class ChecksumType : std::uint8_t {
  inherit = 0, on = 1, off = 2, label = 3, gang_header = 4, zilog = 5, fletcher2 = 6, fletcher4 = 7, sha256 = 8,
  zilog2 = 9, noparity = 10, sha512 = 11, skein = 12, edonr = 13, blake3 = 14,
};

using ChecksumWords = std::array<std::uint64_t, 4>;
using ChecksumSalt = std::array<std::byte, 32>;

bool is_known(ChecksumType type);
bool is_metadata_grade(ChecksumType type);  // column "metadata ok"
bool is_strong(ChecksumType type);          // dedup grade
bool is_salted(ChecksumType type);
const char* name_of(ChecksumType type);     // "fletcher4", as properties print it
// Feature guid that must be active before a block with it is written; empty if none.
std::string_view feature_of(ChecksumType type);

// Checksum of `data` as it must stand in a block pointer whose block has byte order `order`. `type` is one of
// those that a bp may hold for ordinary blocks (off and noparity give zeros); unsupported for others.
Result<ChecksumWords> compute_checksum(ChecksumType type, ByteView data, ByteOrder order, const ChecksumSalt& salt);

// The single algorithms, for trailers.
ChecksumWords fletcher2(ByteView data, ByteOrder order);
ChecksumWords fletcher4(ByteView data, ByteOrder order);
ChecksumWords sha256_words(ByteView data);

// Embedded trailers (FORMAT.md 2.3): the last 40 bytes of `region`. seal() places magic and checksum;
// verify() recomputes over a copy-free pass and tells the byte order found, or Errc::checksum.
inline constexpr std::size_t kTrailerBytes = 40;
inline constexpr std::uint64_t kTrailerMagic = 0x0210da7ab10c7a11ULL;
void seal_trailer(MutableByteView region, const ChecksumWords& verifier, ByteOrder order = kHostOrder);
Result<ByteOrder> verify_trailer(ByteView region, const ChecksumWords& verifier);

}  // namespace tarn
