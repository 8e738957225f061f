// Block compression: one file per algorithm and this registry (FORMAT.md 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "libpool/base/buffer.h"
#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

// The numbers are on disk; a decoded value may be none of these (7 bits).
enum class CompressionType : std::uint8_t {
  inherit = 0,
  on = 1,
  off = 2,
  lzjb = 3,
  empty = 4,
  gzip_1 = 5,
  gzip_2,
  gzip_3,
  gzip_4,
  gzip_5,
  gzip_6,
  gzip_7,
  gzip_8,
  gzip_9 = 13,
  zle = 14,
  lz4 = 15,
  zstd = 16,
};

// Algorithm and level as a dataset property holds them: value = algorithm | level << 7 (FORMAT.md 8.1).
struct CompressionSpec {
  CompressionType type = CompressionType::lz4;
  std::uint8_t level = 0;  // zstd level code; 0 = default
  static CompressionSpec from_property(std::uint64_t value) {
    return {static_cast<CompressionType>(value & 0x7f), static_cast<std::uint8_t>(value >> 7)};
  }
};

bool is_known(CompressionType type);
const char* name_of(CompressionType type);
// Stored form of `data` if it fits into out.size() bytes: its length; else nothing. Thread-safe; contexts are
// kept per thread. `type` is lzjb, gzip_*, zle, lz4 or zstd.
std::optional<std::size_t> compress(CompressionSpec spec, ByteView data, MutableByteView out);
// Fills `out` (LSIZE bytes) exactly from a prefix of `stored`; Errc::corrupt if it does not.
Status decompress(CompressionType type, ByteView stored, MutableByteView out);

}  // namespace tarn
