#include "libdataset/tree/dsl_phys.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

DslDirPhys sample_dir() {
  DslDirPhys dir;
  dir.creation_time = 1796085478;
  dir.head_dataset = 54;
  dir.origin = 48;
  dir.child_zap = 34;
  dir.used_bytes = 239616;
  dir.quota = 1u << 30;
  dir.props_zap = 33;
  dir.flags = DslDirPhys::kUsedBreakdown;
  dir.used_breakdown = {24576, 0, 215040, 0, 0};
  dir.clones_zap = 59;
  return dir;
}

TEST(DslDirPhys, RoundTripsInBothByteOrders) {
  const DslDirPhys dir = sample_dir();
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    const Bytes encoded = dir.encode(order);
    ASSERT_EQ(encoded.size(), DslDirPhys::kEncodedBytes);
    EXPECT_EQ(DslDirPhys::decode(encoded, order).value(), dir);
  }
}

TEST(DslDirPhys, PutsFieldsWhereTheFormatSays) {
  const Bytes encoded = sample_dir().encode(ByteOrder::little);
  const auto word = [&](std::size_t offset) {
    return load<std::uint64_t>(encoded.data() + offset, ByteOrder::little);
  };
  EXPECT_EQ(word(8), 54u);
  EXPECT_EQ(word(32), 34u);
  EXPECT_EQ(word(40), 239616u);
  EXPECT_EQ(word(96), 1u);
  EXPECT_EQ(word(104 + 2 * 8), 215040u);
  EXPECT_EQ(word(144), 59u);
}

TEST(DslDatasetPhys, RoundTripsInBothByteOrders) {
  DslDatasetPhys ds;
  ds.dir = 32;
  ds.prev_snap = 48;
  ds.creation_txg = 178;
  ds.deadlist = 56;
  ds.guid = 0x0123456789abcdef;
  ds.flags = DslDatasetPhys::kUniqueAccurate | DslDatasetPhys::kCaseInsensitive;
  ds.root.dvas[0] = {.vdev = 1, .offset_bytes = 4096, .allocated_bytes = 8192};
  ds.root.logical_bytes = ds.root.physical_bytes = 4096;
  ds.root.type = DmuType::objset;
  ds.root.checksum_type = ChecksumType::fletcher4;
  ds.root.compression = CompressionType::lz4;
  ds.root.logical_birth = 178;
  ds.userrefs_zap = 99;
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    const Bytes encoded = ds.encode(order);
    ASSERT_EQ(encoded.size(), DslDatasetPhys::kEncodedBytes);
    EXPECT_EQ(load<std::uint64_t>(encoded.data() + 272, order), 99u);
    EXPECT_EQ(DslDatasetPhys::decode(encoded, order).value(), ds);
  }
}

TEST(DslPhys, RefusesShortBonuses) {
  EXPECT_EQ(DslDirPhys::decode(Bytes(255)).error().code(), Errc::corrupt);
  EXPECT_EQ(DslDatasetPhys::decode(Bytes(319)).error().code(), Errc::corrupt);
  EXPECT_EQ(ObjsetSummary::decode(Bytes(1023), kHostOrder).error().code(), Errc::corrupt);
}

}  // namespace
}  // namespace tarn
