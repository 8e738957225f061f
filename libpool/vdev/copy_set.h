// CopySet: devices that hold the same bytes at the same offsets: a single disk, or everything below a mirror,
// replacing or spare vdev, however nested (all of these store identical data, FORMAT.md 10.1).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "libpool/vdev/leaf.h"

namespace tarn {

class CopySet {
 public:
  explicit CopySet(std::vector<LeafVdev*> leaves) : leaves_(std::move(leaves)) {}

  const std::vector<LeafVdev*>& leaves() const { return leaves_; }
  std::size_t usable_count() const;
  // Smallest of the open devices; 0 if none is open.
  std::uint64_t capacity_bytes() const;

  // Usable leaves in the order in which to try them. Those that lack the txg come last, after
  // `complete_count`. Neighbouring blocks prefer the same leaf, distant ones spread.
  struct Candidates {
    std::vector<LeafVdev*> leaves;
    std::size_t complete_count = 0;
  };
  Candidates candidates(std::uint64_t offset_bytes, std::uint64_t birth_txg) const;
  // The first complete candidate, without the list; null if there is none.
  LeafVdev* preferred(std::uint64_t offset_bytes, std::uint64_t birth_txg) const;

  // To all leaves; the write has succeeded if one of them has it. `done` is called once.
  void write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts, std::uint64_t txg,
                   std::function<void(Status)> done) const;
  void repair(std::uint64_t offset_bytes, ByteView data) const;
  void discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) const;

 private:
  std::vector<LeafVdev*> leaves_;
};

}  // namespace tarn
