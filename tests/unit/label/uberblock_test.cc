#include <gtest/gtest.h>

#include <algorithm>

#include "libpool/label/label.h"
#include "libpool/label/label_layout.h"
#include "tests/unit/support/fake_disk.h"

namespace tarn {
namespace {

using support::FakeDisk;

Uberblock sample(std::uint64_t txg) {
  Uberblock u;
  u.txg = txg;
  u.guid_sum = 0x123456789abcdef0;
  u.timestamp = 1'700'000'000;
  u.root.dvas[0] = {.vdev = 1, .offset_bytes = 0x4000, .allocated_bytes = 0x1000};
  u.root.logical_bytes = 4096;
  u.root.physical_bytes = 512;
  u.root.logical_birth = txg;
  u.root.fill = 40;
  u.checkpoint_txg = 3;
  u.raidz_reflow_info = 0;
  return u;
}

TEST(UberblockFormat, ReadsBackInEitherByteOrder) {
  Bytes slot(1024);
  sample(17).encode(slot);
  const Result<Uberblock> native = Uberblock::decode(slot);
  ASSERT_TRUE(native);
  EXPECT_EQ(native->root, sample(17).root);
  swap_u64_array(slot);
  const Result<Uberblock> swapped = Uberblock::decode(slot);
  ASSERT_TRUE(swapped);
  EXPECT_EQ(swapped->txg, 17u);
  EXPECT_EQ(swapped->guid_sum, sample(17).guid_sum);
  EXPECT_EQ(swapped->checkpoint_txg, 3u);
  EXPECT_EQ(swapped->root.dvas, sample(17).root.dvas);
}

TEST(UberblockFormat, DamagedSlotsAreErrors) {
  Bytes slot(1024);
  EXPECT_FALSE(Uberblock::decode(slot));
  sample(1).encode(slot);
  for (const std::size_t bytes : {0, 7, 8, 40, 215})
    EXPECT_FALSE(Uberblock::decode(ByteView(slot).first(bytes)));
}

TEST(UberblockOrder, IsByTxgThenTimeThenHeartbeat) {
  Uberblock a = sample(10), b = sample(10);
  EXPECT_FALSE(newer(a, b) || newer(b, a));
  b.mmp_config = (std::uint64_t{3} << 32) | 2;
  EXPECT_TRUE(newer(b, a));
  b.mmp_config &= ~std::uint64_t{2};  // the sequence is not valid
  EXPECT_FALSE(newer(b, a));
  a.timestamp += 1;
  b.mmp_config |= 2;
  EXPECT_TRUE(newer(a, b));
  b.txg += 1;
  EXPECT_TRUE(newer(b, a));
}

class UberblockRing : public testing::TestWithParam<unsigned> {};

// Whatever the slot size, what was written is found without knowing it, and the ring keeps the last ones.
TEST_P(UberblockRing, KeepsTheLastOnes) {
  FakeDisk disk(64 << 20);
  const unsigned ashift = GetParam();
  const unsigned slots =
      static_cast<unsigned>(kRingBytes >> std::clamp(ashift, kMinSlotShift, kMaxSlotShift));
  for (std::uint64_t txg = 1; txg <= slots + 5; ++txg)
    for (unsigned index = 0; index < kLabelCount; ++index)
      ASSERT_TRUE(write_uberblock(disk, index, sample(txg), ashift));
  const std::vector<Uberblock> all = read_all_uberblocks(disk);
  EXPECT_EQ(all.size(), kLabelCount * slots);
  EXPECT_EQ(read_best_uberblock(disk)->txg, slots + 5);
  EXPECT_EQ(read_best_uberblock(disk, slots)->txg, slots);
  EXPECT_FALSE(read_best_uberblock(disk, 5)) << "overwritten by now";
}
INSTANTIATE_TEST_SUITE_P(Ashifts, UberblockRing, testing::Values(9, 10, 11, 12, 13, 16));

TEST(UberblockRing, LastSlotIsLeftToHeartbeatsWithMultihost) {
  FakeDisk disk(64 << 20);
  ASSERT_TRUE(write_uberblock(disk, 0, sample(127), 9, true));
  const ByteView ring = ByteView(disk.content()).subspan(kRingOffset, kRingBytes);
  EXPECT_TRUE(Uberblock::decode(ring.first(1024)));
  EXPECT_FALSE(Uberblock::decode(ring.last(1024)));
}

TEST(UberblockRing, ScratchStateOfAnExpansionRewritesTheSlotBefore) {
  FakeDisk disk(64 << 20);
  Uberblock u = sample(20);
  u.raidz_reflow_info = std::uint64_t{1} << 55;
  ASSERT_TRUE(write_uberblock(disk, 0, u, 9));
  const ByteView ring = ByteView(disk.content()).subspan(kRingOffset, kRingBytes);
  EXPECT_TRUE(Uberblock::decode(ring.subspan(19 * 1024, 1024)));
}

// A flipped bit, a copied slot: the checksum covers the content and the place.
TEST(UberblockRing, OnlyVerifiedSlotsCount) {
  FakeDisk disk(64 << 20);
  ASSERT_TRUE(write_uberblock(disk, 0, sample(8), 9));
  ASSERT_TRUE(write_uberblock(disk, 1, sample(9), 9));
  disk.flip_bit(label_offset(1, disk.size_bytes()) + kRingOffset + 9 * 1024 + 100);
  const auto ring = disk.content().subspan(kRingOffset, kRingBytes);
  std::copy_n(ring.begin() + 8 * 1024, 1024, ring.begin() + 11 * 1024);
  const std::vector<Uberblock> all = read_all_uberblocks(disk);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].txg, 8u);
}

TEST(UberblockRing, UnreadableLabelsAreSkipped) {
  FakeDisk disk(64 << 20);
  for (unsigned index = 0; index < kLabelCount; ++index)
    ASSERT_TRUE(write_uberblock(disk, index, sample(8), 12));
  disk.fail_reads(0, 2 * kLabelBytes);
  EXPECT_EQ(read_all_uberblocks(disk).size(), 2u);
}

TEST(UberblockRing, TooSmallADeviceIsAnError) {
  FakeDisk disk(512 << 10);
  EXPECT_FALSE(write_uberblock(disk, 3, sample(8), 12));
  EXPECT_TRUE(read_all_uberblocks(disk).empty());
  EXPECT_FALSE(clear_labels(disk, true));
  EXPECT_EQ(read_labels(disk).best(), nullptr);
}

}  // namespace
}  // namespace tarn
