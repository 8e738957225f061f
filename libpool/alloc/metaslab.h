// Metaslab: one slice of a top-level vdev: what is free in it, what changed since its space map was written,
// and what was freed but may not be used again yet.
//
// Where a byte of the metaslab can be:
//   allocatable_            free, may be handed out
//   allocs_[txg & 3]        handed out, not yet in the space map
//   frees_[txg & 3]         given back, not yet in the space map
//   freeing_[txg & 3]       given back in that txg (whether in the map yet or not); after the commit it waits
//   in deferred_[txg & 1]      for two more txgs, and then becomes allocatable (FORMAT.md 11.4) none of these
//   allocated, and the map says so
// A block that is freed in the txg of its birth skips freeing_ and deferred_: no committed state refers to
// it.
//
// Not thread-safe: the vdev's lock covers it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "libpool/alloc/range_tree.h"
#include "libpool/alloc/space_map.h"
#include "libpool/object/object_set.h"

namespace tarn {

class Metaslab {
 public:
  struct Env {
    ObjectSet* mos;
    bool histogram, two_words;
  };
  struct LoggedChange {
    bool is_free;
    std::uint64_t start, size;
  };
  struct Written {
    bool anything = false, created_object = false;
  };

  Metaslab(const Env& env, const SpaceMapRange& range) : env_(env), range_(range) {}

  // Reads the header of an existing space map. `logged`: changes of log space maps that apply on top.
  Status open(std::uint64_t object);
  void add_logged(const LoggedChange& change);
  bool has_logged() const { return !logged_.empty(); }

  std::uint64_t start() const { return range_.start; }
  std::uint64_t end() const { return range_.start + range_.size; }
  std::uint64_t size() const { return range_.size; }
  std::uint64_t object() const { return header_.object; }
  // In use according to map and log; what is not yet in the map is not in it.
  std::int64_t allocated_in_map() const { return header_.allocated_bytes + logged_net_; }
  // May be more than can be handed out, if not loaded.
  std::uint64_t free_estimate() const;
  bool loaded() const { return loaded_; }
  bool damaged() const { return damaged_; }
  std::uint64_t largest_free() const { return allocatable_.largest(); }
  const std::array<std::uint64_t, kHistogramBuckets>& histogram() const { return header_.histogram; }

  // Replays the space map. After an error the metaslab is never allocated from.
  Status load();

  std::optional<std::uint64_t> allocate(std::uint64_t size, std::uint64_t cursor, std::uint64_t txg);
  void free(std::uint64_t start, std::uint64_t size, bool born_in_txg, std::uint64_t txg);
  // After the commit of `txg`.
  void sync_done(std::uint64_t txg);

  bool dirty(std::uint64_t txg) const {
    return !allocs_[txg & 3].empty() || !frees_[txg & 3].empty() || !logged_.empty();
  }
  // Brings the space map up to date. Creates its object if there is none.
  Result<Written> sync(const Tx& tx, unsigned pass);

 private:
  Status replay(const std::function<Status(const SpaceMapEntry&)>& visit);
  Status set_header(const Tx& tx, Object& object);
  // Everything that is free in the eyes of the map of `txg`.
  RangeTree free_in_map(std::uint64_t txg) const;
  Status write_whole(const Tx& tx, Object& object, unsigned pass, const RangeTree& free);
  Status append(const Tx& tx, Object& object, unsigned pass);

  const Env env_;
  const SpaceMapRange range_;
  SpaceMapHeader header_;  // object 0: none yet, all is free
  std::vector<LoggedChange> logged_;
  std::int64_t logged_net_ = 0;
  bool loaded_ = false, damaged_ = false;
  RangeTree allocatable_;
  std::array<RangeTree, 4> allocs_, frees_, freeing_;
  std::array<RangeTree, 2> deferred_;
};

}  // namespace tarn
