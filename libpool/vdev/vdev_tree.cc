#include "libpool/vdev/vdev_tree.h"

#include <fmt/format.h>

#include <condition_variable>
#include <unordered_map>

#include "libpool/vdev/leaf.h"
#include "libpool/vdev/top_vdev.h"

namespace tarn {

namespace {

constexpr unsigned kMinAshift = 9, kMaxAshift = 16;
constexpr std::size_t kMaxTops = 4096, kMaxChildren = 255;
constexpr unsigned kMaxDepth = 8;

bool is_mirror_like(VdevKind kind) {
  return kind == VdevKind::mirror || kind == VdevKind::replacing || kind == VdevKind::spare;
}
bool is_absent(VdevKind kind) {
  return kind == VdevKind::hole || kind == VdevKind::missing || kind == VdevKind::indirect;
}

// Counters of a vdev, and the device if it is a leaf.
struct Node {
  const VdevConfig* config = nullptr;
  VdevCounters own;
  std::unique_ptr<LeafVdev> leaf;

  VdevCounters& counters() { return leaf ? leaf->counters() : own; }
  const VdevCounters& counters() const { return leaf ? leaf->counters() : own; }
};

// One top-level vdev with everything below it. The config stays where it is, since nodes point into it.
struct Subtree {
  VdevConfig config;
  std::unordered_map<const VdevConfig*, std::unique_ptr<Node>> nodes;
  std::vector<LeafVdev*> leaves;  // in the order of the config
  std::unique_ptr<TopVdev> top;

  const Node* find(std::uint64_t guid) const {
    for (const auto& [config_of_node, node] : nodes) {
      if (config_of_node->guid == guid) return node.get();
    }
    return nullptr;
  }
};

Status check_shape(const VdevConfig& config, unsigned depth) {
  const auto bad = [&](const char* what) {
    return Error(Errc::corrupt, fmt::format("vdev {} (guid {}): {}", config.id, config.guid, what));
  };
  if (depth > kMaxDepth) return bad("nested too deeply");
  if (config.children.size() > kMaxChildren) return bad("too many children");
  if (depth == 0 && !is_absent(config.kind) && (config.ashift < kMinAshift || config.ashift > kMaxAshift))
    return bad("ashift out of bounds");
  if (is_leaf(config.kind) || is_absent(config.kind))
    return config.children.empty() ? Status() : Status(bad("a device cannot have children"));
  if (config.kind == VdevKind::root || (depth > 0 && !is_mirror_like(config.kind)))
    return bad("cannot be at this place in the tree");
  if (config.children.empty()) return bad("has no children");
  if (config.kind == VdevKind::raidz) {
    if (config.nparity < 1 || config.nparity > 3) return bad("RAID-Z parity out of bounds");
    const std::uint64_t added = config.raidz_expand_txgs.size() + (config.raidz_expanding ? 1 : 0);
    if (config.children.size() <= config.nparity + added) return bad("too few children for its parity");
  }
  for (const VdevConfig& child : config.children) TRY(check_shape(child, depth + 1));
  return {};
}

void add_nodes(Subtree& tree, const VdevConfig& config, const DiskOpener& opener,
               std::uint64_t needed_bytes) {
  auto node = std::make_unique<Node>();
  node->config = &config;
  if (config.children.empty() && config.kind != VdevKind::hole && config.kind != VdevKind::indirect) {
    node->leaf = std::make_unique<LeafVdev>(config, opener, needed_bytes);
    tree.leaves.push_back(node->leaf.get());
  }
  tree.nodes.emplace(&config, std::move(node));
  for (const VdevConfig& child : config.children) add_nodes(tree, child, opener, needed_bytes);
}

void collect_leaves(const Subtree& tree, const VdevConfig& config, std::vector<LeafVdev*>& out) {
  if (LeafVdev* leaf = tree.nodes.at(&config)->leaf.get()) out.push_back(leaf);
  for (const VdevConfig& child : config.children) collect_leaves(tree, child, out);
}

// What each device below has to offer at least, from what the labels say of the whole.
std::uint64_t needed_leaf_bytes(const VdevConfig& top) {
  if (top.kind == VdevKind::draid) return 0;
  if (top.kind != VdevKind::raidz) return top.asize_bytes;
  return top.asize_bytes / (top.children.size() - (top.raidz_expanding ? 1 : 0));
}

Result<std::unique_ptr<Subtree>> build_subtree(const VdevConfig& config, const DiskOpener& opener) {
  TRY(check_shape(config, 0));
  auto tree = std::make_unique<Subtree>();
  tree->config = config;
  if (is_absent(config.kind) && tree->config.ashift < kMinAshift) tree->config.ashift = kMinAshift;
  if (!is_absent(config.kind)) {
    add_nodes(*tree, tree->config, opener, needed_leaf_bytes(config));
  } else {
    auto node = std::make_unique<Node>();
    node->config = &tree->config;
    tree->nodes.emplace(&tree->config, std::move(node));
  }
  VdevCounters& counters = tree->nodes.at(&tree->config)->own;
  if (is_leaf(config.kind) || is_mirror_like(config.kind)) {
    tree->top = make_mirror_top(tree->config, counters, tree->leaves);
  } else if (config.kind == VdevKind::raidz) {
    std::vector<CopySet> children;
    for (const VdevConfig& child : tree->config.children) {
      std::vector<LeafVdev*> leaves;
      collect_leaves(*tree, child, leaves);
      children.emplace_back(std::move(leaves));
    }
    tree->top = make_raidz_top(tree->config, counters, std::move(children));
  } else {
    tree->top = make_absent_top(tree->config, counters);
  }
  return tree;
}

VdevState state_of(const Subtree& tree, const VdevConfig& config) {
  if (&config == &tree.config) return tree.top->state();
  if (const LeafVdev* leaf = tree.nodes.at(&config)->leaf.get()) return leaf->state();
  std::size_t usable = 0, healthy = 0;
  for (const VdevConfig& child : config.children) {
    const VdevState state = state_of(tree, child);
    usable += state >= VdevState::degraded;
    healthy += state == VdevState::healthy;
  }
  if (usable == 0) return VdevState::cant_open;
  return healthy == config.children.size() ? VdevState::healthy : VdevState::degraded;
}

// Traffic of an interior vdev is that of its devices; errors are its own.
void add_traffic(const Subtree& tree, const VdevConfig& config, VdevStats& stats) {
  std::vector<LeafVdev*> leaves;
  collect_leaves(tree, config, leaves);
  for (const LeafVdev* leaf : leaves) {
    stats.read_ops += leaf->counters().read_ops;
    stats.write_ops += leaf->counters().write_ops;
    stats.read_bytes += leaf->counters().read_bytes;
    stats.write_bytes += leaf->counters().write_bytes;
  }
}

void add_errors(const VdevCounters& counters, VdevStats& stats) {
  stats.read_errors += counters.read_errors;
  stats.write_errors += counters.write_errors;
  stats.checksum_errors += counters.checksum_errors;
}

void clear(VdevCounters& counters) {
  counters.read_errors = 0;
  counters.write_errors = 0;
  counters.checksum_errors = 0;
}

// Waits for a number of callbacks.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : left_(count) {}
  void one_done() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (--left_ == 0) changed_.notify_all();
  }
  void wait() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (left_ != 0) changed_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::size_t left_ GUARDED_BY(mutex_);
};

