// TopVdev: one top-level vdev: a flat address space over its devices. Implementations: mirror_top.cc (single
// disk, mirror, replacing, spare), raidz_top.cc, absent_top.cc (hole, missing, and kinds that we cannot
// read).
#pragma once

#include <memory>
#include <vector>

#include "libpool/vdev/copy_set.h"

namespace tarn {

struct ReadHow {
  std::uint64_t birth_txg = 0;
  const Verifier& verify;
  bool repair = false;      // rewrite what is found bad
  bool everything = false;  // look at every copy and at parity too, and bring stale devices up to date
};

class TopVdev {
 public:
  TopVdev(VdevConfig& config, VdevCounters& counters) : config_(config), counters_(counters) {}
  virtual ~TopVdev() = default;

  virtual VdevState state() const = 0;
  // Why blocks cannot be read, if so.
  virtual Status usable() const = 0;
  virtual std::uint64_t usable_bytes() const = 0;
  virtual std::uint64_t allocated_size(std::uint64_t physical_bytes) const = 0;
  virtual std::uint64_t deflated_size(std::uint64_t allocated_bytes) const = 0;
  virtual Status read(std::uint64_t offset_bytes, MutableByteView out, const ReadHow& how) = 0;
  virtual void write(std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg, WriteBatch& batch) = 0;
  virtual void discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) = 0;
  virtual void set_reflow(std::uint64_t /*reflow_word*/) {}
  // How many of its copy sets may fail a write or flush without loss.
  virtual std::size_t tolerated_failures() const = 0;
  virtual const std::vector<CopySet>& copy_sets() const = 0;

  unsigned ashift() const { return static_cast<unsigned>(config_.ashift); }
  const VdevConfig& config() const { return config_; }
  VdevConfig& config() { return config_; }

 protected:
  std::uint64_t sector_bytes() const { return std::uint64_t{1} << config_.ashift; }
  // "mirror-0", or the path of a single disk: opens error texts.
  std::string name() const;
  // A block of this length at this offset lies within the vdev and begins on a sector.
  Status check_place(std::uint64_t offset_bytes, std::uint64_t allocated_bytes) const;

  VdevConfig& config_;
  VdevCounters& counters_;  // of the top-level vdev itself: blocks that no redundancy could save
};

std::unique_ptr<TopVdev> make_mirror_top(VdevConfig& config, VdevCounters& counters,
                                         std::vector<LeafVdev*> leaves);
std::unique_ptr<TopVdev> make_raidz_top(VdevConfig& config, VdevCounters& counters,
                                        std::vector<CopySet> children);
std::unique_ptr<TopVdev> make_absent_top(VdevConfig& config, VdevCounters& counters);

// Zero-padded to the sector; the same buffer if nothing is missing.
BufferRef padded_to_sector(BufferRef data, std::uint64_t sector_bytes);

}  // namespace tarn
