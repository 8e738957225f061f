#include "libpool/base/bytes.h"

namespace tarn {

void swap_u64_array(MutableByteView data) {
  for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + at, 8);
    word = byte_swap(word);
    std::memcpy(data.data() + at, &word, 8);
  }
}

bool all_zero(ByteView data) {
  if (data.empty()) return true;
  return data[0] == std::byte{0} && std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0;
}

}  // namespace tarn
