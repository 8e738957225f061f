#include "libpool/vdev/txg_set.h"

#include <algorithm>

namespace tarn {

void TxgSet::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  // Everything that touches [begin, end) melts into it.
  const auto first =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const TxgRange& r) { return r.end >= begin; });
  auto last = first;
  for (; last != ranges_.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  ranges_.insert(ranges_.erase(first, last), {begin, end});
}

void TxgSet::remove(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  std::vector<TxgRange> kept;
  for (const TxgRange& r : ranges_) {
    if (r.begin < begin) kept.push_back({r.begin, std::min(r.end, begin)});
    if (r.end > end) kept.push_back({std::max(r.begin, end), r.end});
  }
  ranges_ = std::move(kept);
}

bool TxgSet::contains(std::uint64_t txg) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), txg,
                                      [](std::uint64_t t, const TxgRange& r) { return t < r.begin; });
  return after != ranges_.begin() && txg < std::prev(after)->end;
}

}  // namespace tarn