class OpenVdevTree final : public VdevTree {
 public:
  OpenVdevTree(std::uint64_t root_guid, bool read_only) : root_guid_(root_guid), read_only_(read_only) {}

  std::uint32_t top_count() const override {
    ReaderLock lock(mutex_);
    return static_cast<std::uint32_t>(subtrees_.size());
  }
  const VdevConfig& top_config(std::uint32_t vdev) const override { return subtree(vdev)->config; }
  VdevConfig& mutable_top_config(std::uint32_t vdev) override { return subtree(vdev)->config; }
  Status add_top(const VdevConfig& top, const DiskOpener& opener) override;

  Status usable() const override;
  VdevState state(std::uint32_t vdev) const override { return subtree(vdev)->top->state(); }
  VdevStats stats(std::uint64_t guid) const override;
  void clear_errors(std::uint64_t guid_or_0) override;
  TxgSet missing_txgs(std::uint64_t leaf_guid) const override;
  void set_missing_txgs(std::uint64_t leaf_guid, TxgSet txgs) override;
  Status set_leaf_state(std::uint64_t leaf_guid, VdevState state, VdevAux aux) override;
  void set_reflow(std::uint64_t reflow_word) override {
    for (Subtree* tree : subtrees()) tree->top->set_reflow(reflow_word);
  }

  std::uint64_t allocated_size(std::uint32_t vdev, std::uint64_t physical_bytes) const override {
    return subtree(vdev)->top->allocated_size(physical_bytes);
  }
  unsigned ashift(std::uint32_t vdev) const override { return subtree(vdev)->top->ashift(); }
  std::uint64_t deflated_size(std::uint32_t vdev, std::uint64_t allocated_bytes) const override {
    const Subtree* tree = find_subtree(vdev);
    return tree ? tree->top->deflated_size(allocated_bytes) : allocated_bytes;
  }
  std::uint64_t usable_bytes(std::uint32_t vdev) const override { return subtree(vdev)->top->usable_bytes(); }

