// Space accounting (FORMAT.md logical 3.9): how a change of a dataset's size reaches its directory and all
// above it, and how much may still be written.

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::size_t at(UsedBy by) { return static_cast<std::size_t>(by); }

std::uint64_t plus(std::uint64_t value, std::int64_t delta) {
  return value + static_cast<std::uint64_t>(delta);
}
std::uint64_t minus_floor(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

// A reservation hides changes below it from the level above.
std::int64_t delta_above(std::uint64_t used, std::uint64_t reserved, std::int64_t delta) {
  return static_cast<std::int64_t>(std::max(plus(used, delta), reserved)) -
         static_cast<std::int64_t>(std::max(used, reserved));
}

}  // namespace

Status TreeImpl::charge(SyncContext& context, DirNode& dir, std::int64_t used, std::int64_t compressed,
                        std::int64_t uncompressed, const Breakdown& breakdown) {
  std::int64_t above = 0;
  TRY(update_dir(context, dir, [&](DslDirPhys& phys) {
    above = delta_above(phys.used_bytes, phys.reserved, used);
    phys.used_bytes = plus(phys.used_bytes, used);
    phys.compressed_bytes = plus(phys.compressed_bytes, compressed);
    phys.uncompressed_bytes = plus(phys.uncompressed_bytes, uncompressed);
    if (!phys.has_breakdown()) return;
    for (std::size_t i = 0; i < kUsedByCount; ++i)
      phys.used_breakdown[i] = plus(phys.used_breakdown[i], breakdown[i]);
  }));
  if (!dir.parent) return {};
  if (used == 0 && compressed == 0 && uncompressed == 0) return {};
  Breakdown for_parent{};
  for_parent[at(UsedBy::children)] = used;
  for_parent[at(UsedBy::child_reservation)] = above - used;
  return charge(context, *dir.parent, above, compressed, uncompressed, for_parent);
}

// After a sync of the head: what it wrote and freed changes the dataset, its directory and those above.
// Blocks that the previous snapshot still references go to the deadlist.
Status TreeImpl::book_sums(SyncContext& context, OpenDataset& open, OpenDataset::Sums sums) {
  if (sums.error) return *std::move(sums.error);
  DatasetNode& head = open.node();
  DirNode& dir = *head.dir;
  BlockIo& io = pool_.io();

  TRY(drop_livelist(context, dir));
  const DatasetNode* origin = dataset(dir.phys.origin);
  const std::uint64_t origin_txg = origin ? origin->phys.creation_txg : 0;
  DatasetNode* previous = dataset(head.phys.prev_snap);
  const bool previous_is_ours = previous && previous->phys.next_snap == head.object;
  BlockSpace dead;
  std::int64_t unique_of_previous = 0, to_snapshots = 0;
  for (const BlockPointer& bp : sums.dead) {
    const BlockSpace space = space_of(bp, io);
    const std::uint64_t birth = bp.birth_for_freeing();
    dead += space;
    if (previous_is_ours && birth > previous->phys.prev_snap_txg) unique_of_previous += space.used;
    if (birth > origin_txg) to_snapshots += space.used;
  }
  if (!sums.dead.empty()) {
    Deadlist deadlist = TRY(Deadlist::open(pool_, head.phys.deadlist));
    TRY(deadlist.append(context, sums.dead));
  }
  if (unique_of_previous != 0) {
    TRY(update_dataset(context, *previous, [&](DslDatasetPhys& phys) {
      phys.unique_bytes = plus(phys.unique_bytes, unique_of_previous);
    }));
  }

  BlockSpace own = sums.born;
  own += -sums.freed;
  BlockSpace referenced = own;
  referenced += -dead;
  const std::uint64_t refreservation = effective_number(dir, Property::refreservation);
  const std::int64_t charged = delta_above(head.phys.unique_bytes, refreservation, own.used);
  TRY(update_dataset(context, head, [&](DslDatasetPhys& phys) {
    phys.referenced_bytes = plus(phys.referenced_bytes, referenced.used);
    phys.compressed_bytes = plus(phys.compressed_bytes, referenced.compressed);
    phys.uncompressed_bytes = plus(phys.uncompressed_bytes, referenced.uncompressed);
    phys.unique_bytes = plus(phys.unique_bytes, own.used);
  }));
  Breakdown breakdown{};
  breakdown[at(UsedBy::head)] = own.used - to_snapshots;
  breakdown[at(UsedBy::snapshots)] = to_snapshots;
  breakdown[at(UsedBy::refreservation)] = charged - own.used;
  TRY(charge(context, dir, charged, own.compressed, own.uncompressed, breakdown));
  for (const std::string& guid : sums.features) TRY(activate_dataset_feature(context, head.object, guid));
  return {};
}

