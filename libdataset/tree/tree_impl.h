// The implementation of DatasetTree, one source file per group of operations. In-memory nodes mirror the MOS;
// the MOS bonus is changed first and decoded again, since the pool itself charges $MOS and $FREE there.
//
// Locks: mutex_ guards the nodes. The sync thread holds it exclusively while it runs a task or books a sync;
// readers share it. Nobody waits for a transaction group while holding it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "libdataset/tree/deadlist.h"
#include "libdataset/tree/dataset_tree.h"
#include "libdataset/tree/extension.h"
#include "libdataset/tree/names.h"
#include "libdataset/tree/node.h"
#include "libdataset/tree/open_dataset.h"
#include "libpool/base/mutex.h"

namespace tarn {

// A property setting that was checked, ready to be stored.
struct PreparedSetting {
  std::string name;
  const PropertyInfo* info = nullptr;  // null: user property
  ParsedValue value;
  std::string text;  // as typed, for the history
};

class TreeImpl final : public DatasetTree {
 public:
  TreeImpl(Pool& pool, OwnerFinder find_owner) : pool_(pool), find_owner_(std::move(find_owner)) {}
  ~TreeImpl() override;

  // DatasetTree
  Status create(const CreateDatasetSpec& spec) override;
  Status destroy(const std::string& name) override;
  Status rename(const std::string& from, const std::string& to, bool make_parents) override;
  Status snapshot(const std::vector<std::string>& names,
                  const std::vector<PropertySetting>& properties) override;
  Result<DatasetInfo> info(const std::string& name) override;
  Result<std::vector<DatasetInfo>> list(const std::string& root, unsigned depth, bool snapshots) override;
  Result<PropertyValue> get(const std::string& dataset, const std::string& property) override;
  Result<std::vector<PropertyValue>> get_all(const std::string& dataset) override;
  Status set(const std::string& dataset, const std::vector<PropertySetting>& settings) override;
  Status inherit(const std::string& dataset, const std::string& property, bool received) override;
  void set_mounted_query(std::function<bool(const std::string& dataset)> query) override;
  Result<DatasetRef> open_dataset(const std::string& name) override;
  Pool& pool() override { return pool_; }

  // SyncParticipant
  void close_txg(std::uint64_t txg) override;
  Status sync(SyncContext& context) override;
  Status sync_after_tasks(SyncContext& context) override;
  void synced(std::uint64_t txg) override;

  // For OpenDataset.
  const OwnerFinder& owner_finder() const { return find_owner_; }
  std::string name_of_node(const DatasetNode& node) const;
  Dataset::Space space_of_node(const DatasetNode& node) const;
  Result<Tx> begin(DatasetNode& node, std::uint64_t bytes, bool may_use_slop);

  // tree_load.cc
  Status load();
  Status check_intent_logs();
  void participate();

  // new_pool.cc: the first txg of a pool, after its DSL objects were made and load() read them.
  Status create_root(SyncContext& context, const CreateDatasetSpec& spec);

 private:
  // A place in the tree; exactly one of the three is set.
  struct Place {
    DirNode* dir = nullptr;  // always: the directory
    DatasetNode* snapshot = nullptr;
    BookmarkNode* bookmark = nullptr;
    bool is_head() const { return !snapshot && !bookmark; }
  };
  using Describe = std::function<void(const Place&)>;

  // tree_load.cc
  Result<std::unique_ptr<DirNode>> load_dir(std::uint64_t object, std::string name, DirNode* parent,
                                            unsigned depth);
  Result<std::unique_ptr<DatasetNode>> load_dataset(std::uint64_t object, DirNode* dir, std::string name);
  Status load_snapshots(DirNode& dir);
  Status load_extensions(DirNode& dir);
  Status load_bookmarks(DirNode& dir, std::uint64_t zap);
  Status load_objset_summary(DirNode& dir);
  Result<PropertyMap> load_props(std::uint64_t zap) const;
  Status check_intent_log(const DirNode& dir);
  Result<const HeadDetails*> details_of(DirNode& dir);
  Result<HeadDetails> read_details(const DatasetNode& node, ObjsetType type);
  Result<std::unique_ptr<ObjectSet>> open_read_only(const DatasetNode& node, ObjsetType type);

