// Pool: one imported pool. Opens and creates it, hands out transactions, syncs transaction groups, keeps
// features, properties, history and config. Datasets hand themselves in as SyncParticipant.
//
// A txg is open (transactions join it), then syncing (one at a time), then synced. Integrity rules: design
// page and FORMAT.md 2.6.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libpool/alloc/pool_allocator.h"
#include "libpool/base/clock.h"
#include "libpool/base/result.h"
#include "libpool/label/label.h"
#include "libpool/object/object_set.h"
#include "libpool/zap/zap.h"

namespace tarn {

class Pool;

// What code running inside the sync of a txg may use. MOS objects are changed only through tx().
struct SyncContext {
  Pool& pool;
  const Tx& tx;
  WriteBatch& batch;
  std::uint64_t txg() const { return tx.txg(); }
};

// libdataset's side of a sync.
class SyncParticipant {
 public:
  virtual ~SyncParticipant() = default;
  // No more open-context changes will come for `txg`.
  virtual void close_txg(std::uint64_t txg) = 0;
  // Pass 1: write the dirty object sets of `txg` and record their new roots and space in the MOS.
  virtual Status sync(SyncContext& context) = 0;
  // After the sync tasks of the txg ran: whatever they left dirty.
  virtual Status sync_after_tasks(SyncContext& context) = 0;
  // The uberblock of `txg` is on disk.
  virtual void synced(std::uint64_t txg) = 0;
};

struct PoolProperties;  // txg/pool_properties.h

struct PoolCreateSpec {
  std::string name;
  VdevConfig root;  // kinds, paths, is_log; guids and ids are filled in
  std::vector<VdevConfig> spares, caches;
  std::uint64_t ashift = 0;                       // 0 = from the devices, at least 12
  std::uint64_t version = 5000;                   // or 1..28
  std::map<std::string, bool> features;           // guid -> wanted; those not named follow `default_features`
  bool default_features = true;                   // -d: false
  std::map<std::string, std::string> properties;  // validated pool properties, as text
  std::string history_command;                    // recorded first in the history
};

struct PoolOpenSpec {
  DiscoveredPool found;
  std::string new_name;  // import POOL NEWNAME; empty = keep
  bool read_only = false;
  bool force = false;   // active on another host
  bool rewind = false;  // -F: step back to an older uberblock if the newest does not open
  std::uint64_t max_txg = UINT64_MAX;
  std::string history_command;
};

struct PoolSettings {
  std::uint64_t cache_limit_bytes = 0;  // 0 = a quarter of memory
  std::uint64_t dirty_limit_bytes = 0;  // 0 = a tenth of memory, at most 1 GiB
  std::uint64_t txg_timeout_ms = 5000;
  unsigned worker_threads = 0;   // 0 = number of CPUs + 2
  const Clock* clock = nullptr;  // null = system
  DiskOpener disk_opener;        // null = open_disk on the leaf's path
};

class Pool : public TxHost, public BlockOwner, public DirtyTracker {
 public:
  // `make_datasets` runs in the first txg and builds the DSL (root dataset); libdataset provides it. It gets
  // the root_dataset key's place: it must add `root_dataset` (and free_bpobj objects it owns) to the pool
  // directory.
  using DatasetMaker = std::function<Status(SyncContext&)>;
  static Result<std::unique_ptr<Pool>> create(const PoolCreateSpec& spec, const PoolSettings& settings,
                                              const DatasetMaker& make_datasets);
  static Result<std::unique_ptr<Pool>> open(const PoolOpenSpec& spec, const PoolSettings& settings);
  // Ends without exporting: the pool stays "active" on disk. Call close() first for a clean end.
  ~Pool() override = default;

  // Final sync with state exported (or destroyed: labels say so). Participants must be gone.
  virtual Status close(PoolState final_state) = 0;

  virtual const std::string& name() const = 0;
  virtual std::uint64_t guid() const = 0;
  virtual std::uint64_t version() const = 0;
  virtual bool read_only() const = 0;
  virtual ObjectSet& mos() = 0;
  virtual BlockIo& io() = 0;
  virtual VdevTree& vdevs() = 0;
  virtual PoolAllocator& allocator() = 0;
  virtual ThreadPool& workers() = 0;
  virtual const Clock& clock() const = 0;

  // A transaction in the open txg. Waits while too much is dirty. `bytes` = estimate of what it will write:
  // Errc::no_space when the pool could not hold it (`may_use_slop` for operations that free space).
  virtual Result<Tx> begin(std::uint64_t bytes, bool may_use_slop = false) = 0;
  virtual std::uint64_t open_txg() const = 0;
  virtual std::uint64_t synced_txg() const = 0;
  // Until everything done so far is on stable storage.
  virtual Status sync_now() = 0;
  virtual Status wait_synced(std::uint64_t txg) = 0;
  // Runs `task` in syncing context of some txg and returns after that txg is synced. The task checks before
  // it changes anything: its error undoes nothing.
  virtual Status run_sync_task(const std::function<Status(SyncContext&)>& task) = 0;

  virtual void add_participant(SyncParticipant* participant) = 0;
  virtual void remove_participant(SyncParticipant* participant) = 0;

  // Frees a block for good (not a snapshot's): from any sync thread.
  virtual Status free_block(const BlockPointer& bp, std::uint64_t txg) = 0;

  // Pool directory (MOS object 1).
  virtual Zap& directory() = 0;
  // Features: by guid. refcount nullopt = disabled, 0 = enabled, > 0 active.
  virtual std::optional<std::uint64_t> feature_refcount(std::string_view guid) const = 0;
  bool feature_enabled(std::string_view guid) const { return feature_refcount(guid).has_value(); }
  virtual Status feature_adjust(SyncContext& context, std::string_view guid, std::int64_t delta) = 0;

  // Properties as stored (MOS pool_props, config): text in, text out; see pool_properties.h.
  virtual Status set_property(const std::string& name, const std::string& value) = 0;
  virtual Result<std::string> property(const std::string& name) const = 0;

  virtual Status add_vdevs(const std::vector<VdevConfig>& tops, const std::vector<VdevConfig>& spares,
                           const std::vector<VdevConfig>& caches) = 0;
  virtual VdevConfig config_tree() const = 0;  // root with current tops
  virtual std::vector<VdevConfig> spares() const = 0;
  virtual std::vector<VdevConfig> caches() const = 0;
  virtual NvList config(VdevConfig::For place) const = 0;  // whole config nvlist (cache file, MOS)

  // Space that datasets may use: deflated pool size minus slop, minus what is allocated (FORMAT.md
  // logical 3.9).
  virtual std::uint64_t usable_bytes() const = 0;
  virtual std::uint64_t slop_bytes() const = 0;

  // History: one record; `list` returns them oldest first (native nvlists).
  virtual Status log_history(const std::string& command) = 0;
  virtual Status log_history_internal(SyncContext& context, const std::string& event, const std::string& text,
                                      const std::string& dataset, std::uint64_t dataset_id) = 0;
  virtual Result<std::vector<NvList>> history() = 0;
};

}  // namespace tarn
