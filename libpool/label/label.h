// Device labels: four copies per leaf of the pool config and the uberblock ring (FORMAT.md 2, 4, 5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpool/base/result.h"
#include "libpool/block/block_pointer.h"
#include "libpool/nvlist/nvlist.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

inline constexpr unsigned kLabelCount = 4;
enum class PoolState : std::uint64_t { active = 0, exported = 1, destroyed = 2, spare = 3, l2cache = 4 };

// Byte offset on the device of label `index` (0..3), for a device of `device_bytes`.
std::uint64_t label_offset(unsigned index, std::uint64_t device_bytes);

struct Uberblock {
  std::uint64_t version = 5000, txg = 0, guid_sum = 0, timestamp = 0;
  BlockPointer root;
  std::uint64_t software_version = 5000;
  std::uint64_t mmp_magic = 0xa11cea11, mmp_delay = 0, mmp_config = 0, checkpoint_txg = 0,
                raidz_reflow_info = 0;
  static Result<Uberblock> decode(ByteView slot);  // byte order by its magic
  void encode(MutableByteView slot) const;         // without the trailer; the rest is zeroed
  // Newer first: (txg, timestamp, MMP sequence).
  friend bool newer(const Uberblock& a, const Uberblock& b);
};
bool newer(const Uberblock& a, const Uberblock& b);

// The pool-level part of a config nvlist (FORMAT.md 4.1), without the vdev tree.
struct PoolConfig {
  std::uint64_t version = 5000;
  std::string name;
  PoolState state = PoolState::active;
  std::uint64_t txg = 0, pool_guid = 0, errata = 0, hostid = 0, vdev_children = 0;
  std::string hostname;
  std::optional<std::string> comment, compatibility;
  std::vector<std::uint64_t> hole_array;
  std::vector<std::string> features_for_read;
  NvList other;  // keys not interpreted

  // The pool-level keys of a label or of the MOS config; `vdev_tree` is left to the caller.
  static Result<PoolConfig> decode(const NvList& in);
  void encode_into(NvList& out) const;
};

// What one label says: pool member (top-level vdev subtree), idle spare or cache device.
struct Label {
  PoolConfig pool;
  std::uint64_t guid = 0, top_guid = 0;
  bool is_spare = false, is_log = false;
  std::optional<std::uint64_t> create_txg;
  VdevConfig top;  // of a member; kind missing otherwise
  bool is_aux() const { return pool.state == PoolState::spare || pool.state == PoolState::l2cache; }
  // Of the labels without a txg: the device is being added (create_txg set), or it was detached or removed.
  bool is_being_added() const { return !is_aux() && pool.txg == 0 && create_txg.value_or(0) != 0; }
  bool is_former_member() const { return !is_aux() && pool.txg == 0 && create_txg.value_or(0) == 0; }
  static Result<Label> decode(const NvList& in);
  NvList encode() const;
};

struct LabelSet {
  std::array<std::optional<Label>, kLabelCount> labels;
  std::array<std::string, kLabelCount> problems;  // why a label is absent
  // The label to believe for uberblock txg `txg` (FORMAT.md 2.6), or null.
  const Label* best(std::uint64_t txg = UINT64_MAX) const;
};
LabelSet read_labels(Disk& disk);
// Best valid uberblock of a device not newer than `max_txg`; the ring's slot size is found from what
// verifies.
std::optional<Uberblock> read_best_uberblock(Disk& disk, std::uint64_t max_txg = UINT64_MAX);
std::vector<Uberblock> read_all_uberblocks(Disk& disk);

// Writes config `packed_list` into one label (index) of a disk. The rest of the label stays.
Status write_label_config(Disk& disk, unsigned index, const NvList& config);
// A fresh label set for a device being added: blank boot env, zeroed ring, config in all four.
Status write_initial_labels(Disk& disk, const NvList& config);
// Writes the uberblock into its slot in label `index`.
Status write_uberblock(Disk& disk, unsigned index, const Uberblock& uberblock, unsigned ashift,
                       bool multihost = false);
// labelclear: zeroes the valid labels (or all four with `force`).
Status clear_labels(Disk& disk, bool force);

// One pool as the labels of a set of devices describe it: what `pool import` lists and opens.
struct DiscoveredDevice {
  std::string path;
  std::uint64_t guid = 0;
  std::uint64_t label_txg = 0;
  std::uint64_t device_bytes = 0;
};
// A device labelled as an idle spare or a cache. Such labels do not name their pool: the pool's MOS config
// knows its own by their guid.
struct DiscoveredAux {
  std::string path;
  std::uint64_t guid = 0;
  bool is_cache = false;
};
struct DiscoveredPool {
  PoolConfig config;  // from the newest label
  VdevConfig root;    // assembled; absent top-level vdevs have kind missing; paths as found now
  std::optional<Uberblock> best_uberblock;
  std::vector<DiscoveredDevice> devices;
  std::vector<DiscoveredAux> aux_devices;  // all that were found; some may belong to other pools
  std::vector<std::string> problems;       // devices with damaged labels, conflicting guids...
};
struct DiscoveryOptions {
  std::vector<std::string> folders;  // -d DIR (or single devices); empty = default folders
  bool include_destroyed = false;    // -D
};
// Reads the labels of every device and plain file in the folders, in parallel, and groups them by pool guid.
Result<std::vector<DiscoveredPool>> discover_pools(const DiscoveryOptions& options);

// What keeps a device from being used for a new pool; empty if it is free. `path` is a device or file.
struct DeviceUse {
  enum class Kind : std::uint8_t {
    free,
    active_pool,
    exported_pool,
    potentially_active_pool,
    destroyed_pool,
    spare,
    cache,
    mounted,
    swap,
    file_system,
    partition_table,
    other
  };
  Kind kind = Kind::free;
  std::string pool_name;      // or the file system's type
  bool force_allowed = true;  // -f may override
};
Result<DeviceUse> probe_device_use(const std::string& path);

}  // namespace tarn
