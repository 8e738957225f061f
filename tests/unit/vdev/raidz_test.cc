// RAID-Z through the tree: any loss up to the parity, noticed or silent, is invisible to the reader and
// healed.
#include <gtest/gtest.h>

#include "tests/unit/support/fake_tree.h"

namespace tarn {
namespace {

using support::FakeTree;
using support::make_fake_tree;
using support::pattern_buffer;

Verifier equals(BufferRef expected) {
  return [expected](ByteView got) {
    return std::equal(got.begin(), got.end(), expected->view().begin(), expected->view().end());
  };
}

Status write_block(VdevTree& tree, std::uint64_t offset_bytes, const BufferRef& data,
                   std::uint64_t txg = 10) {
  WriteBatch batch;
  tree.write(0, offset_bytes, data, txg, batch);
  return batch.wait();
}

FakeTree raidz(std::size_t disks, std::uint64_t parity) {
  return make_fake_tree(
      {.kind = VdevKind::raidz, .disk_count = disks, .nparity = parity, .disk_bytes = 64 << 20});
}

// All sets of at most `parity` out of `disks`, as masks.
std::vector<unsigned> loss_masks(std::size_t disks, std::uint64_t parity) {
  std::vector<unsigned> out;
  for (unsigned mask = 1; mask < (1u << disks); ++mask) {
    if (std::popcount(mask) <= static_cast<int>(parity)) out.push_back(mask);
  }
  return out;
}

struct Shape {
  std::size_t disks;
  std::uint64_t parity;
};
constexpr Shape kShapes[] = {{2, 1}, {3, 1}, {5, 1}, {6, 2}, {7, 3}};
constexpr std::size_t kSizes[] = {512, 4096, 12288, 128 << 10, (128 << 10) + 512};

TEST(Raidz, HealthyReadsTouchOnlyData) {
  FakeTree pool = raidz(3, 1);
  const BufferRef data = pattern_buffer(128 << 10, 1);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  Buffer out(data->size());
  ASSERT_TRUE(pool.tree->read(0, 0, out.span(), 10, equals(data)));
  EXPECT_EQ(pool.disks[0]->read_count(), 0u) << "parity";
  EXPECT_EQ(pool.disks[1]->read_count(), 1u);
  EXPECT_EQ(pool.disks[2]->read_count(), 1u);
}

TEST(Raidz, SurvivesEveryLossOfDevices) {
  for (const Shape shape : kShapes) {
    FakeTree pool = raidz(shape.disks, shape.parity);
    for (const std::size_t size : kSizes) {
      const std::uint64_t offset = (1 << 20) + 3 * 4096;
      const BufferRef data = pattern_buffer(size, size);
      ASSERT_TRUE(write_block(*pool.tree, offset, data));
      for (const unsigned mask : loss_masks(shape.disks, shape.parity)) {
        for (std::size_t d = 0; d < shape.disks; ++d) pool.disks[d]->unplug((mask >> d & 1) != 0);
        Buffer out(size);
        const Status result = pool.tree->read(0, offset, out.span(), 10, equals(data));
        ASSERT_TRUE(result) << result.error().text() << " disks " << shape.disks << " size " << size
                            << " mask " << mask;
      }
      for (const auto& disk : pool.disks) disk->unplug(false);
    }
  }
}

TEST(Raidz, FindsAndHealsSilentDamage) {
  for (const Shape shape : kShapes) {
    FakeTree pool = raidz(shape.disks, shape.parity);
    for (const std::size_t size : kSizes) {
      const std::uint64_t offset = (2 << 20) + 4096;
      const BufferRef data = pattern_buffer(size, size + 1);
      ASSERT_TRUE(write_block(*pool.tree, offset, data));
      std::vector<Bytes> right;
      const std::uint64_t begin = kLabelsAndBootBytes + offset / shape.disks - 8192, length = 256 << 10;
      const auto area = [&](std::size_t d) { return pool.disks[d]->content().subspan(begin, length); };
      for (std::size_t d = 0; d < shape.disks; ++d) right.emplace_back(area(d).begin(), area(d).end());
      for (const unsigned mask : loss_masks(shape.disks, shape.parity)) {
        for (std::size_t d = 0; d < shape.disks; ++d) {
          if ((mask >> d & 1) != 0) pool.disks[d]->corrupt(begin, length, d + 1);
        }
        Buffer out(size);
        const Status result = pool.tree->scrub(0, offset, out.span(), 10, equals(data));
        ASSERT_TRUE(result) << result.error().text() << " disks " << shape.disks << " size " << size
                            << " mask " << mask;
        // Healed: a read after loss of all other devices that may be lost still works, and nothing is left to
        // count.
        pool.tree->clear_errors(0);
        ASSERT_TRUE(pool.tree->scrub(0, offset, out.span(), 10, equals(data)));
        for (std::size_t d = 0; d < shape.disks; ++d)
          ASSERT_EQ(pool.tree->stats(1000 + d).checksum_errors, 0u) << "disk " << d << " mask " << mask;
        for (std::size_t d = 0; d < shape.disks; ++d)
          std::copy(right[d].begin(), right[d].end(), area(d).begin());
      }
    }
  }
}

TEST(Raidz, CountsTheDeviceThatLied) {
  FakeTree pool = raidz(6, 2);
  const BufferRef data = pattern_buffer(128 << 10, 3);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  pool.disks[4]->flip_bit(kLabelsAndBootBytes + 100);
  pool.disks[1]->flip_bit(kLabelsAndBootBytes + 100);  // parity
  Buffer out(data->size());
  ASSERT_TRUE(pool.tree->read(0, 0, out.span(), 10, equals(data)));
  for (std::size_t d = 0; d < 6; ++d)
    EXPECT_EQ(pool.tree->stats(1000 + d).checksum_errors, d == 4 || d == 1 ? 1u : 0u) << d;
  ASSERT_TRUE(pool.tree->scrub(0, 0, out.span(), 10, equals(data)));
  for (std::size_t d = 0; d < 6; ++d)
    EXPECT_EQ(pool.tree->stats(1000 + d).checksum_errors, d == 4 || d == 1 ? 1u : 0u) << d;
}

TEST(Raidz, TooMuchDamageIsAChecksumError) {
  FakeTree pool = raidz(5, 1);
  const BufferRef data = pattern_buffer(64 << 10, 3);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  pool.disks[1]->flip_bit(kLabelsAndBootBytes + 100);
  pool.disks[2]->flip_bit(kLabelsAndBootBytes + 100);
  Buffer out(data->size());
  Status result = pool.tree->read(0, 0, out.span(), 10, equals(data));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::checksum);
  pool.disks[1]->unplug();
  pool.disks[2]->unplug();
  result = pool.tree->read(0, 0, out.span(), 10, equals(data));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::io);
  EXPECT_EQ(pool.tree->stats(100).checksum_errors, 1u);
  EXPECT_EQ(pool.tree->stats(100).read_errors, 1u);
}

