// SHA-256, read as four big-endian words (FORMAT.md 7.4).
#include <openssl/sha.h>

#include "libpool/checksum/checksum.h"

namespace tarn {

ChecksumWords sha256_words(ByteView data) {
  std::array<std::byte, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  ChecksumWords words;
  for (std::size_t i = 0; i < 4; ++i) words[i] = load<std::uint64_t>(digest.data() + 8 * i, ByteOrder::big);
  return words;
}

}  // namespace tarn
