// ObjectSetImpl: the objects that are open, which numbers are taken, which objects each txg changed, and the
// order in which a sync writes them.
//
// Lock order: alloc_lock_, an object's content lock, an object's lock, lock_. No lock is held while a sync
// writes.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "libpool/object/accounting.h"
#include "libpool/object/object_impl.h"

namespace tarn {

// One call of sync(): what all its steps need.
struct SyncRun {
  std::uint64_t txg = 0;
  unsigned pass = 1;
  WriteBatch* batch = nullptr;
  StoragePolicy policy;
  AccountingDeltas accounting;
};

class ObjectSetImpl final : public ObjectSet {
 public:
  ObjectSetImpl(const ObjectSetEnv& env, ObjsetType type);
  ~ObjectSetImpl() override;
  Status load(const BlockPointer& root);

  ObjsetType type() const override { return type_; }
  BlockPointer root() const override;
  std::uint64_t flags() const override;
  void set_flags(const Tx& tx, std::uint64_t flags) override;
  Bytes zil_header() const override;
  void set_zil_header(const Tx& tx, ByteView header) override;
  void set_policy(const StoragePolicy& policy) override;
  Result<ObjectRef> open_object(std::uint64_t number) override;
  Result<ObjectRef> create_object(const Tx& tx, const ObjectSpec& spec) override;
  Result<ObjectRef> claim_object(const Tx& tx, std::uint64_t number, const ObjectSpec& spec) override;
  Status free_object(const Tx& tx, std::uint64_t number) override;
  Result<std::optional<std::uint64_t>> next_object(std::uint64_t after) override;
  std::uint64_t object_count() const override;
  bool is_dirty(std::uint64_t txg) const override;
  void close_txg(std::uint64_t txg) override;
  Result<BlockPointer> sync(std::uint64_t txg, unsigned pass, WriteBatch& batch) override;
  Status free_all(std::uint64_t txg) override;
  Status traverse(std::uint64_t min_birth,
                  const std::function<Status(const BlockPointer&, const Bookmark&)>& visit) override;

  // For ObjectImpl and TreeEditor.
  std::uint64_t id() const { return env_.objset_id; }
  bool is_mos() const { return type_ == ObjsetType::meta; }
  BlockIo& io() { return *env_.io; }
  ThreadPool* workers() { return env_.workers; }
  std::uint32_t vdev_count() const { return env_.vdev_count; }
  bool hole_birth() const { return env_.hole_birth; }
  Status check_pointer(const BlockPointer& bp, const TreeShape& shape, unsigned level) const;
  void mark_dirty(std::shared_ptr<ObjectImpl> object, std::uint64_t txg);
  void report_dirty(std::uint64_t txg, std::int64_t bytes);
  void run_in_background(std::function<void()> task);
  // `before` is no longer referenced. Returns the bytes that its owner is charged less.
  std::int64_t release(const SyncRun& run, const BlockPointer& before);
  // Writes a block in place of `before`, telling the owner. `charged` changes by what that costs.
  Result<BlockPointer> replace(const SyncRun& run, BlockWrite block, const BlockPointer& before,
                               const Bookmark& bookmark, std::int64_t& charged);
  // Fills in how a block of this kind is stored.
  void apply_policy(const SyncRun& run, const Dnode& dnode, BlockWrite& block) const;

 private:
  struct TxgChanges {
    std::unordered_map<std::uint64_t, std::shared_ptr<ObjectImpl>> objects;
    std::optional<std::uint64_t> flags;
    std::optional<Bytes> zil_header;
  };
  // Which slots of a dnode block are taken, and where dnodes start. Interior slots of large dnodes are taken
  // only.
  struct SlotMap {
    std::uint32_t used = 0, starts = 0;
  };

  std::shared_ptr<ObjectImpl> lookup(std::uint64_t number) REQUIRES(lock_);
  void remember(const std::shared_ptr<ObjectImpl>& object) REQUIRES(lock_);
  Result<SlotMap*> slot_map(std::uint64_t block) REQUIRES(alloc_lock_);
  Result<std::uint64_t> allocate_number(unsigned slots) REQUIRES(alloc_lock_);
  Result<ObjectRef> make_object(const Tx& tx, std::uint64_t number, const ObjectSpec& spec)
      REQUIRES(alloc_lock_);
  Result<Dnode> new_dnode(const ObjectSpec& spec) const;

  Result<Dnode> sync_object(SyncRun& run, ObjectImpl& object);
  Result<Dnode> build_dnode(SyncRun& run, ObjectImpl& object, const DirtyState& changes);
  Status sync_data(SyncRun& run, ObjectImpl& object, const DirtyState& changes, class TreeEditor& tree,
                   Dnode& dnode);
  Status sync_spill(SyncRun& run, ObjectImpl& object, const DirtyState& changes, Dnode& dnode);
  Status store_dnode(SyncRun& run, ObjectImpl& object, const Dnode& dnode, unsigned old_slots);
  Status sync_objects(SyncRun& run, std::vector<std::shared_ptr<ObjectImpl>> objects);
  Status sync_accounting(SyncRun& run);
  Result<BlockPointer> write_root(SyncRun& run, const TxgChanges& changes);
  void note_features(const BlockPointer& bp);
  void use_feature(std::string_view guid);

  ObjectSetEnv env_;
  ObjsetType type_;
  std::shared_ptr<ObjectImpl> meta_;
  std::array<std::shared_ptr<ObjectImpl>, 3> accounts_;  // user, group, project; null where the set has none

  mutable Mutex lock_;
  std::unordered_map<std::uint64_t, std::weak_ptr<ObjectImpl>> objects_ GUARDED_BY(lock_);
  std::size_t sweep_at_ GUARDED_BY(lock_) = 1024;  // expired entries are dropped when there are so many
  std::map<std::uint64_t, TxgChanges> dirty_ GUARDED_BY(lock_);
  StoragePolicy policy_ GUARDED_BY(lock_);
  BlockPointer root_ GUARDED_BY(lock_);
  Buffer header_ GUARDED_BY(lock_);  // objset block as of the last sync, host order
  std::uint64_t flags_ GUARDED_BY(lock_) = 0;
  Bytes zil_header_ GUARDED_BY(lock_);
  bool created_ GUARDED_BY(lock_) = false;  // never synced yet
  std::unordered_set<std::string> features_seen_ GUARDED_BY(lock_);

  Mutex alloc_lock_;
  std::unordered_map<std::uint64_t, SlotMap> slot_maps_ GUARDED_BY(alloc_lock_);
  // By number of slots: between object 32 and here no such run of slots is free.
  std::array<std::uint64_t, kMaxDnodeSlots + 1> alloc_cursors_ GUARDED_BY(alloc_lock_);
  std::atomic<std::int64_t> object_count_{0};

  Mutex background_lock_;
  CondVar background_idle_;
  std::size_t background_count_ GUARDED_BY(background_lock_) = 0;
};

}  // namespace tarn
