// FakeTree: a VdevTree over FakeDisks. In a header, so that only tests that use it need the rooms below it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "libpool/vdev/vdev_tree.h"
#include "tests/unit/support/fake_disk.h"

namespace tarn::support {

// A tree over fake disks, as a pool of that shape would have: guids 100 (top-level) and 1000.. (leaves).
struct FakeTreeOptions {
  VdevKind kind = VdevKind::disk;
  std::size_t disk_count = 1;
  std::uint64_t nparity = 0;
  std::uint64_t ashift = 12;
  std::uint64_t disk_bytes = 256 << 20;
  bool read_only = false;
};
struct FakeTree {
  VdevConfig root;
  std::vector<std::shared_ptr<FakeDisk>> disks;
  std::unique_ptr<VdevTree> tree;
  // Opens the same disks again, e.g. after changes to root (top-level asize_bytes is set).
  Status reopen(bool read_only = false);
  DiskOpener opener() const;
};
// Aborts the test run if the tree does not open.
FakeTree make_fake_tree(const FakeTreeOptions& options = {});

inline DiskOpener FakeTree::opener() const {
  return [disks = disks](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
    for (const auto& disk : disks) {
      if (disk->path() == leaf.path) return std::shared_ptr<Disk>(disk);
    }
    return Error(Errc::not_found, leaf.path + ": no such device");
  };
}

inline Status FakeTree::reopen(bool read_only) {
  tree.reset();
  tree = TRY(VdevTree::open(root, opener(), read_only));
  return {};
}

inline FakeTree make_fake_tree(const FakeTreeOptions& options) {
  FakeTree out;
  VdevConfig top;
  top.guid = 100;
  top.kind = options.kind;
  top.nparity = options.nparity;
  for (std::size_t i = 0; i < options.disk_count; ++i) {
    VdevConfig leaf;
    leaf.kind = VdevKind::disk;
    leaf.id = i;
    leaf.guid = 1000 + i;
    leaf.path = fmt::format("/fake/disk{}", i);
    out.disks.push_back(std::make_shared<FakeDisk>(options.disk_bytes, leaf.path, 512));
    if (is_leaf(options.kind)) {
      top = leaf;
    } else {
      top.children.push_back(leaf);
    }
  }
  top.id = 0;
  top.ashift = options.ashift;
  const std::uint64_t leaf_bytes =
      round_down(options.disk_bytes, kLabelBytes) - kLabelsAndBootBytes - 2 * kLabelBytes;
  top.asize_bytes = leaf_bytes * (options.kind == VdevKind::raidz ? options.disk_count : 1);
  out.root.kind = VdevKind::root;
  out.root.guid = 1;
  out.root.children.push_back(std::move(top));
  if (Status opened = out.reopen(options.read_only); !opened) {
    std::fprintf(stderr, "fake tree: %s\n", opened.error().text().c_str());
    std::abort();
  }
  return out;
}

}  // namespace tarn::support
