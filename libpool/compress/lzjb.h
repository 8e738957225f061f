// lzjb: control bytes of 8 flags, literals, and 2-byte references of 3 to 66 bytes back at most 1023
// (FORMAT.md 8.3).
#pragma once

#include <optional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

std::optional<std::size_t> lzjb_compress(ByteView data, MutableByteView out);
Status lzjb_decompress(ByteView stored, MutableByteView out);

}  // namespace tarn
