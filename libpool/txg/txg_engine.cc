#include "libpool/txg/txg_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tarn {

TxgEngine::TxgEngine(const Settings& settings, SyncFunction sync)
    : settings_(settings),
      sync_(std::move(sync)),
      open_(settings.first_txg),
      synced_(settings.first_txg - 1) {}

TxgEngine::~TxgEngine() {
  {
    MutexLock lock(mutex_);
    if (!failure_ && !stopped_) failure_ = Error(Errc::cancelled, "the pool was closed without a final sync");
    stopping_ = true;
    wake_.notify_all();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void TxgEngine::start() {
  thread_ = std::thread([this] { work(); });
}

Status TxgEngine::stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  stopped_ = true;
  if (failure_) return suspended_error();
  return {};
}

Error TxgEngine::suspended_error() const {
  return Error(Errc::suspended, fmt::format("pool is suspended: {}", failure_->text()));
}

Result<std::uint64_t> TxgEngine::join() {
  MutexLock lock(mutex_);
  for (;;) {
    if (failure_) return suspended_error();
    if (stopping_) return Error(Errc::cancelled, "the pool is being closed");
    std::int64_t dirty = 0;
    for (const std::int64_t bytes : dirty_) dirty += bytes;
    const bool full = dirty >= static_cast<std::int64_t>(settings_.dirty_limit_bytes);
    // While transactions of the txg before are under way, their changes would mix with ours in objects both
    // touch, and a crash could then keep half of one operation.
    const bool quiescing = holds_[(open_ - 1) % kSlots] != 0;
    if (!full && !quiescing) break;
    if (full) {
      wanted_ = std::max(wanted_, open_);
      wake_.notify_all();
    }
    changed_.wait(mutex_);
  }
  ++holds_[open_ % kSlots];
  if (!touched_) {
    touched_ = true;
    wake_.notify_all();  // the time-out starts to run
  }
  return open_;
}

void TxgEngine::release(std::uint64_t txg) {
  MutexLock lock(mutex_);
  std::uint64_t& holds = holds_[txg % kSlots];
  assert(holds > 0);
  if (--holds == 0) {
    wake_.notify_all();
    changed_.notify_all();
  }
}

void TxgEngine::dirtied(std::uint64_t txg, std::int64_t bytes) {
  MutexLock lock(mutex_);
  if (txg <= synced_) return;  // given back when the txg was synced
  std::int64_t& dirty = dirty_[txg % kSlots];
  dirty = std::max<std::int64_t>(0, dirty + bytes);
  if (bytes < 0) {
    changed_.notify_all();
  } else if (txg == open_ && dirty >= static_cast<std::int64_t>(settings_.dirty_limit_bytes / 4) &&
             wanted_ < open_) {
    wanted_ = open_;
    wake_.notify_all();
  }
}

std::uint64_t TxgEngine::dirty_bytes() const {
  MutexLock lock(mutex_);
  std::int64_t sum = 0;
  for (const std::int64_t bytes : dirty_) sum += bytes;
  return static_cast<std::uint64_t>(sum);
}

std::uint64_t TxgEngine::open_txg() const {
  MutexLock lock(mutex_);
  return open_;
}

std::uint64_t TxgEngine::synced_txg() const {
  MutexLock lock(mutex_);
  return synced_;
}

Status TxgEngine::wait_synced(std::uint64_t txg) {
  MutexLock lock(mutex_);
  while (synced_ < txg) {
    if (failure_) return suspended_error();
    if (stopped_) return Error(Errc::cancelled, "the pool was closed");
    if (wanted_ < txg) wanted_ = txg;
    wake_.notify_all();
    changed_.wait(mutex_);
  }
  return {};
}

Status TxgEngine::sync_now(bool force) {
  std::uint64_t target = 0;
  {
    MutexLock lock(mutex_);
    if (failure_) return suspended_error();
    target = open_is_touched() || force ? open_ : open_ - 1;
  }
  return wait_synced(target);
}

Status TxgEngine::run_task(std::function<Status()> run) {
  auto task = std::make_shared<Task>();
  task->run = std::move(run);
  MutexLock lock(mutex_);
  if (failure_) return suspended_error();
  if (stopping_) return Error(Errc::cancelled, "the pool is being closed");
  const std::uint64_t txg = open_;
  tasks_.push_back(task);
  wanted_ = std::max(wanted_, txg);
  wake_.notify_all();
  while (synced_ < txg) {
    if (failure_) return suspended_error();
    changed_.wait(mutex_);
  }
  assert(task->result);
  return *task->result;
}

void TxgEngine::kick() {
  MutexLock lock(mutex_);
  touched_ = true;
  wanted_ = std::max(wanted_, open_);
  wake_.notify_all();
}

std::optional<Error> TxgEngine::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

bool TxgEngine::open_is_touched() const { return touched_ || !tasks_.empty(); }

void TxgEngine::work() {
  using SteadyClock = std::chrono::steady_clock;
  mutex_.lock();
  for (;;) {
    // Wait for a reason to close the open txg. A txg that nothing joined stays open for ever; the time-out
    // runs from the first transaction on, however often others wake this thread.
    std::optional<SteadyClock::time_point> deadline;
    while (!failure_ && !stopping_ && wanted_ < open_) {
      if (!open_is_touched()) {
        wake_.wait(mutex_);
        continue;
      }
      const SteadyClock::time_point now = SteadyClock::now();
      if (!deadline) deadline = now + std::chrono::milliseconds(settings_.timeout_ms);
      if (now >= *deadline) break;
      wake_.wait_for(mutex_, std::chrono::ceil<std::chrono::milliseconds>(*deadline - now));
    }
    if (failure_ || (stopping_ && !open_is_touched() && wanted_ < open_)) break;

    // Quiesce: the next txg is open, but nothing joins it before the old transactions have finished.
    const std::uint64_t txg = open_;
    ++open_;
    touched_ = false;
    std::vector<std::shared_ptr<Task>> tasks = std::move(tasks_);
    tasks_.clear();
    changed_.notify_all();
    while (holds_[txg % kSlots] != 0) wake_.wait(mutex_);

    mutex_.unlock();
    Status synced = sync_(txg, tasks);
    mutex_.lock();

    if (!synced) {
      failure_ = std::move(synced).error();
      changed_.notify_all();
      break;
    }
    for (const auto& task : tasks)
      if (!task->result) task->result = Status(Error(Errc::cancelled, "the task did not run"));
    synced_ = txg;
    dirty_[txg % kSlots] = 0;
    changed_.notify_all();
  }
  mutex_.unlock();
}

}  // namespace tarn
