// VdevTree: the open devices of a pool, addressed by top-level vdev and offset. Mirrors, RAID-Z, spares and
// replacing vdevs are inside; above this, a pool is a handful of flat address spaces.
//
// Invariants: a read returns data that the caller's verifier accepted, or an error; a write succeeds only
// when enough copies or columns are on the devices to read it back (a failed leaf is counted, and tolerated
// as far as redundancy goes). Nothing is durable before flush().
//
// Thread safety: everything may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"
#include "libpool/vdev/disk.h"
#include "libpool/vdev/io_engine.h"
#include "libpool/vdev/txg_set.h"
#include "libpool/vdev/vdev_config.h"

namespace tarn {

inline constexpr std::uint64_t kLabelBytes = 256 << 10;
inline constexpr std::uint64_t kLabelsAndBootBytes = 4 << 20;  // leaf offset 0 lies here
inline constexpr std::uint64_t kMinDeviceBytes = 64 << 20;

enum class VdevState : std::uint8_t {
  unknown = 0,
  closed = 1,
  offline = 2,
  removed = 3,
  cant_open = 4,
  faulted = 5,
  degraded = 6,
  healthy = 7
};
// Why a vdev is not healthy; the numbers are those of `vdev_aux` (FORMAT.md 4.4).
enum class VdevAux : std::uint8_t {
  none = 0,
  open_failed = 1,
  corrupt_data = 2,
  no_replicas = 3,
  bad_guid_sum = 4,
  too_small = 5,
  bad_label = 6,
  version_newer = 7,
  version_older = 8,
  unsupported_feature = 9,
  spared = 10,
  err_exceeded = 11,
  io_failure = 12,
  bad_log = 13,
  external = 14,
  split_pool = 15,
  bad_ashift = 16,
  external_persist = 17,
  active = 18,
  children_offline = 19,
  ashift_too_big = 20,
};

// How the tree gets its disks: by the leaf's config (path, guid). The opener checks the label's guid if it
// wants to.
using DiskOpener = std::function<Result<std::shared_ptr<Disk>>(const VdevConfig& leaf)>;

struct VdevStats {
  VdevState state = VdevState::unknown;
  VdevAux aux = VdevAux::none;
  std::uint64_t read_errors = 0, write_errors = 0, checksum_errors = 0;
  std::uint64_t read_ops = 0, write_ops = 0, read_bytes = 0, write_bytes = 0;
  std::uint64_t device_bytes = 0;  // leaves: size of the device
};

// A set of asynchronous writes: counts what is under way, holds back the submitter beyond `limit_bytes`,
// keeps the first error.
class WriteBatch {
 public:
  explicit WriteBatch(std::uint64_t limit_bytes = 256u << 20) : limit_bytes_(limit_bytes) {}
  ~WriteBatch() { (void)wait(); }
  void begin(std::uint64_t bytes) EXCLUDES(mutex_);
  void end(std::uint64_t bytes, Status result) EXCLUDES(mutex_);
  Status wait() EXCLUDES(mutex_);  // until nothing is under way; the first error since the last wait()

 private:
  const std::uint64_t limit_bytes_;  // one block larger than it may still pass alone
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t pending_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t pending_count_ GUARDED_BY(mutex_) = 0;
  Status first_error_ GUARDED_BY(mutex_);
};

// Accepts the bytes of a block (checksum right), so that redundancy can be tried until one is right.
using Verifier = std::function<bool(ByteView)>;

class LeafVdev;  // vdev/leaf.h: one device in the tree, its state and counters
class TopVdev;   // vdev/top_vdev.h: mirror, raidz, single disk, hole, missing

class VdevTree {
 public:
  // Opens every leaf that it can. Fails only if the tree itself makes no sense; whether enough devices are
  // there is usable()'s matter.
  static Result<std::unique_ptr<VdevTree>> open(const VdevConfig& root, const DiskOpener& opener,
                                                bool read_only);
  virtual ~VdevTree() = default;

