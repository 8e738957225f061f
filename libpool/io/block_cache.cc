#include "libpool/io/block_cache.h"

namespace tarn {
namespace {

constexpr std::uint64_t kEntryOverheadBytes = 256;

}  // namespace

BufferRef BlockCache::find(const BlockKey& key) {
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  const auto found = shard.index.find(key);
  if (found == shard.index.end()) {
    misses_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  hits_.fetch_add(1, std::memory_order_relaxed);
  const List::iterator entry = found->second;
  if (!entry->is_protected) {
    entry->is_protected = true;
    shard.probation_bytes -= entry->cost_bytes;
    shard.protected_bytes += entry->cost_bytes;
    shard.protected_list.splice(shard.protected_list.begin(), shard.probation, entry);
  } else {
    shard.protected_list.splice(shard.protected_list.begin(), shard.protected_list, entry);
  }
  BufferRef content = entry->content;
  trim(shard);
  return content;
}

void BlockCache::insert(const BlockKey& key, BufferRef content) {
  const std::uint64_t cost = round_up(content->size(), Buffer::kAlignment) + kEntryOverheadBytes;
  if (cost > limit_bytes_ / kShards) return erase(key);
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  if (const auto found = shard.index.find(key); found != shard.index.end()) remove(shard, found->second);
  shard.probation.push_front({key, std::move(content), cost, false});
  shard.index.emplace(key, shard.probation.begin());
  shard.probation_bytes += cost;
  bytes_.fetch_add(cost, std::memory_order_relaxed);
  trim(shard);
}

void BlockCache::erase(const BlockKey& key) {
  Shard& shard = shard_of(key);
  MutexLock lock(shard.mutex);
  if (const auto found = shard.index.find(key); found != shard.index.end()) remove(shard, found->second);
}

void BlockCache::clear() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    bytes_.fetch_sub(shard.probation_bytes + shard.protected_bytes, std::memory_order_relaxed);
    shard.probation_bytes = shard.protected_bytes = 0;
    shard.index.clear();
    shard.probation.clear();
    shard.protected_list.clear();
  }
}

void BlockCache::set_limit(std::uint64_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    trim(shard);
  }
}

void BlockCache::remove(Shard& shard, List::iterator entry) {
  (entry->is_protected ? shard.protected_bytes : shard.probation_bytes) -= entry->cost_bytes;
  bytes_.fetch_sub(entry->cost_bytes, std::memory_order_relaxed);
  shard.index.erase(entry->key);
  (entry->is_protected ? shard.protected_list : shard.probation).erase(entry);
}

// The protected list keeps at most three quarters; what falls off it gets a second chance in probation.
void BlockCache::trim(Shard& shard) {
  const std::uint64_t limit = limit_bytes_ / kShards;
  while (!shard.protected_list.empty() && shard.protected_bytes > limit / 4 * 3) {
    const List::iterator oldest = std::prev(shard.protected_list.end());
    oldest->is_protected = false;
    shard.protected_bytes -= oldest->cost_bytes;
    shard.probation_bytes += oldest->cost_bytes;
    shard.probation.splice(shard.probation.begin(), shard.protected_list, oldest);
  }
  while (!shard.probation.empty() && shard.probation_bytes + shard.protected_bytes > limit)
    remove(shard, std::prev(shard.probation.end()));
}

}  // namespace tarn
