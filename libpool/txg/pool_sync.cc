// The sync of one transaction group, from open-context changes to the committed uberblock.
#include <fmt/format.h>

#include "libpool/txg/pool_impl.h"

namespace tarn {
namespace {

constexpr unsigned kFirstDeferringPass = 2;
constexpr unsigned kMaxPasses = 40;  // more means that the MOS does not converge: a bug, not a disk state
constexpr std::uint64_t kFreesPerTxg = 100000;  // blocks of destroyed datasets freed in one txg

}  // namespace

Status PoolImpl::sync(std::uint64_t txg, Tasks& tasks) {
  const Tx tx = Tx::syncing(txg);
  WriteBatch batch;
  SyncContext context{*this, tx, batch};
  sync_context_ = &context;
  pass_ = 1;

  // No open-context change to this txg can come any more.
  const std::vector<SyncParticipant*> members = participants();
  for (SyncParticipant* member : members) member->close_txg(txg);
  mos_->close_txg(txg);
  if (allocator_) allocator_->begin_sync(txg);  // a new pool makes its own in its first task

  TRY(free_deferred(context).in("deferred frees"));
  if (!pending_history_.empty())
    TRY(append_history(tx, command_record(std::exchange(pending_history_, {}), origin(), *clock_)));
  for (SyncParticipant* member : members) TRY(member->sync(context));
  // A block freed from here on may be one that was written above: its space can be handed out again only once
  // that write has landed.
  TRY(batch.wait());
  for (const auto& task : tasks) {
    task->result = task->run();
    if (creating_) TRY(*task->result);
  }
  TRY(free_destroyed(context));
  TRY(batch.wait());
  for (SyncParticipant* member : members) TRY(member->sync_after_tasks(context));
  TRY(note_first_free_error());

  if (!nothing_to_write(txg)) {
    if (config_dirty_) TRY(sync_config(context).in("config"));
    TRY(sync_mos(context));
    TRY(batch.wait());
    TRY(vdevs_->flush());
    // All blocks are on stable storage. The next step makes them the pool.
    TRY(commit(txg));
    allocator_->sync_done(txg);
  }
  sync_context_ = nullptr;
  for (SyncParticipant* member : members) member->synced(txg);
  return {};
}

// What the previous txg could not free any more, because its space maps were being written.
Status PoolImpl::free_deferred(SyncContext& context) {
  if (!objects_.deferred_frees) return {};
  Bpobj list = TRY(Bpobj::open(*mos_, objects_.deferred_frees));
  if (list.empty()) return {};
  TRY(list.drain(context.tx, UINT64_MAX, *io_,
                 [&](const BlockPointer& bp) { return io_->free(bp, context.txg()); }));
  return {};
}

// Blocks of destroyed datasets, a portion per txg.
Status PoolImpl::free_destroyed(SyncContext& context) {
  if (creating_) return {};
  const std::uint64_t number = TRY(directory_u64("free_bpobj"));
  if (!number) return {};
  Bpobj list = TRY(Bpobj::open(*mos_, number));
  if (list.empty()) return {};
  const BlockSpace before = list.space();
  TRY(list.drain(context.tx, kFreesPerTxg, *io_,
                 [&](const BlockPointer& bp) { return io_->free(bp, context.txg()); }));
  BlockSpace freed = -before;
  freed += list.space();
  TRY(dsl_->charge_free(context.tx, freed));
  if (!list.empty()) engine_->kick();
  return {};
}

bool PoolImpl::nothing_to_write(std::uint64_t txg) const { return !config_dirty_ && !mos_->is_dirty(txg); }

// The config object, and what has to exist before it can be written.
Status PoolImpl::sync_config(SyncContext& context) {
  TRY(ensure_vdev_zaps(context.tx));
  return write_packed_nvlist(
      *mos_, context.tx, objects_.config,
      encode_pool_config(pool_config_for(context.txg()), config_tree(), VdevConfig::For::mos));
}

// Writing the MOS allocates and frees; the space maps that record it are MOS objects. Each pass writes what
// the one before left dirty. It converges because blocks born in this txg are rewritten in place, and frees
// of older blocks are put off to the next txg from pass 2 on.
Status PoolImpl::sync_mos(SyncContext& context) {
  const std::uint64_t txg = context.txg();
  for (;; ++pass_) {
    if (pass_ > kMaxPasses)
      return Error(Errc::corrupt,
                   fmt::format("the meta object set is still dirty after {} passes", kMaxPasses));
    std::vector<BlockPointer> late;
    BlockSpace delta;
    {
      MutexLock lock(frees_mutex_);
      late.swap(late_frees_);
      std::swap(delta, mos_delta_);
    }
    TRY(sync_dtls(context).in("dirty time logs"));
    if (!late.empty()) TRY(TRY(Bpobj::open(*mos_, objects_.deferred_frees)).append(context.tx, late, *io_));
    if (dsl_) TRY(dsl_->charge_mos(context.tx, delta));
    TRY(mos_->sync(txg, pass_, context.batch));
    // A rewrite in the next pass must not overtake the write of this one.
    TRY(context.batch.wait());
    TRY(note_first_free_error());
    const bool changed = TRY(allocator_->sync(context.tx, pass_));
    MutexLock lock(frees_mutex_);
    if (!changed && !mos_->is_dirty(txg) && late_frees_.empty() && mos_delta_.zero()) break;
  }
  return {};
}

void PoolImpl::block_born(const BlockPointer& bp, std::uint64_t) {
  const BlockSpace space = space_of(bp, *io_);
  MutexLock lock(frees_mutex_);
  mos_delta_ += space;
}

// A later pass stored a block anew in its place; I/O has dealt with the space, only the MOS's usage is ours.
void PoolImpl::block_rewritten(const BlockPointer& before, const BlockPointer& now, std::uint64_t) {
  BlockSpace change = -space_of(before, *io_);
  if (!now.is_hole()) change += space_of(now, *io_);
  MutexLock lock(frees_mutex_);
  mos_delta_ += change;
}

void PoolImpl::block_freed(const BlockPointer& bp, std::uint64_t txg) {
  {
    const BlockSpace space = -space_of(bp, *io_);
    MutexLock lock(frees_mutex_);
    mos_delta_ += space;
  }
  if (Status freed = free_block(bp, txg); !freed) {
    MutexLock lock(frees_mutex_);
    if (!free_error_) free_error_ = std::move(freed).error();
  }
}

Status PoolImpl::free_block(const BlockPointer& bp, std::uint64_t txg) {
  if (bp.is_hole() || bp.embedded) return {};
  if (bp.dedup)
    return Error(Errc::unsupported, fmt::format("cannot free a deduplicated block: {}", bp.describe()));
  // Blocks born in this txg return to the allocator at once, in every pass.
  if (pass_ < kFirstDeferringPass || bp.birth_for_freeing() == txg) return io_->free(bp, txg);
  MutexLock lock(frees_mutex_);
  late_frees_.push_back(bp);
  return {};
}

Status PoolImpl::note_first_free_error() {
  MutexLock lock(frees_mutex_);
  if (!free_error_) return {};
  return *std::exchange(free_error_, std::nullopt);
}

}  // namespace tarn
