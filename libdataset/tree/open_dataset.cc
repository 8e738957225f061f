#include "libdataset/tree/open_dataset.h"

#include <algorithm>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::uint64_t kUserAccounting = 1, kObjectAccounting = 2, kProjectAccounting = 4;  // os_flags
constexpr unsigned kMostCopies = 3;
enum RedundantMetadata : std::uint64_t { kAll = 0, kMost = 1, kSome = 2, kNone = 3 };

ChecksumType checksum_of(std::uint64_t property) {
  const auto type = static_cast<ChecksumType>(property);
  return type == ChecksumType::on || !is_known(type) ? ChecksumType::fletcher4 : type;
}

}  // namespace

OpenDataset::OpenDataset(TreeImpl& tree, DatasetNode& node)
    : tree_(tree),
      node_(&node),
      object_(node.object),
      snapshot_(node.is_snapshot()),
      previous_snapshot_txg_(node.phys.prev_snap_txg) {}

Status OpenDataset::open_objset(const BlockPointer& root, ObjsetType type, std::uint64_t objset_flags) {
  Pool& pool = tree_.pool();
  ObjectSetEnv env;
  env.io = &pool.io();
  env.workers = &pool.workers();
  env.owner = this;
  env.dirty = &pool;
  env.objset_id = object_;
  env.vdev_count = static_cast<std::uint32_t>(pool.vdevs().top_count());
  env.feature_used = [this](std::string_view guid) {
    MutexLock lock(sums_mutex_);
    sums_.features.emplace(guid);
  };
  if (type == ObjsetType::filesystem) {
    env.find_owner = tree_.owner_finder();
    env.user_accounting = (objset_flags & kUserAccounting) != 0;
    env.object_accounting = (objset_flags & kObjectAccounting) != 0;
    env.project_accounting = (objset_flags & kProjectAccounting) != 0;
  }
  objset_ = TRY(ObjectSet::open(env, root, type));
  return {};
}

const std::string OpenDataset::name() const { return tree_.name_of_node(*node_); }
Pool& OpenDataset::pool() { return tree_.pool(); }
bool OpenDataset::read_only() const {
  return snapshot_ || tree_.pool().read_only() || property(Property::readonly) != 0;
}
Dataset::Space OpenDataset::space() const {
  Space space = tree_.space_of_node(*node_);
  space.objects_used = objset_->object_count();
  return space;
}

Result<Tx> OpenDataset::begin(std::uint64_t bytes, bool may_use_slop) {
  // The property readonly is a matter of the mount; the object set of a read-only dataset may still be
  // received into.
  if (snapshot_ || tree_.pool().read_only())
    return Error(Errc::read_only, snapshot_ ? "snapshots cannot be changed" : "the pool is read-only");
  return tree_.begin(*node_, bytes, may_use_slop);
}

void OpenDataset::block_born(const BlockPointer& bp, std::uint64_t) {
  const BlockSpace space = space_of(bp, tree_.pool().io());
  MutexLock lock(sums_mutex_);
  sums_.born += space;
}

void OpenDataset::block_freed(const BlockPointer& bp, std::uint64_t txg) {
  if (bp.is_hole()) return;
  if (bp.birth_for_freeing() <= previous_snapshot_txg_.load()) {
    MutexLock lock(sums_mutex_);
    sums_.dead.push_back(bp);
    return;
  }
  const BlockSpace space = space_of(bp, tree_.pool().io());
  Status freed = tree_.pool().free_block(bp, txg);
  MutexLock lock(sums_mutex_);
  sums_.freed += space;
  if (!freed && !sums_.error) sums_.error = std::move(freed).error();
}

OpenDataset::Sums OpenDataset::take_sums() {
  MutexLock lock(sums_mutex_);
  return std::exchange(sums_, Sums{});
}

StoragePolicy OpenDataset::policy() const {
  Pool& pool = tree_.pool();
  const bool lz4 = pool.feature_enabled("org.illumos:lz4_compress");
  const CompressionSpec best{lz4 ? CompressionType::lz4 : CompressionType::lzjb, 0};
  StoragePolicy policy;
  policy.data_checksum = checksum_of(property(Property::checksum));
  policy.data_compression = CompressionSpec::from_property(property(Property::compression));
  if (policy.data_compression.type == CompressionType::on) policy.data_compression = best;
  policy.metadata_compression = best;
  policy.data_copies =
      static_cast<unsigned>(std::clamp<std::uint64_t>(property(Property::copies), 1, kMostCopies));
  const std::uint64_t redundant = property(Property::redundant_metadata);
  policy.metadata_copies =
      redundant == kNone ? policy.data_copies : std::min(policy.data_copies + 1, kMostCopies);
  policy.may_embed = pool.feature_enabled("com.delphix:embedded_data");
  return policy;
}

}  // namespace tarn