  // tree_lookup.cc
  Result<Place> find(const std::string& name) const;
  DirNode* find_dir(std::string_view name) const;
  DirNode* special_dir(std::string_view name) const;
  DatasetNode* dataset(std::uint64_t object) const;
  std::shared_ptr<OpenDataset> opened(std::uint64_t object) const;
  Result<std::shared_ptr<OpenDataset>> open_node(DatasetNode& node);
  Status close_idle(DatasetNode& node);  // Errc::busy if somebody else uses it

  // tree_list.cc
  DatasetInfo describe(const Place& place) const;
  void collect(DirNode& dir, unsigned depth, bool snapshots, std::vector<Place>& out) const;
  Result<BlockSpace> deadlist_total(const DatasetNode& node) const;
  // `written` of `node` since a snapshot or bookmark of creation txg `since`.
  Result<std::uint64_t> written_since(const DatasetNode& node, std::uint64_t since_txg,
                                      std::uint64_t since_referenced,
                                      std::optional<std::uint64_t> freed_before_next) const;
  Result<std::uint64_t> written(const DatasetNode& node) const;

  // tree_get.cc
  struct Found {
    const StoredProperty* value = nullptr;
    Source source = Source::defaulted;
    const DirNode* from = nullptr;
  };
  Found find_value(const Place& place, const PropertyInfo* info, std::string_view name) const;
  std::uint64_t effective_number(const DirNode& dir, Property property) const;
  PropertyValue native_value(const Place& place, const PropertyInfo& info);
  PropertyValue derived_value(const Place& place, const PropertyInfo& info);
  PropertyValue mountpoint_value(const Place& place) const;
  PropertyValue user_value(const Place& place, const std::string& name) const;
  Result<PropertyValue> written_value(const Place& place, const std::string& name);
  void refresh_properties(OpenDataset& open) const;
  void refresh_all_properties();

  // tree_set.cc
  Result<std::vector<PreparedSetting>> prepare(const std::vector<PropertySetting>& settings,
                                               PropertyTarget target, SetOccasion occasion) const;
  Status check_setting_fits(const DirNode& dir, const PreparedSetting& setting);
  Status apply_setting(SyncContext& context, DirNode& dir, const PreparedSetting& setting);
  Status store_property(SyncContext& context, std::uint64_t props_zap, PropertyMap& props,
                        const std::string& key, const StoredProperty& value);
  Status remove_property(SyncContext& context, std::uint64_t props_zap, PropertyMap& props,
                         const std::string& key);
  Status set_snapshot_property(SyncContext& context, DatasetNode& node, const PreparedSetting& setting);
  Status apply_side_effect(SyncContext& context, DirNode& dir, Property property, std::uint64_t old_value,
                           std::uint64_t value);
  Status set_refreservation(SyncContext& context, DirNode& dir, std::uint64_t old_value, std::uint64_t value);
  Status set_reservation(SyncContext& context, DirNode& dir, std::uint64_t value);

  // tree_space.cc
  template <typename Change>
  Status update_dir(SyncContext& context, DirNode& dir, Change change);
  template <typename Change>
  Status update_dataset(SyncContext& context, DatasetNode& node, Change change);
  using Breakdown = std::array<std::int64_t, kUsedByCount>;
  Status charge(SyncContext& context, DirNode& dir, std::int64_t used, std::int64_t compressed,
                std::int64_t uncompressed, const Breakdown& breakdown);
  std::uint64_t available(const DirNode& dir, bool with_pending) const;
  std::uint64_t dataset_available(const DirNode& dir) const;
  Status check_space(const DatasetNode& node, std::uint64_t bytes, bool with_pending) const;
  Status book_sums(SyncContext& context, OpenDataset& open, OpenDataset::Sums sums);

  // tree_sync.cc
  Status sync_dirty(SyncContext& context);
  Result<BlockPointer> write_objset(SyncContext& context, OpenDataset& open);  // mutex_ not needed
  Status book_sync(SyncContext& context, OpenDataset& open, const BlockPointer& root);

