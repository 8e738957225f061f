// fletcher2 and fletcher4 (FORMAT.md 7.2, 7.3): sums of sums, all mod 2^64.
//
// fletcher4 with AVX2 runs four interleaved fletcher4 sums, lane i over the words i, i+4, i+8, ... and merges
// them. With M words in all, the word j weighs in a, b, c, d with
//
//   1,   x,   x(x+1)/2,   x(x+1)(x+2)/6      where x = M - j
//
// and in its lane with the same polynomials of m, where x = 4m - i. Rewriting the polynomials of x in those
// of m gives the coefficients in merge().
#include "libpool/checksum/checksum.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tarn {
namespace {

struct Sums {
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  void add(std::uint32_t word) {
    a += word;
    b += a;
    c += b;
    d += c;
  }
};

void add_words(Sums& sums, ByteView data, ByteOrder order) {
  Sums local = sums;
  for (std::size_t at = 0; at + 4 <= data.size(); at += 4)
    local.add(load<std::uint32_t>(data.data() + at, order));
  sums = local;
}

#if defined(__x86_64__)

constexpr std::size_t kLanes = 4;

Sums merge(const std::array<Sums, kLanes>& lanes) {
  Sums sums;
  for (std::uint64_t i = 0; i < kLanes; ++i) {
    const Sums& lane = lanes[i];
    sums.a += lane.a;
    sums.b += 4 * lane.b - i * lane.a;
    sums.c += 16 * lane.c - (6 + 4 * i) * lane.b + i * (i - 1) / 2 * lane.a;
    const std::uint64_t last = i == 3 ? 1 : 0;  // i(i-1)(i-2)/6
    sums.d += 64 * lane.d - (48 + 16 * i) * lane.c + (4 + 4 * i + 2 * i * i) * lane.b - last * lane.a;
  }
  return sums;
}

// `data` is a multiple of 32 bytes.
template <bool kSwap>
__attribute__((target("avx2"))) Sums sum_avx2(ByteView data) {
  const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  const std::byte* at = data.data();
  const std::byte* const end = at + data.size();
  for (; at != end; at += 32) {
    for (std::size_t half = 0; half < 32; half += 16) {
      __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + half));
      if constexpr (kSwap) words = _mm_shuffle_epi8(words, swap);
      a = _mm256_add_epi64(a, _mm256_cvtepu32_epi64(words));
      b = _mm256_add_epi64(b, a);
      c = _mm256_add_epi64(c, b);
      d = _mm256_add_epi64(d, c);
    }
  }
  alignas(32) std::array<std::array<std::uint64_t, kLanes>, 4> out;
  _mm256_store_si256(reinterpret_cast<__m256i*>(out[0].data()), a);
  _mm256_store_si256(reinterpret_cast<__m256i*>(out[1].data()), b);
  _mm256_store_si256(reinterpret_cast<__m256i*>(out[2].data()), c);
  _mm256_store_si256(reinterpret_cast<__m256i*>(out[3].data()), d);
  std::array<Sums, kLanes> lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = {out[0][i], out[1][i], out[2][i], out[3][i]};
  return merge(lanes);
}

#endif

}  // namespace

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
  Sums sums;
#if defined(__x86_64__)
  constexpr std::size_t kStep = 32;
  if (data.size() >= 4 * kStep && __builtin_cpu_supports("avx2")) {
    const std::size_t bulk = data.size() / kStep * kStep;
    sums = order == kHostOrder ? sum_avx2<false>(data.first(bulk)) : sum_avx2<true>(data.first(bulk));
    data = data.subspan(bulk);
  }
#endif
  add_words(sums, data, order);
  return {sums.a, sums.b, sums.c, sums.d};
}

}  // namespace tarn