// What may still be written below `dir`: its quota and what the levels above have left; a reservation that is
// not used up counts as left.
std::uint64_t TreeImpl::available(const DirNode& dir, bool with_pending) const {
  std::uint64_t used = dir.phys.used_bytes;
  if (with_pending)
    for (const auto& pending : dir.pending) used += pending.load(std::memory_order_relaxed);
  std::uint64_t limit = dir.phys.quota ? dir.phys.quota : UINT64_MAX;
  if (!dir.parent) {
    const std::uint64_t pool_limit = minus_floor(pool_.allocator().deflated_size_bytes(), pool_.slop_bytes());
    return minus_floor(std::min(limit, pool_limit), used);
  }
  std::uint64_t above = available(*dir.parent, with_pending);
  above += minus_floor(dir.phys.reserved, used);
  return std::min(minus_floor(limit, used), above);
}

std::uint64_t TreeImpl::dataset_available(const DirNode& dir) const {
  const DslDatasetPhys& head = dir.head->phys;
  std::uint64_t bytes =
      available(dir, false) + minus_floor(effective_number(dir, Property::refreservation), head.unique_bytes);
  if (const std::uint64_t refquota = effective_number(dir, Property::refquota))
    bytes = std::min(bytes, minus_floor(refquota, head.referenced_bytes));
  return bytes;
}

Dataset::Space TreeImpl::space_of_node(const DatasetNode& node) const {
  ReaderLock lock(mutex_);
  return {.referenced = node.phys.referenced_bytes,
          .available = node.is_snapshot() ? 0 : dataset_available(*node.dir),
          .objects_used = 0};
}

Status TreeImpl::check_space(const DatasetNode& node, std::uint64_t bytes, bool with_pending) const {
  ReaderLock lock(mutex_);
  const DirNode& dir = *node.dir;
  const auto pending = [&](const DirNode& level) {
    std::uint64_t sum = 0;
    if (with_pending)
      for (const auto& slot : level.pending) sum += slot.load(std::memory_order_relaxed);
    return sum;
  };
  const std::uint64_t refquota = effective_number(dir, Property::refquota);
  if (refquota && node.phys.referenced_bytes + pending(dir) + bytes > refquota)
    return Error(Errc::quota, fmt::format("the refquota of '{}' is used up", dir.full_name()));
  for (const DirNode* level = &dir; level; level = level->parent) {
    if (level->phys.quota && level->phys.used_bytes + pending(*level) + bytes > level->phys.quota) {
      return Error(Errc::quota, fmt::format("the quota of '{}' is used up", level->full_name()));
    }
  }
  const std::uint64_t reserved =
      minus_floor(effective_number(dir, Property::refreservation), node.phys.unique_bytes);
  if (available(dir, with_pending) + reserved < bytes) return Error(Errc::no_space, "out of space");
  return {};
}

// Estimates are above what will really be written, so that a refusal counts only after what is pending has
// been synced.
Result<Tx> TreeImpl::begin(DatasetNode& node, std::uint64_t bytes, bool may_use_slop) {
  if (!may_use_slop) {
    Status fits = check_space(node, bytes, true);
    if (!fits) {
      TRY(pool_.sync_now());
      TRY(check_space(node, bytes, false));
    }
  }
  Tx tx = TRY(pool_.begin(bytes, may_use_slop));
  ReaderLock lock(mutex_);
  for (DirNode* level = node.dir; level; level = level->parent)
    level->pending[tx.txg() % level->pending.size()].fetch_add(bytes, std::memory_order_relaxed);
  return tx;
}

}  // namespace tarn