  Status read(std::uint32_t vdev, std::uint64_t offset_bytes, MutableByteView out, std::uint64_t birth_txg,
              const Verifier& verify) override {
    return read_block(vdev, offset_bytes, out,
                      {.birth_txg = birth_txg, .verify = verify, .repair = !read_only_, .everything = false});
  }
  Status scrub(std::uint32_t vdev, std::uint64_t offset_bytes, MutableByteView out, std::uint64_t birth_txg,
               const Verifier& verify) override {
    return read_block(vdev, offset_bytes, out,
                      {.birth_txg = birth_txg, .verify = verify, .repair = !read_only_, .everything = true});
  }
  void write(std::uint32_t vdev, std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg,
             WriteBatch& batch) override;
  Status flush() override;
  void discard(std::uint32_t vdev, std::uint64_t offset_bytes, std::uint64_t length_bytes) override {
    const Subtree* tree = find_subtree(vdev);
    if (tree && !read_only_) tree->top->discard(offset_bytes, length_bytes);
  }
  std::vector<LeafRef> leaves() const override;

 private:
  Status read_block(std::uint32_t vdev, std::uint64_t offset_bytes, MutableByteView out,
                    const ReadHow& how) const {
    const Subtree* tree = find_subtree(vdev);
    if (!tree) return no_such_vdev(vdev);
    if (out.empty())
      return Error(Errc::corrupt, fmt::format("vdev {}: empty block at {:#x}", vdev, offset_bytes));
    return tree->top->read(offset_bytes, out, how);
  }
  static Error no_such_vdev(std::uint32_t vdev) {
    return Error(Errc::corrupt, fmt::format("no vdev {} in this pool", vdev));
  }
  // Subtrees are never taken away, so that a pointer stays good without the lock.
  Subtree* find_subtree(std::uint32_t vdev) const {
    ReaderLock lock(mutex_);
    return vdev < subtrees_.size() ? subtrees_[vdev].get() : nullptr;
  }
  Subtree* subtree(std::uint32_t vdev) const {
    Subtree* tree = find_subtree(vdev);
    assert(tree);
    return tree;
  }
  std::vector<Subtree*> subtrees() const {
    ReaderLock lock(mutex_);
    std::vector<Subtree*> out;
    for (const auto& tree : subtrees_) out.push_back(tree.get());
    return out;
  }
  LeafVdev* find_leaf(std::uint64_t guid) const {
    for (Subtree* tree : subtrees()) {
      for (LeafVdev* leaf : tree->leaves) {
        if (leaf->config().guid == guid) return leaf;
      }
    }
    return nullptr;
  }

  const std::uint64_t root_guid_;
  const bool read_only_;
  mutable SharedMutex mutex_;
  std::vector<std::unique_ptr<Subtree>> subtrees_ GUARDED_BY(mutex_);
};

Status OpenVdevTree::add_top(const VdevConfig& top, const DiskOpener& opener) {
  std::unique_ptr<Subtree> tree = TRY(build_subtree(top, opener));
  WriterLock lock(mutex_);
  if (subtrees_.size() >= kMaxTops) return Error(Errc::corrupt, "too many top-level vdevs");
  subtrees_.push_back(std::move(tree));
  return {};
}

Status OpenVdevTree::usable() const {
  for (const Subtree* tree : subtrees()) TRY(tree->top->usable());
  return {};
}

VdevStats OpenVdevTree::stats(std::uint64_t guid) const {
  VdevStats out;
  const std::vector<Subtree*> trees = subtrees();
  if (guid == root_guid_) {
    out.state = VdevState::healthy;
    for (const Subtree* tree : trees) {
      const VdevState state = tree->top->state();
      if (state < VdevState::degraded) {
        out.state = VdevState::cant_open;
        out.aux = VdevAux::no_replicas;
      } else if (state == VdevState::degraded && out.state == VdevState::healthy) {
        out.state = VdevState::degraded;
      }
      add_traffic(*tree, tree->config, out);
      // A single disk is both top-level vdev and device; its errors are not the pool's unless nothing saved
      // the block.
      add_errors(tree->nodes.at(&tree->config)->own, out);
    }
    return out;
  }
  for (const Subtree* tree : trees) {
    const Node* node = tree->find(guid);
    if (!node) continue;
    out.state = state_of(*tree, *node->config);
    add_traffic(*tree, *node->config, out);
    add_errors(node->counters(), out);
    if (node->leaf) {
      out.aux = node->leaf->aux();
      if (node->leaf->disk()) out.device_bytes = node->leaf->disk()->size_bytes();
    } else if (out.state < VdevState::degraded) {
      out.aux = VdevAux::no_replicas;
    }
    return out;
  }
  return out;
}

