// Committing a txg: labels and uberblocks, in the order that keeps one consistent pair readable at every
// instant (FORMAT.md 2.6).
#include <fmt/format.h>

#include <algorithm>

#include "libpool/txg/pool_impl.h"

namespace tarn {
namespace {

constexpr std::size_t kUberblockVdevs = 3;  // top-level vdevs that get the uberblock when no label changes

}  // namespace

PoolConfig PoolImpl::pool_config_for(std::uint64_t txg) const {
  MutexLock lock(config_mutex_);
  PoolConfig config = config_;
  config.txg = txg;
  config.hostid = host_.id;
  config.hostname = host_.name;
  config.vdev_children = vdevs_->top_count();
  config.hole_array.clear();
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i)
    if (vdevs_->top_config(i).kind == VdevKind::hole) config.hole_array.push_back(i);
  config.features_for_read = features_.label_features();
  return config;
}

Status PoolImpl::commit(std::uint64_t txg) {
  const bool labels_change = config_dirty_;
  const std::vector<VdevTree::LeafRef> leaves = vdevs_->leaves();
  Uberblock uberblock;
  uberblock.version = config_.version;
  uberblock.txg = txg;
  uberblock.guid_sum = config_tree().guid_sum();
  uberblock.timestamp = static_cast<std::uint64_t>(clock_->now().seconds);
  uberblock.root = mos_->root();

  std::vector<VdevTree::LeafRef> targets = leaves;
  if (labels_change) {
    config_dirty_ = false;  // what changes from here on belongs to the next txg
    TRY(write_labels(leaves, {0, 2}).in("labels 0 and 2"));
  } else {
    // Any few will do: an import reads them all. Which ones rotates, so that no device is left behind for
    // long.
    std::vector<std::uint32_t> tops;
    for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i)
      if (!vdevs_->top_config(i).is_log && vdevs_->top_config(i).metaslab_array) tops.push_back(i);
    if (tops.size() > kUberblockVdevs) {
      std::ranges::rotate(tops, tops.begin() + static_cast<std::ptrdiff_t>(txg % tops.size()));
      tops.resize(kUberblockVdevs);
    }
    std::erase_if(targets, [&](const VdevTree::LeafRef& leaf) {
      return std::ranges::find(tops, leaf.top) == tops.end();
    });
  }
  TRY(write_uberblocks(targets, uberblock).in("uberblock"));
  // Committed. If the other labels fail now, labels 0 and 2 are the right ones.
  if (labels_change) TRY(write_labels(leaves, {1, 3}).in("labels 1 and 3"));
  return {};
}

namespace {

// Runs `write` for every leaf that is there, in parallel, then flushes it. Fails only if none succeeded: a
// device that misses a label is like one that is absent.
template <typename Write>
Status on_all_leaves(ThreadPool& workers, const std::vector<VdevTree::LeafRef>& leaves, const Write& write) {
  Mutex mutex;
  std::size_t succeeded = 0;
  std::optional<Error> first;
  {
    TaskGroup group(workers);
    for (const VdevTree::LeafRef& leaf : leaves) {
      if (!leaf.disk) continue;
      group.run([&, leaf] {
        Status done = write(leaf);
        if (done) done = leaf.disk->flush();
        MutexLock lock(mutex);
        if (done) {
          ++succeeded;
        } else if (!first) {
          first = std::move(done).error().in(leaf.disk->path());
        }
      });
    }
  }
  if (succeeded > 0) return {};
  if (first) return *first;
  return Error(Errc::io, "no device to write to");
}

}  // namespace

Status PoolImpl::write_labels(const std::vector<VdevTree::LeafRef>& leaves,
                              std::initializer_list<unsigned> indices) {
  const PoolConfig config = pool_config_for(sync_context_->txg());
  const std::vector<unsigned> labels(indices);
  return on_all_leaves(*workers_, leaves, [&](const VdevTree::LeafRef& leaf) -> Status {
    const NvList list = member_label(config, vdevs_->top_config(leaf.top), *leaf.config).encode();
    for (const unsigned index : labels) TRY(write_label_config(*leaf.disk, index, list));
    return {};
  });
}

Status PoolImpl::write_uberblocks(const std::vector<VdevTree::LeafRef>& leaves, const Uberblock& uberblock) {
  return on_all_leaves(*workers_, leaves, [&](const VdevTree::LeafRef& leaf) -> Status {
    for (unsigned index = 0; index < kLabelCount; ++index)
      TRY(write_uberblock(*leaf.disk, index, uberblock, vdevs_->ashift(leaf.top)));
    return {};
  });
}

}  // namespace tarn
