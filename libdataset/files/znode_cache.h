// ZnodeCache: at most one Znode per object number, and who keeps an object alive without a name.
//
// A Znode leaves the cache only when nobody holds it, so its locks are the locks of the object. Thread
// safety: everything from any thread; the shard mutexes are leaves (nothing is loaded under them).
#pragma once

#include <array>
#include <list>
#include <unordered_map>

#include "libdataset/files/znode.h"

namespace tarn {

class ZnodeCache {
 public:
  explicit ZnodeCache(std::size_t capacity) : shard_capacity_(capacity / kShards + 1) {}

  // The cached Znode, or what `load` yields.
  Result<ZnodeRef> get(std::uint64_t number, const std::function<Result<ZnodeRef>()>& load);
  // The cached Znode, if there is one.
  ZnodeRef cached(std::uint64_t number);
  // A Znode just created. An older one of that number is gone by now.
  void put(const ZnodeRef& znode);
  // The object was freed.
  void drop(std::uint64_t number);

  void retain(std::uint64_t number);
  // True if that was the last one and the object lost its last name meanwhile: the caller removes it.
  bool release(std::uint64_t number, std::uint64_t count);
  // Releases everything; yields the objects to be removed.
  std::vector<std::uint64_t> release_all();
  std::vector<ZnodeRef> all();
  // The object lost its last name. True if nobody retains it: the caller removes it.
  bool orphan(std::uint64_t number);
  // It got a name again.
  void adopt(std::uint64_t number);

 private:
  static constexpr std::size_t kShards = 32;
  struct Retained {
    std::uint64_t count = 0;
    bool orphan = false;
  };
  struct Shard {
    Mutex mutex;
    std::list<ZnodeRef> recent GUARDED_BY(mutex);  // most recently used first
    std::unordered_map<std::uint64_t, std::list<ZnodeRef>::iterator> by_number GUARDED_BY(mutex);
    std::unordered_map<std::uint64_t, Retained> retained GUARDED_BY(mutex);
    std::uint64_t drops GUARDED_BY(mutex) = 0;  // a load that began before a drop must not enter what it read
  };
  Shard& shard(std::uint64_t number) { return shards_[number % kShards]; }
  void insert(Shard& shard, const ZnodeRef& znode) REQUIRES(shard.mutex);

  const std::size_t shard_capacity_;
  std::array<Shard, kShards> shards_;
};

}  // namespace tarn
