// The digests behind the block checksums that OpenSSL does not offer, and SHA-512/256. All give 32 bytes;
// the registry turns them into words (FORMAT.md 7.4, 7.5).
#pragma once

#include <array>

#include "libpool/checksum/checksum.h"

namespace tarn {

using Digest = std::array<std::byte, 32>;

Digest sha512_256(ByteView data);
Digest skein_512_256(ByteView data, const ChecksumSalt& key);  // Skein-512, 256 bits out, sequential MAC
Digest blake3_keyed(ByteView data, const ChecksumSalt& key);
Digest edonr_512_salted(ByteView data, const ChecksumSalt& salt);  // first half of 64 bytes

// Without a key, for the published test vectors.
Digest skein_512_256(ByteView data);
Digest blake3(ByteView data);
std::array<std::byte, 64> edonr_512(ByteView data);

}  // namespace tarn
