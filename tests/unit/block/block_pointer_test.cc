#include "libpool/block/block_pointer.h"

#include <gtest/gtest.h>

#include <random>

namespace tarn {
namespace {

BlockPointer sample() {
  BlockPointer bp;
  bp.dvas[0] = {.vdev = 3, .offset_bytes = 0x208800, .allocated_bytes = 0x400};
  bp.dvas[1] = {.vdev = 1, .offset_bytes = 0x10af800, .allocated_bytes = 0x400};
  bp.logical_bytes = 0x4000;
  bp.physical_bytes = 0x400;
  bp.compression = CompressionType::lz4;
  bp.checksum_type = ChecksumType::fletcher4;
  bp.type = DmuType::dnode;
  bp.level = 1;
  bp.logical_birth = 31;
  bp.physical_birth = 33;
  bp.fill = 4;
  bp.checksum = {1, 2, 3, 4};
  return bp;
}

using Raw = std::array<std::byte, kBlockPointerBytes>;

TEST(BlockPointer, RoundTripsInBothOrders) {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    Raw raw;
    sample().encode(raw, order);
    EXPECT_EQ(BlockPointer::decode(raw, order), sample());
  }
}

TEST(BlockPointer, PlacesTheWordsOfTheFormat) {
  Raw raw;
  sample().encode(raw, ByteOrder::little);
  const auto word = [&](int i) { return load<std::uint64_t>(raw.data() + 8 * i, ByteOrder::little); };
  EXPECT_EQ(word(0), (3ULL << 32) | 2);
  EXPECT_EQ(word(1), 0x208800u >> 9);
  // LSIZE 32 sectors, PSIZE 2 sectors (both less one), lz4, fletcher4, dnode, level 1, little-endian.
  EXPECT_EQ(word(6), 31ULL | 1ULL << 16 | 15ULL << 32 | 7ULL << 40 | 10ULL << 48 | 1ULL << 56 | 1ULL << 63);
  EXPECT_EQ(word(9), 33u);
  EXPECT_EQ(word(10), 31u);
}

TEST(BlockPointer, RoundTripsEmbeddedData) {
  BlockPointer bp;
  bp.embedded = true;
  bp.logical_bytes = 512;
  bp.physical_bytes = 100;
  bp.compression = CompressionType::lz4;
  bp.type = DmuType::plain_file;
  bp.logical_birth = 9;
  for (std::size_t i = 0; i < bp.payload.size(); ++i) bp.payload[i] = static_cast<std::byte>(i + 1);
  Raw raw;
  bp.encode(raw, ByteOrder::big);
  const BlockPointer back = BlockPointer::decode(raw, ByteOrder::big);
  EXPECT_EQ(back, bp);
  EXPECT_TRUE(back.check(1));
  EXPECT_EQ(back.allocated_bytes(), 0u);
  EXPECT_EQ(back.fill_count(), 1u);
}

TEST(BlockPointer, KeepsHolesApart) {
  Raw raw;
  BlockPointer().encode(raw, kHostOrder);
  EXPECT_TRUE(all_zero(raw));
  EXPECT_TRUE(BlockPointer::decode(raw, kHostOrder).is_hole());
  const BlockPointer hole = BlockPointer::hole(DmuType::plain_file, 2, 131072, 55);
  hole.encode(raw, kHostOrder);
  const BlockPointer back = BlockPointer::decode(raw, kHostOrder);
  EXPECT_TRUE(back.is_hole());
  EXPECT_EQ(back.logical_birth, 55u);
  EXPECT_EQ(back.logical_bytes, 131072u);
  EXPECT_EQ(back.level, 2);
}

TEST(BlockPointer, CheckRefusesWhatCannotBe) {
  EXPECT_TRUE(sample().check(4));
  EXPECT_EQ(sample().check(3).error().code(), Errc::corrupt);
  BlockPointer bp = sample();
  bp.physical_bytes = 0x8000;
  EXPECT_FALSE(bp.check(4));
  bp = sample();
  bp.compression = static_cast<CompressionType>(99);
  EXPECT_FALSE(bp.check(4));
  bp = sample();
  bp.type = static_cast<DmuType>(77);
  EXPECT_FALSE(bp.check(4));
  bp = sample();
  bp.checksum_type = static_cast<ChecksumType>(200);
  EXPECT_FALSE(bp.check(4));
}

TEST(BlockPointer, DecodesAnythingAndStaysPut) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20000; ++round) {
    Raw raw;
    for (std::byte& byte : raw) byte = static_cast<std::byte>(random());
    const BlockPointer bp = BlockPointer::decode(raw, ByteOrder::little);
    (void)bp.check(1);
    EXPECT_FALSE(bp.describe().empty());
    Raw again;
    bp.encode(again, ByteOrder::little);
    EXPECT_EQ(BlockPointer::decode(again, ByteOrder::little), bp);
  }
}

}  // namespace
}  // namespace tarn
