// ThreadPool: a fixed number of workers over one queue. TaskGroup: wait for a set of tasks; the waiter
// runs queued tasks itself meanwhile, so that tasks may wait for tasks without running out of workers.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "libpool/base/mutex.h"

namespace tarn {

class ThreadPool {
 public:
  // `name` shows in ps and gdb (15 bytes at most).
  ThreadPool(const std::string& name, unsigned worker_count);
  // Runs what is queued, then joins.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> task) EXCLUDES(mutex_);
  // Runs one queued task on the calling thread; false if none was queued.
  bool run_one() EXCLUDES(mutex_);
  unsigned worker_count() const { return static_cast<unsigned>(workers_.size()); }

 private:
  void work(const std::string& name);

  Mutex mutex_;
  CondVar queued_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

class TaskGroup {
 public:
  explicit TaskGroup(ThreadPool& pool) : pool_(pool) {}
  ~TaskGroup() { wait(); }
  void run(std::function<void()> task) EXCLUDES(mutex_);
  void wait() EXCLUDES(mutex_);

 private:
  ThreadPool& pool_;
  Mutex mutex_;
  CondVar done_;
  unsigned pending_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn
