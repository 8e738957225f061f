// Geometry (FORMAT.md 9.1, 9.2, 9.5).
#include "libpool/raidz/raidz_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libpool/base/bytes.h"

namespace tarn {
namespace {

TEST(RaidzMap, AllocatedSizesFollowTheFormula) {
  EXPECT_EQ(raidz_allocated_bytes(512, 3, 1, 9), 1024u);
  EXPECT_EQ(raidz_allocated_bytes(131072, 3, 1, 9), 196608u);
  EXPECT_EQ(raidz_allocated_bytes(131072, 5, 1, 12), 40u * 4096);
  EXPECT_EQ(raidz_allocated_bytes(4096, 6, 2, 12), 3u * 4096);
  EXPECT_EQ(raidz_allocated_bytes(131072, 4, 1, 12), 44u * 4096) << "43 sectors and one to skip";
  EXPECT_EQ(raidz_deflated_bytes(196608, 3, 1, 9), (196608u >> 9) * (131072 / 384));
}

// The sector view of 9.2: sector k of the allocation is on child (b + k) mod n, row (b + k) / n.
TEST(RaidzMap, ColumnsCoverTheSectorsOfTheAllocation) {
  for (unsigned p = 1; p <= 3; ++p) {
    for (unsigned n = p + 1; n <= 8; ++n) {
      for (std::uint64_t first = 0; first < 2 * n; ++first) {
        for (std::uint64_t sectors = 1; sectors <= 20; ++sectors) {
          const RaidzMap map = make_raidz_map({n, n, p, 9}, first << 9, sectors << 9);
          std::set<std::pair<unsigned, std::uint64_t>> expected, got;
          const std::uint64_t total = sectors + p * div_ceil(sectors, n - p);
          for (std::uint64_t k = 0; k < total; ++k) expected.insert({(first + k) % n, (first + k) / n});
          std::uint64_t data = 0;
          for (std::size_t c = 0; c < map.columns.size(); ++c) {
            const RaidzColumn& column = map.columns[c];
            EXPECT_EQ(column.parity, c < p);
            for (std::uint64_t s = 0; s < column.length_bytes >> 9; ++s)
              got.insert({column.child, (column.offset_bytes >> 9) + s});
            if (!column.parity) {
              EXPECT_EQ(column.buffer_offset, data);
              data += column.length_bytes;
            }
          }
          ASSERT_EQ(got, expected) << "p " << p << " n " << n << " first " << first << " sectors " << sectors;
          ASSERT_EQ(data, sectors << 9);
          // What follows the skip columns stays inside the allocation.
          for (const std::uint32_t c : map.skip_columns) {
            const RaidzColumn& column = map.columns[c];
            const std::uint64_t k =
                (((column.offset_bytes + column.length_bytes) >> 9) * n + column.child) - first;
            EXPECT_GE(k, total);
            EXPECT_LT(k, raidz_allocated_bytes(sectors << 9, n, p, 9) >> 9);
          }
        }
      }
    }
  }
}

TEST(RaidzMap, SingleParityAlternatesByMebibyte) {
  const RaidzMap low = make_raidz_map({3, 3, 1, 12}, 0, 8192),
                 high = make_raidz_map({3, 3, 1, 12}, 3 << 20, 8192);
  EXPECT_EQ(low.columns[0].child, 0u);
  EXPECT_EQ(low.columns[1].child, 1u);
  const std::uint64_t first = (3 << 20) >> 12;
  EXPECT_EQ(high.columns[0].child, (first + 1) % 3);
  EXPECT_EQ(high.columns[1].child, first % 3);
  const RaidzMap double_parity = make_raidz_map({4, 4, 2, 12}, 1 << 20, 8192);
  EXPECT_EQ(double_parity.columns[0].child, ((1 << 20) >> 12) % 4u);
}

// A moved block's columns are those of the original map, each sector at its new place with the same content.
TEST(RaidzMap, MovedBlocksKeepTheirSectors) {
  for (unsigned p = 1; p <= 3; ++p) {
    for (unsigned old_width = p + 2; old_width <= 6; ++old_width) {
      for (unsigned added = 1; added <= 2; ++added) {
        const unsigned width = old_width + added;
        for (std::uint64_t first = 0; first < 7; ++first) {
          for (std::uint64_t sectors = 1; sectors <= 17; ++sectors) {
            const RaidzMap before = make_raidz_map({old_width, old_width, p, 9}, first << 9, sectors << 9);
            const RaidzMap after = make_raidz_map({width, old_width, p, 9}, first << 9, sectors << 9);
            std::map<std::uint64_t, std::pair<bool, std::uint64_t>> expected,
                got;  // sector number: parity, buffer offset
            for (const RaidzColumn& c : before.columns) {
              for (std::uint64_t s = 0; s < c.length_bytes >> 9; ++s) {
                expected[((c.offset_bytes >> 9) + s) * old_width + c.child] = {
                    c.parity, c.parity ? 0 : c.buffer_offset + (s << 9)};
              }
            }
            for (const RaidzColumn& c : after.columns) {
              if (c.length_bytes == 0) continue;
              got[(c.offset_bytes >> 9) * width + c.child] = {c.parity, c.parity ? 0 : c.buffer_offset};
            }
            ASSERT_EQ(got, expected) << "p " << p << " old " << old_width << " new " << width << " first "
                                     << first << " sectors " << sectors;
            ASSERT_EQ(after.parity_bytes, before.parity_bytes);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tarn
