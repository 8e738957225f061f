// sync(): writes what one txg changed. In order: the data, indirect and spill blocks of every object (in
// parallel), each object's dnode into its dnode block, the accounting objects, the meta dnode's blocks, the
// objset block.
#include <fmt/format.h>

#include <algorithm>

#include "libpool/object/counters.h"
#include "libpool/object/object_set_impl.h"
#include "libpool/object/parallel_for.h"
#include "libpool/object/tree_editor.h"

namespace tarn {

namespace {

constexpr unsigned kFirstUncompressedPass = 5;
constexpr unsigned kFirstRewritePass = 2;
constexpr std::uint64_t kUserUsedObject = UINT64_MAX;
constexpr std::array<std::size_t, 3> kAccountAt{1024, 1536, 2048};
constexpr std::uint64_t kSpillBlkid = UINT64_MAX - 1;

std::uint64_t count_dnodes(ByteView block) {
  std::uint64_t count = 0;
  for (unsigned slot = 0; slot < kDnodesPerBlock;) {
    const unsigned slots = dnode_slots_at(block, slot);
    count += slots != 0;
    slot += std::max(slots, 1u);
  }
  return count;
}

}  // namespace

Result<BlockPointer> ObjectSetImpl::sync(std::uint64_t txg, unsigned pass, WriteBatch& batch) {
  SyncRun run{.txg = txg, .pass = pass, .batch = &batch};
  TxgChanges changes;
  {
    MutexLock lock(lock_);
    const auto mine = dirty_.find(txg);
    if (mine == dirty_.end() && !created_) return root_;
    if (mine != dirty_.end()) changes = std::move(mine->second);
    dirty_.erase(txg);
    run.policy = policy_;
  }
  std::vector<std::shared_ptr<ObjectImpl>> objects;
  objects.reserve(changes.objects.size());
  for (auto& [number, object] : changes.objects) objects.push_back(std::move(object));
  std::sort(objects.begin(), objects.end(),
            [](const auto& a, const auto& b) { return a->number() < b->number(); });
  const std::string where = fmt::format("object set {}: sync of txg {}", id(), txg);
  TRY(sync_objects(run, std::move(objects)).in(where));
  TRY(sync_accounting(run).in(where));
  TRY(sync_object(run, *meta_).in(where));
  return write_root(run, changes).in(where);
}

Status ObjectSetImpl::sync_objects(SyncRun& run, std::vector<std::shared_ptr<ObjectImpl>> objects) {
  Mutex error_lock;
  Status first_error;
  std::atomic<bool> failed{false};
  parallel_for(workers(), objects.size(), [&](std::size_t i) {
    if (failed) return;
    auto dnode = sync_object(run, *objects[i]).in(fmt::format("object {}", objects[i]->number()));
    if (dnode) return;
    failed = true;
    MutexLock lock(error_lock);
    if (first_error) first_error = std::move(dnode).error();
  });
  if (!first_error) return first_error;
  // Freed numbers may be used again.
  MutexLock alloc(alloc_lock_);
  for (const auto& object : objects) {
    const Dnode dnode = object->synced_dnode();
    if (dnode.type != DmuType::none) continue;
    const std::uint64_t number = object->number();
    SlotMap* map = TRY(slot_map(number / kDnodesPerBlock));
    const std::uint32_t slots = dnode.slots == 32 ? UINT32_MAX : (1u << dnode.slots) - 1;
    map->used &= ~(slots << (number % kDnodesPerBlock));
    for (std::uint64_t& cursor : alloc_cursors_)
      cursor =
          std::min(cursor, std::max<std::uint64_t>(round_down(number, kDnodesPerBlock), kDnodesPerBlock));
  }
  return {};
}

Result<Dnode> ObjectSetImpl::sync_object(SyncRun& run, ObjectImpl& object) {
  const DirtyState* changes = object.dirty_state(run.txg);
  const Dnode before = object.synced_dnode();
  if (!changes) return before;
  Dnode dnode = TRY(build_dnode(run, object, *changes));
  if (object.number() != 0 && object.number() <= kMaxObjectNumber) {
    if (changes->removed) {
      run.accounting.add(env_, before, -1);
      dnode = Dnode{.slots = before.slots};
    } else {
      run.accounting.add(env_, before, -1);
      dnode.flags |= AccountingDeltas::flags(env_);
      run.accounting.add(env_, dnode, +1);
    }
    if (!(changes->created && changes->removed)) TRY(store_dnode(run, object, dnode, before.slots));
  }
  object.finish_sync(run.txg, dnode);
  return dnode;
}

Result<Dnode> ObjectSetImpl::build_dnode(SyncRun& run, ObjectImpl& object, const DirtyState& changes) {
  Dnode dnode = object.synced_dnode();
  TreeEditor tree(*this, run, object.number(), dnode);
  if (changes.removed) {
    TRY(tree.free_range(0, UINT64_MAX));
    if (dnode.spill) (void)release(run, *dnode.spill);
    return dnode;
  }
  // The tree keeps the old type and block size until its old blocks are out.
  for (const auto& [first, last] : changes.freed) TRY(tree.free_range(first, last));
  if (changes.type) dnode.type = *changes.type;
  if (changes.bonus_type) dnode.bonus_type = *changes.bonus_type;
  if (changes.block_bytes) dnode.block_bytes = *changes.block_bytes;
  if (changes.bonus) {
    dnode.bonus = *changes.bonus;
    dnode.bonus_order = kHostOrder;
  }
  TRY(sync_data(run, object, changes, tree, dnode));
  TRY(tree.write_indirects());
  if (changes.max_blkid) dnode.max_blkid = *changes.max_blkid;
  dnode.used_bytes = static_cast<std::uint64_t>(static_cast<std::int64_t>(dnode.used_bytes) + tree.charged());
  dnode.flags |= kDnodeUsedBytes;
  if (changes.spill_changed) TRY(sync_spill(run, object, changes, dnode));
  if (dnode.slots > 1) use_feature("org.zfsonlinux:large_dnode");
  return dnode;
}

Status ObjectSetImpl::sync_data(SyncRun& run, ObjectImpl& object, const DirtyState& changes, TreeEditor& tree,
                                Dnode& dnode) {
  if (changes.blocks.empty()) return {};
  tree.grow(changes.blocks.rbegin()->first);
  struct Job {
    std::uint64_t blkid;
    BufferRef data;
    BlockPointer before;
    Result<BlockPointer> now = BlockPointer{};
    std::int64_t charged = 0;
  };
  std::vector<Job> jobs;
  jobs.reserve(changes.blocks.size());
  for (const auto& [blkid, data] : changes.blocks)
    jobs.push_back({.blkid = blkid, .data = data, .before = TRY(tree.pointer(blkid))});
  parallel_for(workers(), jobs.size(), [&](std::size_t i) {
    Job& job = jobs[i];
    const std::uint64_t fill = dnode.type == DmuType::dnode ? count_dnodes(job.data->view()) : 1;
    BlockWrite write{.data = job.data, .type = dnode.type, .level = 0, .fill = fill};
    apply_policy(run, dnode, write);
    const Bookmark bookmark{.objset = id(), .object = object.number(), .level = 0, .blkid = job.blkid};
    job.now = replace(run, std::move(write), job.before, bookmark, job.charged);
  });
  for (Job& job : jobs) {
    const BlockPointer now = TRY(std::move(job.now));
    tree.charged() += job.charged;
    TRY(tree.set_pointer(job.blkid, now));
  }
  return {};
}

Status ObjectSetImpl::sync_spill(SyncRun& run, ObjectImpl& object, const DirtyState& changes, Dnode& dnode) {
  const BlockPointer before = dnode.spill.value_or(BlockPointer{});
  std::int64_t charged = 0;
  if (!changes.spill) {
    if (!before.is_hole()) charged -= release(run, before);
    dnode.spill.reset();
  } else {
    BlockWrite write{.data = changes.spill, .type = dnode.bonus_type, .level = 0, .fill = 1};
    apply_policy(run, dnode, write);
    write.copies = run.policy.metadata_copies;
    const Bookmark bookmark{.objset = id(), .object = object.number(), .level = 0, .blkid = kSpillBlkid};
    dnode.spill = TRY(replace(run, std::move(write), before, bookmark, charged));
  }
  dnode.used_bytes = static_cast<std::uint64_t>(static_cast<std::int64_t>(dnode.used_bytes) + charged);
  return {};
}

Status ObjectSetImpl::store_dnode(SyncRun& run, ObjectImpl& object, const Dnode& dnode, unsigned old_slots) {
  const std::uint64_t block = object.number() / kDnodesPerBlock;
  const std::size_t at = object.number() % kDnodesPerBlock * kDnodeSlotBytes;
  WriterLock content(meta_->content_lock());
  const MutableBufferRef dnodes = TRY(meta_->modify_block(Tx::syncing(run.txg), block));
  const unsigned slots = std::max<unsigned>(old_slots, dnode.slots);
  if (at + slots * kDnodeSlotBytes > dnodes->size())
    return Error(Errc::corrupt, fmt::format("object {}: dnode beyond its block", object.number()));
  const MutableByteView place = dnodes->span().subspan(at, slots * kDnodeSlotBytes);
  if (dnode.type == DmuType::none) {
    std::fill(place.begin(), place.end(), std::byte{0});
  } else {
    dnode.encode(place.first(dnode.stored_bytes()));
  }
  return {};
}

Status ObjectSetImpl::sync_accounting(SyncRun& run) {
  const Tx tx = Tx::syncing(run.txg);
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const auto deltas = run.accounting.take(i);
    if (!deltas.empty()) {
      const bool fresh = !accounts_[i];
      if (fresh) {
        Dnode dnode = TRY(new_dnode({.type = DmuType::user_used}));
        auto created = std::make_shared<ObjectImpl>(*this, kUserUsedObject - i, std::move(dnode));
        {
          MutexLock lock(lock_);
          accounts_[i] = std::move(created);
        }
      }
      TRY(add_to_counters(accounts_[i], tx, fresh, deltas));
    }
    if (accounts_[i]) TRY(sync_object(run, *accounts_[i]));
  }
  return {};
}

