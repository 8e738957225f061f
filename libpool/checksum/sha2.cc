// SHA-256, read as four big-endian words, and SHA-512/256 (FORMAT.md 7.4), both by OpenSSL.
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "libpool/checksum/checksum.h"
#include "libpool/checksum/digests.h"

namespace tarn {

ChecksumWords sha256_words(ByteView data) {
  std::array<std::byte, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  ChecksumWords words;
  for (std::size_t i = 0; i < 4; ++i) words[i] = load<std::uint64_t>(digest.data() + 8 * i, ByteOrder::big);
  return words;
}

Digest sha512_256(ByteView data) {
  Digest digest;
  unsigned length = 0;
  EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), &length,
             EVP_sha512_256(), nullptr);
  assert(length == digest.size());
  return digest;
}

}  // namespace tarn