  // tree_create.cc
  Status create_one(const CreateDatasetSpec& spec, const std::string& name, bool with_properties);
  Status create_in_sync(SyncContext& context, DirNode& parent, const std::string& name,
                        const CreateDatasetSpec& spec, const std::vector<PreparedSetting>& settings,
                        const std::map<std::string, std::uint64_t>& zpl);
  Result<std::map<std::string, std::uint64_t>> zpl_properties(DirNode* parent,
                                                              const std::vector<PreparedSetting>& settings);
  Status check_creation_fits(const DirNode& parent, const std::vector<PreparedSetting>& settings) const;
  Status create_head(SyncContext& context, DirNode& dir, ObjsetType type, std::uint64_t creation_txg);
  Status create_objset(SyncContext& context, DirNode& dir, const CreateDatasetSpec& spec,
                       const std::map<std::string, std::uint64_t>& zpl);
  Status adjust_counts(SyncContext& context, DirNode* from, std::int64_t filesystems, std::int64_t snapshots);

  // tree_destroy.cc
  Status destroy_head(const std::string& name);
  Status destroy_head_in_sync(SyncContext& context, DirNode& dir);
  Status free_blocks_of_head(SyncContext& context, DirNode& dir);
  Status destroy_dir(SyncContext& context, DirNode& dir);
  Status drop_livelist(SyncContext& context, DirNode& dir);

  // tree_snapshot.cc
  Status snapshot_in_sync(SyncContext& context, DirNode& dir, const std::string& name,
                          const std::vector<PreparedSetting>& settings);
  Status note_snapshots_changed(SyncContext& context, DirNode& dir);

  // tree_destroy_snapshot.cc
  Status destroy_snapshot(const std::string& name);
  Status check_snapshot_destroyable(const Place& place) const;
  Status destroy_snapshot_in_sync(SyncContext& context, DirNode& dir, DatasetNode& node);
  Result<bool> adjust_bookmarks(SyncContext& context, DirNode& dir, const DatasetNode& node,
                                const DatasetNode* next);
  Status recompute_unique(SyncContext& context, DirNode& dir, const DatasetNode* previous);
  Status drop_deadlist_key(SyncContext& context, DirNode& dir, std::uint64_t key);
  Status replace_next(SyncContext& context, DatasetNode& previous, std::uint64_t old_next,
                      std::uint64_t new_next);

  // tree_rename.cc
  Status rename_snapshot(const DatasetName& from, const DatasetName& to);
  bool is_below(const DirNode& dir, const DirNode& ancestor) const;
  Status rename_dir_in_sync(SyncContext& context, DirNode& dir, DirNode& new_parent, const std::string& name);

  Pool& pool_;
  const OwnerFinder find_owner_;
  mutable SharedMutex mutex_;
  std::unique_ptr<DirNode> root_;
  std::unordered_map<std::uint64_t, DirNode*> dirs_;
  std::unordered_map<std::uint64_t, DatasetNode*> datasets_;
  // Open heads and snapshots by dataset object. The tree keeps each until nobody else holds it and it is
  // clean.
  std::map<std::uint64_t, std::shared_ptr<OpenDataset>> open_;
  std::function<bool(const std::string&)> mounted_query_;
  bool participating_ = false;
};

// Members of int-key sets: clones of a directory, next clones of a snapshot.
Result<std::vector<std::uint64_t>> int_key_set(ObjectSet& mos, std::uint64_t zap);

template <typename Change>
Status TreeImpl::update_dir(SyncContext& context, DirNode& dir, Change change) {
  ObjectRef object = TRY(pool_.mos().open_object(dir.object));
  dir.phys = TRY(DslDirPhys::decode(object->bonus()));
  change(dir.phys);
  return object->set_bonus(context.tx, dir.phys.encode());
}

template <typename Change>
Status TreeImpl::update_dataset(SyncContext& context, DatasetNode& node, Change change) {
  ObjectRef object = TRY(pool_.mos().open_object(node.object));
  change(node.phys);
  return object->set_bonus(context.tx, node.phys.encode());
}

}  // namespace tarn
