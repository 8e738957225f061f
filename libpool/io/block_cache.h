// BlockCache: logical contents of blocks, limited in bytes. Sharded by key. Scan-resistant: a block enters a
// probationary list and reaches the protected one only when it is asked for again, so that one pass over much
// data displaces at most what was never used twice.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <unordered_map>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/io/block_key.h"

namespace tarn {

class BlockCache {
 public:
  explicit BlockCache(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  BufferRef find(const BlockKey& key);                  // null if absent
  void insert(const BlockKey& key, BufferRef content);  // replaces
  void erase(const BlockKey& key);
  void clear();
  void set_limit(std::uint64_t limit_bytes);

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kShards = 16;
  struct Entry {
    BlockKey key;
    BufferRef content;
    std::uint64_t cost_bytes;
    bool is_protected;
  };
  using List = std::list<Entry>;  // most recent first
  struct Shard {
    Mutex mutex;
    List probation GUARDED_BY(mutex), protected_list GUARDED_BY(mutex);
    std::uint64_t probation_bytes GUARDED_BY(mutex) = 0, protected_bytes GUARDED_BY(mutex) = 0;
    std::unordered_map<BlockKey, List::iterator, BlockKeyHash> index GUARDED_BY(mutex);
  };

  Shard& shard_of(const BlockKey& key) { return shards_[BlockKeyHash()(key) % kShards]; }
  void remove(Shard& shard, List::iterator entry) REQUIRES(shard.mutex);
  void trim(Shard& shard) REQUIRES(shard.mutex);

  std::atomic<std::uint64_t> limit_bytes_;
  std::atomic<std::uint64_t> hits_{0}, misses_{0}, bytes_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace tarn
