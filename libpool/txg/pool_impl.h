// PoolImpl: what stands behind Pool. One file per concern:
//   pool.cc              accessors, transactions, space
//   pool_create.cc       a new pool
//   pool_open.cc         import
//   pool_sync.cc         the sync of one txg, step by step
//   pool_commit.cc       labels and uberblocks
//   pool_dtl.cc          dirty time logs
//   pool_vdev_zaps.cc    vdev ZAPs, adding vdevs
//   pool_set.cc          properties, features, history
//
// Threads: `sync thread` members are touched only there (or before the engine starts). Lock order:
// config_mutex_ and frees_mutex_ are leaves; nothing is called with them held.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libpool/base/mutex.h"
#include "libpool/base/thread_pool.h"
#include "libpool/txg/bpobj.h"
#include "libpool/txg/dsl_space.h"
#include "libpool/txg/feature_state.h"
#include "libpool/txg/history.h"
#include "libpool/txg/pool.h"
#include "libpool/txg/pool_config.h"
#include "libpool/txg/txg_engine.h"

namespace tarn {

inline constexpr std::uint64_t kFirstTxg = 4;
inline constexpr std::uint64_t kDirectoryObject = 1;
inline constexpr std::uint64_t kFeatureVersion = 5000;
inline constexpr std::uint64_t kMaxOldVersion = 28;

class PoolImpl final : public Pool {
 public:
  explicit PoolImpl(const PoolSettings& settings);
  ~PoolImpl() override;

  // pool_create.cc
  Status build(const PoolCreateSpec& spec, const DatasetMaker& make_datasets);
  // pool_open.cc: with the best uberblock not newer than `max_txg`. `tried_txg` tells which that was.
  Status load(const PoolOpenSpec& spec, std::uint64_t max_txg, std::uint64_t& tried_txg);

  Status close(PoolState final_state) override;
  const std::string& name() const override { return config_.name; }
  std::uint64_t guid() const override { return config_.pool_guid; }
  std::uint64_t version() const override { return config_.version; }
  bool read_only() const override { return read_only_; }
  ObjectSet& mos() override { return *mos_; }
  BlockIo& io() override { return *io_; }
  VdevTree& vdevs() override { return *vdevs_; }
  PoolAllocator& allocator() override { return *allocator_; }
  ThreadPool& workers() override { return *workers_; }
  const Clock& clock() const override { return *clock_; }

  Result<Tx> begin(std::uint64_t bytes, bool may_use_slop) override;
  std::uint64_t open_txg() const override;
  std::uint64_t synced_txg() const override;
  Status sync_now() override;
  Status wait_synced(std::uint64_t txg) override;
  Status run_sync_task(const std::function<Status(SyncContext&)>& task) override;
  void add_participant(SyncParticipant* participant) override;
  void remove_participant(SyncParticipant* participant) override;
  Status free_block(const BlockPointer& bp, std::uint64_t txg) override;
  Zap& directory() override { return *directory_; }
  std::optional<std::uint64_t> feature_refcount(std::string_view guid) const override {
    return features_.refcount(guid);
  }
  Status feature_adjust(SyncContext& context, std::string_view guid, std::int64_t delta) override;
  Status set_property(const std::string& name, const std::string& value) override;
  Result<std::string> property(const std::string& name) const override;
  Status add_vdevs(const std::vector<VdevConfig>& tops, const std::vector<VdevConfig>& spares,
                   const std::vector<VdevConfig>& caches) override;
  VdevConfig config_tree() const override;
  std::vector<VdevConfig> spares() const override;
  std::vector<VdevConfig> caches() const override;
  NvList config(VdevConfig::For place) const override;
  std::uint64_t usable_bytes() const override;
  std::uint64_t slop_bytes() const override;
  Status log_history(const std::string& command) override;
  Status log_history_internal(SyncContext& context, const std::string& event, const std::string& text,
                              const std::string& dataset, std::uint64_t dataset_id) override;
  Result<std::vector<NvList>> history() override;

  // TxHost, BlockOwner of the MOS, DirtyTracker.
  void release(std::uint64_t txg) override;
  void block_born(const BlockPointer& bp, std::uint64_t txg) override;
  void block_freed(const BlockPointer& bp, std::uint64_t txg) override;
  void block_rewritten(const BlockPointer& before, const BlockPointer& now, std::uint64_t txg) override;
  void dirtied(std::uint64_t txg, std::int64_t bytes) override;

 private:
  using Tasks = std::vector<std::shared_ptr<TxgEngine::Task>>;

  // pool.cc
  Status require_writable() const;
  void start_engine(std::uint64_t first_txg);

  // pool_sync.cc: in this order.
  Status sync(std::uint64_t txg, Tasks& tasks);
  Status free_deferred(SyncContext& context);
  Status free_destroyed(SyncContext& context);
  Status sync_config(SyncContext& context);
  Status sync_mos(SyncContext& context);
  bool nothing_to_write(std::uint64_t txg) const;
  Status note_first_free_error();
  std::vector<SyncParticipant*> participants() const EXCLUDES(config_mutex_);

  // pool_commit.cc
  Status commit(std::uint64_t txg);
  Status write_labels(const std::vector<VdevTree::LeafRef>& leaves, std::initializer_list<unsigned> indices);
  Status write_uberblocks(const std::vector<VdevTree::LeafRef>& leaves, const Uberblock& uberblock);
  PoolConfig pool_config_for(std::uint64_t txg) const EXCLUDES(config_mutex_);

