#include "libpool/compress/lzjb.h"

#include <array>

namespace tarn {
namespace {

constexpr unsigned kMinMatch = 3, kMatchBits = 6, kOffsetBits = 10;
constexpr unsigned kMaxMatch = (1u << kMatchBits) - 1 + kMinMatch;
constexpr std::size_t kMaxOffset = (1u << kOffsetBits) - 1;
constexpr unsigned kFlagsPerControl = 8;

unsigned byte_at(ByteView data, std::size_t at) { return static_cast<unsigned>(data[at]); }

}  // namespace

std::optional<std::size_t> lzjb_compress(ByteView data, MutableByteView out) {
  // Last position of each hashed triple, plus one; 0 = none yet.
  std::array<std::size_t, 1024> last{};
  std::size_t from = 0, to = 0, control = 0;
  unsigned flag = kFlagsPerControl;
  while (from < data.size()) {
    if (flag == kFlagsPerControl) {
      flag = 0;
      control = to++;
      // Worst case of one control group: itself and 8 references.
      if (to + 2 * kFlagsPerControl > out.size()) return std::nullopt;
      out[control] = std::byte{0};
    }
    const unsigned bit = flag++;
    std::size_t length = 0, offset = 0;
    if (data.size() - from >= kMaxMatch) {
      const unsigned hash =
          (byte_at(data, from) << 6) ^ (byte_at(data, from + 1) << 3) ^ byte_at(data, from + 2);
      std::size_t& slot = last[hash & 1023];
      const std::size_t candidate = slot;
      slot = from + 1;
      if (candidate && from - (candidate - 1) <= kMaxOffset) {
        offset = from - (candidate - 1);
        while (length < kMaxMatch && data[from + length] == data[from + length - offset]) ++length;
      }
    }
    if (length >= kMinMatch) {
      out[control] |= static_cast<std::byte>(1u << bit);
      out[to++] = static_cast<std::byte>(((length - kMinMatch) << (8 - kMatchBits)) | (offset >> 8));
      out[to++] = static_cast<std::byte>(offset & 0xff);
      from += length;
    } else {
      out[to++] = data[from++];
    }
  }
  return to;
}

Status lzjb_decompress(ByteView stored, MutableByteView out) {
  const Error damaged(Errc::corrupt, "lzjb: damaged data");
  std::size_t from = 0, to = 0;
  unsigned flag = kFlagsPerControl, flags = 0;
  while (to < out.size()) {
    if (flag == kFlagsPerControl) {
      if (from >= stored.size()) return damaged;
      flags = byte_at(stored, from++);
      flag = 0;
    }
    if (!(flags >> flag++ & 1)) {
      if (from >= stored.size()) return damaged;
      out[to++] = stored[from++];
      continue;
    }
    if (stored.size() - from < 2) return damaged;
    const unsigned high = byte_at(stored, from), low = byte_at(stored, from + 1);
    from += 2;
    std::size_t length = (high >> (8 - kMatchBits)) + kMinMatch;
    const std::size_t offset = ((high & ((1u << (8 - kMatchBits)) - 1)) << 8) | low;
    if (offset == 0 || offset > to) return damaged;
    // References may overlap what they produce: byte by byte.
    for (; length > 0 && to < out.size(); --length, ++to) out[to] = out[to - offset];
  }
  return {};
}

}  // namespace tarn
