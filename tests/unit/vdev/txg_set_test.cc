#include "libpool/vdev/txg_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tarn {
namespace {

// Against a plain set of numbers.
TEST(TxgSet, BehavesLikeASetOfNumbers) {
  std::mt19937_64 random(3);
  TxgSet ranges;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = random() % 100, end = begin + random() % 6;
    if (random() % 2 == 0) {
      ranges.add(begin, end);
      for (std::uint64_t t = begin; t < end; ++t) numbers.insert(t);
    } else {
      ranges.remove(begin, end);
      for (std::uint64_t t = begin; t < end; ++t) numbers.erase(t);
    }
    for (std::uint64_t t = 0; t < 110; ++t) ASSERT_EQ(ranges.contains(t), numbers.contains(t)) << t;
    for (std::size_t r = 1; r < ranges.ranges().size(); ++r)
      ASSERT_LT(ranges.ranges()[r - 1].end, ranges.ranges()[r].begin);
  }
}

}  // namespace
}  // namespace tarn
