// RangeTree: a set of disjoint byte ranges, kept by offset and by size. Adjacent ranges are one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tarn {

class RangeTree {
 public:
  bool empty() const { return by_offset_.empty(); }
  std::size_t segment_count() const { return by_offset_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

  // False, and nothing changed, if any of it is there already (or it is empty or wraps around).
  bool add(std::uint64_t start, std::uint64_t size);
  // False, and nothing changed, unless all of it is there.
  bool remove(std::uint64_t start, std::uint64_t size);
  // Takes out whatever of the range is there; `removed` is told each piece.
  void remove_overlap(std::uint64_t start, std::uint64_t size,
                      const std::function<void(std::uint64_t, std::uint64_t)>& removed);
  // Adds the parts that are missing.
  void add_missing(std::uint64_t start, std::uint64_t size);
  bool contains(std::uint64_t start, std::uint64_t size) const;
  void clear();

  // Takes `size` bytes: at `cursor` or soon after it, else from the smallest range that fits. The start, or
  // nothing.
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t cursor);

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [start, length] : by_offset_) visit(start, length);
  }

 private:
  using ByOffset = std::map<std::uint64_t, std::uint64_t>;  // start -> size
  void insert(std::uint64_t start, std::uint64_t size);
  void erase(ByOffset::iterator segment);
  // Replaces a segment by what is left of it; reuses its nodes.
  void cut_front(ByOffset::iterator segment, std::uint64_t size);

  ByOffset by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (size, start)
  std::uint64_t bytes_ = 0;
};

}  // namespace tarn
