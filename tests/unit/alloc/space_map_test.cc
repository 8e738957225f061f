#include "libpool/alloc/space_map.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

constexpr SpaceMapRange kRange{.start = 1 << 24, .size = std::uint64_t{1} << 34, .shift = 12};

std::vector<SpaceMapEntry> decode(ByteView words, const SpaceMapRange& range = kRange) {
  std::vector<SpaceMapEntry> out;
  const Status done = decode_space_map(words, range, [&](const SpaceMapEntry& entry) -> Status {
    out.push_back(entry);
    return {};
  });
  EXPECT_TRUE(done) << done.error().text();
  return out;
}

TEST(SpaceMap, RoundTripsInBothForms) {
  for (const bool two_words : {false, true}) {
    SpaceMapWriter writer(kRange, 0, 4096, two_words);
    writer.begin(false, 77, 1);
    writer.add(kRange.start + 4096, 8192);
    writer.begin(true, 77, 2);
    writer.add(kRange.start, std::uint64_t{1} << 33);
    std::uint64_t allocated = 0, freed = 0;
    for (const SpaceMapEntry& entry : decode(writer.bytes()))
      (entry.is_free ? freed : allocated) += entry.size;
    EXPECT_EQ(allocated, 8192u);
    EXPECT_EQ(freed, std::uint64_t{1} << 33);
  }
}

// A two-word entry must not cross a block: a debug word fills the gap.
TEST(SpaceMap, PadsBeforeABlockEnd) {
  SpaceMapWriter writer(kRange, 4096 - 16, 4096, true);
  writer.begin(false, 5, 1);
  writer.add(kRange.start, std::uint64_t{1} << 32);
  ASSERT_EQ(writer.bytes().size(), 32u);
  EXPECT_EQ(load<std::uint64_t>(writer.bytes().data() + 8, kHostOrder), std::uint64_t{2} << 62);
}

TEST(SpaceMap, RefusesEntriesOutsideOfItsRange) {
  const auto fails = [](std::vector<std::uint64_t> words) {
    return !decode_space_map(std::as_bytes(std::span(words)), kRange,
                             [](const SpaceMapEntry&) -> Status { return {}; });
  };
  EXPECT_TRUE(fails({std::uint64_t{1} << 61}));
  EXPECT_TRUE(fails({std::uint64_t{3} << 62}));  // second word missing
  EXPECT_TRUE(fails({std::uint64_t{3} << 62, ~std::uint64_t{0}}));
  EXPECT_TRUE(fails({(std::uint64_t{3} << 62) | ((std::uint64_t{1} << 60) - 1), 0}));
  EXPECT_FALSE(fails({0}));
}

TEST(SpaceMap, HeaderRoundTripsWithAndWithoutHistogram) {
  SpaceMapHeader header{.object = 9, .length_bytes = 800, .allocated_bytes = -512};
  header.histogram[3] = 4;
  EXPECT_EQ(header.encode().size(), 320u);
  EXPECT_EQ(SpaceMapHeader::decode(header.encode())->histogram[3], 4u);
  header.has_histogram = false;
  EXPECT_EQ(header.encode().size(), 24u);
  EXPECT_EQ(SpaceMapHeader::decode(header.encode())->allocated_bytes, -512);
  EXPECT_FALSE(SpaceMapHeader::decode(Bytes(16)));
}

TEST(SpaceMap, FragmentationRunsFromSectorsToMegabytes) {
  std::array<std::uint64_t, kHistogramBuckets> histogram{};
  EXPECT_EQ(fragmentation_percent(histogram, 9), 0u);
  histogram[0] = 100;
  EXPECT_EQ(fragmentation_percent(histogram, 9), 100u);
  EXPECT_EQ(fragmentation_percent(histogram, 12), 95u);
  histogram = {};
  count_in_histogram(histogram, 64 << 20, 12);
  EXPECT_EQ(fragmentation_percent(histogram, 12), 0u);
}

}  // namespace
}  // namespace tarn
