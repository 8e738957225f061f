// PendingWrites: stored bytes whose device writes may still be under way. The device layer holds a reference
// to the buffer until its write is done, so a weak reference tells exactly as long as the device must not be
// asked instead.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/io/block_key.h"

namespace tarn {

class PendingWrites {
 public:
  void add(const BlockKey& key, const BufferRef& stored) {
    Shard& shard = shard_of(key);
    MutexLock lock(shard.mutex);
    shard.writes[key] = stored;
    if (shard.writes.size() < shard.sweep_at) return;
    std::erase_if(shard.writes, [](const auto& entry) { return entry.second.expired(); });
    shard.sweep_at = std::max<std::size_t>(kMinSweep, shard.writes.size() * 2);
  }
  BufferRef find(const BlockKey& key) {
    Shard& shard = shard_of(key);
    MutexLock lock(shard.mutex);
    const auto found = shard.writes.find(key);
    return found == shard.writes.end() ? nullptr : found->second.lock();
  }
  void erase(const BlockKey& key) {
    Shard& shard = shard_of(key);
    MutexLock lock(shard.mutex);
    shard.writes.erase(key);
  }

 private:
  static constexpr std::size_t kShards = 16, kMinSweep = 256;
  struct Shard {
    Mutex mutex;
    std::unordered_map<BlockKey, std::weak_ptr<const Buffer>, BlockKeyHash> writes GUARDED_BY(mutex);
    std::size_t sweep_at GUARDED_BY(mutex) = kMinSweep;
  };
  Shard& shard_of(const BlockKey& key) { return shards_[BlockKeyHash()(key) % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace tarn
