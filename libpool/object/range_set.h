// RangeSet: a set of block ids as disjoint, closed ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace tarn {

class RangeSet {
 public:
  void add(std::uint64_t first, std::uint64_t last) {
    auto it = ranges_.upper_bound(first);
    if (it != ranges_.begin() && std::prev(it)->second >= first) {
      --it;
      first = it->first;
    }
    while (it != ranges_.end() && it->first <= last) {
      last = std::max(last, it->second);
      it = ranges_.erase(it);
    }
    ranges_[first] = last;
  }
  bool contains(std::uint64_t id) const { return end_of(id) != nullptr; }
  // Last id of the range that holds `id`; null if none does.
  const std::uint64_t* end_of(std::uint64_t id) const {
    auto it = ranges_.upper_bound(id);
    if (it == ranges_.begin()) return nullptr;
    --it;
    return it->second >= id ? &it->second : nullptr;
  }
  bool empty() const { return ranges_.empty(); }
  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace tarn
