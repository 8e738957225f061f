// BLAKE3 (its 2020 specification), 32 bytes of output, plain and keyed.
//
// The input is cut into chunks of 1024 bytes; each chunk gives a chaining value by 16 compressions, and the
// values are the leaves of a binary tree whose left subtrees are complete. Full chunks are independent, so
// eight at a time go through the compression side by side, a chunk to a vector lane: Lane is either one
// 32-bit word or eight of them, and the same code serves both.
#include <algorithm>
#include <bit>

#include "libpool/checksum/digests.h"

namespace tarn {
namespace {

constexpr std::size_t kChunkBytes = 1024, kBlockBytes = 64, kLanes = 8;
constexpr std::uint32_t kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8, kKeyedHash = 16;
constexpr std::array<std::uint32_t, 8> kIv{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr unsigned kRounds = 7;
// Message word order of each round: the permutation of the specification applied again and again.
constexpr auto kSchedule = [] {
  constexpr std::array<std::uint8_t, 16> kPermutation{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  std::array<std::array<std::uint8_t, 16>, kRounds> schedule{};
  for (std::uint8_t i = 0; i < 16; ++i) schedule[0][i] = i;
  for (unsigned round = 1; round < kRounds; ++round)
    for (unsigned i = 0; i < 16; ++i) schedule[round][i] = schedule[round - 1][kPermutation[i]];
  return schedule;
}();

using Value = std::array<std::uint32_t, 8>;  // chaining value or key
typedef std::uint32_t Lanes __attribute__((vector_size(4 * kLanes)));

template <typename Lane>
[[gnu::always_inline]] inline void mix(Lane& a, Lane& b, Lane& c, Lane& d, const Lane& x, const Lane& y) {
  a += b + x;
  d ^= a;
  d = (d >> 16) | (d << 16);
  c += d;
  b ^= c;
  b = (b >> 12) | (b << 20);
  a += b + y;
  d ^= a;
  d = (d >> 8) | (d << 24);
  c += d;
  b ^= c;
  b = (b >> 7) | (b << 25);
}

// One compression; `value` becomes the first eight output words.
template <typename Lane>
[[gnu::always_inline]] inline void compress(Lane (&value)[8], const Lane (&message)[16],
                                            const Lane& counter_low, const Lane& counter_high,
                                            std::uint32_t length, std::uint32_t flags) {
  const Lane zero{};
  Lane v[16] = {value[0],    value[1],     value[2],      value[3],      value[4],      value[5],
                value[6],    value[7],     zero + kIv[0], zero + kIv[1], zero + kIv[2], zero + kIv[3],
                counter_low, counter_high, zero + length, zero + flags};
#pragma GCC unroll 7
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto& s = kSchedule[round];
    mix(v[0], v[4], v[8], v[12], message[s[0]], message[s[1]]);
    mix(v[1], v[5], v[9], v[13], message[s[2]], message[s[3]]);
    mix(v[2], v[6], v[10], v[14], message[s[4]], message[s[5]]);
    mix(v[3], v[7], v[11], v[15], message[s[6]], message[s[7]]);
    mix(v[0], v[5], v[10], v[15], message[s[8]], message[s[9]]);
    mix(v[1], v[6], v[11], v[12], message[s[10]], message[s[11]]);
    mix(v[2], v[7], v[8], v[13], message[s[12]], message[s[13]]);
    mix(v[3], v[4], v[9], v[14], message[s[14]], message[s[15]]);
  }
  for (unsigned i = 0; i < 8; ++i) value[i] = v[i] ^ v[i + 8];
}

void compress_block(Value& value, ByteView block, std::uint64_t counter, std::uint32_t flags) {
  std::array<std::byte, kBlockBytes> padded{};
  if (!block.empty()) std::memcpy(padded.data(), block.data(), block.size());
  std::uint32_t message[16], words[8];
  for (unsigned i = 0; i < 16; ++i)
    message[i] = load<std::uint32_t>(padded.data() + 4 * i, ByteOrder::little);
  std::copy(value.begin(), value.end(), words);
  compress(words, message, static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
           static_cast<std::uint32_t>(block.size()), flags);
  std::copy(words, words + 8, value.begin());
}

// Value of one chunk of at most kChunkBytes; `last_flags` go to its last block.
Value chunk_value(ByteView chunk, const Value& key, std::uint64_t index, std::uint32_t flags,
                  std::uint32_t last_flags) {
  Value value = key;
  std::uint32_t start = kChunkStart;
  while (chunk.size() > kBlockBytes) {
    compress_block(value, chunk.first(kBlockBytes), index, flags | start);
    start = 0;
    chunk = chunk.subspan(kBlockBytes);
  }
  compress_block(value, chunk, index, flags | start | kChunkEnd | last_flags);
  return value;
}

// Values of kLanes full chunks from `at` on.
[[gnu::always_inline]] inline void chunk_values_body(const std::byte* at, const Value& key,
                                                     std::uint64_t index, std::uint32_t flags, Value* out) {
  const Lanes zero{};
  Lanes value[8], low, high;
  for (unsigned i = 0; i < 8; ++i) value[i] = zero + key[i];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    low[lane] = static_cast<std::uint32_t>(index + lane);
    high[lane] = static_cast<std::uint32_t>((index + lane) >> 32);
  }
  for (std::size_t offset = 0; offset < kChunkBytes; offset += kBlockBytes) {
    Lanes message[16];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < 16; ++i)
        message[i][lane] = load<std::uint32_t>(at + lane * kChunkBytes + offset + 4 * i, ByteOrder::little);
    const std::uint32_t edge =
        (offset == 0 ? kChunkStart : 0) | (offset + kBlockBytes == kChunkBytes ? kChunkEnd : 0);
    compress(value, message, low, high, kBlockBytes, flags | edge);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < 8; ++i) out[lane][i] = value[i][lane];
}

void chunk_values(const std::byte* at, const Value& key, std::uint64_t index, std::uint32_t flags,
                  Value* out) {
  chunk_values_body(at, key, index, flags, out);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void chunk_values_avx2(const std::byte* at, const Value& key,
                                                       std::uint64_t index, std::uint32_t flags, Value* out) {
  chunk_values_body(at, key, index, flags, out);
}
#endif

Value parent_value(const Value& left, const Value& right, const Value& key, std::uint32_t flags) {
  std::array<std::byte, kBlockBytes> block;
  for (unsigned i = 0; i < 8; ++i) {
    store<std::uint32_t>(block.data() + 4 * i, left[i], ByteOrder::little);
    store<std::uint32_t>(block.data() + 32 + 4 * i, right[i], ByteOrder::little);
  }
  Value value = key;
  compress_block(value, block, 0, flags | kParent);
  return value;
}

// Subtree values still without a sibling, largest first; merging follows the binary digits of the count.
class Tree {
 public:
  Tree(const Value& key, std::uint32_t flags) : key_(key), flags_(flags) {}
  // A value that is known not to be the last chunk of the input.
  void push(Value value) {
    ++chunks_;
    for (std::uint64_t rest = chunks_; (rest & 1) == 0; rest >>= 1)
      value = parent_value(stack_[--depth_], value, key_, flags_);
    stack_[depth_++] = value;
  }
  Value root(Value last) {
    while (depth_ > 0) {
      --depth_;
      last = parent_value(stack_[depth_], last, key_, flags_ | (depth_ == 0 ? kRoot : 0));
    }
    return last;
  }
  bool empty() const { return depth_ == 0; }
  std::uint64_t chunks() const { return chunks_; }

 private:
  Value key_;
  std::uint32_t flags_;
  std::uint64_t chunks_ = 0;
  std::array<Value, 54> stack_;  // 2^54 chunks are 2^64 bytes
  std::size_t depth_ = 0;
};

Digest hash(ByteView data, const Value& key, std::uint32_t flags) {
  Tree tree(key, flags);
  auto* many = chunk_values;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) many = chunk_values_avx2;
#endif
  while (data.size() > kLanes * kChunkBytes) {
    std::array<Value, kLanes> values;
    many(data.data(), key, tree.chunks(), flags, values.data());
    for (const Value& value : values) tree.push(value);
    data = data.subspan(kLanes * kChunkBytes);
  }
  while (data.size() > kChunkBytes) {
    tree.push(chunk_value(data.first(kChunkBytes), key, tree.chunks(), flags, 0));
    data = data.subspan(kChunkBytes);
  }
  const Value root = tree.root(chunk_value(data, key, tree.chunks(), flags, tree.empty() ? kRoot : 0));
  Digest digest;
  for (unsigned i = 0; i < 8; ++i) store<std::uint32_t>(digest.data() + 4 * i, root[i], ByteOrder::little);
  return digest;
}

}  // namespace

Digest blake3(ByteView data) { return hash(data, kIv, 0); }
Digest blake3_keyed(ByteView data, const ChecksumSalt& key) {
  Value words;
  for (unsigned i = 0; i < 8; ++i) words[i] = load<std::uint32_t>(key.data() + 4 * i, ByteOrder::little);
  return hash(data, words, kKeyedHash);
}

}  // namespace tarn
