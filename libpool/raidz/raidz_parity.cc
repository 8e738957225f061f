#include "libpool/raidz/raidz_parity.h"

#include <isa-l/erasure_code.h>
#include <isa-l/raid.h>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tarn {

namespace {

constexpr std::size_t kIsalTableBytes = 32;         // per coefficient
constexpr std::uintptr_t kFastAlignmentBytes = 32;  // what xor_gen and pq_gen ask of memory and length

unsigned char power_of_two(unsigned exponent) {
  unsigned char value = 1;
  for (; exponent != 0; --exponent) value = gf_mul(value, 2);
  return value;
}

// Coefficient of data column i of k in parity column j.
unsigned char coefficient(unsigned j, unsigned i, unsigned k) {
  return j == 0 ? 1 : power_of_two(j * (k - 1 - i));
}

unsigned char* pointer(MutableByteView view, std::uint64_t offset_bytes) {
  return reinterpret_cast<unsigned char*>(view.data()) + offset_bytes;
}

// Every source times its coefficient, summed, into each destination. The matrix has one row per destination.
void multiply(std::vector<unsigned char*>& sources, std::vector<unsigned char*>& destinations,
              std::vector<unsigned char>& matrix, std::uint64_t length_bytes) {
  const auto k = static_cast<int>(sources.size());
  const auto rows = static_cast<int>(destinations.size());
  std::vector<unsigned char> tables(kIsalTableBytes * sources.size() * destinations.size());
  ec_init_tables(k, rows, matrix.data(), tables.data());
  ec_encode_data(static_cast<int>(length_bytes), k, rows, tables.data(), sources.data(), destinations.data());
}

// Columns differ in length by one sector at most, so that a row falls into two ranges: one that all data
// columns have, and one that only the longer ones have. `visit(begin, end)` sees each that is not empty.
template <typename Visit>
void for_each_range(const RaidzRowBuffers& row, std::uint64_t length_bytes, Visit visit) {
  std::uint64_t shortest = length_bytes;
  for (unsigned c = row.parity_count; c < row.columns.size(); ++c)
    shortest = std::min<std::uint64_t>(shortest, row.columns[c].size());
  if (shortest != 0) visit(std::uint64_t{0}, shortest);
  if (shortest != length_bytes) visit(shortest, length_bytes);
}

std::uint64_t row_length(const RaidzRowBuffers& row) {
  std::uint64_t longest = 0;
  for (unsigned c = row.parity_count; c < row.columns.size(); ++c)
    longest = std::max<std::uint64_t>(longest, row.columns[c].size());
  return longest;
}

// P, or P and Q, by doubling instead of tables: about twice as fast. False if alignment forbids it.
bool generate_fast(const std::vector<unsigned char*>& sources, const std::vector<unsigned char*>& parity,
                   std::uint64_t length_bytes) {
  std::vector<void*> vectors;
  vectors.reserve(sources.size() + parity.size());
  // pq_gen weighs the i-th vector with 2^i, we want 2^(k-1-i).
  for (auto source = sources.rbegin(); source != sources.rend(); ++source) vectors.push_back(*source);
  vectors.insert(vectors.end(), parity.begin(), parity.end());
  std::uintptr_t bits = length_bytes;
  for (const void* vector : vectors) bits |= reinterpret_cast<std::uintptr_t>(vector);
  if (bits % kFastAlignmentBytes != 0 || sources.size() < 2) return false;
  const auto count = static_cast<int>(vectors.size());
  const auto length = static_cast<int>(length_bytes);
  return (parity.size() == 1 ? xor_gen(count, length, vectors.data())
                             : pq_gen(count, length, vectors.data())) == 0;
}

}  // namespace

void generate_parity(const RaidzRowBuffers& row, const std::array<bool, kMaxParity>& keep) {
  const unsigned k = row.data_count(), p = row.parity_count;
  std::vector<unsigned> wanted;
  for (unsigned j = 0; j < p; ++j) {
    if (!keep[j]) wanted.push_back(j);
  }
  if (wanted.empty() || k == 0) return;
  const bool leading = wanted.back() + 1 == wanted.size() && wanted.size() <= 2;  // P, or P and Q
  for_each_range(row, row_length(row), [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<unsigned char*> sources, destinations;
    std::vector<unsigned> present;
    for (unsigned i = 0; i < k; ++i) {
      if (row.columns[p + i].size() <= begin) continue;
      present.push_back(i);
      sources.push_back(pointer(row.columns[p + i], begin));
    }
    for (const unsigned j : wanted) destinations.push_back(pointer(row.columns[j], begin));
    if (present.size() == 1 && present.front() + 1 == k) {  // all coefficients are 1
      for (unsigned char* destination : destinations) std::memcpy(destination, sources.front(), end - begin);
      return;
    }
    // The fast form of Q counts powers from the last data column, which must hence be there.
    if (leading && (wanted.size() == 1 || present.size() == k) &&
        generate_fast(sources, destinations, end - begin))
      return;
    std::vector<unsigned char> matrix;
    for (const unsigned j : wanted) {
      for (const unsigned i : present) matrix.push_back(coefficient(j, i, k));
    }
    multiply(sources, destinations, matrix, end - begin);
  });
}

bool reconstruct_data(const RaidzRowBuffers& row, const std::vector<bool>& lost) {
  assert(lost.size() == row.columns.size());
  const unsigned k = row.data_count(), p = row.parity_count;
  std::vector<unsigned> equations, all_lost;
  for (unsigned j = 0; j < p; ++j) {
    if (!lost[j]) equations.push_back(j);
  }
  for (unsigned i = 0; i < k; ++i) {
    if (lost[p + i]) all_lost.push_back(i);
  }
  if (all_lost.size() > equations.size()) return false;
  for_each_range(row, row_length(row), [&](std::uint64_t begin, std::uint64_t end) {
    // Lost columns that do not reach this far are known to be zero here.
    std::vector<unsigned> unknown, known;
    for (unsigned i = 0; i < k; ++i) {
      if (row.columns[p + i].size() > begin) (lost[p + i] ? unknown : known).push_back(i);
    }
    const auto m = static_cast<unsigned>(unknown.size());
    if (m == 0) return;
    // (coefficients of the unknown) * unknown = parity + (coefficients of the known) * known
    std::array<unsigned char, kMaxParity * kMaxParity> a{}, inverse{};
    for (unsigned e = 0; e < m; ++e) {
      for (unsigned u = 0; u < m; ++u) a[e * m + u] = coefficient(equations[e], unknown[u], k);
    }
    [[maybe_unused]] const int singular = gf_invert_matrix(a.data(), inverse.data(), static_cast<int>(m));
    assert(singular == 0);
    std::vector<unsigned char*> sources, destinations;
    for (unsigned e = 0; e < m; ++e) sources.push_back(pointer(row.columns[equations[e]], begin));
    for (const unsigned i : known) sources.push_back(pointer(row.columns[p + i], begin));
    std::vector<unsigned char> matrix;
    for (unsigned u = 0; u < m; ++u) {
      destinations.push_back(pointer(row.columns[p + unknown[u]], begin));
      for (unsigned e = 0; e < m; ++e) matrix.push_back(inverse[u * m + e]);
      for (const unsigned i : known) {
        unsigned char sum = 0;
        for (unsigned e = 0; e < m; ++e) sum ^= gf_mul(inverse[u * m + e], coefficient(equations[e], i, k));
        matrix.push_back(sum);
      }
    }
    multiply(sources, destinations, matrix, end - begin);
  });
  return true;
}

}  // namespace tarn
