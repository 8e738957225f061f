// RAID-Z parity arithmetic over GF(2^8), polynomial 0x11d (FORMAT.md 9.3).
//
// With data columns D_0..D_{k-1} of a row, short ones continued with zeros:
//
//     P = sum D_i        Q = sum 2^(k-1-i) D_i        R = sum 4^(k-1-i) D_i
//
// Any columns that are lost, data or parity, follow from the others as long as no more are lost than there is
// parity: m lost data columns are the solution of m surviving equations, whose matrix (1, x_i, x_i^2 with
// distinct x_i = 2^(k-1-i)) is a Vandermonde matrix and hence invertible, whichever equations and columns
// they are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libpool/base/bytes.h"

namespace tarn {

inline constexpr unsigned kMaxParity = 3;

// One row in memory: parity columns first, all of the same length; data columns may be shorter than that.
struct RaidzRowBuffers {
  unsigned parity_count = 0;
  std::vector<MutableByteView> columns;

  unsigned data_count() const { return static_cast<unsigned>(columns.size()) - parity_count; }
};

// Fills the parity columns from the data columns. `keep[j]` leaves parity column j alone.
void generate_parity(const RaidzRowBuffers& row, const std::array<bool, kMaxParity>& keep = {});

// Fills the data columns marked in `lost` (one flag per column, parity included) from the others. False if
// more data columns are lost than parity columns are left; nothing is changed then. Lost parity columns are
// not filled.
bool reconstruct_data(const RaidzRowBuffers& row, const std::vector<bool>& lost);

}  // namespace tarn
