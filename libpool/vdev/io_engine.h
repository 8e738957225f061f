// IoEngine: carries out reads, writes and cache flushes on file descriptors. One engine serves all disks of a
// process; it must outlive them.
//
// Two ways in. submit() is for writes and scans: it queues, and `done` runs on the engine's thread. run() is
// for callers that need the data now: all requests start together and the calling thread itself waits for
// them, so a read costs no hand-over to another thread.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tarn {

struct IoRequest {
  enum class Kind : std::uint8_t { read, write, flush };
  Kind kind = Kind::read;
  int fd = -1;
  std::uint64_t offset_bytes = 0;
  std::vector<iovec> parts;  // contiguous on the device; at most kMaxParts
  std::function<void(int error)>
      done;       // errno value, 0 = everything transferred; must not block. Unused by run().
  int error = 0;  // run(): the outcome

  static constexpr std::size_t kMaxParts = 256;

  // Takes account of a completion: `result` bytes, or minus an errno value. True when the request is finished
  // (then `error` holds the outcome); false if the rest, or all of it, has to be issued again.
  bool advance(std::int64_t result);
};

class IoEngine {
 public:
  virtual ~IoEngine() = default;
  virtual void submit(std::unique_ptr<IoRequest> request) = 0;
  virtual void run(std::span<IoRequest> requests) = 0;
  virtual const char* name() const = 0;  // "io_uring" or "threads"
};

// io_uring; null where the kernel forbids or lacks it.
std::unique_ptr<IoEngine> make_uring_engine();
std::unique_ptr<IoEngine> make_thread_engine(unsigned thread_count);
// The best that works here.
std::unique_ptr<IoEngine> make_io_engine();

// One attempt after the other on the calling thread until the request is finished.
void run_blocking(IoRequest& request);

}  // namespace tarn
