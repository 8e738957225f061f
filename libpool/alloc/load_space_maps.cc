// Import: metaslab arrays, headers of space maps, and log space maps (FORMAT.md 11.5).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "libpool/alloc/pool_allocator_impl.h"
#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr std::string_view kUnflushedKey = "com.delphix:ms_unflushed_phys_txgs";
constexpr std::size_t kMaxMetaslabs = 1 << 20;

Result<std::vector<std::uint64_t>> read_array(ObjectSet& mos, std::uint64_t number, std::size_t count) {
  const ObjectRef object = TRY(mos.open_object(number));
  Bytes bytes(count * 8);
  TRY(object->read(0, bytes));
  std::vector<std::uint64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = load<std::uint64_t>(bytes.data() + 8 * i, kHostOrder);
  return out;
}

}  // namespace

Status PoolAllocatorImpl::load(std::uint64_t log_spacemap_zap) {
  {
    WriterLock lock(groups_mutex_);
    for (std::uint32_t id = static_cast<std::uint32_t>(by_id_.size()); id < vdevs_.top_count(); ++id) {
      const VdevConfig& config = vdevs_.top_config(id);
      std::unique_ptr<Vdev> vdev;
      if (config.metaslab_array != 0) {
        if (config.metaslab_shift < config.ashift || config.metaslab_shift >= 63 ||
            config.ashift < kSectorShift || (config.asize_bytes >> config.metaslab_shift) > kMaxMetaslabs)
          return Error(Errc::corrupt, fmt::format("vdev {}: metaslabs of 2^{} bytes make no sense", id,
                                                  config.metaslab_shift));
        vdev = make_vdev(id);
        TRY(load_vdev(*vdev).in(fmt::format("vdev {}", id)));
      }
      by_id_.push_back(std::move(vdev));
      if (by_id_.back()) add_to_group(*by_id_.back());
    }
  }
  if (log_spacemap_zap != 0) TRY(load_logs(log_spacemap_zap).in("log space maps"));
  WriterLock lock(groups_mutex_);
  for (const auto& vdev : by_id_) {
    if (!vdev) continue;
    std::int64_t sum = 0;
    for (const auto& metaslab : vdev->metaslabs) sum += metaslab->allocated_in_map();
    vdev->allocated_bytes = sum;
  }
  for (Group& group : groups_) rebalance(group);
  return {};
}

Status PoolAllocatorImpl::load_vdev(Vdev& vdev) {
  const VdevConfig& config = vdevs_.top_config(vdev.id);
  const auto objects =
      TRY(read_array(mos_, config.metaslab_array, vdev.metaslabs.size()).in("metaslab array"));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] != 0) TRY(vdev.metaslabs[i]->open(objects[i]).in(fmt::format("metaslab {}", i)));
  }
  if (config.zap_top == 0) return {};
  const Zap zap = TRY(Zap::open(mos_, config.zap_top));
  const auto unflushed = zap.lookup_u64(kUnflushedKey);
  if (unflushed) {
    vdev.unflushed_object = *unflushed;
  } else if (unflushed.error().code() != Errc::not_found) {
    return unflushed.error();
  }
  return {};
}

Status PoolAllocatorImpl::load_logs(std::uint64_t zap_object) {
  log_zap_ = zap_object;
  for (const ZapEntry& entry : TRY(TRY(Zap::open(mos_, zap_object)).entries())) {
    std::uint64_t txg = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, txg, 16).ptr != end || entry.value.integers.size() != 1)
      return Error(Errc::corrupt, fmt::format("unexpected entry '{}'", entry.name));
    logs_.push_back({.txg = txg, .object = entry.value.first()});
  }
  std::sort(logs_.begin(), logs_.end(), [](const Log& a, const Log& b) { return a.txg < b.txg; });
  if (logs_.empty()) return {};

  const std::vector<Vdev*> vdevs = all();
  std::vector<std::vector<std::uint64_t>> unflushed(vdevs.size());
  for (std::size_t i = 0; i < vdevs.size(); ++i) {
    if (vdevs[i] && vdevs[i]->unflushed_object)
      unflushed[i] = TRY(read_array(mos_, vdevs[i]->unflushed_object, vdevs[i]->metaslabs.size()));
  }
  for (Log& log : logs_) {
    const std::string where = fmt::format("log of txg {}, object {}", log.txg, log.object);
    const ObjectRef object = TRY(mos_.open_object(log.object).in(where));
    const SpaceMapHeader header = TRY(SpaceMapHeader::decode(object->bonus()).in(where));
    log.has_histogram = header.has_histogram;
    const ObjectInfo info = object->info();
    if (header.length_bytes / info.block_bytes > info.max_blkid + 1)
      return Error(Errc::corrupt, where + ": longer than its object");
    const SpaceMapRange range{.start = 0, .size = std::uint64_t{1} << 62, .shift = kSectorShift};
    const auto visit = [&](const SpaceMapEntry& entry) -> Status {
      Vdev* vdev = entry.vdev < vdevs.size() ? vdevs[entry.vdev] : nullptr;
      if (!vdev) return {};  // of a vdev that was removed since
      const std::size_t index = entry.start >> vdev->metaslab_shift;
      const std::uint64_t granule = std::uint64_t{1} << vdev->ashift;
      if (index >= vdev->metaslabs.size() || entry.size > vdev->metaslabs[index]->end() - entry.start ||
          (entry.start | entry.size) % granule != 0)
        return Error(Errc::corrupt, fmt::format("vdev {}: {} bytes at {:#x} are in no metaslab", vdev->id,
                                                entry.size, entry.start));
      const std::uint64_t since = index < unflushed[vdev->id].size() ? unflushed[vdev->id][index] : 0;
      if (since == 0 || log.txg < since) return {};  // flushed to its own map already
      vdev->metaslabs[index]->add_logged({entry.is_free, entry.start, entry.size});
      return {};
    };
    const std::uint64_t chunk_bytes = space_map_chunk_bytes(info.block_bytes);
    Bytes chunk;
    for (std::uint64_t at = 0; at < header.length_bytes; at += chunk.size()) {
      chunk.resize(std::min(chunk_bytes, header.length_bytes - at));
      TRY(object->read(at, chunk).in(where));
      TRY(decode_space_map(chunk, range, visit).in(where));
    }
  }
  return {};
}

}  // namespace tarn
