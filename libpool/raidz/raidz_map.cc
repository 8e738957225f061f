#include "libpool/raidz/raidz_map.h"

#include <algorithm>
#include <cassert>

#include "libpool/base/bytes.h"

namespace tarn {

namespace {

// With single parity, which of the first two columns holds it alternates in steps of 1 MiB.
constexpr std::uint64_t kSwapBit = 1 << 20;

constexpr std::uint64_t kDeflateBlockBytes = 128 << 10;

// The names q, r, big and so on are those of FORMAT.md 9.2.
struct Split {
  std::uint64_t sectors, q, r, big, total;
};

Split split(std::uint64_t length_bytes, unsigned width, unsigned parity_count, unsigned ashift) {
  const std::uint64_t sectors = length_bytes >> ashift;
  const std::uint64_t q = sectors / (width - parity_count);
  const std::uint64_t r = sectors - q * (width - parity_count);
  return {.sectors = sectors,
          .q = q,
          .r = r,
          .big = r == 0 ? 0 : r + parity_count,
          .total = sectors + parity_count * (q + (r != 0))};
}

RaidzMap plain_map(const RaidzShape& shape, std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  const unsigned n = shape.logical_width, p = shape.parity_count;
  const std::uint64_t sector_bytes = std::uint64_t{1} << shape.ashift;
  const Split s = split(length_bytes, n, p, shape.ashift);
  const std::uint64_t first_sector = offset_bytes >> shape.ashift;
  const auto first_child = static_cast<unsigned>(first_sector % n);
  const std::uint64_t child_offset = (first_sector / n) << shape.ashift;
  const std::uint64_t column_count = s.q == 0 ? s.big : n;

  RaidzMap map;
  map.parity_count = p;
  map.data_bytes = length_bytes;
  map.columns.reserve(column_count);
  std::uint64_t data_offset = 0;
  for (std::uint64_t c = 0; c < column_count; ++c) {
    RaidzColumn column;
    column.child = first_child + static_cast<unsigned>(c);
    column.offset_bytes = child_offset;
    if (column.child >= n) {
      column.child -= n;
      column.offset_bytes += sector_bytes;
    }
    column.length_bytes = (c < s.big ? s.q + 1 : s.q) << shape.ashift;
    column.parity = c < p;
    std::uint64_t& position = c < p ? map.parity_bytes : data_offset;
    column.buffer_offset = position;
    position += column.length_bytes;
    map.columns.push_back(column);
  }
  if (p == 1 && (offset_bytes & kSwapBit) != 0) {
    std::swap(map.columns[0].child, map.columns[1].child);
    std::swap(map.columns[0].offset_bytes, map.columns[1].offset_bytes);
  }
  map.rows.push_back({0, static_cast<std::uint32_t>(column_count)});

  for (std::uint64_t k = s.total; k < round_up(s.total, p + 1); ++k) {
    const std::uint64_t sector = first_sector + k;
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const RaidzColumn& column = map.columns[c];
      if (column.child != sector % n || column.offset_bytes + column.length_bytes != (sector / n)
                                                                                         << shape.ashift)
        continue;
      map.skip_columns.push_back(static_cast<std::uint32_t>(c));
    }
  }
  return map;
}

RaidzMap moved_map(const RaidzShape& shape, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                   const RaidzReflow& reflow) {
  const unsigned width = shape.logical_width, p = shape.parity_count;
  const std::uint64_t sector_bytes = std::uint64_t{1} << shape.ashift;
  const Split s = split(length_bytes, width, p, shape.ashift);
  const std::uint64_t row_count = div_ceil(s.total, width);
  const std::uint64_t columns_per_row = std::min<std::uint64_t>(s.total, width);
  const std::uint64_t reflowed_sectors = reflow.offset_bytes >> shape.ashift;

  RaidzMap map;
  map.parity_count = p;
  map.data_bytes = length_bytes;
  map.columns.reserve(s.total);
  map.rows.reserve(row_count);
  for (std::uint64_t j = 0; j < row_count; ++j) {
    const std::uint64_t first_sector = (offset_bytes >> shape.ashift) + j * width;
    const bool moved = !reflow.expanding || first_sector + columns_per_row <= reflowed_sectors;
    const unsigned children = moved ? shape.child_count : shape.child_count - 1;
    RaidzRow row{.first_column = static_cast<std::uint32_t>(map.columns.size()), .column_count = 0};
    for (std::uint64_t c = 0; c < columns_per_row; ++c) {
      RaidzColumn column;
      column.child = static_cast<unsigned>((first_sector + c) % children);
      column.offset_bytes = ((first_sector + c) / children) << shape.ashift;
      column.parity = c < p;
      ++row.column_count;
      // The last row may be partial: what is absent still counts in the weights of the parity.
      if (j + 1 == row_count && s.big != 0 && c >= s.big) {
        map.columns.push_back(column);
        continue;
      }
      column.length_bytes = sector_bytes;
      column.scratch = reflow.expanding && reflow.scratch_valid && moved;
      if (c < p) {
        column.buffer_offset = map.parity_bytes;
        map.parity_bytes += sector_bytes;
      } else {
        const std::uint64_t d = c - p;
        const std::uint64_t index =
            (c < s.big || s.r == 0) ? d * row_count + j : s.r * row_count + (d - s.r) * (row_count - 1) + j;
        column.buffer_offset = index << shape.ashift;
      }
      map.columns.push_back(column);
    }
    if (p == 1 && (offset_bytes & kSwapBit) != 0 && row.column_count > 1) {
      RaidzColumn& first = map.columns[row.first_column];
      RaidzColumn& second = map.columns[row.first_column + 1];
      std::swap(first.child, second.child);
      std::swap(first.offset_bytes, second.offset_bytes);
    }
    map.rows.push_back(row);
  }
  return map;
}

}  // namespace

std::uint64_t raidz_allocated_bytes(std::uint64_t physical_bytes, unsigned width, unsigned parity_count,
                                    unsigned ashift) {
  const std::uint64_t sectors = div_ceil(physical_bytes, std::uint64_t{1} << ashift);
  return round_up(sectors + parity_count * div_ceil(sectors, width - parity_count), parity_count + 1)
         << ashift;
}

std::uint64_t raidz_deflated_bytes(std::uint64_t allocated_bytes, unsigned original_width,
                                   unsigned parity_count, unsigned ashift) {
  const std::uint64_t ratio =
      kDeflateBlockBytes /
      (raidz_allocated_bytes(kDeflateBlockBytes, original_width, parity_count, ashift) >> 9);
  return (allocated_bytes >> 9) * ratio;
}

RaidzMap make_raidz_map(const RaidzShape& shape, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                        const RaidzReflow& reflow) {
  assert(length_bytes != 0 && shape.logical_width > shape.parity_count &&
         shape.child_count >= shape.logical_width);
  if (shape.logical_width == shape.child_count) return plain_map(shape, offset_bytes, length_bytes);
  return moved_map(shape, offset_bytes, length_bytes, reflow);
}

}  // namespace tarn
