// LeafVdev: one device of the tree: whether it may be used, what it lacks, and what has gone wrong on it.
//
// Offsets are those of the vdev mapping: 0 is device byte 4 MiB (FORMAT.md 2.1).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libpool/base/mutex.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

// Counters of one vdev, leaf or not.
struct VdevCounters {
  std::atomic<std::uint64_t> read_errors{0}, write_errors{0}, checksum_errors{0};
  std::atomic<std::uint64_t> read_ops{0}, write_ops{0}, read_bytes{0}, write_bytes{0};
};

// Allocatable bytes of a device of that size, 0 if it is too small for a pool.
std::uint64_t allocatable_bytes(std::uint64_t device_bytes);

class LeafVdev {
 public:
  // The config must stay where it is. `needed_bytes`: allocatable bytes that the top-level vdev counts on.
  LeafVdev(const VdevConfig& config, const DiskOpener& opener, std::uint64_t needed_bytes);

  const VdevConfig& config() const { return config_; }
  Disk* disk() const { return disk_.get(); }
  VdevState state() const { return state_.load(std::memory_order_relaxed); }
  VdevAux aux() const { return aux_.load(std::memory_order_relaxed); }
  const std::string& problem() const { return problem_; }  // why it was not opened
  bool usable() const { return state() >= VdevState::degraded; }
  Status set_state(VdevState state, VdevAux aux);
  VdevCounters& counters() { return counters_; }
  const VdevCounters& counters() const { return counters_; }
  std::uint64_t capacity_bytes() const { return disk_ ? allocatable_bytes(disk_->size_bytes()) : 0; }

  // The read that serves [offset, ...): parts are filled in by the caller; count_read() takes its outcome.
  DiskRead prepare_read(std::uint64_t offset_bytes) const {
    return {
        .disk = disk_.get(), .offset_bytes = kLabelsAndBootBytes + offset_bytes, .parts = {}, .result = {}};
  }
  void count_read(std::uint64_t length_bytes, const Status& result);
  void count_checksum_error() { counters_.checksum_errors.fetch_add(1, std::memory_order_relaxed); }

  // A failure is counted, and `txg` noted as missing.
  void write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts, std::uint64_t txg,
                   std::function<void(Status)> done);
  // Puts right what a read found wrong.
  void repair(std::uint64_t offset_bytes, ByteView data);
  void discard(std::uint64_t offset_bytes, std::uint64_t length_bytes);

  bool needs_flush() const { return dirty_.load(std::memory_order_relaxed); }
  void flush_async(std::function<void(Status)> done);

  void note_missing(std::uint64_t txg) EXCLUDES(mutex_);
  bool lacks(std::uint64_t txg) const EXCLUDES(mutex_);
  TxgSet missing() const EXCLUDES(mutex_);
  void set_missing(TxgSet txgs) EXCLUDES(mutex_);

 private:
  void open(const DiskOpener& opener, std::uint64_t needed_bytes);

  const VdevConfig& config_;
  std::shared_ptr<Disk> disk_;
  std::string problem_;
  std::atomic<VdevState> state_{VdevState::closed};
  std::atomic<VdevAux> aux_{VdevAux::none};
  std::atomic<bool> dirty_{false};
  std::atomic<bool> complete_{true};  // missing_ is empty: spares readers the lock
  VdevCounters counters_;
  mutable Mutex mutex_;
  TxgSet missing_ GUARDED_BY(mutex_);
};

}  // namespace tarn
