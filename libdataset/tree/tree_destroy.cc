// Destroying a head with its directory (FORMAT.md logical 3.10 "Destroy head"). Its blocks go onto the pool's
// free list, which is drained over the next transaction groups.

#include <fmt/format.h>

#include "libdataset/tree/dsl_create.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::size_t kBatch = 4096;  // block pointers appended at a time
constexpr std::size_t kShortBookmarkWords = 3, kBookmarkRedaction = 3, kBookmarkFlags = 4;
constexpr std::uint64_t kBookmarkHasFreed = 1;
constexpr std::size_t kLogPointerOffset = 16;  // in the intent log header
constexpr std::size_t kLogHeaderBytes = 192;

// Block pointers in their encoded form: a third of the memory.
class PointerList {
 public:
  void push(const BlockPointer& bp) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + kBlockPointerBytes);
    bp.encode(std::span<std::byte, kBlockPointerBytes>(bytes_.data() + at, kBlockPointerBytes), kHostOrder);
  }
  std::size_t size() const { return bytes_.size() / kBlockPointerBytes; }
  BlockPointer operator[](std::size_t i) const {
    return BlockPointer::decode(std::span<const std::byte, kBlockPointerBytes>(
                                    bytes_.data() + i * kBlockPointerBytes, kBlockPointerBytes),
                                kHostOrder);
  }

 private:
  Bytes bytes_;
};

// Ends a bookmark ZAP and counts its features down.
Status free_bookmarks(SyncContext& context, std::uint64_t zap) {
  ObjectSet& mos = context.pool.mos();
  for (const ZapEntry& entry : TRY(TRY(Zap::open(mos, zap)).entries())) {
    const auto& words = entry.value.integers;
    if (words.size() <= kShortBookmarkWords) continue;
    if (words[kBookmarkRedaction] != 0)
      return Error(
          Errc::unsupported,
          fmt::format("bookmark '{}' is a redaction bookmark, which Tarn cannot destroy yet", entry.name));
    TRY(context.pool.feature_adjust(context, "com.datto:bookmark_v2", -1));
    if (words.size() > kBookmarkFlags && (words[kBookmarkFlags] & kBookmarkHasFreed))
      TRY(context.pool.feature_adjust(context, "com.delphix:bookmark_written", -1));
  }
  TRY(context.pool.feature_adjust(context, "com.delphix:bookmarks", -1));
  return mos.free_object(context.tx, zap);
}

// Delegation: a ZAP of ZAPs.
Status free_delegation(SyncContext& context, std::uint64_t zap) {
  ObjectSet& mos = context.pool.mos();
  for (const ZapEntry& entry : TRY(TRY(Zap::open(mos, zap)).entries()))
    TRY(mos.free_object(context.tx, entry.value.first()));
  return mos.free_object(context.tx, zap);
}

}  // namespace

Status TreeImpl::destroy(const std::string& name) {
  const DatasetName parsed = TRY(parse_dataset_name(name));
  if (parsed.kind == NameKind::bookmark) return Error(Errc::unsupported, "Tarn cannot destroy bookmarks yet");
  return parsed.kind == NameKind::snapshot ? destroy_snapshot(name) : destroy_head(parsed.dir);
}

Status TreeImpl::destroy_head(const std::string& name) {
  // What is dirty of it reaches the disk first: then the task sees all its blocks.
  TRY(pool_.sync_now());
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    DirNode* dir = find_dir(name);
    if (!dir || !dir->head || dir->hidden()) return Error(Errc::not_found, "dataset does not exist");
    if (!dir->parent) return Error(Errc::invalid_argument, "operation does not apply to pools");
    const char* kind = dir->type == ObjsetType::volume ? "volume" : "filesystem";
    if (!dir->snapshots.empty() || !dir->children.empty())
      return Error(Errc::not_empty, fmt::format("{} has children", kind));
    return destroy_head_in_sync(context, *dir);
  });
}

// Returns with nothing changed if a block cannot be read; the blocks are collected before the first is
// listed.
Status TreeImpl::free_blocks_of_head(SyncContext& context, DirNode& dir) {
  DatasetNode& head = *dir.head;
  const std::uint64_t kept = head.phys.prev_snap_txg;  // older blocks belong to the origin
  PointerList blocks;
  std::vector<BlockPointer> log_blocks;
  if (!head.phys.root.is_hole()) {
    const std::unique_ptr<ObjectSet> objset = TRY(open_read_only(head, dir.type));
    bool root_seen = false;
    TRY(objset->traverse(kept, [&](const BlockPointer& bp, const Bookmark&) -> Status {
      if (bp.is_hole() || bp.embedded || bp.birth_for_freeing() <= kept) return {};
      if (bp.type == DmuType::objset) root_seen = true;
      blocks.push(bp);
      return {};
    }));
    if (!root_seen && head.phys.root.birth_for_freeing() > kept) blocks.push(head.phys.root);
    // The idle first block of an intent log; open() refused logs with more.
    const Bytes log = objset->zil_header();
    if (log.size() >= kLogHeaderBytes) {
      const auto first = BlockPointer::decode(
          std::span<const std::byte, kBlockPointerBytes>(log.data() + kLogPointerOffset, kBlockPointerBytes),
          kHostOrder);
      if (!first.is_hole() && first.birth_for_freeing() > kept) log_blocks.push_back(first);
    }
  }
  for (const BlockPointer& bp : log_blocks) TRY(pool_.free_block(bp, context.txg()));

  DirNode* free_dir = special_dir("$FREE");
  auto free_list_number = pool_.directory().lookup_u64("free_bpobj");
  BlockSpace freed;
  if (free_dir && free_list_number) {
    Bpobj list = TRY(Bpobj::open(pool_.mos(), *free_list_number));
    for (std::size_t at = 0; at < blocks.size(); at += kBatch) {
      std::vector<BlockPointer> batch;
      for (std::size_t i = at; i < std::min(at + kBatch, blocks.size()); ++i) {
        batch.push_back(blocks[i]);
        freed += space_of(batch.back(), pool_.io());
      }
      TRY(list.append(context.tx, batch, pool_.io()));
    }
  } else {
    for (std::size_t i = 0; i < blocks.size(); ++i) TRY(pool_.free_block(blocks[i], context.txg()));
  }
  // The directory held nothing else any more: no children, no snapshots.
  Breakdown gone{};
  gone[static_cast<std::size_t>(UsedBy::head)] = -static_cast<std::int64_t>(dir.phys.used_by(UsedBy::head));
  TRY(charge(context, dir, -static_cast<std::int64_t>(dir.phys.used_bytes),
             -static_cast<std::int64_t>(dir.phys.compressed_bytes),
             -static_cast<std::int64_t>(dir.phys.uncompressed_bytes), gone));
  if (!free_dir) return {};
  Breakdown freeing{};
  freeing[static_cast<std::size_t>(UsedBy::head)] = freed.used;
  return charge(context, *free_dir, freed.used, freed.compressed, freed.uncompressed, freeing);
}

