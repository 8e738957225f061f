// WriteQueue: the asynchronous writes of one device on their way to the I/O engine.
//
// A few requests are under way at a time; what arrives meanwhile waits, ordered by offset, and neighbours
// leave together as one vectored request. So a busy device gets few large writes and an idle one gets each at
// once.
//
// Invariant: no two writes under way overlap, and overlapping ones keep the order of their calls: a write
// that overlaps an earlier unfinished one is blocked until that is finished.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"
#include "libpool/vdev/io_engine.h"

namespace tarn {

class WriteQueue {
 public:
  static constexpr unsigned kMaxUnderWay = 6;
  static constexpr std::uint64_t kMaxMergedBytes = 1 << 20;

  using Done = std::function<void(int error)>;
  WriteQueue(int fd, IoEngine& engine) : fd_(fd), engine_(engine) {}
  ~WriteQueue() { wait_idle(); }

  // `keep` lives until done (a bounce buffer).
  void add(std::uint64_t offset_bytes, std::vector<iovec> parts, Buffer keep, Done done) EXCLUDES(mutex_);
  // Until no unfinished write overlaps the range.
  void wait_for_overlapping(std::uint64_t offset_bytes, std::uint64_t length_bytes) EXCLUDES(mutex_);
  void wait_idle() EXCLUDES(mutex_);

 private:
  struct Write {
    std::uint64_t offset_bytes = 0, length_bytes = 0;
    std::vector<iovec> parts;
    Buffer keep;
    Done done;
  };
  struct UnderWay {
    std::uint64_t offset_bytes = 0, length_bytes = 0;
    std::vector<Write> members;
  };
  using UnderWayList = std::list<UnderWay>;

  bool overlaps_unfinished(std::uint64_t offset_bytes, std::uint64_t length_bytes) const REQUIRES(mutex_);
  // Moves what may start from queued_ to under_way_; the caller issues the result without the lock.
  std::vector<UnderWayList::iterator> take_startable() REQUIRES(mutex_);
  void unblock() REQUIRES(mutex_);
  void issue(const std::vector<UnderWayList::iterator>& items) EXCLUDES(mutex_);
  void finished(UnderWayList::iterator item, int error) EXCLUDES(mutex_);
  void retire(UnderWayList::iterator item, std::vector<int> errors) EXCLUDES(mutex_);

  const int fd_;
  IoEngine& engine_;
  std::atomic<std::uint64_t> unfinished_{0};  // lets readers skip the lock when nothing is being written
  Mutex mutex_;
  CondVar changed_;
  std::map<std::uint64_t, Write> queued_ GUARDED_BY(mutex_);  // by offset, without overlaps
  std::deque<Write> blocked_ GUARDED_BY(mutex_);
  UnderWayList under_way_ GUARDED_BY(mutex_);
  std::uint64_t cursor_ GUARDED_BY(mutex_) = 0;  // where the next request starts: ascending, then round again
};

}  // namespace tarn
