// gzip-1 to gzip-9: a zlib stream, zeros after its end (FORMAT.md 8.3).
#pragma once

#include <optional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

std::optional<std::size_t> gzip_compress(ByteView data, MutableByteView out, int level);
Status gzip_decompress(ByteView stored, MutableByteView out);

}  // namespace tarn
