// Mutex, SharedMutex and CondVar with clang's thread-safety annotations, so that GUARDED_BY is checked.
// Lock order: libpool/README.md and libdataset/README.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define TARN_ANNOTATE(x) __attribute__((x))
#else
#define TARN_ANNOTATE(x)
#endif
#define CAPABILITY(x) TARN_ANNOTATE(capability(x))
#define SCOPED_CAPABILITY TARN_ANNOTATE(scoped_lockable)
#define GUARDED_BY(x) TARN_ANNOTATE(guarded_by(x))
#define REQUIRES(...) TARN_ANNOTATE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) TARN_ANNOTATE(requires_shared_capability(__VA_ARGS__))
#define ACQUIRE(...) TARN_ANNOTATE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) TARN_ANNOTATE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) TARN_ANNOTATE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) TARN_ANNOTATE(release_shared_capability(__VA_ARGS__))
#define RELEASE_GENERIC(...) TARN_ANNOTATE(release_generic_capability(__VA_ARGS__))
#define EXCLUDES(...) TARN_ANNOTATE(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS TARN_ANNOTATE(no_thread_safety_analysis)

namespace tarn {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { inner_.lock(); }
  void unlock() RELEASE() { inner_.unlock(); }

 private:
  friend class CondVar;
  std::mutex inner_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CAPABILITY("mutex") SharedMutex {
 public:
  void lock() ACQUIRE() { inner_.lock(); }
  void unlock() RELEASE() { inner_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { inner_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { inner_.unlock_shared(); }

 private:
  std::shared_mutex inner_;
};

class SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~ReaderLock() RELEASE_GENERIC() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Waits need the mutex held; callers loop on their predicate: while (!ready_) cv.wait(mutex_);
class CondVar {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.inner_, std::adopt_lock);
    inner_.wait(lock);
    lock.release();
  }
  // False on time-out.
  bool wait_for(Mutex& mutex, std::chrono::milliseconds timeout) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.inner_, std::adopt_lock);
    const bool signalled = inner_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return signalled;
  }
  void notify_one() { inner_.notify_one(); }
  void notify_all() { inner_.notify_all(); }

 private:
  std::condition_variable inner_;
};

}  // namespace tarn