  // pool_create.cc
  Status create_objects(SyncContext& context, const PoolCreateSpec& spec, const DatasetMaker& make_datasets);
  // Fills guids, ids, ashift of a new tree; opens its disks to learn their sector sizes.
  Status prepare_new_vdev(VdevConfig& top, std::uint64_t ashift, std::uint64_t txg);
  Status write_new_member_labels(const VdevConfig& top, std::uint64_t txg);
  Status create_aux(const Tx& tx, std::vector<VdevConfig>& list, std::uint64_t& object, PoolState state);
  Status open_storage(const VdevConfig& root, bool read_only);
  Status open_mos(const BlockPointer& root);
  void make_allocator();
  void set_mos_policy();
  DiskOpener default_opener(bool read_only);

  // pool_open.cc
  Status check_host(const PoolOpenSpec& spec) const;
  Result<Uberblock> choose_uberblock(std::uint64_t max_txg) const;
  Result<DecodedPoolConfig> read_trusted_config();
  Status load_objects();
  Status load_vdev_zaps();
  Status check_writable_structures();
  Result<std::uint64_t> directory_u64(std::string_view key) const;  // 0 if absent
  Status load_aux_list(std::string_view key, std::string_view list_name, std::uint64_t& object,
                       std::vector<VdevConfig>& out);

  // pool_dtl.cc
  Status load_dtls();
  Status sync_dtls(SyncContext& context);

  // pool_vdev_zaps.cc
  Status note_allocation_class(SyncContext& context, std::uint32_t vdev);
  Status ensure_vdev_zaps(const Tx& tx);
  Result<std::uint64_t> create_vdev_zap(Zap& all_vdev_zaps, const Tx& tx);
  Status add_top_in_sync(SyncContext& context, const VdevConfig& top, std::uint64_t ashift);
  Status add_aux_in_sync(SyncContext& context, const std::vector<VdevConfig>& added, PoolState state);

  // pool_set.cc
  Status enable_features_in_sync(SyncContext& context, const std::vector<const FeatureInfo*>& features);
  Status upgrade_in_sync(SyncContext& context, std::uint64_t version);
  Status set_property_in_sync(SyncContext& context, const std::string& name, const std::string& value);
  Result<std::string> stored_property(const std::string& name) const;
  Result<std::string> derived_property(std::string_view name) const;
  Status append_history(const Tx& tx, const NvList& record);
  HistoryOrigin origin() const;

  // Fixed once the pool is open.
  const PoolSettings settings_;
  const Clock* const clock_;
  const HostIdentity host_;
  bool read_only_ = false;
  bool hole_birth_ = true;  // holes record their birth: decides how every object set of the pool is written
  std::unique_ptr<IoEngine> io_engine_;  // outlives the disks
  DiskOpener opener_;
  std::unique_ptr<ThreadPool> workers_;
  std::unique_ptr<VdevTree> vdevs_;
  std::unique_ptr<BlockIo> io_;
  std::unique_ptr<ObjectSet> mos_;
  std::unique_ptr<PoolAllocator> allocator_;
  std::optional<Zap> directory_;
  std::optional<DslSpace> dsl_;
  FeatureState features_;
  const std::uint64_t load_guid_;
  std::uint64_t loaded_txg_ = 0;
  std::string pending_history_;  // the command that opened the pool; recorded in the first sync

  // MOS objects; changed in the sync thread only.
  struct {
    std::uint64_t config = 0, deferred_frees = 0, history = 0, all_vdev_zaps = 0, pool_props = 0, spares = 0,
                  caches = 0, log_spacemaps = 0;
  } objects_;

  // Identity of the pool and its vdevs. Name, guid and version do not change while the pool is open; the rest
  // is guarded, and changed in the sync thread only.
  PoolConfig config_;
  VdevConfig root_;  // without children: those are in vdevs_
  mutable Mutex config_mutex_;
  std::vector<VdevConfig> spares_ GUARDED_BY(config_mutex_), caches_ GUARDED_BY(config_mutex_);
  std::map<std::string, std::string> runtime_properties_ GUARDED_BY(config_mutex_);
  std::vector<SyncParticipant*> participants_ GUARDED_BY(config_mutex_);
  std::vector<std::shared_ptr<Disk>> aux_disks_
      GUARDED_BY(config_mutex_);  // held open: locked against other users

  // State of the sync that runs.
  std::atomic<bool> config_dirty_{false};  // labels, config object and vdev ZAPs have to be written
  std::atomic<unsigned> pass_{1};
  SyncContext* sync_context_ = nullptr;          // sync thread
  bool creating_ = false;                        // the first txg of a new pool
  std::map<std::uint64_t, TxgSet> stored_dtls_;  // by leaf guid, as in the MOS
  Mutex frees_mutex_;
  std::vector<BlockPointer> late_frees_ GUARDED_BY(frees_mutex_);  // of pass 2 and up: for sync_bplist
  std::optional<Error> free_error_ GUARDED_BY(frees_mutex_);
  BlockSpace mos_delta_ GUARDED_BY(frees_mutex_);  // not yet charged to $MOS

  // Last member: its thread uses all of the above.
  std::unique_ptr<TxgEngine> engine_;
};

}  // namespace tarn
