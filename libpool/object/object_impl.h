// ObjectImpl: one open object: what is on disk as of its last sync, and what each unsynced txg changed.
//
// A block is found newest first: the dirty buffers of each txg, then the ranges that this txg freed, then the
// tree on disk. A txg's DirtyState does not change any more once its sync begins; sync builds the new tree
// beside the old one and swaps it in together with dropping the DirtyState, so that a reader sees one or the
// other.
//
// A change for an older txg than the newest one that changed the object counts to the newest: the content of
// an object grows in one line, and a structure spread over blocks (a ZAP) is whole in each txg.
#pragma once

#include <atomic>
#include <map>

#include "libpool/object/dnode.h"
#include "libpool/object/object_set.h"
#include "libpool/object/range_set.h"

namespace tarn {

class ObjectSetImpl;

// What one txg changed in one object.
struct DirtyState {
  std::map<std::uint64_t, MutableBufferRef> blocks;
  RangeSet freed;  // applied before `blocks`
  bool created = false;
  bool removed = false;
  std::optional<std::uint64_t> max_blkid;
  std::optional<std::uint32_t> block_bytes;
  std::optional<DmuType> type, bonus_type;
  std::optional<Bytes> bonus;
  bool spill_changed = false;
  BufferRef spill;  // with spill_changed: null = removed
  std::int64_t dirty_bytes = 0;
};

class ObjectImpl final : public Object, public std::enable_shared_from_this<ObjectImpl> {
 public:
  ObjectImpl(ObjectSetImpl& set, std::uint64_t number, Dnode dnode);

  std::uint64_t number() const override { return number_; }
  ObjectInfo info() const override;
  Status read(std::uint64_t offset_bytes, MutableByteView out) override;
  Result<BufferRef> read_block(std::uint64_t blkid) override;
  Status write(const Tx& tx, std::uint64_t offset_bytes, ByteView data) override;
  Status write_block(const Tx& tx, std::uint64_t blkid, Buffer data) override;
  Result<MutableBufferRef> modify_block(const Tx& tx, std::uint64_t blkid) override;
  Status free_range(const Tx& tx, std::uint64_t offset_bytes, std::uint64_t length_bytes) override;
  Status set_block_size(const Tx& tx, std::uint32_t block_bytes) override;
  Bytes bonus() const override;
  Status set_bonus(const Tx& tx, ByteView bonus) override;
  Status set_bonus_type(const Tx& tx, DmuType bonus_type) override;
  Status set_type(const Tx& tx, DmuType type) override;
  Result<std::optional<BufferRef>> spill() const override;
  Status set_spill(const Tx& tx, std::optional<Buffer> data) override;
  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset_bytes) override;
  Result<std::optional<std::uint64_t>> next_hole(std::uint64_t offset_bytes) override;
  void prefetch(std::uint64_t offset_bytes, std::uint64_t length_bytes) override;
  SharedMutex& content_lock() override { return content_lock_; }

  // The content of a block, or null where it reads as zeros. `order`: in which byte order it was stored (a
  // dirty block: the host's).
  Result<BufferRef> fetch(std::uint64_t blkid, ByteOrder* order = nullptr);
  // The bp of a block on disk and where the way down ended: for a hole, the level of the missing block.
  struct Found {
    BlockPointer bp;
    unsigned level = 0;
  };
  Result<Found> find_on_disk(std::uint64_t blkid);

  // For ObjectSetImpl.
  void mark_created(const Tx& tx);
  void mark_removed(const Tx& tx);
  bool removed() const { return removed_.load(std::memory_order_acquire); }
  Dnode synced_dnode() const;
  // The changes of `txg`; null if none. They do not change until finish_sync().
  const DirtyState* dirty_state(std::uint64_t txg) const;
  void finish_sync(std::uint64_t txg, Dnode dnode);

 private:
  // A private view of the tree on disk, to walk without the lock.
  struct TreeView {
    TreeShape shape;
    BlockPointer root;
    std::uint64_t max_blkid = 0;
    std::uint64_t generation = 0;
  };
  enum class Where { dirty, hole, disk };
  struct Place {
    Where where = Where::disk;
    BufferRef buffer;
    TreeView tree;
  };
  Place locate(std::uint64_t blkid) const;                               // takes lock_ shared
  Where locate_dirty(std::uint64_t blkid, MutableBufferRef* out) const;  // lock_ held
  TreeView view_for(std::uint64_t blkid) const;                          // lock_ held
  Result<Found> walk(const TreeView& tree, std::uint64_t blkid);
  Result<BufferRef> load(const BlockPointer& bp, std::uint64_t blkid);
  Result<BufferRef> fetch_at(Place place, std::uint64_t blkid, ByteOrder* order);
  Status read_part(std::uint64_t blkid, std::size_t at, MutableByteView out);
  Result<std::optional<std::uint64_t>> next(std::uint64_t offset_bytes, bool want_data);
  void note_read(std::uint64_t first, std::uint64_t last);
  void prefetch_blocks(std::uint64_t first, std::uint64_t last);

  DirtyState& dirty(std::uint64_t txg);           // lock_ held exclusively
  Status check_write(std::uint64_t blkid) const;  // lock_ held
  void insert_block(DirtyState& state, std::uint64_t blkid,
                    MutableBufferRef buffer);  // lock_ held exclusively
  void account(DirtyState& state, std::uint64_t txg, std::int64_t bytes);
  Status change_part(const Tx& tx, std::uint64_t blkid, std::size_t at, ByteView data, std::size_t zeros);
  Status zero_part(const Tx& tx, std::uint64_t blkid, std::size_t at, std::size_t length);
  std::string where(std::uint64_t blkid) const;

  ObjectSetImpl& set_;
  const std::uint64_t number_;
  SharedMutex content_lock_;

  mutable SharedMutex lock_;                   // what follows, down to generation_
  Dnode synced_;                               // on disk as of the last sync
  std::map<std::uint64_t, DirtyState> dirty_;  // by txg; at most two
  // As seen now, with all unsynced changes.
  DmuType type_, bonus_type_;
  std::uint32_t block_bytes_;
  std::uint64_t max_blkid_;
  Bytes bonus_;
  ByteOrder bonus_order_;
  bool has_spill_;
  std::uint64_t generation_ = 0;

  std::atomic<bool> removed_{false};

  // The last indirect block used, so that a run of blocks finds its pointers without the block cache.
  mutable Mutex recent_lock_;
  BufferRef recent_indirect_ GUARDED_BY(recent_lock_);
  ByteOrder recent_order_ GUARDED_BY(recent_lock_) = kHostOrder;
  std::uint64_t recent_id_ GUARDED_BY(recent_lock_) = 0;
  std::uint64_t recent_generation_ GUARDED_BY(recent_lock_) = UINT64_MAX;

  // Sequential readers: each stream knows which block it wants next and how far ahead was read.
  struct Stream {
    std::uint64_t next = UINT64_MAX, ahead = 0, window = 0, last_use = 0;
  };
  Mutex stream_lock_;
  std::array<Stream, 4> streams_ GUARDED_BY(stream_lock_){};
  std::uint64_t stream_clock_ GUARDED_BY(stream_lock_) = 0;
};

}  // namespace tarn