TEST(Raidz, WritesSucceedWhileParityCoversTheLoss) {
  FakeTree pool = raidz(6, 2);
  const BufferRef data = pattern_buffer(128 << 10, 9);
  pool.disks[0]->unplug();
  pool.disks[5]->unplug();
  ASSERT_TRUE(write_block(*pool.tree, 0, data, 50));
  EXPECT_TRUE(pool.tree->flush());
  EXPECT_TRUE(pool.tree->missing_txgs(1000).contains(50));
  EXPECT_EQ(pool.tree->stats(1005).write_errors, 2u) << "the write and the flush";
  pool.disks[3]->unplug();
  EXPECT_FALSE(write_block(*pool.tree, 1 << 20, data, 51));
  for (const auto& disk : pool.disks) disk->unplug(false);
  // Stale columns are not even looked at, until a resilver brings them up to date.
  Buffer out(data->size());
  const std::uint64_t reads_before = pool.disks[5]->read_count();
  ASSERT_TRUE(pool.tree->read(0, 0, out.span(), 50, equals(data)));
  EXPECT_EQ(pool.disks[5]->read_count(), reads_before);
  ASSERT_TRUE(pool.tree->scrub(0, 0, out.span(), 50, equals(data)));
  pool.tree->set_missing_txgs(1005, {});
  pool.tree->set_missing_txgs(1000, {});
  pool.tree->clear_errors(0);
  ASSERT_TRUE(pool.tree->scrub(0, 0, out.span(), 50, equals(data)));
  for (std::size_t d = 0; d < 6; ++d) EXPECT_EQ(pool.tree->stats(1000 + d).checksum_errors, 0u) << d;
}

TEST(Raidz, StaleDevicesAreTheLastResort) {
  FakeTree pool = raidz(3, 1);
  const BufferRef data = pattern_buffer(8192, 9);
  ASSERT_TRUE(write_block(*pool.tree, 0, data, 50));
  TxgSet worst_case;
  worst_case.add(40, 60);
  pool.tree->set_missing_txgs(1001, worst_case);
  pool.disks[2]->unplug();
  Buffer out(data->size());
  EXPECT_TRUE(pool.tree->read(0, 0, out.span(), 50, equals(data)));
}

TEST(Raidz, ColumnsOfAReplacingVdevGoToBothDevices) {
  FakeTree pool = raidz(4, 1);
  VdevConfig replacing;
  replacing.kind = VdevKind::replacing;
  replacing.id = 1;
  replacing.guid = 200;
  VdevConfig& top = pool.root.children[0];
  replacing.children = {top.children[1], top.children[3]};
  top.children[1] = replacing;
  top.children.pop_back();
  top.asize_bytes = top.asize_bytes / 4 * 3;
  ASSERT_TRUE(pool.reopen());
  const BufferRef data = pattern_buffer(32 << 10, 4);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  EXPECT_TRUE(std::ranges::equal(pool.disks[1]->content().subspan(kLabelsAndBootBytes, 16384),
                                 pool.disks[3]->content().subspan(kLabelsAndBootBytes, 16384)));
  // One half unreadable and another device gone: the other half serves.
  pool.disks[1]->unplug();
  pool.disks[2]->unplug();
  Buffer out(data->size());
  EXPECT_TRUE(pool.tree->read(0, 0, out.span(), 10, equals(data)));
  EXPECT_EQ(pool.tree->stats(200).state, VdevState::healthy);
}

TEST(Raidz, MalformedTreesAreRefused) {
  FakeTree pool = raidz(3, 1);
  for (const std::uint64_t parity : {0u, 3u, 4u}) {
    pool.root.children[0].nparity = parity;
    EXPECT_FALSE(pool.reopen()) << parity;
  }
  pool.root.children[0].nparity = 1;
  pool.root.children[0].raidz_expand_txgs = {1, 2};
  EXPECT_FALSE(pool.reopen());
  pool.root.children[0].raidz_expand_txgs = {};
  pool.root.children[0].ashift = 40;
  EXPECT_FALSE(pool.reopen());
}

}  // namespace
}  // namespace tarn