Result<BlockPointer> ObjectSetImpl::write_root(SyncRun& run, const TxgChanges& changes) {
  constexpr std::size_t kZilHeaderAt = 512, kTypeAt = 704, kFlagsAt = 712;
  const Dnode meta = meta_->synced_dnode();
  std::shared_ptr<Buffer> block;
  BlockPointer before;
  {
    MutexLock lock(lock_);
    if (changes.flags) flags_ = *changes.flags;
    if (changes.zil_header) zil_header_ = *changes.zil_header;
    std::size_t bytes = header_.size();
    if (accounts_[0] || accounts_[1]) bytes = std::max<std::size_t>(bytes, 2048);
    if (accounts_[2]) bytes = std::max<std::size_t>(bytes, 4096);
    block = std::make_shared<Buffer>(Buffer::zeroed(bytes));
    std::memcpy(block->data(), header_.data(), header_.size());
    meta.encode(block->span().first(kDnodeSlotBytes));
    std::memcpy(block->data() + kZilHeaderAt, zil_header_.data(), zil_header_.size());
    store<std::uint64_t>(block->data() + kTypeAt, static_cast<std::uint64_t>(type_), kHostOrder);
    store<std::uint64_t>(block->data() + kFlagsAt, flags_, kHostOrder);
    for (std::size_t i = 0; i < accounts_.size(); ++i)
      if (accounts_[i])
        accounts_[i]->synced_dnode().encode(block->span().subspan(kAccountAt[i], kDnodeSlotBytes));
    header_ = Buffer::copy_of(block->view());
    before = root_;
  }
  BlockWrite write{.data = block, .type = DmuType::objset, .level = 0};
  for (unsigned i = 0; i < meta.root_count; ++i) write.fill += meta.roots[i].fill_count();
  apply_policy(run, meta, write);
  write.may_embed = false;
  write.copies = run.policy.metadata_copies;
  std::int64_t charged = 0;
  const Bookmark bookmark{.objset = id(), .object = 0, .level = -1, .blkid = 0};
  const BlockPointer now = TRY(replace(run, std::move(write), before, bookmark, charged));
  MutexLock lock(lock_);
  root_ = now;
  created_ = false;
  return now;
}

