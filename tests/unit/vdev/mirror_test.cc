// Single disks and mirrors: what is written comes back, and a bad copy is found, counted and put right.
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

TEST(SingleDisk, GivesBackWhatWasWritten) {
  FakeTree pool = make_fake_tree();
  const BufferRef data = pattern_buffer(128 << 10, 1);
  ASSERT_TRUE(write_block(*pool.tree, 1 << 20, data));
  ASSERT_TRUE(pool.tree->flush());
  EXPECT_EQ(pool.disks[0]->flush_count(), 1u);
  Buffer out(data->size());
  EXPECT_TRUE(pool.tree->read(0, 1 << 20, out.span(), 10, equals(data)));
  EXPECT_EQ(std::memcmp(pool.disks[0]->content().data() + kLabelsAndBootBytes + (1 << 20), data->data(),
                        data->size()),
            0);
}

TEST(SingleDisk, PadsBlocksToTheSector) {
  FakeTree pool = make_fake_tree();
  EXPECT_EQ(pool.tree->allocated_size(0, 1536), 4096u);
  const BufferRef data = pattern_buffer(1536, 2);
  ASSERT_TRUE(write_block(*pool.tree, 4096, data));
  Buffer out(data->size());
  EXPECT_TRUE(pool.tree->read(0, 4096, out.span(), 10, equals(data)));
}

TEST(SingleDisk, ReportsDamageAsChecksumError) {
  FakeTree pool = make_fake_tree();
  const BufferRef data = pattern_buffer(4096, 3);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  pool.disks[0]->flip_bit(kLabelsAndBootBytes + 77);
  Buffer out(data->size());
  const Status result = pool.tree->read(0, 0, out.span(), 10, equals(data));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::checksum);
  EXPECT_EQ(pool.tree->stats(1000).checksum_errors, 1u);
}

TEST(SingleDisk, RefusesPlacesBeyondTheVdev) {
  FakeTree pool = make_fake_tree();
  Buffer out(4096);
  const auto any = [](ByteView) { return true; };
  for (const std::uint64_t offset :
       {pool.tree->usable_bytes(0), std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{512}}) {
    const Status result = pool.tree->read(0, offset, out.span(), 1, any);
    ASSERT_FALSE(result) << offset;
    EXPECT_EQ(result.error().code(), Errc::corrupt);
  }
  EXPECT_FALSE(pool.tree->read(7, 0, out.span(), 1, any));
}

TEST(SingleDisk, ReportsFailedWritesAndFlushes) {
  FakeTree pool = make_fake_tree();
  pool.disks[0]->fail_writes(kLabelsAndBootBytes, 4096);
  EXPECT_FALSE(write_block(*pool.tree, 0, pattern_buffer(4096, 1), 17));
  EXPECT_EQ(pool.tree->stats(1000).write_errors, 1u);
  EXPECT_TRUE(pool.tree->missing_txgs(1000).contains(17));
  pool.disks[0]->fail_next_flushes(1);
  EXPECT_FALSE(pool.tree->flush());
}

TEST(SingleDisk, ReadOnlyTreeRefusesWrites) {
  FakeTree pool = make_fake_tree({.read_only = true});
  const Status result = write_block(*pool.tree, 0, pattern_buffer(4096, 1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::read_only);
}

TEST(Mirror, HealsABadCopyFromTheGoodOne) {
  FakeTree pool = make_fake_tree({.kind = VdevKind::mirror, .disk_count = 3});
  const BufferRef data = pattern_buffer(8192, 4);
  ASSERT_TRUE(write_block(*pool.tree, 0, data));
  pool.disks[0]->flip_bit(kLabelsAndBootBytes + 5000);
  pool.disks[1]->fail_reads(kLabelsAndBootBytes, 4096);
  Buffer out(data->size());
  ASSERT_TRUE(pool.tree->read(0, 0, out.span(), 10, equals(data)));
  EXPECT_EQ(pool.tree->stats(1000).checksum_errors, 1u);
  EXPECT_EQ(pool.tree->stats(1001).read_errors, 1u);
  EXPECT_EQ(std::memcmp(pool.disks[0]->content().data() + kLabelsAndBootBytes, data->data(), data->size()), 0)
      << "not rewritten";
}

TEST(Mirror, WriteSucceedsWithOneCopyLeft) {
  FakeTree pool = make_fake_tree({.kind = VdevKind::mirror, .disk_count = 2});
  pool.disks[1]->unplug();
  const BufferRef data = pattern_buffer(8192, 5);
  ASSERT_TRUE(write_block(*pool.tree, 0, data, 30));
  EXPECT_TRUE(pool.tree->flush()) << "the other device has it";
  EXPECT_TRUE(pool.tree->missing_txgs(1001).contains(30));
  pool.disks[1]->unplug(false);
  // Although disk 1 answers again, it is known to lack the txg: no checksum error is counted.
  Buffer out(data->size());
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_TRUE(pool.tree->read(0, 0, out.span(), 30, equals(data)));
  EXPECT_EQ(pool.tree->stats(1001).checksum_errors, 0u);
  EXPECT_EQ(pool.disks[1]->read_count(), 0u);
}

TEST(Mirror, StatesFollowTheDevices) {
  FakeTree pool = make_fake_tree({.kind = VdevKind::mirror, .disk_count = 2});
  EXPECT_EQ(pool.tree->state(0), VdevState::healthy);
  ASSERT_TRUE(pool.tree->set_leaf_state(1000, VdevState::offline, VdevAux::none));
  EXPECT_EQ(pool.tree->state(0), VdevState::degraded);
  EXPECT_TRUE(pool.tree->usable());
  ASSERT_TRUE(pool.tree->set_leaf_state(1001, VdevState::faulted, VdevAux::err_exceeded));
  EXPECT_EQ(pool.tree->state(0), VdevState::cant_open);
  EXPECT_FALSE(pool.tree->usable());
  EXPECT_EQ(pool.tree->stats(100).aux, VdevAux::no_replicas);
  EXPECT_EQ(pool.tree->stats(1).state, VdevState::cant_open);
  ASSERT_TRUE(pool.tree->set_leaf_state(1001, VdevState::healthy, VdevAux::none));
  EXPECT_TRUE(pool.tree->usable());
}

TEST(Mirror, MissingDeviceLeavesItDegraded) {
  FakeTree pool = make_fake_tree({.kind = VdevKind::mirror, .disk_count = 2});
  pool.root.children[0].children[0].path = "/fake/elsewhere";
  ASSERT_TRUE(pool.reopen());
  EXPECT_EQ(pool.tree->state(0), VdevState::degraded);
  EXPECT_EQ(pool.tree->stats(1000).state, VdevState::cant_open);
  EXPECT_EQ(pool.tree->stats(1000).aux, VdevAux::open_failed);
  EXPECT_EQ(pool.tree->leaves()[0].disk, nullptr);
  EXPECT_NE(pool.tree->leaves()[1].disk, nullptr);
}

}  // namespace
}  // namespace tarn
