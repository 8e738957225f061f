// TxgEngine: the life of transaction groups. One is open (transactions join it), at most one is syncing; a
// thread closes the open one when something asks for it: enough dirty data, a time-out, a waiter, a sync
// task.
//
// Invariant: sync(txg) runs after every transaction of txg was released and never for two txgs at once. After
// a failed sync nothing more is synced and every waiter gets Errc::suspended.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libpool/base/mutex.h"
#include "libpool/base/result.h"

namespace tarn {

class TxgEngine {
 public:
  struct Settings {
    std::uint64_t first_txg = 4;
    std::uint64_t timeout_ms = 5000;
    std::uint64_t dirty_limit_bytes = 256u << 20;  // begin() waits beyond it; a quarter of it starts a sync
  };
  // One sync task: `run` in the sync thread of the txg that took it in.
  struct Task {
    std::function<Status()> run;
    std::optional<Status> result;  // set by the syncing side
  };
  // Brings `txg` to stable storage. Runs `tasks`, fills their results.
  using SyncFunction = std::function<Status(std::uint64_t txg, std::vector<std::shared_ptr<Task>>& tasks)>;

  TxgEngine(const Settings& settings, SyncFunction sync);
  ~TxgEngine();

  void start();
  // Syncs what is open, then ends the thread. Further begin() calls fail with Errc::cancelled.
  Status stop() EXCLUDES(mutex_);

  // Joins the open txg, which stays open until release(). Waits while the dirty limit is exceeded.
  Result<std::uint64_t> join() EXCLUDES(mutex_);
  void release(std::uint64_t txg) EXCLUDES(mutex_);
  void dirtied(std::uint64_t txg, std::int64_t bytes) EXCLUDES(mutex_);
  std::uint64_t dirty_bytes() const EXCLUDES(mutex_);

  std::uint64_t open_txg() const EXCLUDES(mutex_);
  std::uint64_t synced_txg() const EXCLUDES(mutex_);
  // Waits until `txg` is synced, starting the sync if it is still open.
  Status wait_synced(std::uint64_t txg) EXCLUDES(mutex_);
  // Everything so far. `force` syncs the open txg even if no transaction joined it.
  Status sync_now(bool force) EXCLUDES(mutex_);
  // Runs `task` in the sync of the open txg; returns its error, or success once that txg is synced.
  Status run_task(std::function<Status()> task) EXCLUDES(mutex_);
  // Asks for one more sync soon, without waiting (work left over for the next txg).
  void kick() EXCLUDES(mutex_);
  // Empty while all is well, else why the engine stopped.
  std::optional<Error> failure() const EXCLUDES(mutex_);

 private:
  static constexpr unsigned kSlots = 4;  // open, syncing, and room to tell late accounting apart

  void work();
  bool open_is_touched() const REQUIRES(mutex_);
  Error suspended_error() const REQUIRES(mutex_);

  const Settings settings_;
  const SyncFunction sync_;
  std::thread thread_;

  mutable Mutex mutex_;
  CondVar wake_;     // the sync thread's
  CondVar changed_;  // everybody else's
  std::uint64_t open_ GUARDED_BY(mutex_);
  std::uint64_t synced_ GUARDED_BY(mutex_);
  std::uint64_t wanted_ GUARDED_BY(mutex_) = 0;  // someone waits for this txg
  bool touched_ GUARDED_BY(mutex_) = false;      // a transaction joined the open txg
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::array<std::uint64_t, kSlots> holds_ GUARDED_BY(mutex_){};
  std::array<std::int64_t, kSlots> dirty_ GUARDED_BY(mutex_){};
  std::vector<std::shared_ptr<Task>> tasks_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

}  // namespace tarn
