// The dataset tree in memory: one DirNode per dataset directory, with its head, snapshots and bookmarks. Read
// once at open, then kept in step by the operations; listings never touch the disk. Everything here is
// guarded by the tree's mutex.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdataset/tree/dsl_phys.h"
#include "libpool/object/object_set.h"

namespace tarn {

// A property as stored in a props ZAP (FORMAT.md logical 3.7); the key may carry a suffix such as "$recvd".
struct StoredProperty {
  bool is_text = false;
  std::uint64_t number = 0;
  std::string text;
};
using PropertyMap = std::map<std::string, StoredProperty, std::less<>>;

struct DirNode;

struct DatasetNode {
  DirNode* dir = nullptr;
  std::uint64_t object = 0;
  std::string name;  // of a snapshot; empty for a head
  DslDatasetPhys phys;
  PropertyMap props;  // snapshots' own
  std::uint64_t userrefs = 0;
  bool is_snapshot() const { return !name.empty(); }
};

struct BookmarkNode {
  std::string name;
  std::uint64_t guid = 0, creation_txg = 0, creation_time = 0;
  bool has_totals = false;  // the three below are known
  std::uint64_t referenced = 0, compressed = 0, uncompressed = 0;
  std::uint64_t freed_before_next = 0;  // referenced bytes; FBN
};

// What is read from a head's own object set when somebody asks.
struct HeadDetails {
  std::uint64_t volsize = 0, volblocksize = 0;
  std::uint64_t zpl_version = 0, utf8only = 0, normalization = 0, casesensitivity = 0;
};

struct DirNode {
  std::uint64_t object = 0;
  std::string name;  // last component; the pool's name for the root
  DirNode* parent = nullptr;
  std::map<std::string, std::unique_ptr<DirNode>, std::less<>> children;
  DslDirPhys phys;
  PropertyMap props;
  std::unique_ptr<DatasetNode> head;                    // none for $MOS and its like
  std::vector<std::unique_ptr<DatasetNode>> snapshots;  // by creation
  std::vector<BookmarkNode> bookmarks;                  // by name
  ObjsetType type = ObjsetType::none;                   // of the head
  std::uint64_t objset_flags = 0;
  std::optional<HeadDetails> details;
  // From the extension (FORMAT.md logical 3.4).
  std::optional<std::uint64_t> filesystem_count, snapshot_count;
  std::uint64_t snapshots_changed = 0;  // seconds; 0 = never
  std::uint64_t crypto_key = 0;         // object; 0 = not encrypted
  std::uint64_t livelist = 0;           // object; 0 = none
  bool resumable = false;               // holds the state of an interrupted receive
  // Estimates of what open transactions will write below here, by txg modulo the array's size.
  std::array<std::atomic<std::uint64_t>, 4> pending{};

  bool hidden() const { return name.starts_with('$') || name.starts_with('%'); }
  std::string full_name() const { return parent ? parent->full_name() + "/" + name : name; }
};

inline std::string full_name(const DatasetNode& node) {
  return node.is_snapshot() ? node.dir->full_name() + "@" + node.name : node.dir->full_name();
}

}  // namespace tarn
