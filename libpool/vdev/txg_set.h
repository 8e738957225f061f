// TxgSet: a set of transaction groups as disjoint ascending ranges; what a dirty time log holds
// (FORMAT.md 10.3).
#pragma once

#include <cstdint>
#include <vector>

namespace tarn {

struct TxgRange {
  std::uint64_t begin = 0, end = 0;  // [begin, end)
  friend bool operator==(const TxgRange&, const TxgRange&) = default;
};

class TxgSet {
 public:
  void add(std::uint64_t begin, std::uint64_t end);
  void remove(std::uint64_t begin, std::uint64_t end);
  bool contains(std::uint64_t txg) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<TxgRange>& ranges() const { return ranges_; }
  friend bool operator==(const TxgSet&, const TxgSet&) = default;

 private:
  std::vector<TxgRange> ranges_;
};

}  // namespace tarn
