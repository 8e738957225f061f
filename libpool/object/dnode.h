// Dnode: what an object is (FORMAT.md logical 1.1): its type, the root of its block tree, its bonus. 512
// bytes, or a multiple of that up to 16 KiB, in a block of the meta dnode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "libpool/base/result.h"
#include "libpool/block/block_pointer.h"

namespace tarn {

inline constexpr std::size_t kDnodeSlotBytes = 512;
inline constexpr std::size_t kDnodeCoreBytes = 64;
inline constexpr unsigned kMaxDnodeSlots = 32;
inline constexpr unsigned kDnodeBlockShift = 14;
inline constexpr std::uint32_t kDnodeBlockBytes = 1u << kDnodeBlockShift;
inline constexpr unsigned kDnodesPerBlock = kDnodeBlockBytes / kDnodeSlotBytes;
inline constexpr unsigned kMaxLevels = 12;
inline constexpr std::uint64_t kMaxObjectNumber = (std::uint64_t{1} << 48) - 1;

enum DnodeFlag : std::uint8_t {
  kDnodeUsedBytes = 1,
  kDnodeUserAccounted = 2,
  kDnodeSpill = 4,
  kDnodeObjectAccounted = 8,
};

// Where a block tree starts and how it is shaped: enough to find any block of an object.
struct TreeShape {
  DmuType type = DmuType::none;
  unsigned levels = 1;
  unsigned indirect_shift = 17;
  unsigned root_count = 1;
  std::uint32_t block_bytes = 512;

  unsigned pointers_shift() const { return indirect_shift - 7; }  // log2 of block pointers per indirect block
  std::uint64_t pointers_per_block() const { return std::uint64_t{1} << pointers_shift(); }
  // Id of the ancestor at `level` of data block `blkid`.
  std::uint64_t ancestor(std::uint64_t blkid, unsigned level) const {
    const unsigned shift = level * pointers_shift();
    return shift >= 64 ? 0 : blkid >> shift;
  }
  // First and last data block under block `id` of `level`.
  std::uint64_t first_under(std::uint64_t id, unsigned level) const {
    const unsigned shift = level * pointers_shift();
    return shift >= 64 ? 0 : id << shift;
  }
  std::uint64_t last_under(std::uint64_t id, unsigned level) const {
    const unsigned shift = level * pointers_shift();
    return shift >= 64 ? UINT64_MAX : (id << shift) + ((std::uint64_t{1} << shift) - 1);
  }
  // Levels needed so that block `blkid` has a place.
  unsigned levels_for(std::uint64_t blkid) const;
  std::uint32_t bytes_at(unsigned level) const { return level == 0 ? block_bytes : 1u << indirect_shift; }
};

struct Dnode {
  DmuType type = DmuType::none;
  DmuType bonus_type = DmuType::none;
  std::uint8_t indirect_shift = 17;
  std::uint8_t levels = 1;
  std::uint8_t root_count = 1;  // nblkptr
  std::uint8_t flags = 0;
  std::uint8_t slots = 1;
  ChecksumType checksum = ChecksumType::inherit;
  CompressionType compression = CompressionType::inherit;
  std::uint32_t block_bytes = 512;
  std::uint64_t max_blkid = 0;
  std::uint64_t used_bytes = 0;
  std::array<BlockPointer, 3> roots{};
  std::optional<BlockPointer> spill;
  Bytes bonus;  // SA and other bytes as stored; arrays of u64 in host order
  ByteOrder bonus_order = kHostOrder;

  std::size_t stored_bytes() const { return slots * kDnodeSlotBytes; }
  // Most bonus bytes that fit.
  std::uint32_t bonus_capacity(bool with_spill) const {
    return static_cast<std::uint32_t>(stored_bytes() - kDnodeCoreBytes - root_count * kBlockPointerBytes -
                                      (with_spill ? kBlockPointerBytes : 0));
  }
  TreeShape shape() const {
    return {.type = type,
            .levels = levels,
            .indirect_shift = indirect_shift,
            .root_count = root_count,
            .block_bytes = block_bytes};
  }

  // `in` starts at the dnode's slot and ends with its dnode block (or the objset block's field); host order
  // as swap_block() leaves it. `bonus_order`: in which order the block was written.
  static Result<Dnode> decode(ByteView in, ByteOrder bonus_order);
  // Fills `out`, stored_bytes() long, in host order.
  void encode(MutableByteView out) const;
};

// Number of slots that the dnode at `slot` takes, as its first bytes say; 0 if the slot is free. At least 1
// and never beyond the end of the block when `slot` is allocated.
unsigned dnode_slots_at(ByteView dnode_block, unsigned slot);

}  // namespace tarn