void ObjectSetImpl::apply_policy(const SyncRun& run, const Dnode& dnode, BlockWrite& block) const {
  const bool metadata = block.level > 0 || is_metadata(block.type);
  const StoragePolicy& policy = run.policy;
  block.txg = run.txg;
  block.copies = std::min(metadata ? policy.metadata_copies : policy.data_copies, kMaxDvas);
  block.compression = metadata ? policy.metadata_compression : policy.data_compression;
  block.checksum = policy.data_checksum;
  if (metadata && !is_metadata_grade(policy.data_checksum)) block.checksum = ChecksumType::fletcher4;
  if (block.level == 0 && dnode.compression != CompressionType::inherit)
    block.compression = {dnode.compression, 0};
  if (block.level == 0 && dnode.checksum != ChecksumType::inherit) block.checksum = dnode.checksum;
  // Later passes rewrite the same blocks: of constant size, they find room in place.
  if (run.pass >= kFirstUncompressedPass) block.compression = {CompressionType::off, 0};
  block.may_embed =
      policy.may_embed && block.level == 0 && block.type != DmuType::dnode && block.type != DmuType::objset;
}

std::int64_t ObjectSetImpl::release(const SyncRun& run, const BlockPointer& before) {
  if (before.is_hole()) return 0;
  const auto bytes = static_cast<std::int64_t>(io().deflated_size(before));
  if (env_.owner) env_.owner->block_freed(before, run.txg);
  return bytes;
}

