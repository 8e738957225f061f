// Deadlist: the blocks that a dataset's previous snapshot references and the dataset itself does not any more
// (FORMAT.md logical 3.5).
//
// A map from `mintxg` to a list of block pointers: a block goes to the entry with the largest mintxg below
// its birth. The keys are the prev_snap_txg of every snapshot in the dataset's chain, so that what a
// snapshot's destroy has to free is always a range of whole entries. Pools before version 26 have one plain
// list instead.
//
// Entries may point to the pool's shared empty list (feature empty_bpobj); it is replaced before the first
// append. Changes happen in syncing context only.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "libpool/txg/bpobj.h"
#include "libpool/txg/pool.h"

namespace tarn {

class Deadlist {
 public:
  // A new one without keys; pools before version 26: a plain list.
  static Result<std::uint64_t> create(SyncContext& context);
  static Result<Deadlist> open(Pool& pool, std::uint64_t number);

  std::uint64_t number() const { return object_->number(); }
  const std::map<std::uint64_t, std::uint64_t>& keys() const { return keys_; }
  BlockSpace total() const { return total_; }
  // Space of blocks born in (low, high]: entries with low <= mintxg < high. Both ends have to be keys, or
  // beyond all.
  Result<BlockSpace> range(std::uint64_t low, std::uint64_t high) const;

  Status append(SyncContext& context, std::span<const BlockPointer> bps);
  // A new deadlist with this one's keys below `below`, all entries empty.
  Result<std::uint64_t> clone_keys(SyncContext& context, std::uint64_t below) const;
  Status add_key(SyncContext& context, std::uint64_t key);
  // The entry's blocks join the one before it. No error if there is no such key.
  Status remove_key(SyncContext& context, std::uint64_t key);
  // Takes over the entries of `other`, which ends.
  Status merge(SyncContext& context, Deadlist other);
  // Moves every block of the entries with mintxg >= low to `list` and drops those entries. Returns their
  // space.
  Result<BlockSpace> move_from(SyncContext& context, std::uint64_t low, Bpobj& list);
  // Drops the deadlist; the blocks on it stay as they are.
  Status destroy(SyncContext& context);

 private:
  explicit Deadlist(ObjectRef object) : object_(std::move(object)) {}
  Status store_total(const Tx& tx);
  Status set_entry(const Tx& tx, std::uint64_t key, std::uint64_t list);
  Status drop_entry(const Tx& tx, std::uint64_t key);
  std::uint64_t key_for(std::uint64_t birth) const;  // largest key below `birth`, or the smallest
  // The list at `key`, fresh if it was the shared empty one.
  Result<Bpobj> writable_entry(SyncContext& context, std::uint64_t key);

  ObjectRef object_;
  bool plain_ = false;                           // before version 26: object_ is the list itself
  std::map<std::uint64_t, std::uint64_t> keys_;  // mintxg -> bpobj
  BlockSpace total_;
  ObjectSet* mos_ = nullptr;
};

}  // namespace tarn
