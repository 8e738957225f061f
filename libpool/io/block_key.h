// BlockKey: names the stored content of a block in memory: where it lies, when it was born and what it must
// check to. A place that is rewritten in the same txg gets a new checksum and thereby a new key, so that a
// reader of the old block pointer can never leave stale content behind for the new one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libpool/block/block_pointer.h"

namespace tarn {

struct BlockKey {
  std::uint64_t offset_bytes = 0, birth = 0, checksum = 0;
  std::uint32_t vdev = 0, logical_bytes = 0;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;

  static BlockKey of(const BlockPointer& bp) {
    return {.offset_bytes = bp.dvas[0].offset_bytes,
            .birth = bp.birth_on_disk(),
            .checksum = bp.checksum[0] ^ bp.checksum[1] * 0x9e3779b97f4a7c15ULL,
            .vdev = bp.dvas[0].vdev,
            .logical_bytes = bp.logical_bytes};
  }
};

struct BlockKeyHash {
  std::size_t operator()(const BlockKey& key) const {
    std::uint64_t h = key.offset_bytes * 0x9e3779b97f4a7c15ULL ^ key.checksum ^ key.birth << 40 ^ key.vdev;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ULL;
    return h ^ h >> 29;
  }
};

}  // namespace tarn
