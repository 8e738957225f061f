#include "libdataset/files/znode_cache.h"

namespace tarn {

Result<ZnodeRef> ZnodeCache::get(std::uint64_t number, const std::function<Result<ZnodeRef>()>& load) {
  Shard& s = shard(number);
  for (;;) {
    std::uint64_t drops = 0;
    {
      MutexLock lock(s.mutex);
      if (const auto found = s.by_number.find(number); found != s.by_number.end()) {
        s.recent.splice(s.recent.begin(), s.recent, found->second);
        return *found->second;
      }
      drops = s.drops;
    }
    ZnodeRef loaded = TRY(load());
    MutexLock lock(s.mutex);
    if (s.drops != drops) continue;
    if (const auto found = s.by_number.find(number); found != s.by_number.end()) return *found->second;
    insert(s, loaded);
    return loaded;
  }
}

ZnodeRef ZnodeCache::cached(std::uint64_t number) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  const auto found = s.by_number.find(number);
  return found == s.by_number.end() ? nullptr : *found->second;
}

void ZnodeCache::insert(Shard& s, const ZnodeRef& znode) {
  s.recent.push_front(znode);
  s.by_number[znode->number()] = s.recent.begin();
  // Those in use stay and get another turn; a bounded look keeps this cheap.
  for (int tries = 0; s.recent.size() > shard_capacity_ && tries < 8; ++tries) {
    const auto last = std::prev(s.recent.end());
    if (last->use_count() == 1) {
      s.by_number.erase((*last)->number());
      s.recent.erase(last);
    } else {
      s.recent.splice(s.recent.begin(), s.recent, last);
    }
  }
}

void ZnodeCache::put(const ZnodeRef& znode) {
  Shard& s = shard(znode->number());
  MutexLock lock(s.mutex);
  ++s.drops;
  if (const auto found = s.by_number.find(znode->number()); found != s.by_number.end()) {
    s.recent.erase(found->second);
    s.by_number.erase(found);
  }
  insert(s, znode);
}

void ZnodeCache::drop(std::uint64_t number) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  ++s.drops;
  if (const auto found = s.by_number.find(number); found != s.by_number.end()) {
    s.recent.erase(found->second);
    s.by_number.erase(found);
  }
}

void ZnodeCache::retain(std::uint64_t number) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  ++s.retained[number].count;
}

bool ZnodeCache::release(std::uint64_t number, std::uint64_t count) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  const auto found = s.retained.find(number);
  if (found == s.retained.end()) return false;
  if (found->second.count > count) {
    found->second.count -= count;
    return false;
  }
  const bool last = found->second.orphan;
  s.retained.erase(found);
  return last;
}

std::vector<std::uint64_t> ZnodeCache::release_all() {
  std::vector<std::uint64_t> orphans;
  for (Shard& s : shards_) {
    MutexLock lock(s.mutex);
    for (const auto& [number, retained] : s.retained) {
      if (retained.orphan) orphans.push_back(number);
    }
    s.retained.clear();
  }
  return orphans;
}

std::vector<ZnodeRef> ZnodeCache::all() {
  std::vector<ZnodeRef> out;
  for (Shard& s : shards_) {
    MutexLock lock(s.mutex);
    out.insert(out.end(), s.recent.begin(), s.recent.end());
  }
  return out;
}

bool ZnodeCache::orphan(std::uint64_t number) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  const auto found = s.retained.find(number);
  if (found == s.retained.end()) return true;
  found->second.orphan = true;
  return false;
}

void ZnodeCache::adopt(std::uint64_t number) {
  Shard& s = shard(number);
  MutexLock lock(s.mutex);
  if (const auto found = s.retained.find(number); found != s.retained.end()) found->second.orphan = false;
}

}  // namespace tarn
