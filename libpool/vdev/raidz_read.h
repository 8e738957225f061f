// Reading one RAID-Z block, with reconstruction. Also what reading and writing share: from map to memory.
#pragma once

#include "libpool/raidz/raidz_map.h"
#include "libpool/raidz/raidz_parity.h"
#include "libpool/vdev/top_vdev.h"

namespace tarn {

// Where column `index` lies: a part of the block, or of the parity buffer.
MutableByteView column_view(const RaidzMap& map, std::size_t index, MutableByteView block,
                            MutableByteView parity);
RaidzRowBuffers row_buffers(const RaidzMap& map, const RaidzRow& row, MutableByteView block,
                            MutableByteView parity);

// Fills `out` with what how.verify accepts, or gives Errc::checksum or Errc::io. `map` covers `out` padded to
// sectors.
Status read_raidz_block(const RaidzMap& map, const std::vector<CopySet>& children, MutableByteView out,
                        const ReadHow& how);

}  // namespace tarn