void OpenVdevTree::clear_errors(std::uint64_t guid_or_0) {
  const bool all = guid_or_0 == 0 || guid_or_0 == root_guid_;
  for (Subtree* tree : subtrees()) {
    for (const auto& [config, node] : tree->nodes) {
      if (!all && config->guid != guid_or_0) continue;
      clear(node->own);
      if (node->leaf) clear(node->leaf->counters());
    }
  }
}

TxgSet OpenVdevTree::missing_txgs(std::uint64_t leaf_guid) const {
  const LeafVdev* leaf = find_leaf(leaf_guid);
  return leaf ? leaf->missing() : TxgSet();
}

void OpenVdevTree::set_missing_txgs(std::uint64_t leaf_guid, TxgSet txgs) {
  if (LeafVdev* leaf = find_leaf(leaf_guid)) leaf->set_missing(std::move(txgs));
}

Status OpenVdevTree::set_leaf_state(std::uint64_t leaf_guid, VdevState state, VdevAux aux) {
  LeafVdev* leaf = find_leaf(leaf_guid);
  if (!leaf) return Error(Errc::not_found, fmt::format("no device with guid {} in this pool", leaf_guid));
  return leaf->set_state(state, aux);
}

void OpenVdevTree::write(std::uint32_t vdev, std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg,
                         WriteBatch& batch) {
  const Subtree* tree = find_subtree(vdev);
  if (tree && !read_only_ && !data->empty())
    return tree->top->write(offset_bytes, std::move(data), txg, batch);
  batch.begin(0);
  if (read_only_) return batch.end(0, Error(Errc::read_only, "pool is open read-only"));
  batch.end(0, tree ? Error(Errc::invalid_argument, "empty block") : no_such_vdev(vdev));
}

// All devices at once. Then, per top-level vdev: enough of what was written must be safe to read it all back.
Status OpenVdevTree::flush() {
  if (read_only_) return {};
  const std::vector<Subtree*> trees = subtrees();
  std::vector<LeafVdev*> dirty;
  for (const Subtree* tree : trees) {
    for (LeafVdev* leaf : tree->leaves) {
      if (leaf->needs_flush()) dirty.push_back(leaf);
    }
  }
  std::vector<Status> results(dirty.size());
  Countdown finished(dirty.size());
  for (std::size_t i = 0; i < dirty.size(); ++i) {
    dirty[i]->flush_async([&results, &finished, i](Status result) {
      results[i] = std::move(result);
      finished.one_done();
    });
  }
  finished.wait();

  std::unordered_map<const LeafVdev*, Status*> result_of;
  for (std::size_t i = 0; i < dirty.size(); ++i) result_of.emplace(dirty[i], &results[i]);
  for (const Subtree* tree : trees) {
    std::size_t lost_sets = 0;
    Status* problem = nullptr;
    for (const CopySet& copies : tree->top->copy_sets()) {
      bool any_dirty = false, any_safe = false;
      for (const LeafVdev* leaf : copies.leaves()) {
        const auto found = result_of.find(leaf);
        if (found == result_of.end()) continue;
        any_dirty = true;
        any_safe = any_safe || found->second->ok();
        if (!*found->second) problem = found->second;
      }
      lost_sets += any_dirty && !any_safe;
    }
    if (lost_sets > tree->top->tolerated_failures()) return std::move(*problem);
  }
  return {};
}

std::vector<VdevTree::LeafRef> OpenVdevTree::leaves() const {
  std::vector<LeafRef> out;
  const std::vector<Subtree*> trees = subtrees();
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (const LeafVdev* leaf : trees[i]->leaves) {
      out.push_back({.config = &leaf->config(),
                     .top = static_cast<std::uint32_t>(i),
                     .disk = leaf->usable() ? leaf->disk() : nullptr});
    }
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<VdevTree>> VdevTree::open(const VdevConfig& root, const DiskOpener& opener,
                                                 bool read_only) {
  auto tree = std::make_unique<OpenVdevTree>(root.guid, read_only);
  for (const VdevConfig& top : root.children) TRY(tree->add_top(top, opener));
  return std::unique_ptr<VdevTree>(std::move(tree));
}

}  // namespace tarn