  virtual std::uint32_t top_count() const = 0;
  virtual const VdevConfig& top_config(
      std::uint32_t vdev) const = 0;  // as opened, plus changes made through set_*
  virtual VdevConfig& mutable_top_config(std::uint32_t vdev) = 0;  // syncing context only
  // Adds top-level vdevs (pool add); ids continue. Only while no I/O addresses them.
  virtual Status add_top(const VdevConfig& top, const DiskOpener& opener) = 0;

  // Txgs of which a leaf lacks writes (DTL, FORMAT.md 10.3): set when the pool is opened, grown by failed and
  // skipped writes, emptied by resilvers. A leaf is not read for blocks born in them while others can serve.
  virtual TxgSet missing_txgs(std::uint64_t leaf_guid) const = 0;
  virtual void set_missing_txgs(std::uint64_t leaf_guid, TxgSet txgs) = 0;
  // Takes a leaf out of service (offline, faulted, removed) or back into it (healthy, degraded). Its disk
  // stays open.
  virtual Status set_leaf_state(std::uint64_t leaf_guid, VdevState state, VdevAux aux) = 0;
  // Progress word of a running RAID-Z expansion (FORMAT.md 5.3), from the uberblock. Before it is known,
  // blocks of an expanding vdev cannot be read.
  virtual void set_reflow(std::uint64_t reflow_word) = 0;

  // Every top-level vdev can serve reads; the error names the first that cannot and why.
  virtual Status usable() const = 0;
  virtual VdevState state(std::uint32_t vdev) const = 0;
  // Counters and states by guid, for every vdev in the tree (interior ones too).
  virtual VdevStats stats(std::uint64_t guid) const = 0;
  virtual void clear_errors(std::uint64_t guid_or_0) = 0;

  // Bytes that a block of `physical_bytes` takes on this vdev, with parity and padding (FORMAT.md 9.1).
  virtual std::uint64_t allocated_size(std::uint32_t vdev, std::uint64_t physical_bytes) const = 0;
  virtual unsigned ashift(std::uint32_t vdev) const = 0;
  // Deflated size of an allocation: what space accounting charges (FORMAT.md 9.1).
  virtual std::uint64_t deflated_size(std::uint32_t vdev, std::uint64_t allocated_bytes) const = 0;
  // asize of each top-level vdev as its devices allow now (FORMAT.md 2.1, 9.1).
  virtual std::uint64_t usable_bytes(std::uint32_t vdev) const = 0;

  // Fills `out` (its size is PSIZE) from any combination of copies or columns that `verify` accepts. Bad ones
  // are counted against their device and rewritten when the tree is writable. Errc::checksum if nothing
  // verifies, Errc::io if too few devices answer. `birth_txg` selects mirror children by their DTL and the
  // RAID-Z geometry.
  virtual Status read(std::uint32_t vdev, std::uint64_t offset_bytes, MutableByteView out,
                      std::uint64_t birth_txg, const Verifier& verify) = 0;
  // The same for scrubs and resilvers: every copy and all parity is looked at, and devices that lack
  // birth_txg are brought up to date (their set of missing txgs is the caller's to change).
  virtual Status scrub(std::uint32_t vdev, std::uint64_t offset_bytes, MutableByteView out,
                       std::uint64_t birth_txg, const Verifier& verify) = 0;
  // Queues the write of data (PSIZE bytes, padded to the sector inside). The buffer is kept until done.
  virtual void write(std::uint32_t vdev, std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg,
                     WriteBatch& batch) = 0;
  // All devices written since the last flush: cache flushed.
  virtual Status flush() = 0;
  virtual void discard(std::uint32_t vdev, std::uint64_t offset_bytes, std::uint64_t length_bytes) = 0;

  // The leaves, for labels: config (with parents' guids), disk or null, writable.
  struct LeafRef {
    const VdevConfig* config;  // the leaf's own
    std::uint32_t top;         // id of its top-level vdev
    Disk* disk;                // null if it could not be opened
  };
  virtual std::vector<LeafRef> leaves() const = 0;
};

}  // namespace tarn
