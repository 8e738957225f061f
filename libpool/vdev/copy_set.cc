#include "libpool/vdev/copy_set.h"

#include <algorithm>

namespace tarn {

namespace {
constexpr unsigned kSpreadShift = 20;  // blocks within 1 MiB go to the same leaf, so that it can read ahead
}

std::size_t CopySet::usable_count() const {
  return static_cast<std::size_t>(
      std::count_if(leaves_.begin(), leaves_.end(), [](const LeafVdev* leaf) { return leaf->usable(); }));
}

std::uint64_t CopySet::capacity_bytes() const {
  std::uint64_t smallest = 0;
  for (const LeafVdev* leaf : leaves_) {
    if (!leaf->disk()) continue;
    const std::uint64_t capacity = leaf->capacity_bytes();
    smallest = smallest == 0 ? capacity : std::min(smallest, capacity);
  }
  return smallest;
}

CopySet::Candidates CopySet::candidates(std::uint64_t offset_bytes, std::uint64_t birth_txg) const {
  Candidates out;
  std::vector<LeafVdev*> incomplete;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    LeafVdev* leaf = leaves_[((offset_bytes >> kSpreadShift) + i) % leaves_.size()];
    if (!leaf->usable()) continue;
    (leaf->lacks(birth_txg) ? incomplete : out.leaves).push_back(leaf);
  }
  out.complete_count = out.leaves.size();
  out.leaves.insert(out.leaves.end(), incomplete.begin(), incomplete.end());
  return out;
}

LeafVdev* CopySet::preferred(std::uint64_t offset_bytes, std::uint64_t birth_txg) const {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    LeafVdev* leaf = leaves_[((offset_bytes >> kSpreadShift) + i) % leaves_.size()];
    if (leaf->usable() && !leaf->lacks(birth_txg)) return leaf;
  }
  return nullptr;
}

void CopySet::write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts, std::uint64_t txg,
                          std::function<void(Status)> done) const {
  if (leaves_.size() == 1)
    return leaves_.front()->write_async(offset_bytes, std::move(parts), txg, std::move(done));
  struct Copies {
    std::atomic<std::size_t> left;
    std::atomic<bool> written{false};
    Mutex mutex;
    Status error GUARDED_BY(mutex);
    std::function<void(Status)> done;
  };
  auto copies = std::make_shared<Copies>();
  copies->left = leaves_.size();
  copies->done = std::move(done);
  for (LeafVdev* leaf : leaves_) {
    leaf->write_async(offset_bytes, parts, txg, [copies](Status result) {
      if (result) {
        copies->written = true;
      } else {
        MutexLock lock(copies->mutex);
        copies->error = std::move(result);
      }
      if (copies->left.fetch_sub(1) != 1) return;
      Status outcome;
      if (!copies->written) {
        MutexLock lock(copies->mutex);
        outcome = std::move(copies->error);
      }
      copies->done(std::move(outcome));
    });
  }
}

void CopySet::repair(std::uint64_t offset_bytes, ByteView data) const {
  for (LeafVdev* leaf : leaves_) leaf->repair(offset_bytes, data);
}

void CopySet::discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) const {
  for (LeafVdev* leaf : leaves_) leaf->discard(offset_bytes, length_bytes);
}

}  // namespace tarn