Status TreeImpl::destroy_head_in_sync(SyncContext& context, DirNode& dir) {
  DatasetNode& head = *dir.head;
  ObjectSet& mos = pool_.mos();
  if (const auto open = opened(head.object); open && open->objset().is_dirty(context.txg() + 1))
    return Error(Errc::busy, "dataset is busy");
  TRY(close_idle(head));
  std::uint64_t bookmarks = 0;
  if (const auto extension = TRY(open_extension(mos, head.object))) {
    for (const ZapEntry& entry : TRY(extension->entries())) {
      if (entry.name == "com.delphix:bookmarks") bookmarks = entry.value.first();
      if (entry.name == "com.delphix:remap_deadlist")
        return Error(Errc::unsupported,
                     "the dataset has blocks on a removed device, which Tarn cannot free yet");
    }
  }
  if (dir.crypto_key != 0)
    return Error(Errc::unsupported,
                 "the dataset is encrypted, and Tarn cannot destroy encrypted datasets yet");

  // From here on nothing is refused any more.
  const std::uint64_t id = head.object;
  const std::string name = dir.full_name();
  TRY(set_refreservation(context, dir, effective_number(dir, Property::refreservation), 0));
  TRY(free_blocks_of_head(context, dir));
  TRY(drop_dataset_features(context, head.object));
  TRY(drop_livelist(context, dir));
  DatasetNode* origin = dataset(dir.phys.origin);
  if (origin) {
    TRY(remove_from_set(context, origin->phys.next_clones_zap, head.object));
    TRY(update_dataset(context, *origin, [](DslDatasetPhys& phys) { --phys.num_children; }));
    if (origin->dir->phys.clones_zap)
      TRY(remove_from_set(context, origin->dir->phys.clones_zap, head.object));
  }
  TRY(TRY(Deadlist::open(pool_, head.phys.deadlist)).destroy(context));
  if (bookmarks) TRY(free_bookmarks(context, bookmarks));
  TRY(mos.free_object(context.tx, head.phys.snapnames_zap));
  TRY(free_dsl_object(context, head.object));
  datasets_.erase(head.object);
  dir.head.reset();
  TRY(adjust_counts(context, dir.parent, -1, 0));
  TRY(destroy_dir(context, dir));  // `dir` ends here
  TRY(pool_.log_history_internal(context, "destroy", "", name, id));

  const bool last_clone = origin && (origin->phys.flags & DslDatasetPhys::kDeferDestroy) &&
                          origin->phys.num_children == 1 && origin->userrefs == 0;
  return last_clone ? destroy_snapshot_in_sync(context, *origin->dir, *origin) : Status();
}

Status TreeImpl::destroy_dir(SyncContext& context, DirNode& dir) {
  ObjectSet& mos = pool_.mos();
  TRY(set_reservation(context, dir, 0));
  TRY(mos.free_object(context.tx, dir.phys.child_zap));
  TRY(mos.free_object(context.tx, dir.phys.props_zap));
  if (dir.phys.clones_zap) TRY(mos.free_object(context.tx, dir.phys.clones_zap));
  if (dir.phys.delegation_zap) TRY(free_delegation(context, dir.phys.delegation_zap));
  TRY(TRY(Zap::open(mos, dir.parent->phys.child_zap)).remove(context.tx, dir.name));
  TRY(free_dsl_object(context, dir.object));
  dirs_.erase(dir.object);
  dir.parent->children.erase(std::string(dir.name));
  return {};
}

// A clone's livelist only speeds up its destruction. Tarn does not keep it up to date, so it goes with the
// first change.
Status TreeImpl::drop_livelist(SyncContext& context, DirNode& dir) {
  if (dir.livelist == 0) return {};
  TRY(TRY(Deadlist::open(pool_, dir.livelist)).destroy(context));
  if (auto extension = TRY(open_extension(pool_.mos(), dir.object)))
    TRY(extension->remove(context.tx, "com.delphix:livelist"));
  dir.livelist = 0;
  return pool_.feature_adjust(context, "com.delphix:livelist", -1);
}

}  // namespace tarn
