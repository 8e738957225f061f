// What the I/O path asks of the allocator (implemented in libpool/alloc, which needs objects and hence I/O).
#pragma once

#include <cstdint>
#include <vector>

#include "libpool/base/result.h"
#include "libpool/block/block_pointer.h"

namespace tarn {

enum class AllocClass : std::uint8_t { normal, log, special, dedup };

struct AllocRequest {
  std::uint64_t physical_bytes = 0;
  unsigned copies = 1;                 // DVAs wanted, on different top-level vdevs where possible
  std::uint64_t txg = 0;
  AllocClass alloc_class = AllocClass::normal;
  bool allow_slop = false;             // may use the space held back for the pool's own metadata
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  // `copies` DVAs of equal physical size, or fewer (at least one) when vdevs are too full; Errc::no_space if no
  // contiguous place exists: the caller then builds a gang block. Thread-safe.
  virtual Result<std::vector<Dva>> allocate(const AllocRequest& request) = 0;
  // Space becomes allocatable again after the txg and the deferral (FORMAT.md 11.4); a block born and freed in
  // the same txg returns at once. Thread-safe.
  virtual void free(const Dva& dva, std::uint64_t birth_txg, std::uint64_t txg) = 0;
};

}  // namespace tarn
