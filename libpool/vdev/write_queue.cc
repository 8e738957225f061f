#include "libpool/vdev/write_queue.h"

#include <memory>

namespace tarn {

namespace {
bool overlap(std::uint64_t a, std::uint64_t a_length, std::uint64_t b, std::uint64_t b_length) {
  return a < b + b_length && b < a + a_length;
}
}  // namespace

void WriteQueue::add(std::uint64_t offset_bytes, std::vector<iovec> parts, Buffer keep, Done done) {
  Write write{.offset_bytes = offset_bytes,
              .length_bytes = 0,
              .parts = std::move(parts),
              .keep = std::move(keep),
              .done = std::move(done)};
  for (const iovec& part : write.parts) write.length_bytes += part.iov_len;
  std::vector<UnderWayList::iterator> startable;
  {
    MutexLock lock(mutex_);
    unfinished_.fetch_add(1, std::memory_order_release);
    if (overlaps_unfinished(write.offset_bytes, write.length_bytes)) {
      blocked_.push_back(std::move(write));
      return;
    }
    queued_.emplace(write.offset_bytes, std::move(write));
    startable = take_startable();
  }
  issue(startable);
}

bool WriteQueue::overlaps_unfinished(std::uint64_t offset_bytes, std::uint64_t length_bytes) const {
  auto next = queued_.lower_bound(offset_bytes);
  if (next != queued_.end() && next->first < offset_bytes + length_bytes) return true;
  if (next != queued_.begin()) {
    const Write& before = std::prev(next)->second;
    if (before.offset_bytes + before.length_bytes > offset_bytes) return true;
  }
  for (const UnderWay& item : under_way_) {
    if (overlap(item.offset_bytes, item.length_bytes, offset_bytes, length_bytes)) return true;
  }
  for (const Write& write : blocked_) {
    if (overlap(write.offset_bytes, write.length_bytes, offset_bytes, length_bytes)) return true;
  }
  return false;
}

std::vector<WriteQueue::UnderWayList::iterator> WriteQueue::take_startable() {
  std::vector<UnderWayList::iterator> taken;
  while (under_way_.size() < kMaxUnderWay && !queued_.empty()) {
    auto next = queued_.lower_bound(cursor_);
    if (next == queued_.end()) next = queued_.begin();
    UnderWay item{.offset_bytes = next->first, .length_bytes = 0, .members = {}};
    std::size_t part_count = 0;
    while (next != queued_.end() && next->first == item.offset_bytes + item.length_bytes) {
      Write& write = next->second;
      const bool fits = item.length_bytes + write.length_bytes <= kMaxMergedBytes &&
                        part_count + write.parts.size() <= IoRequest::kMaxParts;
      if (!item.members.empty() && !fits) break;
      item.length_bytes += write.length_bytes;
      part_count += write.parts.size();
      item.members.push_back(std::move(write));
      next = queued_.erase(next);
    }
    cursor_ = item.offset_bytes + item.length_bytes;
    taken.push_back(under_way_.insert(under_way_.end(), std::move(item)));
  }
  return taken;
}

void WriteQueue::issue(const std::vector<UnderWayList::iterator>& items) {
  // The items are safe to read without the lock: only their own completion removes them.
  for (const UnderWayList::iterator item : items) {
    auto request = std::make_unique<IoRequest>();
    request->kind = IoRequest::Kind::write;
    request->fd = fd_;
    request->offset_bytes = item->offset_bytes;
    if (item->members.size() == 1) {
      request->parts = std::move(item->members.front().parts);
    } else {
      for (const Write& write : item->members)
        request->parts.insert(request->parts.end(), write.parts.begin(), write.parts.end());
    }
    request->done = [this, item](int error) { finished(item, error); };
    engine_.submit(std::move(request));
  }
}

void WriteQueue::finished(UnderWayList::iterator item, int error) {
  if (error == 0 || item->members.size() == 1)
    return retire(item, std::vector<int>(item->members.size(), error));
  // A bad sector must not fail the neighbours that happened to travel with it: each is tried on its own.
  struct Retry {
    std::vector<int> errors;
    std::atomic<std::size_t> left;
  };
  auto retry = std::make_shared<Retry>();
  const std::size_t count = item->members.size();
  retry->errors.resize(count);
  retry->left = count;
  for (std::size_t i = 0; i < count; ++i) {
    auto request = std::make_unique<IoRequest>();
    request->kind = IoRequest::Kind::write;
    request->fd = fd_;
    request->offset_bytes = item->members[i].offset_bytes;
    request->parts = item->members[i].parts;
    request->done = [this, item, retry, i](int member_error) {
      retry->errors[i] = member_error;
      if (retry->left.fetch_sub(1) == 1) retire(item, std::move(retry->errors));
    };
    engine_.submit(std::move(request));
  }
}

void WriteQueue::retire(UnderWayList::iterator item, std::vector<int> errors) {
  std::vector<UnderWayList::iterator> startable;
  std::vector<Write> members;
  {
    MutexLock lock(mutex_);
    members = std::move(item->members);
    under_way_.erase(item);
    if (!blocked_.empty()) unblock();
    startable = take_startable();
  }
  issue(startable);
  for (std::size_t i = 0; i < members.size(); ++i) members[i].done(errors[i]);
  // Last: whoever waits for idleness may destroy the queue as soon as the count is down.
  MutexLock lock(mutex_);
  unfinished_.fetch_sub(members.size(), std::memory_order_release);
  changed_.notify_all();
}

void WriteQueue::unblock() {
  // In order; one that still overlaps stays, and holds back later ones that overlap it.
  std::deque<Write> waiting = std::move(blocked_);
  blocked_.clear();
  for (Write& write : waiting) {
    if (overlaps_unfinished(write.offset_bytes, write.length_bytes)) {
      blocked_.push_back(std::move(write));
    } else {
      const std::uint64_t offset_bytes = write.offset_bytes;
      queued_.emplace(offset_bytes, std::move(write));
    }
  }
}

void WriteQueue::wait_for_overlapping(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (unfinished_.load(std::memory_order_acquire) == 0) return;
  MutexLock lock(mutex_);
  while (overlaps_unfinished(offset_bytes, length_bytes)) changed_.wait(mutex_);
}

void WriteQueue::wait_idle() {
  MutexLock lock(mutex_);
  while (unfinished_.load(std::memory_order_acquire) != 0) changed_.wait(mutex_);
}

}  // namespace tarn
