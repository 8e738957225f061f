// Time and randomness come in through these, so that tests can fix them.
#pragma once

#include <cstdint>

#include "libpool/base/bytes.h"

namespace tarn {

struct TimeSpec {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeSpec now() const = 0;                    // wall clock, UTC
  virtual std::uint64_t monotonic_ns() const = 0;
  static const Clock& system();
};

// Cryptographically random bytes from the kernel.
void random_bytes(MutableByteView out);
std::uint64_t random_u64();
// A random guid: never 0.
std::uint64_t random_guid();

}  // namespace tarn
