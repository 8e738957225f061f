#include "libpool/alloc/range_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tarn {
namespace {

// Against one flag per unit: what is in the set, and that neighbours are always one segment.
TEST(RangeTree, AgreesWithAModel) {
  std::mt19937 random(7);
  constexpr std::size_t kUnits = 500;
  std::vector<bool> model(kUnits);
  RangeTree tree;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t start = random() % kUnits,
                      size = 1 + random() % std::min<std::size_t>(20, kUnits - start);
    std::size_t set = 0;
    for (std::size_t i = start; i < start + size; ++i) set += model[i];
    const auto fill = [&](bool value) { std::fill_n(model.begin() + static_cast<long>(start), size, value); };
    ASSERT_EQ(tree.contains(start, size), set == size);
    switch (random() % 5) {
      case 0:
        ASSERT_EQ(tree.add(start, size), set == 0);
        if (set == 0) fill(true);
        break;
      case 1:
        ASSERT_EQ(tree.remove(start, size), set == size);
        if (set == size) fill(false);
        break;
      case 2: {
        std::uint64_t removed = 0;
        tree.remove_overlap(start, size, [&](std::uint64_t, std::uint64_t length) { removed += length; });
        ASSERT_EQ(removed, set);
        fill(false);
        break;
      }
      case 3:
        tree.add_missing(start, size);
        fill(true);
        break;
      default: {
        const auto taken = tree.take(size, start);
        ASSERT_EQ(taken.has_value(), tree.largest() >= size || taken.has_value());
        if (!taken) break;
        for (std::size_t i = *taken; i < *taken + size; ++i) {
          ASSERT_TRUE(model[i]);
          model[i] = false;
        }
      }
    }
    std::uint64_t bytes = 0, last_end = UINT64_MAX;
    tree.for_each([&](std::uint64_t at, std::uint64_t length) {
      EXPECT_NE(at, last_end);
      last_end = at + length;
      bytes += length;
    });
    ASSERT_EQ(bytes, static_cast<std::uint64_t>(std::count(model.begin(), model.end(), true)));
    ASSERT_EQ(tree.bytes(), bytes);
  }
}

TEST(RangeTree, TakesInARow) {
  RangeTree tree;
  tree.add(0, 100);
  EXPECT_EQ(tree.take(10, 0), 0u);
  EXPECT_EQ(tree.take(10, 10), 10u);
  EXPECT_EQ(tree.take(81, 20), std::nullopt);
}

}  // namespace
}  // namespace tarn
