// The io_uring engine. One thread owns the ring for submit(): it takes what was queued, issues all of it with
// one system call, and runs the completions; submitters only wake it (eventfd) when it sleeps in the kernel.
// That it is the only issuer also means that no request dies with the thread that asked for it.
//
// run() borrows one of a few small rings, issues its requests on the calling thread and waits there.
#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "libpool/base/mutex.h"
#include "libpool/vdev/io_engine.h"

namespace tarn {

namespace {

constexpr unsigned kQueueEntries = 256;
constexpr unsigned kCallerEntries = 64;

void prepare(io_uring_sqe* sqe, IoRequest& request) {
  const auto count = static_cast<unsigned>(request.parts.size());
  switch (request.kind) {
    case IoRequest::Kind::read:
      io_uring_prep_readv(sqe, request.fd, request.parts.data(), count, request.offset_bytes);
      break;
    case IoRequest::Kind::write:
      io_uring_prep_writev(sqe, request.fd, request.parts.data(), count, request.offset_bytes);
      break;
    case IoRequest::Kind::flush:
      io_uring_prep_fsync(sqe, request.fd, IORING_FSYNC_DATASYNC);
      break;
  }
  io_uring_sqe_set_data(sqe, &request);
}

// A ring for the requests of one caller at a time.
class CallerRing {
 public:
  CallerRing() { working_ = io_uring_queue_init(kCallerEntries, &ring_, 0) == 0; }
  ~CallerRing() {
    if (working_) io_uring_queue_exit(&ring_);
  }
  CallerRing(const CallerRing&) = delete;
  CallerRing& operator=(const CallerRing&) = delete;

  bool working() const { return working_; }

  // Requests beyond the ring's size follow as earlier ones finish. False if the kernel does not take any:
  // nothing has happened then. Once some are under way, a refusal passes (their memory is the kernel's until
  // they end).
  bool run(std::span<IoRequest> requests) {
    std::size_t next = 0, under_way = 0;
    bool issued = false;
    std::vector<IoRequest*> again;
    while (next < requests.size() || under_way != 0 || !again.empty()) {
      while (under_way < kCallerEntries && (next < requests.size() || !again.empty())) {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        if (!sqe) break;
        if (again.empty()) {
          prepare(sqe, requests[next++]);
        } else {
          prepare(sqe, *again.back());
          again.pop_back();
        }
        ++under_way;
      }
      const int submitted = io_uring_submit_and_wait(&ring_, static_cast<unsigned>(under_way));
      if (submitted < 0 && !issued && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY)
        return false;
      issued = issued || submitted > 0;
      io_uring_cqe* cqe = nullptr;
      while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
        auto* request = static_cast<IoRequest*>(io_uring_cqe_get_data(cqe));
        const int result = cqe->res;
        io_uring_cqe_seen(&ring_, cqe);
        --under_way;
        if (!request->advance(result)) again.push_back(request);
      }
    }
    return true;
  }

 private:
  io_uring ring_{};
  bool working_ = false;
};

class UringEngine final : public IoEngine {
 public:
  UringEngine() : wake_fd_(eventfd(0, EFD_CLOEXEC)) {
    std::promise<bool> started;
    std::future<bool> working = started.get_future();
    thread_ = std::thread([this, &started] { work(started); });
    working_ = working.get();
  }
  ~UringEngine() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
    if (wake_fd_ >= 0) close(wake_fd_);
  }

  bool working() const { return working_; }

  void submit(std::unique_ptr<IoRequest> request) override {
    bool sleeping = false;
    {
      MutexLock lock(mutex_);
      incoming_.push_back(std::move(request));
      sleeping = std::exchange(sleeping_, false);
    }
    if (sleeping) wake();
  }

  void run(std::span<IoRequest> requests) override {
    if (requests.empty()) return;
    if (requests.size() == 1) return run_blocking(requests.front());
    std::unique_ptr<CallerRing> ring;
    {
      MutexLock lock(mutex_);
      if (!idle_rings_.empty()) {
        ring = std::move(idle_rings_.back());
        idle_rings_.pop_back();
      }
    }
    if (!ring) ring = std::make_unique<CallerRing>();
    if (ring->working() && ring->run(requests)) {
      MutexLock lock(mutex_);
      idle_rings_.push_back(std::move(ring));
      return;
    }
    for (IoRequest& request : requests) run_blocking(request);
  }

  const char* name() const override { return "io_uring"; }

 private:
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
  }

  bool open_ring() {
    if (wake_fd_ < 0) return false;
    // Completions are run where they are waited for, not by interrupting the thread; older kernels lack that.
    return io_uring_queue_init(kQueueEntries, &ring_,
                               IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN) == 0 ||
           io_uring_queue_init(kQueueEntries, &ring_, 0) == 0;
  }

  void listen_for_wake() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (!sqe) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    io_uring_prep_read(sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
    io_uring_sqe_set_data(sqe, nullptr);
  }

  void work(std::promise<bool>& started) {
    pthread_setname_np(pthread_self(), "io_uring");
    const bool opened = open_ring();
    started.set_value(opened);
    if (!opened) return;
    listen_for_wake();
    std::deque<std::unique_ptr<IoRequest>> todo;
    std::size_t under_way = 0;
    for (;;) {
      bool sleep = false;
      {
        MutexLock lock(mutex_);
        for (std::unique_ptr<IoRequest>& request : incoming_) todo.push_back(std::move(request));
        incoming_.clear();
        if (stopping_ && todo.empty() && under_way == 0) break;
        // No wake-up is lost: whoever queues something from now on sees that we sleep.
        sleep = sleeping_ = todo.empty() || under_way + 1 >= kQueueEntries;
      }
      // One entry stays free for the wake-up.
      while (!todo.empty() && under_way + 1 < kQueueEntries) {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        if (!sqe) break;
        prepare(sqe, *todo.front().release());
        todo.pop_front();
        ++under_way;
      }
      // The ring is sound and ours alone, so what can fail here passes (EINTR, EAGAIN, EBUSY).
      if (sleep) {
        io_uring_submit_and_wait(&ring_, 1);
      } else {
        io_uring_submit(&ring_);
      }
      io_uring_cqe* cqe = nullptr;
      while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
        auto* request = static_cast<IoRequest*>(io_uring_cqe_get_data(cqe));
        const int result = cqe->res;
        io_uring_cqe_seen(&ring_, cqe);
        if (!request) {
          listen_for_wake();
          continue;
        }
        --under_way;
        std::unique_ptr<IoRequest> owned(request);
        if (owned->advance(result)) {
          owned->done(owned->error);
        } else {
          todo.push_front(std::move(owned));
        }
      }
    }
    io_uring_queue_exit(&ring_);
  }

  const int wake_fd_;
  bool working_ = false;
  Mutex mutex_;
  std::vector<std::unique_ptr<IoRequest>> incoming_ GUARDED_BY(mutex_);
  bool sleeping_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<CallerRing>> idle_rings_ GUARDED_BY(mutex_);
  // The thread's own.
  io_uring ring_{};
  std::uint64_t wake_count_ = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<IoEngine> make_uring_engine() {
  auto engine = std::make_unique<UringEngine>();
  if (!engine->working()) return nullptr;
  return engine;
}

}  // namespace tarn
