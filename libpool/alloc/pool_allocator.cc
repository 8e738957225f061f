#include "libpool/alloc/pool_allocator.h"

#include <fmt/format.h>

#include <algorithm>

#include "libpool/alloc/pool_allocator_impl.h"
#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr std::string_view kUnflushedKey = "com.delphix:ms_unflushed_phys_txgs";
// Bytes in a row on one vdev before the next has its turn, at average free space.
constexpr std::uint64_t kTurnBytes = 2 << 20;

constexpr unsigned kMinMetaslabShift = 24, kUsualMetaslabShift = 29, kMaxMetaslabShift = 34;
constexpr std::uint64_t kMinMetaslabs = 16, kUsualMaxMetaslabs = 200, kMaxMetaslabs = 131072;

AllocClass class_of(const VdevConfig& config) {
  if (config.is_log || config.allocation_bias == "log") return AllocClass::log;
  if (config.allocation_bias == "special") return AllocClass::special;
  if (config.allocation_bias == "dedup") return AllocClass::dedup;
  return AllocClass::normal;
}

}  // namespace

std::unique_ptr<PoolAllocator> PoolAllocator::create(VdevTree& vdevs, ObjectSet& mos,
                                                     const Features& features, Events events) {
  return std::make_unique<PoolAllocatorImpl>(vdevs, mos, features, std::move(events));
}

void PoolAllocator::choose_geometry(VdevConfig& top) {
  const std::uint64_t size = top.asize_bytes;
  const std::uint64_t usual_count = size >> kUsualMetaslabShift;
  unsigned shift = kUsualMetaslabShift;
  if (usual_count < kMinMetaslabs) {
    shift = static_cast<unsigned>(highbit(size / kMinMetaslabs));
  } else if (usual_count > kUsualMaxMetaslabs) {
    shift = static_cast<unsigned>(highbit(size / kUsualMaxMetaslabs));
  }
  shift = std::max(shift, kMinMetaslabShift);
  if (shift > kMaxMetaslabShift) {
    shift = kMaxMetaslabShift;
    if (size >> shift > kMaxMetaslabs) shift = static_cast<unsigned>(highbit(size / kMaxMetaslabs));
  }
  top.metaslab_shift = shift;
}

std::unique_ptr<PoolAllocatorImpl::Vdev> PoolAllocatorImpl::make_vdev(std::uint32_t id) const {
  const VdevConfig& config = vdevs_.top_config(id);
  auto vdev = std::make_unique<Vdev>();
  vdev->id = id;
  vdev->alloc_class = class_of(config);
  vdev->ashift = static_cast<unsigned>(config.ashift);
  vdev->metaslab_shift = static_cast<unsigned>(config.metaslab_shift);
  vdev->array_object = config.metaslab_array;
  const std::uint64_t count = config.asize_bytes >> config.metaslab_shift;
  vdev->size_bytes = count << config.metaslab_shift;
  const Metaslab::Env env{.mos = &mos_,
                          .histogram = features_.spacemap_histogram,
                          .two_words = features_.spacemap_v2 && features_.log_spacemap};
  for (std::uint64_t i = 0; i < count; ++i) {
    vdev->metaslabs.push_back(
        std::make_unique<Metaslab>(env, SpaceMapRange{.start = i << config.metaslab_shift,
                                                      .size = std::uint64_t{1} << config.metaslab_shift,
                                                      .shift = vdev->ashift}));
  }
  return vdev;
}

Status PoolAllocatorImpl::create_vdev(std::uint32_t id, const Tx& tx) {
  VdevConfig& config = vdevs_.mutable_top_config(id);
  const ObjectRef array = TRY(mos_.create_object(tx, {.type = DmuType::object_array, .block_bytes = 512}));
  config.metaslab_array = array->number();
  std::unique_ptr<Vdev> vdev = make_vdev(id);
  // A whole array, zeros included: what is not there yet is read as one.
  const Bytes zeros(vdev->metaslabs.size() * 8);
  TRY(array->write(tx, 0, zeros));
  if (features_.log_spacemap && config.zap_top != 0) {
    const ObjectRef unflushed =
        TRY(mos_.create_object(tx, {.type = DmuType::otn_u64_metadata, .block_bytes = 512}));
    TRY(unflushed->write(tx, 0, zeros));
    vdev->unflushed_object = unflushed->number();
    TRY(TRY(Zap::open(mos_, config.zap_top)).add(tx, kUnflushedKey, vdev->unflushed_object));
  }
  WriterLock lock(groups_mutex_);
  if (by_id_.size() <= id) by_id_.resize(id + 1);
  by_id_[id] = std::move(vdev);
  add_to_group(*by_id_[id]);
  return {};
}

