// The bonus structures of dataset directories and datasets (FORMAT.md logical 3.2, 3.3). Host-side structs;
// the bonus of a DSL object reaches us in host order.
#pragma once

#include <array>
#include <cstdint>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"
#include "libpool/block/block_pointer.h"

namespace tarn {

// Indices of DslDirPhys::used_breakdown.
enum class UsedBy : std::uint8_t {
  head = 0,
  snapshots = 1,
  children = 2,
  child_reservation = 3,
  refreservation = 4
};
inline constexpr std::size_t kUsedByCount = 5;

struct DslDirPhys {
  static constexpr std::size_t kEncodedBytes = 256;
  static constexpr std::uint64_t kUsedBreakdown = 1;  // flag: used_breakdown is maintained

  std::uint64_t creation_time = 0;
  std::uint64_t head_dataset = 0;
  std::uint64_t parent = 0;
  std::uint64_t origin = 0;  // snapshot (dataset object)
  std::uint64_t child_zap = 0;
  std::uint64_t used_bytes = 0, compressed_bytes = 0, uncompressed_bytes = 0;
  std::uint64_t quota = 0, reserved = 0;
  std::uint64_t props_zap = 0, delegation_zap = 0;
  std::uint64_t flags = 0;
  std::array<std::uint64_t, kUsedByCount> used_breakdown{};
  std::uint64_t clones_zap = 0;

  bool has_breakdown() const { return (flags & kUsedBreakdown) != 0; }
  std::uint64_t used_by(UsedBy by) const { return used_breakdown[static_cast<std::size_t>(by)]; }

  // Errc::corrupt if `bonus` is too short.
  static Result<DslDirPhys> decode(ByteView bonus, ByteOrder order = kHostOrder);
  Bytes encode(ByteOrder order = kHostOrder) const;
  friend bool operator==(const DslDirPhys&, const DslDirPhys&) = default;
};

struct DslDatasetPhys {
  static constexpr std::size_t kEncodedBytes = 320;
  static constexpr std::uint64_t kInconsistent = 1u << 0;
  static constexpr std::uint64_t kNoPromote = 1u << 1;
  static constexpr std::uint64_t kUniqueAccurate = 1u << 2;
  static constexpr std::uint64_t kDeferDestroy = 1u << 3;
  static constexpr std::uint64_t kCaseInsensitive = 1u << 16;

  std::uint64_t dir = 0;
  std::uint64_t prev_snap = 0, prev_snap_txg = 0;
  std::uint64_t next_snap = 0;
  std::uint64_t snapnames_zap = 0;  // heads
  std::uint64_t num_children = 0;
  std::uint64_t creation_time = 0, creation_txg = 0;
  std::uint64_t deadlist = 0;
  std::uint64_t referenced_bytes = 0, compressed_bytes = 0, uncompressed_bytes = 0, unique_bytes = 0;
  std::uint64_t fsid_guid = 0, guid = 0;
  std::uint64_t flags = 0;
  BlockPointer root;
  std::uint64_t next_clones_zap = 0;  // snapshots, like the two below
  std::uint64_t props_zap = 0;
  std::uint64_t userrefs_zap = 0;

  static Result<DslDatasetPhys> decode(ByteView bonus, ByteOrder order = kHostOrder);
  Bytes encode(ByteOrder order = kHostOrder) const;
  friend bool operator==(const DslDatasetPhys&, const DslDatasetPhys&) = default;
};

// What the tree needs of an object set block without opening the object set (FORMAT.md logical 1.5, 5.1).
struct ObjsetSummary {
  std::uint64_t type = 0, flags = 0;
  std::uint64_t claim_txg = 0;
  bool replay_needed = false;
  BlockPointer log;  // first block of the intent log; a hole when there is none

  static Result<ObjsetSummary> decode(ByteView block, ByteOrder order);
};

}  // namespace tarn
