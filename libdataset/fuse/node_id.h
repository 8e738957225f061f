// How nodes of a mount are numbered towards the kernel: files of the mounted dataset by their object number,
// those of each opened snapshot in a space of their own above it, the folders below `.zfs` in the last space.
#pragma once

#include <cstdint>

namespace tarn {

struct NodeId {
  std::uint16_t space = 0;  // 0 = the mounted dataset
  std::uint64_t object = 0;

  static constexpr unsigned kObjectBits = 48;
  static constexpr std::uint16_t kSynthetic = 0xffff;
  static constexpr std::uint64_t kRootNode = 1;  // FUSE's number for the root (object 1 is never a file)
  static constexpr std::uint64_t kControl = 1,
                                 kSnapshots = 2;  // in the synthetic space: .zfs and .zfs/snapshot

  static NodeId decode(std::uint64_t node, std::uint64_t root_object) {
    if (node == kRootNode) return {.space = 0, .object = root_object};
    return {.space = static_cast<std::uint16_t>(node >> kObjectBits),
            .object = node & ((std::uint64_t{1} << kObjectBits) - 1)};
  }
  std::uint64_t encode(std::uint64_t root_object) const {
    if (space == 0 && object == root_object) return kRootNode;
    return std::uint64_t{space} << kObjectBits | object;
  }
  bool is_control() const { return space == kSynthetic && object == kControl; }
  bool is_snapshots() const { return space == kSynthetic && object == kSnapshots; }
};

}  // namespace tarn
