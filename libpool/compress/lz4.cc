// lz4: a 4-byte big-endian length, then one raw LZ4 block (FORMAT.md 8.3).
#include "libpool/compress/lz4.h"

#include <lz4.h>

#include <algorithm>

namespace tarn {

namespace {
constexpr std::size_t kLengthBytes = 4;
}

std::optional<std::size_t> lz4_compress(ByteView data, MutableByteView out) {
  if (out.size() <= kLengthBytes) return std::nullopt;
  const int length = LZ4_compress_default(
      reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(out.data() + kLengthBytes),
      static_cast<int>(data.size()), static_cast<int>(out.size() - kLengthBytes));
  if (length <= 0) return std::nullopt;
  store<std::uint32_t>(out.data(), static_cast<std::uint32_t>(length), ByteOrder::big);
  return kLengthBytes + static_cast<std::size_t>(length);
}

Status lz4_decompress(ByteView stored, MutableByteView out) {
  if (stored.size() < kLengthBytes) return Error(Errc::corrupt, "lz4: too short");
  const auto length = load<std::uint32_t>(stored.data(), ByteOrder::big);
  if (length > stored.size() - kLengthBytes) return Error(Errc::corrupt, "lz4: length beyond the block");
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data() + kLengthBytes),
                                      reinterpret_cast<char*>(out.data()), static_cast<int>(length),
                                      static_cast<int>(out.size()));
  if (got < 0 || static_cast<std::size_t>(got) != out.size())
    return Error(Errc::corrupt, "lz4: damaged data");
  return {};
}

}  // namespace tarn
