// Gang headers (FORMAT.md 6.6): the block that lists the pieces of one that found no contiguous space.
#pragma once

#include <vector>

#include "libpool/block/block_pointer.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

inline constexpr std::size_t kGangHeaderBytes = 512;
inline constexpr std::size_t kGangChildren = 3;
inline constexpr unsigned kMaxGangDepth = 12;

// What the header's trailer is seeded with; the first DVA's place, in every copy.
ChecksumWords gang_verifier(const BlockPointer& gang);
// The largest header that fits the space of a 512-byte block on all vdevs of `gang` (headers of newer pools).
std::size_t largest_header(const BlockPointer& gang, const VdevTree& vdevs);
// True if `region` (largest_header() bytes) starts with a header of either size that verifies; the size goes
// to `header_bytes`.
bool verify_gang_header(ByteView region, const ChecksumWords& verifier, std::size_t& header_bytes);
// The children of a header that verified. Checks them: sizes add up to the parent's, checksums and births are
// its own.
Result<std::vector<BlockPointer>> decode_gang_header(ByteView header, const BlockPointer& gang,
                                                     std::uint32_t vdev_count);
Buffer encode_gang_header(const std::vector<BlockPointer>& children, const ChecksumWords& verifier);

}  // namespace tarn
