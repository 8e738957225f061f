// zstd: two big-endian words (length; level and library version), then a magicless frame (FORMAT.md 8.3).
#pragma once

#include <cstdint>
#include <optional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

// `level_code` as properties hold it (FORMAT.md 8.1); 0 = default.
std::optional<std::size_t> zstd_compress(ByteView data, MutableByteView out, std::uint8_t level_code);
Status zstd_decompress(ByteView stored, MutableByteView out);

}  // namespace tarn
