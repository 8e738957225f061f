#include "libpool/alloc/range_tree.h"

#include <algorithm>
#include <iterator>

namespace tarn {
namespace {

// How many ranges after the cursor are looked at before the smallest fitting one is taken instead.
constexpr unsigned kNextFitLimit = 16;

}  // namespace

void RangeTree::insert(std::uint64_t start, std::uint64_t size) {
  by_offset_.emplace(start, size);
  by_size_.emplace(size, start);
  bytes_ += size;
}

void RangeTree::erase(ByOffset::iterator segment) {
  by_size_.erase({segment->second, segment->first});
  bytes_ -= segment->second;
  by_offset_.erase(segment);
}

bool RangeTree::add(std::uint64_t start, std::uint64_t size) {
  const std::uint64_t end = start + size;
  if (size == 0 || end < start) return false;
  auto next = by_offset_.lower_bound(start);
  if (next != by_offset_.end() && next->first < end) return false;
  std::uint64_t new_start = start, new_end = end;
  if (next != by_offset_.begin()) {
    const auto before = std::prev(next);
    const std::uint64_t before_end = before->first + before->second;
    if (before_end > start) return false;
    if (before_end == start) {
      new_start = before->first;
      erase(before);
    }
  }
  if (next != by_offset_.end() && next->first == end) {
    new_end = next->first + next->second;
    erase(next);
  }
  insert(new_start, new_end - new_start);
  return true;
}

bool RangeTree::contains(std::uint64_t start, std::uint64_t size) const {
  const auto after = by_offset_.upper_bound(start);
  if (after == by_offset_.begin() || size == 0 || start + size < start) return false;
  const auto segment = std::prev(after);
  return start + size <= segment->first + segment->second;
}

bool RangeTree::remove(std::uint64_t start, std::uint64_t size) {
  if (!contains(start, size)) return false;
  const auto segment = std::prev(by_offset_.upper_bound(start));
  const std::uint64_t old_start = segment->first, old_end = segment->first + segment->second,
                      end = start + size;
  if (old_start == start && old_end != end) {
    cut_front(segment, size);
    return true;
  }
  erase(segment);
  if (old_start < start) insert(old_start, start - old_start);
  if (end < old_end) insert(end, old_end - end);
  return true;
}

void RangeTree::cut_front(ByOffset::iterator segment, std::uint64_t size) {
  auto sized = by_size_.extract({segment->second, segment->first});
  const auto hint = std::next(segment);
  auto placed = by_offset_.extract(segment);
  placed.key() += size;
  placed.mapped() -= size;
  sized.value() = {placed.mapped(), placed.key()};
  by_offset_.insert(hint, std::move(placed));
  by_size_.insert(std::move(sized));
  bytes_ -= size;
}

void RangeTree::remove_overlap(std::uint64_t start, std::uint64_t size,
                               const std::function<void(std::uint64_t, std::uint64_t)>& removed) {
  const std::uint64_t end = start + size;
  auto next = by_offset_.upper_bound(start);
  if (next != by_offset_.begin()) --next;
  while (next != by_offset_.end() && next->first < end) {
    const std::uint64_t from = std::max(start, next->first);
    const std::uint64_t to = std::min(end, next->first + next->second);
    if (from >= to) {
      ++next;
      continue;
    }
    remove(from, to - from);
    removed(from, to - from);
    next = by_offset_.lower_bound(to);
  }
}

void RangeTree::add_missing(std::uint64_t start, std::uint64_t size) {
  remove_overlap(start, size, [](std::uint64_t, std::uint64_t) {});
  add(start, size);
}

void RangeTree::clear() {
  by_offset_.clear();
  by_size_.clear();
  bytes_ = 0;
}

std::optional<std::uint64_t> RangeTree::take(std::uint64_t size, std::uint64_t cursor) {
  if (size == 0 || largest() < size) return std::nullopt;
  auto segment = by_offset_.upper_bound(cursor);
  if (segment != by_offset_.begin()) {
    const auto before = std::prev(segment);
    if (before->first + before->second > cursor && before->first + before->second - cursor >= size) {
      remove(cursor, size);
      return cursor;
    }
  }
  for (unsigned looked_at = 0; segment != by_offset_.end() && looked_at < kNextFitLimit;
       ++segment, ++looked_at) {
    if (segment->second < size) continue;
    const std::uint64_t start = segment->first;
    remove(start, size);
    return start;
  }
  const std::uint64_t start = by_size_.lower_bound({size, 0})->second;
  remove(start, size);
  return start;
}

}  // namespace tarn
