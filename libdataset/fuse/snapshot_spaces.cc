#include "libdataset/fuse/snapshot_spaces.h"

#include <algorithm>

#include "libdataset/fuse/node_id.h"

namespace tarn {
namespace {

constexpr std::size_t kMaxOpen = 4096;

}  // namespace

Result<SnapshotSpaces::Space> SnapshotSpaces::open(const std::string& name) {
  {
    MutexLock lock(mutex_);
    for (const auto& [id, opened] : spaces_) {
      if (opened.name == name) return Space{.id = id, .fs = opened.fs};
    }
    if (spaces_.size() >= kMaxOpen) return Error(Errc::busy, "too many snapshots are open");
  }
  // Opening reads from the pool: not under the lock. If two do it at once, the first one stays.
  std::shared_ptr<FileSystem> fs = TRY(open_(name));
  MutexLock lock(mutex_);
  for (const auto& [id, opened] : spaces_) {
    if (opened.name == name) return Space{.id = id, .fs = opened.fs};
  }
  // Numbers come round slowly, so that a node of a closed snapshot is not mistaken for one of another.
  while (next_id_ == 0 || next_id_ == NodeId::kSynthetic || spaces_.contains(next_id_)) ++next_id_;
  const std::uint16_t id = next_id_++;
  spaces_.emplace(id, Opened{.name = name, .fs = fs});
  return Space{.id = id, .fs = std::move(fs)};
}

std::shared_ptr<FileSystem> SnapshotSpaces::find(std::uint16_t id) {
  MutexLock lock(mutex_);
  const auto found = spaces_.find(id);
  return found == spaces_.end() ? nullptr : found->second.fs;
}

void SnapshotSpaces::remember(std::uint16_t id, std::uint64_t count) {
  MutexLock lock(mutex_);
  if (const auto found = spaces_.find(id); found != spaces_.end()) found->second.lookups += count;
}

void SnapshotSpaces::forget(std::uint16_t id, std::uint64_t count) {
  std::shared_ptr<FileSystem> closing;  // closed outside the lock
  MutexLock lock(mutex_);
  const auto found = spaces_.find(id);
  if (found == spaces_.end()) return;
  found->second.lookups -= std::min(found->second.lookups, count);
  if (found->second.lookups > 0) return;
  closing = std::move(found->second.fs);
  spaces_.erase(found);
}

void SnapshotSpaces::close(const std::string& name) {
  std::shared_ptr<FileSystem> closing;
  MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(spaces_, [&](const auto& space) { return space.second.name == name; });
  if (found == spaces_.end()) return;
  closing = std::move(found->second.fs);
  spaces_.erase(found);
}

void SnapshotSpaces::close_all() {
  std::map<std::uint16_t, Opened> closing;
  MutexLock lock(mutex_);
  closing.swap(spaces_);
}

}  // namespace tarn
