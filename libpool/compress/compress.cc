#include "libpool/compress/compress.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "libpool/compress/lz4.h"

namespace tarn {
namespace {

constexpr std::array kNames{"inherit", "on",     "off",    "lzjb",   "empty",  "gzip-1",
                            "gzip-2",  "gzip-3", "gzip-4", "gzip-5", "gzip-6", "gzip-7",
                            "gzip-8",  "gzip-9", "zle",    "lz4",    "zstd"};

}  // namespace

bool is_known(CompressionType type) { return static_cast<std::size_t>(type) < kNames.size(); }
const char* name_of(CompressionType type) {
  return is_known(type) ? kNames[static_cast<std::size_t>(type)] : "unknown compression";
}

std::optional<std::size_t> compress(CompressionSpec spec, ByteView data, MutableByteView out) {
  if (spec.type == CompressionType::lz4) return lz4_compress(data, out);
  return std::nullopt;
}

Status decompress(CompressionType type, ByteView stored, MutableByteView out) {
  if (type == CompressionType::lz4) return lz4_decompress(stored, out);
  return Error(Errc::unsupported, fmt::format("compression {} is not supported", name_of(type)));
}

}  // namespace tarn
