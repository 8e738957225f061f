#include "libpool/vdev/io_engine.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <latch>

#include "libpool/base/thread_pool.h"

namespace tarn {

bool IoRequest::advance(std::int64_t result) {
  if (result == -EINTR || result == -EAGAIN) return false;
  if (result < 0) {
    error = static_cast<int>(-result);
    return true;
  }
  error = 0;
  if (kind == Kind::flush) return true;
  auto left = static_cast<std::uint64_t>(result);
  offset_bytes += left;
  std::size_t finished_parts = 0;
  while (finished_parts < parts.size() && left >= parts[finished_parts].iov_len)
    left -= parts[finished_parts++].iov_len;
  if (finished_parts == parts.size()) return true;
  if (result == 0) {  // the device ends here
    error = EIO;
    return true;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(finished_parts));
  parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + left;
  parts.front().iov_len -= left;
  return false;
}

void run_blocking(IoRequest& request) {
  for (;;) {
    std::int64_t result = 0;
    const auto count = static_cast<int>(request.parts.size());
    const auto offset = static_cast<off_t>(request.offset_bytes);
    switch (request.kind) {
      case IoRequest::Kind::read:
        result = preadv(request.fd, request.parts.data(), count, offset);
        break;
      case IoRequest::Kind::write:
        result = pwritev(request.fd, request.parts.data(), count, offset);
        break;
      case IoRequest::Kind::flush:
        result = fdatasync(request.fd);
        break;
    }
    if (request.advance(result < 0 ? -errno : result)) return;
  }
}

namespace {

// Where io_uring is not to be had: blocking calls on a few threads.
class ThreadEngine final : public IoEngine {
 public:
  explicit ThreadEngine(unsigned thread_count) : pool_("io", thread_count) {}

  void submit(std::unique_ptr<IoRequest> request) override {
    // std::function wants something copyable.
    pool_.submit([shared = std::shared_ptr<IoRequest>(std::move(request))] {
      run_blocking(*shared);
      shared->done(shared->error);
    });
  }

  void run(std::span<IoRequest> requests) override {
    if (requests.empty()) return;
    std::latch finished(static_cast<std::ptrdiff_t>(requests.size() - 1));
    for (IoRequest& request : requests.subspan(1)) {
      pool_.submit([&request, &finished] {
        run_blocking(request);
        finished.count_down();
      });
    }
    run_blocking(requests.front());
    finished.wait();
  }

  const char* name() const override { return "threads"; }

 private:
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<IoEngine> make_thread_engine(unsigned thread_count) {
  return std::make_unique<ThreadEngine>(thread_count);
}

std::unique_ptr<IoEngine> make_io_engine() {
  if (std::unique_ptr<IoEngine> engine = make_uring_engine()) return engine;
  return make_thread_engine(16);
}

}  // namespace tarn
