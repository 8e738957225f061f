// parallel_for: runs fn(0) .. fn(count - 1) on the calling thread and, as far as they are free, the pool's
// workers. The caller runs only its own items, never other queued work: so it may hold locks that other work
// wants, and calls nest without growing the stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "libpool/base/mutex.h"
#include "libpool/base/thread_pool.h"

namespace tarn {

inline void parallel_for(ThreadPool* pool, std::size_t count, const std::function<void(std::size_t)>& fn) {
  if (count <= 1 || !pool || pool->worker_count() == 0) {
    for (std::size_t i = 0; i < count; ++i) fn(i);
    return;
  }
  struct State {
    std::atomic<std::size_t> next{0};
    Mutex mutex;
    CondVar finished;
    std::size_t done GUARDED_BY(mutex) = 0;
  };
  auto state = std::make_shared<State>();
  // A worker that comes late finds no item left and touches nothing but the shared state: `fn` may be gone by
  // then.
  auto work = [state, count, &fn] {
    std::size_t mine = 0;
    for (std::size_t i = state->next++; i < count; i = state->next++, ++mine) fn(i);
    if (mine == 0) return;
    MutexLock lock(state->mutex);
    state->done += mine;
    if (state->done == count) state->finished.notify_all();
  };
  const std::size_t helpers = std::min<std::size_t>(pool->worker_count(), count - 1);
  for (std::size_t i = 0; i < helpers; ++i) pool->submit(work);
  work();
  MutexLock lock(state->mutex);
  while (state->done != count) state->finished.wait(state->mutex);
}

}  // namespace tarn
