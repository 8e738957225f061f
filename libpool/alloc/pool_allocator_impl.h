// PoolAllocatorImpl: what stands behind PoolAllocator. One file per concern:
//   pool_allocator.cc     geometry, totals, free, the txg cycle
//   choose_place.cc       allocation policy
//   load_space_maps.cc    import
//
// Locks: groups_mutex_ (shared by every allocation, exclusive while vdevs are added) before a vdev's mutex. A
// vdev's mutex is held while its space maps are read from the MOS.
#pragma once

#include <atomic>

#include "libpool/alloc/metaslab.h"
#include "libpool/alloc/pool_allocator.h"
#include "libpool/base/mutex.h"

namespace tarn {

class PoolAllocatorImpl final : public PoolAllocator {
 public:
  PoolAllocatorImpl(VdevTree& vdevs, ObjectSet& mos, const Features& features, Events events)
      : vdevs_(vdevs), mos_(mos), features_(features), events_(std::move(events)) {}

  Result<std::vector<Dva>> allocate(const AllocRequest& request) override;
  void free(const Dva& dva, std::uint64_t birth_txg, std::uint64_t txg) override;
  Status create_vdev(std::uint32_t vdev, const Tx& tx) override;
  Status load(std::uint64_t log_spacemap_zap) override;
  void begin_sync(std::uint64_t txg) override;
  Result<bool> sync(const Tx& tx, unsigned pass) override;
  void sync_done(std::uint64_t txg) override;
  SpaceTotals totals(std::uint32_t vdev) const override;
  SpaceTotals totals() const override;
  std::uint64_t deflated_size_bytes() const override;
  std::uint64_t deflated_allocated_bytes() const override;

 private:
  // Copies of a block go to lanes 0, 1, 2, so that each lane writes one sequential stream.
  struct Lane {
    std::size_t metaslab = SIZE_MAX;
    std::uint64_t cursor = 0;
  };
  struct Vdev {
    std::uint32_t id = 0;
    AllocClass alloc_class = AllocClass::normal;
    unsigned ashift = 9, metaslab_shift = 0;
    std::uint64_t size_bytes = 0;  // of all metaslabs together
    std::uint64_t array_object = 0, unflushed_object = 0;
    std::atomic<std::int64_t> allocated_bytes{0};
    mutable Mutex mutex;
    std::vector<std::unique_ptr<Metaslab>> metaslabs;  // fixed; their state is under the mutex
    std::array<Lane, kMaxDvas> lanes GUARDED_BY(mutex);
  };
  // The vdevs of one class, and how the stream of blocks is dealt out among them.
  struct Group {
    std::vector<Vdev*> vdevs;
    std::vector<std::uint64_t> share_ends;  // running sums: bytes per vdev in one turn
    std::atomic<std::uint64_t> position{0};
  };

  // pool_allocator.cc
  void add_to_group(Vdev& vdev) REQUIRES(groups_mutex_);
  void rebalance(Group& group) REQUIRES(groups_mutex_);
  Status write_array_entry(std::uint64_t object, std::size_t index, std::uint64_t value, const Tx& tx);
  Status destroy_logs(const Tx& tx);
  std::uint64_t fragmentation(const Vdev& vdev) const;
  std::unique_ptr<Vdev> make_vdev(std::uint32_t id) const;
  Vdev* find(std::uint32_t vdev) const {
    ReaderLock lock(groups_mutex_);
    return vdev < by_id_.size() ? by_id_[vdev].get() : nullptr;
  }
  std::vector<Vdev*> all() const;

  // choose_place.cc
  bool allocate_in(Group& group, const AllocRequest& request, std::vector<Dva>& out)
      REQUIRES_SHARED(groups_mutex_);
  std::optional<Dva> allocate_on(Vdev& vdev, unsigned lane, const AllocRequest& request,
                                 const std::vector<Dva>& others);
  std::optional<std::uint64_t> next_metaslab(Vdev& vdev, Lane& lane, std::uint64_t size, std::uint64_t txg,
                                             const std::vector<Dva>& others, bool far_only)
      REQUIRES(vdev.mutex);

  // load_space_maps.cc
  Status load_vdev(Vdev& vdev);
  Status load_logs(std::uint64_t zap);

  VdevTree& vdevs_;
  ObjectSet& mos_;
  const Features features_;
  const Events events_;
  mutable SharedMutex groups_mutex_;
  std::vector<std::unique_ptr<Vdev>> by_id_
      GUARDED_BY(groups_mutex_);  // null: no space of its own (hole, missing)
  std::array<Group, 4> groups_;   // by AllocClass
  // Syncing context only.
  struct Log {
    std::uint64_t txg, object;
    bool has_histogram = true;
  };
  std::uint64_t log_zap_ = 0;
  std::vector<Log> logs_;
};

}  // namespace tarn