Result<BlockPointer> ObjectSetImpl::replace(const SyncRun& run, BlockWrite block, const BlockPointer& before,
                                            const Bookmark& bookmark, std::int64_t& charged) {
  // In the MOS, freeing and allocating again would change space maps and so the MOS: no end of passes.
  const bool in_place = is_mos() && run.pass >= kFirstRewritePass && !before.is_hole() && !before.embedded &&
                        before.logical_birth == run.txg;
  if (in_place) block.rewrite = before;
  const BlockPointer now = TRY(io().write(block, bookmark, *run.batch));
  if (in_place) {
    charged -= static_cast<std::int64_t>(io().deflated_size(before));
    if (env_.owner) env_.owner->block_rewritten(before, now, run.txg);
  } else {
    charged -= release(run, before);
    if (!now.is_hole() && env_.owner) env_.owner->block_born(now, run.txg);
  }
  if (now.is_hole()) return now;
  charged += static_cast<std::int64_t>(io().deflated_size(now));
  note_features(now);
  return now;
}

void ObjectSetImpl::note_features(const BlockPointer& bp) {
  if (!env_.feature_used) return;
  if (bp.logical_bytes > kOldMaxBlockBytes) use_feature("org.open-zfs:large_blocks");
  if (bp.compression == CompressionType::zstd) use_feature("org.freebsd:zstd_compress");
  if (bp.embedded) return;
  const std::string_view checksum = feature_of(bp.checksum_type);
  if (!checksum.empty()) use_feature(checksum);
}

void ObjectSetImpl::use_feature(std::string_view guid) {
  if (!env_.feature_used) return;
  {
    MutexLock lock(lock_);
    if (!features_seen_.insert(std::string(guid)).second) return;
  }
  env_.feature_used(guid);
}

}  // namespace tarn
