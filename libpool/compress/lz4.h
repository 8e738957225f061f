#pragma once

#include <optional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

std::optional<std::size_t> lz4_compress(ByteView data, MutableByteView out);
Status lz4_decompress(ByteView stored, MutableByteView out);

}  // namespace tarn
