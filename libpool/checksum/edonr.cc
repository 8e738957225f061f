// Edon-R-512 (Gligoroski et al., 2008, with the feedback of its tweaked version), salted as FORMAT.md 7.5
// says.
//
// The state is a double pipe of two 8-word halves (A, B); a block of 16 words is two halves (M, N). Eight
// quasigroup operations make the new state, row by row ("~" is the reversed half):
//
//            M            N                 The state becomes (g, h), each xored with the old half
//      ~N -> a    a    -> b                 and with the message: A' = g ^ A ^ N, B' = h ^ B ^ M.
//       B*a -> c  c*b  -> d
//       c*A -> e  d*e  -> f
//      ~M*e -> g  g*f  -> h
#include <algorithm>
#include <bit>

#include "libpool/checksum/digests.h"

namespace tarn {
namespace {

constexpr std::size_t kHalf = 8, kBlockBytes = 128;
using Half = std::array<std::uint64_t, kHalf>;

// An operand is spread by sums of five of its words and rotations: one Latin square's columns each ...
struct Spread {
  std::uint8_t terms[kHalf][5];
  std::uint8_t rotations[kHalf];
};
constexpr std::uint64_t kFill = 0xaaaaaaaaaaaaaaaaULL;
constexpr Spread kLeft{{{0, 1, 2, 4, 7},
                        {0, 1, 3, 4, 7},
                        {0, 1, 4, 6, 7},
                        {2, 3, 5, 6, 7},
                        {1, 2, 3, 5, 6},
                        {0, 2, 3, 4, 5},
                        {0, 1, 5, 6, 7},
                        {2, 3, 4, 5, 6}},
                       {0, 5, 15, 22, 31, 40, 50, 59}};
constexpr Spread kRight{{{0, 1, 2, 5, 7},
                         {0, 1, 3, 4, 6},
                         {0, 1, 2, 3, 5},
                         {2, 3, 4, 6, 7},
                         {0, 1, 3, 4, 5},
                         {2, 4, 5, 6, 7},
                         {1, 2, 5, 6, 7},
                         {0, 3, 4, 6, 7}},
                        {0, 10, 19, 29, 36, 44, 48, 55}};
// ... and a result word is the sum of two xors of three spread words, one from each operand.
constexpr std::uint8_t kLeftXor[kHalf][3] = {{0, 1, 4}, {0, 4, 7}, {1, 6, 7}, {2, 3, 4},
                                             {0, 1, 7}, {3, 5, 6}, {2, 5, 6}, {2, 3, 5}};
constexpr std::uint8_t kRightXor[kHalf][3] = {{0, 1, 5}, {2, 6, 7}, {0, 1, 3}, {0, 3, 4},
                                              {1, 2, 5}, {3, 4, 6}, {2, 5, 7}, {4, 6, 7}};

template <const Spread& kSpread>
[[gnu::always_inline]] inline Half spread(const Half& x, std::uint64_t fill) {
  Half out;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kHalf; ++i) {
    const auto& term = kSpread.terms[i];
    const std::uint64_t sum = x[term[0]] + x[term[1]] + x[term[2]] + x[term[3]] + x[term[4]];
    out[i] = std::rotl(sum + (i == 0 ? fill : 0), kSpread.rotations[i]);
  }
  return out;
}

Half operate(const Half& x, const Half& y) {
  const Half s = spread<kLeft>(x, kFill);
  const Half t = spread<kRight>(y, ~kFill);
  Half out;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kHalf; ++i)
    out[i] = (s[kLeftXor[i][0]] ^ s[kLeftXor[i][1]] ^ s[kLeftXor[i][2]]) +
             (t[kRightXor[i][0]] ^ t[kRightXor[i][1]] ^ t[kRightXor[i][2]]);
  return out;
}

Half reversed(const Half& x) {
  Half out;
  std::reverse_copy(x.begin(), x.end(), out.begin());
  return out;
}

class EdonR512 {
 public:
  EdonR512() {
    std::uint64_t word = 0x8081828384858687ULL;
    for (Half* half : {&a_, &b_})
      for (std::uint64_t& value : *half) {
        value = word;
        word += 0x0808080808080808ULL;
      }
  }
  // All but the last update are whole blocks.
  void update(ByteView data) {
    while (data.size() >= kBlockBytes) {
      add_block(data.data());
      total_bytes_ += kBlockBytes;
      data = data.subspan(kBlockBytes);
    }
    rest_ = data;
  }
  std::array<std::byte, 64> finish() {
    std::array<std::byte, 2 * kBlockBytes> last{};
    if (!rest_.empty()) std::memcpy(last.data(), rest_.data(), rest_.size());
    last[rest_.size()] = std::byte{0x80};
    const std::size_t length = rest_.size() + 1 + 8 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
    store<std::uint64_t>(last.data() + length - 8, (total_bytes_ + rest_.size()) * 8, ByteOrder::little);
    for (std::size_t at = 0; at < length; at += kBlockBytes) add_block(last.data() + at);
    std::array<std::byte, 64> digest;
    for (std::size_t i = 0; i < kHalf; ++i)
      store<std::uint64_t>(digest.data() + 8 * i, b_[i], ByteOrder::little);
    return digest;
  }

 private:
  void add_block(const std::byte* block) {
    Half m, n;
    for (std::size_t i = 0; i < kHalf; ++i) {
      m[i] = load<std::uint64_t>(block + 8 * i, ByteOrder::little);
      n[i] = load<std::uint64_t>(block + 64 + 8 * i, ByteOrder::little);
    }
    const Half a = operate(reversed(n), m);
    const Half b = operate(a, n);
    const Half c = operate(b_, a);
    const Half d = operate(c, b);
    const Half e = operate(c, a_);
    const Half f = operate(d, e);
    const Half g = operate(reversed(m), e);
    const Half h = operate(g, f);
    for (std::size_t i = 0; i < kHalf; ++i) {
      a_[i] ^= g[i] ^ n[i];
      b_[i] ^= h[i] ^ m[i];
    }
  }

  Half a_, b_;
  std::uint64_t total_bytes_ = 0;
  ByteView rest_;
};

}  // namespace

std::array<std::byte, 64> edonr_512(ByteView data) {
  EdonR512 hash;
  hash.update(data);
  return hash.finish();
}

Digest edonr_512_salted(ByteView data, const ChecksumSalt& salt) {
  const std::array<std::byte, 64> once = edonr_512(salt);
  const std::array<std::byte, 64> twice = edonr_512(once);
  std::array<std::byte, kBlockBytes> salt_block;
  std::copy(once.begin(), once.end(), salt_block.begin());
  std::copy(twice.begin(), twice.end(), salt_block.begin() + 64);
  EdonR512 hash;
  hash.update(salt_block);
  hash.update(data);
  const std::array<std::byte, 64> whole = hash.finish();
  Digest digest;
  std::copy_n(whole.begin(), digest.size(), digest.begin());
  return digest;
}

}  // namespace tarn
