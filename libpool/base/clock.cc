#include "libpool/base/clock.h"

#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>

namespace tarn {
namespace {

class SystemClock final : public Clock {
 public:
  TimeSpec now() const override {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    return {t.tv_sec, static_cast<std::uint32_t>(t.tv_nsec)};
  }
  std::uint64_t monotonic_ns() const override {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  }
};

}  // namespace

const Clock& Clock::system() {
  static const SystemClock clock;
  return clock;
}

void random_bytes(MutableByteView out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::abort();  // a kernel without getrandom: guids would repeat
    }
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  random_bytes(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::uint64_t random_guid() {
  for (;;)
    if (const std::uint64_t value = random_u64(); value != 0) return value;
}

}  // namespace tarn
