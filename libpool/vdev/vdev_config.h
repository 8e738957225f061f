// VdevConfig: one vdev as labels, MOS config and cache file describe it (FORMAT.md 4.2). Keys that we do not
// interpret are kept in `other`, so that rewriting a config loses nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpool/base/result.h"
#include "libpool/nvlist/nvlist.h"

namespace tarn {

enum class VdevKind : std::uint8_t { root, mirror, replacing, spare, raidz, draid, dspare, disk, file, missing, hole, indirect };
const char* name_of(VdevKind kind);
inline bool is_leaf(VdevKind k) { return k == VdevKind::disk || k == VdevKind::file || k == VdevKind::dspare; }

struct VdevConfig {
  VdevKind kind = VdevKind::missing;
  std::uint64_t id = 0;
  std::uint64_t guid = 0;
  // Leaves
  std::string path;
  std::optional<std::string> devid, phys_path;
  std::optional<std::uint64_t> whole_disk;
  std::uint64_t dtl_object = 0;
  bool offline = false, faulted = false, degraded = false, removed = false, not_present = false, is_spare = false;
  std::optional<std::string> aux_state;
  std::optional<std::uint64_t> resilver_txg;
  std::uint64_t zap_leaf = 0;  // MOS config only
  // Top-level vdevs
  std::uint64_t metaslab_array = 0, metaslab_shift = 0, ashift = 0, asize_bytes = 0;
  bool is_log = false;
  std::optional<std::string> allocation_bias;  // "log", "special", "dedup": from the top vdev ZAP, not in the nvlist
  std::uint64_t zap_top = 0;   // MOS config only
  std::uint64_t zap_root = 0;  // root, with vdev_zaps_v2
  // RAID-Z
  std::uint64_t nparity = 0;
  bool raidz_expanding = false;
  std::vector<std::uint64_t> raidz_expand_txgs;
  // dRAID
  std::uint64_t draid_data = 0, draid_spares = 0, draid_groups = 0;
  std::uint64_t create_txg = 0;
  std::vector<VdevConfig> children;
  NvList other;

  // Where the nvlist goes: labels leave out the ZAP objects, which only the MOS config has.
  enum class For : std::uint8_t { label, mos };
  static Result<VdevConfig> decode(const NvList& in);
  NvList encode(For place) const;
  // Sum of the guids of this vdev and all below (FORMAT.md 5.1).
  std::uint64_t guid_sum() const;
  // "mirror-0", "raidz1-0", leaf: path. As status prints it.
  std::string display_name() const;
};

}  // namespace tarn
