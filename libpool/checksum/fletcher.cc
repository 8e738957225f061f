// fletcher2 and fletcher4 (FORMAT.md 7.2, 7.3): sums of sums, all mod 2^64.
#include "libpool/checksum/checksum.h"

namespace tarn {

ChecksumWords fletcher2(ByteView data, ByteOrder order) {
  std::uint64_t a0 = 0, a1 = 0, b0 = 0, b1 = 0;
  for (std::size_t at = 0; at + 16 <= data.size(); at += 16) {
    a0 += load<std::uint64_t>(data.data() + at, order);
    a1 += load<std::uint64_t>(data.data() + at + 8, order);
    b0 += a0;
    b1 += a1;
  }
  return {a0, a1, b0, b1};
}

ChecksumWords fletcher4(ByteView data, ByteOrder order) {
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  for (std::size_t at = 0; at + 4 <= data.size(); at += 4) {
    a += load<std::uint32_t>(data.data() + at, order);
    b += a;
    c += b;
    d += c;
  }
  return {a, b, c, d};
}

}  // namespace tarn
