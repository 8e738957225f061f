// RaidzMap: which bytes of a block lie where on the children of a RAID-Z vdev (FORMAT.md 9.1, 9.2, 9.5).
//
// A map is a list of rows. A row is an independent parity group: first its parity columns (P, Q, R), then its
// data columns; all columns of a row are on different children. A block on a vdev that was never expanded has
// one row:
//
//     child:     0      1      2      3      4          raidz1 of 5, a block of 7 sectors that starts at
//     child 1
//             .      P0     D0     D2     D4            column P0 P1, data columns D0 D1 | D2 D3 | D4 D5 | D6
//             D6     P1     D1     D3     D5            (column 4, D6, is short: as if followed by a zero
//             sector)
//
// After an expansion, blocks from before it keep their sector numbers but the sectors moved: each row is then
// one sector high.
#pragma once

#include <cstdint>
#include <vector>

#include "libpool/base/result.h"

namespace tarn {

struct RaidzShape {
  unsigned child_count = 0;    // now (W in 9.5)
  unsigned logical_width = 0;  // when the block was born (L in 9.5)
  unsigned parity_count = 0;
  unsigned ashift = 0;
};

// Progress of a running expansion, from the uberblock (FORMAT.md 5.3).
struct RaidzReflow {
  bool expanding = false;
  std::uint64_t offset_bytes = 0;  // what lies below is in the new geometry
  bool scratch_valid = false;      // what lies below is read from the scratch area
};

struct RaidzColumn {
  unsigned child = 0;
  bool parity = false;
  bool scratch = false;             // lies in the boot area: `offset_bytes` on the child minus 3.5 MiB
  std::uint64_t offset_bytes = 0;   // on the child
  std::uint64_t length_bytes = 0;   // 0: absent, counts as zeros
  std::uint64_t buffer_offset = 0;  // data columns: in the block; parity columns: in the parity buffer
};

struct RaidzRow {
  std::uint32_t first_column = 0, column_count = 0;
};

struct RaidzMap {
  unsigned parity_count = 0;
  std::uint64_t data_bytes = 0;    // the block, padded to sectors
  std::uint64_t parity_bytes = 0;  // all parity columns
  std::vector<RaidzColumn> columns;
  std::vector<RaidzRow> rows;
  // Columns (index) that a skip sector follows on the same child: writing it too lets the next block's
  // columns join this one's into one device request.
  std::vector<std::uint32_t> skip_columns;
};

// Bytes that a block takes, with parity and skip sectors (FORMAT.md 9.1).
std::uint64_t raidz_allocated_bytes(std::uint64_t physical_bytes, unsigned width, unsigned parity_count,
                                    unsigned ashift);
// Space accounting: what an allocation of that size is charged (FORMAT.md 9.1).
std::uint64_t raidz_deflated_bytes(std::uint64_t allocated_bytes, unsigned original_width,
                                   unsigned parity_count, unsigned ashift);

// `offset_bytes` and `length_bytes` are whole sectors, and length is not 0.
RaidzMap make_raidz_map(const RaidzShape& shape, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                        const RaidzReflow& reflow = {});

}  // namespace tarn
