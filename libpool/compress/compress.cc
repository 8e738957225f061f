#include "libpool/compress/compress.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "libpool/compress/gzip.h"
#include "libpool/compress/lz4.h"
#include "libpool/compress/lzjb.h"
#include "libpool/compress/zle.h"
#include "libpool/compress/zstd.h"

namespace tarn {
namespace {

constexpr std::array kNames{"inherit", "on",     "off",    "lzjb",   "empty",  "gzip-1",
                            "gzip-2",  "gzip-3", "gzip-4", "gzip-5", "gzip-6", "gzip-7",
                            "gzip-8",  "gzip-9", "zle",    "lz4",    "zstd"};

bool is_gzip(CompressionType type) {
  return type >= CompressionType::gzip_1 && type <= CompressionType::gzip_9;
}
int gzip_level(CompressionType type) {
  return 1 + static_cast<int>(type) - static_cast<int>(CompressionType::gzip_1);
}

}  // namespace

bool is_known(CompressionType type) { return static_cast<std::size_t>(type) < kNames.size(); }
const char* name_of(CompressionType type) {
  return is_known(type) ? kNames[static_cast<std::size_t>(type)] : "unknown compression";
}

std::optional<std::size_t> compress(CompressionSpec spec, ByteView data, MutableByteView out) {
  switch (spec.type) {
    case CompressionType::lzjb:
      return lzjb_compress(data, out);
    case CompressionType::zle:
      return zle_compress(data, out);
    case CompressionType::lz4:
      return lz4_compress(data, out);
    case CompressionType::zstd:
      return zstd_compress(data, out, spec.level);
    default:
      break;
  }
  if (is_gzip(spec.type)) return gzip_compress(data, out, gzip_level(spec.type));
  return std::nullopt;
}

Status decompress(CompressionType type, ByteView stored, MutableByteView out) {
  switch (type) {
    case CompressionType::lzjb:
      return lzjb_decompress(stored, out);
    case CompressionType::zle:
      return zle_decompress(stored, out);
    case CompressionType::lz4:
      return lz4_decompress(stored, out);
    case CompressionType::zstd:
      return zstd_decompress(stored, out);
    default:
      break;
  }
  if (is_gzip(type)) return gzip_decompress(stored, out);
  return Error(Errc::corrupt, fmt::format("a block cannot be stored with compression {}", name_of(type)));
}

}  // namespace tarn
