// Parity and reconstruction against arithmetic done bit by bit (FORMAT.md 9.3).
#include "libpool/raidz/raidz_parity.h"

#include <gtest/gtest.h>

#include <random>

#include "libpool/raidz/raidz_map.h"
#include "tests/unit/support/fake_disk.h"

namespace tarn {
namespace {

std::uint8_t times_two(std::uint8_t v) {
  return static_cast<std::uint8_t>((v << 1) ^ ((v & 0x80) != 0 ? 0x1d : 0));
}

// A row as the map of a block of `sectors` has it, in memory of its own.
struct Row {
  RaidzMap map;
  Buffer block, parity;
  RaidzRowBuffers buffers;

  Row(unsigned width, unsigned parity_count, std::uint64_t sectors, std::uint64_t seed)
      : map(make_raidz_map(
            {.child_count = width, .logical_width = width, .parity_count = parity_count, .ashift = 9}, 0,
            sectors << 9)),
        block(Buffer::copy_of(support::pattern_bytes(map.data_bytes, seed))),
        parity(Buffer::zeroed(map.parity_bytes)) {
    buffers.parity_count = parity_count;
    for (const RaidzColumn& c : map.columns)
      buffers.columns.push_back((c.parity ? parity : block).span().subspan(c.buffer_offset, c.length_bytes));
  }
};

// Horner's scheme of FORMAT.md 9.3, one byte at a time.
std::uint8_t expected_parity(const Row& row, unsigned j, std::size_t at) {
  std::uint8_t sum = 0;
  for (std::size_t c = row.buffers.parity_count; c < row.buffers.columns.size(); ++c) {
    for (unsigned i = 0; i < j; ++i) sum = times_two(sum);
    if (at < row.buffers.columns[c].size()) sum ^= static_cast<std::uint8_t>(row.buffers.columns[c][at]);
  }
  return sum;
}

TEST(RaidzParity, MatchesArithmeticForAllWidths) {
  for (unsigned parity_count = 1; parity_count <= 3; ++parity_count) {
    for (unsigned width = std::max(3u, parity_count + 1); width <= 12; ++width) {
      for (const std::uint64_t sectors : {1u, 2u, 3u, 7u, 11u, 16u, 23u}) {
        Row row(width, parity_count, sectors, width * 100 + sectors);
        generate_parity(row.buffers);
        for (unsigned j = 0; j < parity_count; ++j) {
          for (std::size_t at = 0; at < row.buffers.columns[j].size(); ++at) {
            ASSERT_EQ(static_cast<std::uint8_t>(row.buffers.columns[j][at]), expected_parity(row, j, at))
                << "width " << width << " parity " << j << "/" << parity_count << " sectors " << sectors
                << " byte " << at;
          }
        }
      }
    }
  }
}

TEST(RaidzParity, ReconstructsEveryCombinationOfLostColumns) {
  for (unsigned parity_count = 1; parity_count <= 3; ++parity_count) {
    for (unsigned width = std::max(3u, parity_count + 1); width <= 12; ++width) {
      for (const std::uint64_t sectors : {1u, 3u, 10u, 13u}) {
        Row row(width, parity_count, sectors, width * 1000 + sectors);
        generate_parity(row.buffers);
        const Buffer right_block = Buffer::copy_of(row.block), right_parity = Buffer::copy_of(row.parity);
        const std::size_t count = row.buffers.columns.size();
        for (unsigned mask = 0; mask < (1u << count); ++mask) {
          if (std::popcount(mask) > static_cast<int>(parity_count)) continue;
          std::vector<bool> lost(count);
          std::array<bool, kMaxParity> keep{};
          for (std::size_t c = 0; c < count; ++c) {
            lost[c] = (mask >> c & 1) != 0;
            if (c < parity_count) keep[c] = !lost[c];
            if (lost[c]) std::ranges::fill(row.buffers.columns[c], std::byte{0xa5});
          }
          ASSERT_TRUE(reconstruct_data(row.buffers, lost));
          generate_parity(row.buffers, keep);
          ASSERT_EQ(std::memcmp(row.block.data(), right_block.data(), right_block.size()), 0)
              << "width " << width << " p " << parity_count << " mask " << mask << " sectors " << sectors;
          ASSERT_EQ(std::memcmp(row.parity.data(), right_parity.data(), right_parity.size()), 0)
              << "width " << width << " p " << parity_count << " mask " << mask << " sectors " << sectors;
        }
      }
    }
  }
}

TEST(RaidzParity, RefusesMoreLossesThanParity) {
  Row row(5, 2, 6, 1);
  generate_parity(row.buffers);
  EXPECT_FALSE(reconstruct_data(row.buffers, {false, false, true, true, true}));
  EXPECT_FALSE(reconstruct_data(row.buffers, {true, false, true, true, false}));
}

}  // namespace
}  // namespace tarn
