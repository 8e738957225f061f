// PoolAllocator: the metaslabs of all top-level vdevs: which space is free, where the next block goes, and the
// space maps that record it (FORMAT.md 11). Space maps live in MOS objects, so sync() dirties the MOS, whose own
// writes allocate again: the pool calls sync() once per pass until nothing changes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libpool/base/result.h"
#include "libpool/io/allocator.h"
#include "libpool/object/object_set.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

struct SpaceTotals { std::uint64_t size_bytes = 0, allocated_bytes = 0, fragmentation_percent = 0; };

class PoolAllocator : public Allocator {
 public:
  struct Features { bool spacemap_histogram = true, spacemap_v2 = true, log_spacemap = true; };
  // Object numbers that sync() creates or changes and the pool has to record; called in syncing context.
  struct Events {
    std::function<void(std::int64_t delta)> histogram_objects;      // refcount of spacemap_histogram
  };
  static std::unique_ptr<PoolAllocator> create(VdevTree& vdevs, ObjectSet& mos, const Features& features, Events events);

  // Metaslab geometry of a new top-level vdev (FORMAT.md 11.1): fills metaslab_shift in its config.
  static void choose_geometry(VdevConfig& top);
  // Syncing context, txg of creation: makes the metaslab array object (config.metaslab_array) and the
  // unflushed-txgs object when log space maps are on (entry in the top vdev ZAP `config.zap_top`).
  virtual Status create_vdev(std::uint32_t vdev, const Tx& tx) = 0;
  // Import: reads metaslab array and space map headers of every top-level vdev; maps are loaded when first needed,
  // with the log space maps in `log_spacemap_zap` (0 = none) applied.
  virtual Status load(std::uint64_t log_spacemap_zap) = 0;

  // Before sync pass 1 of `txg`.
  virtual void begin_sync(std::uint64_t txg) = 0;
  // Writes the allocations and frees recorded since the last call to the space maps. True if it wrote anything: then
  // the MOS is dirty again.
  virtual Result<bool> sync(const Tx& tx, unsigned pass) = 0;
  // After the uberblock of `txg` is on disk: frees move on one deferral step.
  virtual void sync_done(std::uint64_t txg) = 0;

  virtual SpaceTotals totals(std::uint32_t vdev) const = 0;
  // Sum over normal-class vdevs, in allocated (raw) and deflated bytes.
  virtual SpaceTotals totals() const = 0;
  virtual std::uint64_t deflated_size_bytes() const = 0;       // of all normal vdevs
  virtual std::uint64_t deflated_allocated_bytes() const = 0;
};

}  // namespace tarn