void PoolAllocatorImpl::add_to_group(Vdev& vdev) {
  Group& group = groups_[static_cast<std::size_t>(vdev.alloc_class)];
  group.vdevs.push_back(&vdev);
  rebalance(group);
}

// Each vdev's share of a turn: in proportion to its free space, within limits that keep all in use.
void PoolAllocatorImpl::rebalance(Group& group) {
  group.share_ends.clear();
  std::uint64_t total_free = 0;
  const auto free_of = [](const Vdev& vdev) {
    const std::uint64_t used = static_cast<std::uint64_t>(std::max<std::int64_t>(vdev.allocated_bytes, 0));
    return vdev.size_bytes - std::min(used, vdev.size_bytes);
  };
  for (const Vdev* vdev : group.vdevs) total_free += free_of(*vdev);
  const double mean = std::max(1.0, static_cast<double>(total_free) /
                                        static_cast<double>(std::max<std::size_t>(group.vdevs.size(), 1)));
  std::uint64_t end = 0;
  for (const Vdev* vdev : group.vdevs) {
    const double weight = std::clamp(static_cast<double>(free_of(*vdev)) / mean, 0.125, 4.0);
    end += static_cast<std::uint64_t>(weight * static_cast<double>(kTurnBytes));
    group.share_ends.push_back(end);
  }
}

std::vector<PoolAllocatorImpl::Vdev*> PoolAllocatorImpl::all() const {
  ReaderLock lock(groups_mutex_);
  std::vector<Vdev*> out;
  for (const auto& vdev : by_id_) out.push_back(vdev.get());
  return out;
}

void PoolAllocatorImpl::free(const Dva& dva, std::uint64_t birth_txg, std::uint64_t txg) {
  Vdev* vdev = find(dva.vdev);
  if (!vdev || dva.allocated_bytes == 0) return;
  const std::size_t index = dva.offset_bytes >> vdev->metaslab_shift;
  const std::uint64_t granule = std::uint64_t{1} << vdev->ashift;
  // A DVA is from a device: one that lies in no metaslab must not do harm. The space, if there is any, is
  // lost.
  if (index >= vdev->metaslabs.size() ||
      dva.allocated_bytes > vdev->metaslabs[index]->end() - dva.offset_bytes ||
      (dva.offset_bytes | dva.allocated_bytes) % granule != 0)
    return;
  MutexLock lock(vdev->mutex);
  vdev->metaslabs[index]->free(dva.offset_bytes, dva.allocated_bytes, birth_txg == txg, txg);
  vdev->allocated_bytes.fetch_sub(static_cast<std::int64_t>(dva.allocated_bytes), std::memory_order_relaxed);
}

void PoolAllocatorImpl::begin_sync(std::uint64_t) {
  WriterLock lock(groups_mutex_);
  for (Group& group : groups_) rebalance(group);
}

Status PoolAllocatorImpl::write_array_entry(std::uint64_t object, std::size_t index, std::uint64_t value,
                                            const Tx& tx) {
  std::array<std::byte, 8> word;
  store<std::uint64_t>(word.data(), value, kHostOrder);
  return TRY(mos_.open_object(object))->write(tx, index * 8, word);
}

