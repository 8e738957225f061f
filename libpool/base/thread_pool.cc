#include "libpool/base/thread_pool.h"

#include <pthread.h>

namespace tarn {

ThreadPool::ThreadPool(const std::string& name, unsigned worker_count) {
  workers_.reserve(worker_count);
  for (unsigned i = 0; i < worker_count; ++i) workers_.emplace_back([this, name] { work(name); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::submit(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  queued_.notify_one();
}

bool ThreadPool::run_one() {
  std::function<void()> task;
  {
    MutexLock lock(mutex_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  return true;
}

void ThreadPool::work(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !stopping_) queued_.wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void TaskGroup::run(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    ++pending_;
  }
  pool_.submit([this, task = std::move(task)] {
    task();
    // Notify under the lock: the group may be destroyed as soon as the waiter sees zero.
    MutexLock lock(mutex_);
    if (--pending_ == 0) done_.notify_all();
  });
}

void TaskGroup::wait() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (pending_ == 0) return;
    }
    if (pool_.run_one()) continue;
    MutexLock lock(mutex_);
    if (pending_ != 0) done_.wait_for(mutex_, std::chrono::milliseconds(2));
  }
}

}  // namespace tarn
