// OpenDataset: an open head or snapshot. As the owner of its object set's blocks it sums up, during a sync,
// what was born and freed; the tree books the sums afterwards (FORMAT.md logical 3.9).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libdataset/tree/dataset_tree.h"
#include "libdataset/tree/node.h"
#include "libpool/txg/bpobj.h"

namespace tarn {

class TreeImpl;

class OpenDataset final : public Dataset, public BlockOwner {
 public:
  // `node` outlives this while the tree lists it as open.
  OpenDataset(TreeImpl& tree, DatasetNode& node);
  // Opens the object set at `root` (a hole: a new one of `type`).
  Status open_objset(const BlockPointer& root, ObjsetType type, std::uint64_t objset_flags);

  const std::string name() const override;
  std::uint64_t object_number() const override { return object_; }
  bool is_snapshot() const override { return snapshot_; }
  bool read_only() const override;
  ObjectSet& objset() override { return *objset_; }
  Pool& pool() override;
  std::uint64_t property(Property property) const override {
    return properties_[static_cast<std::size_t>(property)].load(std::memory_order_relaxed);
  }
  Result<Tx> begin(std::uint64_t bytes, bool may_use_slop) override;
  Space space() const override;

  void block_born(const BlockPointer& bp, std::uint64_t txg) override;
  void block_freed(const BlockPointer& bp, std::uint64_t txg) override;

  // The tree's side.
  DatasetNode& node() { return *node_; }
  void set_property_cache(Property property, std::uint64_t value) {
    properties_[static_cast<std::size_t>(property)].store(value, std::memory_order_relaxed);
  }
  // Blocks born at or before this txg belong to a snapshot.
  void set_previous_snapshot_txg(std::uint64_t txg) { previous_snapshot_txg_.store(txg); }
  StoragePolicy policy() const;
  // While true the blocks freed are those of a dataset that ends: older ones are left to whoever else
  // references them.
  struct Sums {
    BlockSpace born, freed;                       // freed: of this dataset alone
    std::vector<BlockPointer> dead;               // still referenced by the previous snapshot
    std::set<std::string, std::less<>> features;  // first used in this sync
    std::optional<Error> error;
  };
  Sums take_sums();
  std::uint64_t last_synced_txg = 0;  // sync thread only

 private:
  TreeImpl& tree_;
  DatasetNode* const node_;  // read under the tree's mutex
  const std::uint64_t object_;
  const bool snapshot_;
  std::unique_ptr<ObjectSet> objset_;
  std::atomic<std::uint64_t> previous_snapshot_txg_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Property::count_)> properties_{};
  Mutex sums_mutex_;
  Sums sums_ GUARDED_BY(sums_mutex_);
};

}  // namespace tarn
