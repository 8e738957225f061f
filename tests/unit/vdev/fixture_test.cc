// RAID-Z pools made by OpenZFS: the root block of the MOS verifies, also after damage, and all parity is as
// expected.
#include <algorithm>

#include "tests/unit/vdev/fixture_pool.h"

namespace tarn {
namespace {

class FixtureTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Pools, FixtureTest,
                         testing::Values("raidz1-3", "raidz1-5", "raidz2-6", "raidz3-7", "raidz-expanded",
                                         "raidz-expanding"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

std::uint64_t all_checksum_errors(const FixturePool& pool) {
  std::uint64_t sum = 0;
  for (const VdevTree::LeafRef& leaf : pool.tree->leaves())
    sum += pool.tree->stats(leaf.config->guid).checksum_errors;
  return sum;
}

TEST_P(FixtureTest, RootBlockVerifiesWithoutErrors) {
  FixturePool pool(GetParam());
  ASSERT_TRUE(pool.open(true));
  ASSERT_TRUE(pool.tree->usable());
  ASSERT_GE(pool.root_block.dva_count(), 1u);
  const Status read = pool.read(pool.root_block), scrubbed = pool.read(pool.root_block, true);
  EXPECT_TRUE(read) << read.error().text();
  EXPECT_TRUE(scrubbed) << scrubbed.error().text();
  EXPECT_EQ(all_checksum_errors(pool), 0u) << "parity differs from what OpenZFS wrote";
}

TEST_P(FixtureTest, RootBlockSurvivesOverwrittenDevices) {
  FixturePool pool(GetParam());
  ASSERT_TRUE(pool.open(false));
  const VdevConfig& top = pool.tree->top_config(0);
  for (std::size_t first = 0; first < top.children.size(); ++first) {
    // The whole neighbourhood of every copy, on as many neighbouring devices as parity covers.
    for (std::size_t i = 0; i < top.nparity; ++i) {
      const VdevTree::LeafRef leaf = pool.tree->leaves()[(first + i) % top.children.size()];
      for (unsigned copy = 0; copy < pool.root_block.dva_count(); ++copy) {
        const std::uint64_t place =
            kLabelsAndBootBytes +
            round_down(pool.root_block.dvas[copy].offset_bytes / top.children.size(), 4096);
        const Buffer junk = Buffer::copy_of(Bytes(256 << 10, std::byte{0x5a}));
        ASSERT_TRUE(leaf.disk->write(place < (128 << 10) ? 0 : place - (128 << 10), junk));
      }
    }
    const Status read = pool.read(pool.root_block);
    ASSERT_TRUE(read) << read.error().text() << " device " << first;
    ASSERT_TRUE(pool.read(pool.root_block, true));
    pool.tree->clear_errors(0);
    ASSERT_TRUE(pool.read(pool.root_block, true));
    EXPECT_EQ(all_checksum_errors(pool), 0u) << "not healed, device " << first;
  }
}

TEST_P(FixtureTest, RootBlockSurvivesAbsentDevices) {
  FixturePool pool(GetParam());
  const std::uint64_t parity = pool.root.children[0].nparity;
  for (std::uint64_t i = 0; i < parity; ++i) pool.paths.erase(pool.paths.begin());
  ASSERT_TRUE(pool.open(true));
  EXPECT_EQ(pool.tree->state(0), VdevState::degraded);
  const Status read = pool.read(pool.root_block);
  EXPECT_TRUE(read) << read.error().text();
  pool.paths.erase(pool.paths.begin());
  ASSERT_TRUE(pool.open(true));
  EXPECT_EQ(pool.tree->state(0), VdevState::cant_open);
  EXPECT_FALSE(pool.tree->usable());
}

}  // namespace
}  // namespace tarn