Result<bool> PoolAllocatorImpl::sync(const Tx& tx, unsigned pass) {
  bool wrote = false;
  for (Vdev* vdev : all()) {
    if (!vdev) continue;
    for (std::size_t i = 0; i < vdev->metaslabs.size(); ++i) {
      Metaslab::Written written;
      {
        MutexLock lock(vdev->mutex);
        written =
            TRY(vdev->metaslabs[i]->sync(tx, pass).in(fmt::format("vdev {}: metaslab {}", vdev->id, i)));
      }
      if (!written.anything) continue;
      wrote = true;
      if (written.created_object) {
        TRY(write_array_entry(vdev->array_object, i, vdev->metaslabs[i]->object(), tx));
        if (features_.spacemap_histogram && events_.histogram_objects) events_.histogram_objects(1);
      }
    }
  }
  // Every metaslab that had logged changes counts as dirty and was rewritten just now.
  if (!logs_.empty()) {
    TRY(destroy_logs(tx).in("log space maps"));
    wrote = true;
  }
  return wrote;
}

Status PoolAllocatorImpl::destroy_logs(const Tx& tx) {
  Zap zap = TRY(Zap::open(mos_, log_zap_));
  for (const Log& log : logs_) {
    TRY(zap.remove(tx, fmt::format("{:x}", log.txg)));
    TRY(mos_.free_object(tx, log.object));
    if (log.has_histogram && events_.histogram_objects) events_.histogram_objects(-1);
  }
  logs_.clear();
  // Without logs, no metaslab has unflushed changes: all entries are 0. A txg here would have to name a log that exists.
  for (const Vdev* vdev : all()) {
    if (!vdev || vdev->unflushed_object == 0) continue;
    const Bytes zeros(vdev->metaslabs.size() * 8);
    TRY(TRY(mos_.open_object(vdev->unflushed_object))->write(tx, 0, zeros));
  }
  return {};
}

void PoolAllocatorImpl::sync_done(std::uint64_t txg) {
  for (Vdev* vdev : all()) {
    if (!vdev) continue;
    MutexLock lock(vdev->mutex);
    for (const auto& metaslab : vdev->metaslabs) metaslab->sync_done(txg);
  }
}

std::uint64_t PoolAllocatorImpl::fragmentation(const Vdev& vdev) const {
  MutexLock lock(vdev.mutex);
  std::uint64_t sum = 0, count = 0;
  for (const auto& metaslab : vdev.metaslabs) {
    ++count;
    if (metaslab->object() != 0) sum += fragmentation_percent(metaslab->histogram(), vdev.ashift);
  }
  return count ? sum / count : 0;
}

SpaceTotals PoolAllocatorImpl::totals(std::uint32_t id) const {
  const Vdev* vdev = find(id);
  if (!vdev) return {};
  return {.size_bytes = vdev->size_bytes,
          .allocated_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(vdev->allocated_bytes, 0)),
          .fragmentation_percent = fragmentation(*vdev)};
}

SpaceTotals PoolAllocatorImpl::totals() const {
  SpaceTotals sum;
  std::uint64_t count = 0;
  for (const Vdev* vdev : all()) {
    if (!vdev || vdev->alloc_class != AllocClass::normal) continue;
    const SpaceTotals one = totals(vdev->id);
    sum.size_bytes += one.size_bytes;
    sum.allocated_bytes += one.allocated_bytes;
    sum.fragmentation_percent += one.fragmentation_percent;
    ++count;
  }
  if (count) sum.fragmentation_percent /= count;
  return sum;
}

std::uint64_t PoolAllocatorImpl::deflated_size_bytes() const {
  std::uint64_t sum = 0;
  for (const Vdev* vdev : all()) {
    if (vdev && vdev->alloc_class == AllocClass::normal)
      sum += vdevs_.deflated_size(vdev->id, vdev->size_bytes);
  }
  return sum;
}

std::uint64_t PoolAllocatorImpl::deflated_allocated_bytes() const {
  std::uint64_t sum = 0;
  for (const Vdev* vdev : all()) {
    if (!vdev || vdev->alloc_class != AllocClass::normal) continue;
    sum += vdevs_.deflated_size(vdev->id,
                                static_cast<std::uint64_t>(std::max<std::int64_t>(vdev->allocated_bytes, 0)));
  }
  return sum;
}

}  // namespace tarn
