#include "libpool/vdev/vdev_tree.h"

namespace tarn {

void WriteBatch::begin(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  while (pending_count_ != 0 && pending_bytes_ + bytes > limit_bytes_) changed_.wait(mutex_);
  pending_bytes_ += bytes;
  ++pending_count_;
}

void WriteBatch::end(std::uint64_t bytes, Status result) {
  // Notify under the lock: the batch may be destroyed as soon as the waiter sees zero.
  MutexLock lock(mutex_);
  pending_bytes_ -= bytes;
  --pending_count_;
  if (!result && first_error_) first_error_ = std::move(result);
  changed_.notify_all();
}

Status WriteBatch::wait() {
  MutexLock lock(mutex_);
  while (pending_count_ != 0) changed_.wait(mutex_);
  Status result = std::move(first_error_);
  first_error_ = Status();
  return result;
}

}  // namespace tarn
