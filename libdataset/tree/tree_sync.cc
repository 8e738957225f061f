// The tree's part in the sync of a transaction group: writing dirty object sets and booking their new roots
// and space.

#include "libdataset/tree/tree_impl.h"

namespace tarn {

void TreeImpl::close_txg(std::uint64_t txg) {
  ReaderLock lock(mutex_);
  for (auto& [object, open] : open_)
    if (!open->is_snapshot()) open->objset().close_txg(txg);
}

Result<BlockPointer> TreeImpl::write_objset(SyncContext& context, OpenDataset& open) {
  const std::uint64_t txg = context.txg();
  open.objset().set_policy(open.policy());
  const unsigned pass = open.last_synced_txg == txg ? 2 : 1;
  open.last_synced_txg = txg;
  return open.objset().sync(txg, pass, context.batch);
}

Status TreeImpl::book_sync(SyncContext& context, OpenDataset& open, const BlockPointer& root) {
  open.node().phys.root = root;
  return book_sums(context, open, open.take_sums());
}

// The tree's mutex is not held while data is written: that takes long, and writers of the next group ask for
// space.
Status TreeImpl::sync_dirty(SyncContext& context) {
  std::vector<std::shared_ptr<OpenDataset>> dirty;
  {
    ReaderLock lock(mutex_);
    for (auto& [object, open] : open_)
      if (!open->is_snapshot() && open->objset().is_dirty(context.txg())) dirty.push_back(open);
  }
  for (const std::shared_ptr<OpenDataset>& open : dirty) {
    auto root = write_objset(context, *open);
    if (!root) return std::move(root).error().in("'" + open->name() + "'");
    WriterLock lock(mutex_);
    TRY(book_sync(context, *open, *root).in("'" + full_name(open->node()) + "'"));
  }
  return {};
}

Status TreeImpl::sync(SyncContext& context) { return sync_dirty(context); }
Status TreeImpl::sync_after_tasks(SyncContext& context) { return sync_dirty(context); }

void TreeImpl::synced(std::uint64_t txg) {
  WriterLock lock(mutex_);
  for (auto& [object, dir] : dirs_)
    dir->pending[txg % dir->pending.size()].store(0, std::memory_order_relaxed);
  // The pool charges its own space to these directly.
  for (DirNode* dir : {root_.get(), special_dir("$MOS"), special_dir("$FREE")}) {
    if (!dir) continue;
    auto object = pool_.mos().open_object(dir->object);
    if (!object) continue;
    if (auto phys = DslDirPhys::decode((*object)->bonus())) dir->phys = *phys;
  }
  std::erase_if(open_, [&](const auto& entry) {
    const auto& [object, open] = entry;
    return open.use_count() == 1 &&
           (open->is_snapshot() || (!open->objset().is_dirty(txg) && !open->objset().is_dirty(txg + 1) &&
                                    !open->objset().is_dirty(txg + 2)));
  });
}

}  // namespace tarn
