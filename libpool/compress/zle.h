// zle: runs of literals and of zeros (FORMAT.md 8.3).
#pragma once

#include <optional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

std::optional<std::size_t> zle_compress(ByteView data, MutableByteView out);
Status zle_decompress(ByteView stored, MutableByteView out);

}  // namespace tarn
