// Where the next block goes. Vdevs of a class take turns by bytes, more for the emptier ones. On a vdev a
// lane goes on where its last block ended, so that blocks written together lie together; when its metaslab
// has no room, it moves to the one with the most.
#include <fmt/format.h>

#include <algorithm>

#include "libpool/alloc/pool_allocator_impl.h"

namespace tarn {

Result<std::vector<Dva>> PoolAllocatorImpl::allocate(const AllocRequest& request) {
  std::vector<Dva> out;
  out.reserve(request.copies);
  ReaderLock lock(groups_mutex_);
  // What has no vdevs of its class, or none with room, goes one class further down.
  AllocClass alloc_class = request.alloc_class;
  for (;;) {
    if (allocate_in(groups_[static_cast<std::size_t>(alloc_class)], request, out)) return out;
    if (alloc_class == AllocClass::normal) break;
    alloc_class = alloc_class == AllocClass::dedup ? AllocClass::special : AllocClass::normal;
  }
  return Error(Errc::no_space, fmt::format("no contiguous space for {} bytes", request.physical_bytes));
}

bool PoolAllocatorImpl::allocate_in(Group& group, const AllocRequest& request, std::vector<Dva>& out) {
  const std::size_t count = group.vdevs.size();
  if (count == 0 || group.share_ends.back() == 0) return false;
  const std::uint64_t position =
      group.position.fetch_add(request.physical_bytes, std::memory_order_relaxed) % group.share_ends.back();
  const std::size_t first =
      static_cast<std::size_t>(std::upper_bound(group.share_ends.begin(), group.share_ends.end(), position) -
                               group.share_ends.begin());
  const unsigned copies = std::min(request.copies, kMaxDvas);
  for (unsigned copy = 0; copy < copies; ++copy) {
    for (std::size_t attempt = 0; attempt < count; ++attempt) {
      Vdev& vdev = *group.vdevs[(first + copy + attempt) % count];
      const auto dva = allocate_on(vdev, copy, request, out);
      if (!dva) continue;
      out.push_back(*dva);
      break;
    }
  }
  return !out.empty();
}

std::optional<Dva> PoolAllocatorImpl::allocate_on(Vdev& vdev, unsigned lane_index,
                                                  const AllocRequest& request,
                                                  const std::vector<Dva>& others) {
  const std::uint64_t size = vdevs_.allocated_size(vdev.id, request.physical_bytes);
  MutexLock lock(vdev.mutex);
  Lane& lane = vdev.lanes[lane_index];
  std::optional<std::uint64_t> start;
  if (lane.metaslab < vdev.metaslabs.size())
    start = vdev.metaslabs[lane.metaslab]->allocate(size, lane.cursor, request.txg);
  if (!start) start = next_metaslab(vdev, lane, size, request.txg, others, true);
  if (!start) start = next_metaslab(vdev, lane, size, request.txg, others, false);
  if (!start) return std::nullopt;
  lane.cursor = *start + size;
  vdev.allocated_bytes.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
  return Dva{.vdev = vdev.id, .offset_bytes = *start, .allocated_bytes = size};
}

// `far_only`: at least an eighth of the vdev away from the block's other copies, and not in another lane's
// way.
std::optional<std::uint64_t> PoolAllocatorImpl::next_metaslab(Vdev& vdev, Lane& lane, std::uint64_t size,
                                                              std::uint64_t txg,
                                                              const std::vector<Dva>& others, bool far_only) {
  const auto too_near = [&](std::size_t index) {
    const Metaslab& metaslab = *vdev.metaslabs[index];
    for (const Lane& other : vdev.lanes) {
      if (&other != &lane && other.metaslab == index) return true;
    }
    for (const Dva& dva : others) {
      if (dva.vdev != vdev.id) continue;
      const std::uint64_t distance = vdev.size_bytes / 8;
      if (dva.offset_bytes < metaslab.end() + distance && metaslab.start() < dva.offset_bytes + distance)
        return true;
    }
    return false;
  };
  // A metaslab that turns out to be damaged or too fragmented counts as full on the next look.
  std::vector<bool> tried;
  for (;;) {
    std::size_t best = SIZE_MAX;
    std::uint64_t best_free = 0;
    for (std::size_t i = 0; i < vdev.metaslabs.size(); ++i) {
      const Metaslab& metaslab = *vdev.metaslabs[i];
      const std::uint64_t free = metaslab.free_estimate();
      if (free < size || free <= best_free || (metaslab.loaded() && metaslab.largest_free() < size)) continue;
      if (far_only && too_near(i)) continue;
      if (!tried.empty() && tried[i]) continue;
      best = i;
      best_free = free;
    }
    if (best == SIZE_MAX) return std::nullopt;
    Metaslab& metaslab = *vdev.metaslabs[best];
    if (metaslab.load()) {
      if (const auto start = metaslab.allocate(size, metaslab.start(), txg)) {
        lane.metaslab = best;
        return start;
      }
    }
    tried.resize(vdev.metaslabs.size());
    tried[best] = true;
  }
}

}  // namespace tarn
