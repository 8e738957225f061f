#include "libpool/compress/zle.h"

#include <algorithm>

namespace tarn {
namespace {

// Control byte b: below kLiterals, b+1 literal bytes follow; else b+1-kLiterals zeros.
constexpr std::size_t kLiterals = 64;
constexpr std::size_t kMaxZeros = 256 - kLiterals;

}  // namespace

std::optional<std::size_t> zle_compress(ByteView data, MutableByteView out) {
  std::size_t from = 0, to = 0;
  while (from < data.size()) {
    if (to >= out.size()) return std::nullopt;
    std::size_t run = 0;
    if (data[from] == std::byte{0}) {
      while (run < kMaxZeros && from + run < data.size() && data[from + run] == std::byte{0}) ++run;
      out[to++] = static_cast<std::byte>(run - 1 + kLiterals);
      from += run;
      continue;
    }
    // A single zero between literals is cheaper as a literal than as a run of its own.
    while (run < kLiterals && from + run < data.size()) {
      const bool zero = data[from + run] == std::byte{0};
      if (zero && (from + run + 1 >= data.size() || data[from + run + 1] == std::byte{0})) break;
      ++run;
    }
    if (to + 1 + run > out.size()) return std::nullopt;
    out[to++] = static_cast<std::byte>(run - 1);
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(from), run,
                out.begin() + static_cast<std::ptrdiff_t>(to));
    from += run;
    to += run;
  }
  return to;
}

Status zle_decompress(ByteView stored, MutableByteView out) {
  const Error damaged(Errc::corrupt, "zle: damaged data");
  std::size_t from = 0, to = 0;
  while (to < out.size()) {
    if (from >= stored.size()) return damaged;
    const auto control = static_cast<std::size_t>(stored[from++]);
    const std::size_t run = control < kLiterals ? control + 1 : control + 1 - kLiterals;
    if (run > out.size() - to) return damaged;
    if (control < kLiterals) {
      if (run > stored.size() - from) return damaged;
      std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(from), run,
                  out.begin() + static_cast<std::ptrdiff_t>(to));
      from += run;
    } else {
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(to), run, std::byte{0});
    }
    to += run;
  }
  return {};
}

}  // namespace tarn
