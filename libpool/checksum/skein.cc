// Skein-512 with 256 bits of output (Skein 1.3), keyed as FORMAT.md 7.5 says.
//
// Threefish-512 encrypts each 64-byte block under the chaining value and a tweak (position, block type, first
// and final flags); the ciphertext xor the block is the next chaining value ("UBI"). A hash is a chain of UBI
// runs: key (if any), configuration, message, output.
#include <algorithm>
#include <bit>

#include "libpool/checksum/digests.h"

namespace tarn {
namespace {

constexpr std::size_t kWords = 8, kBlockBytes = 64;
constexpr std::uint64_t kKeyParity = 0x1bd11bdaa9fc1a22ULL;
constexpr unsigned kRounds = 72;
using Words = std::array<std::uint64_t, kWords>;

enum class BlockType : std::uint64_t { key = 0, config = 4, message = 48, output = 63 };
constexpr std::uint64_t kFirst = 1ULL << 62, kFinal = 1ULL << 63;

constexpr std::uint64_t kConfigSchema = 0x0000000133414853ULL;  // "SHA3", version 1
constexpr std::uint64_t kOutputBits = 256;

constexpr unsigned kRotations[8][4] = {{46, 36, 19, 37}, {33, 27, 14, 42}, {17, 49, 36, 39}, {44, 9, 54, 56},
                                       {39, 30, 34, 24}, {13, 50, 10, 17}, {25, 29, 39, 43}, {8, 35, 56, 22}};
// Word pairs that each of four consecutive rounds mixes: the word permutation, unrolled.
constexpr unsigned kPairs[4][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {2, 1, 4, 7, 6, 5, 0, 3}, {4, 1, 6, 3, 0, 5, 2, 7}, {6, 1, 0, 7, 2, 5, 4, 3}};

Words threefish(const Words& key, std::uint64_t tweak0, std::uint64_t tweak1, const Words& plain) {
  std::array<std::uint64_t, kWords + 1> k;
  k[kWords] = kKeyParity;
  for (std::size_t i = 0; i < kWords; ++i) {
    k[i] = key[i];
    k[kWords] ^= key[i];
  }
  const std::array<std::uint64_t, 3> t{tweak0, tweak1, tweak0 ^ tweak1};
  Words v = plain;
  const auto add_subkey = [&](unsigned s) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (unsigned i = 0; i < kWords; ++i) v[i] += k[(s + i) % (kWords + 1)];
    v[5] += t[s % 3];
    v[6] += t[(s + 1) % 3];
    v[7] += s;
  };
#pragma GCC unroll 18
  for (unsigned s = 0; s < kRounds / 4; ++s) {
    add_subkey(s);
#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; ++r) {
#pragma GCC unroll 4
      for (unsigned pair = 0; pair < 4; ++pair) {
        std::uint64_t& x = v[kPairs[r][2 * pair]];
        std::uint64_t& y = v[kPairs[r][2 * pair + 1]];
        x += y;
        y = std::rotl(y, static_cast<int>(kRotations[(s % 2) * 4 + r][pair])) ^ x;
      }
    }
  }
  add_subkey(kRounds / 4);
  return v;
}

// Unique block iteration over `data`; an empty message is one block of zeros at position 0.
Words ubi(Words chain, BlockType type, ByteView data) {
  std::uint64_t flags = (static_cast<std::uint64_t>(type) << 56) | kFirst;
  std::uint64_t position = 0;
  do {
    const std::size_t length = std::min(kBlockBytes, data.size());
    std::array<std::byte, kBlockBytes> block{};
    if (length) std::memcpy(block.data(), data.data(), length);
    data = data.subspan(length);
    position += length;
    if (data.empty()) flags |= kFinal;
    Words plain;
    for (std::size_t i = 0; i < kWords; ++i)
      plain[i] = load<std::uint64_t>(block.data() + 8 * i, ByteOrder::little);
    chain = threefish(chain, position, flags, plain);
    for (std::size_t i = 0; i < kWords; ++i) chain[i] ^= plain[i];
    flags &= ~kFirst;
  } while (!data.empty());
  return chain;
}

Digest finish(const Words& keyed, ByteView data) {
  std::array<std::byte, 32> config{};
  store<std::uint64_t>(config.data(), kConfigSchema, ByteOrder::little);
  store<std::uint64_t>(config.data() + 8, kOutputBits, ByteOrder::little);
  Words chain = ubi(keyed, BlockType::config, config);
  chain = ubi(chain, BlockType::message, data);
  const std::array<std::byte, 8> counter{};
  chain = ubi(chain, BlockType::output, counter);
  Digest digest;
  for (std::size_t i = 0; i < 4; ++i)
    store<std::uint64_t>(digest.data() + 8 * i, chain[i], ByteOrder::little);
  return digest;
}

}  // namespace

Digest skein_512_256(ByteView data) { return finish(Words{}, data); }
Digest skein_512_256(ByteView data, const ChecksumSalt& key) {
  return finish(ubi(Words{}, BlockType::key, key), data);
}

}  // namespace tarn
