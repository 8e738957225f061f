// The pool's configuration as nvlists: in the MOS, in every leaf's labels, in the cache file (FORMAT.md
// 4, 12.2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libpool/label/label.h"
#include "libpool/nvlist/nvlist.h"
#include "libpool/object/object_set.h"

namespace tarn {

// This machine: id from /etc/hostid (0 if there is none), name as uname says.
struct HostIdentity {
  std::uint64_t id = 0;
  std::string name;
};
HostIdentity host_identity();

// Whole config: `root` with all top-level vdevs below it.
NvList encode_pool_config(const PoolConfig& pool, const VdevConfig& root, VdevConfig::For place);
struct DecodedPoolConfig {
  PoolConfig pool;
  VdevConfig root;
  bool has_vdev_zaps = false;
};
Result<DecodedPoolConfig> decode_pool_config(const NvList& list);

// Label of `leaf`, a member below `top`.
Label member_label(const PoolConfig& pool, const VdevConfig& top, const VdevConfig& leaf);
// Label of an idle spare or a cache device (FORMAT.md 2.7).
NvList aux_label(std::uint64_t version, const VdevConfig& leaf, PoolState state);

// Objects that hold one packed nvlist: the config, spares, l2cache.
Result<std::uint64_t> create_packed_nvlist(ObjectSet& mos, const Tx& tx);
Status write_packed_nvlist(ObjectSet& mos, const Tx& tx, std::uint64_t number, const NvList& list);
Result<NvList> read_packed_nvlist(ObjectSet& mos, std::uint64_t number);

// All leaves below `vdev`, in order.
void for_each_leaf(const VdevConfig& vdev, const std::function<void(const VdevConfig&)>& visit);
void for_each_vdev(VdevConfig& vdev, const std::function<void(VdevConfig&)>& visit);

}  // namespace tarn
