// ObjectSet: numbered objects with data and a bonus, copy-on-write per transaction group (FORMAT.md logical
// 1).
//
// A change belongs to the txg of the Tx that made it and is visible at once. sync(txg) writes what that txg
// changed, children before parents, and yields the new root. Up to two txgs may hold changes at a time (one
// open, one syncing): a block changed again while its txg syncs is copied first.
//
// Thread safety: any thread may read and write; sync(txg) runs on one thread and uses the pool's workers.
// Writers of one object serialise themselves (files: range lock; ZAPs: Zap's own lock).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"
#include "libpool/base/thread_pool.h"
#include "libpool/block/block_pointer.h"
#include "libpool/io/block_io.h"
#include "libpool/object/tx.h"

namespace tarn {

enum class ObjsetType : std::uint64_t { none = 0, meta = 1, filesystem = 2, volume = 3, other = 4 };

// Who owns the blocks of an object set: the dataset (accounting, deadlists) or, for the MOS, the pool. Called
// during sync, from several threads.
class BlockOwner {
 public:
  virtual ~BlockOwner() = default;
  virtual void block_born(const BlockPointer& bp, std::uint64_t txg) = 0;
  // `bp` is no longer referenced by this object set: free it, or keep it for a snapshot.
  virtual void block_freed(const BlockPointer& bp, std::uint64_t txg) = 0;
  // MOS only, pass 2 and up: `now` took the place of `before`, written in the same txg; I/O has freed or used
  // again the space of `before`. Neither is told to block_born() or block_freed().
  virtual void block_rewritten(const BlockPointer& before, const BlockPointer& now, std::uint64_t txg) {
    (void)before, (void)now, (void)txg;
  }
};

// Told of dirty bytes, to hold back writers and start a sync when there are many.
class DirtyTracker {
 public:
  virtual ~DirtyTracker() = default;
  virtual void dirtied(std::uint64_t txg, std::int64_t bytes) = 0;
};

// How blocks of an object set are stored: dataset properties, set once per sync.
struct StoragePolicy {
  ChecksumType data_checksum = ChecksumType::fletcher4;
  CompressionSpec data_compression{CompressionType::lz4, 0};
  CompressionSpec metadata_compression{CompressionType::lz4, 0};
  unsigned data_copies = 1;
  unsigned metadata_copies = 2;  // redundant_metadata=all: data copies + 1, MOS: 3
  bool may_embed = true;         // embedded_data enabled
};

// Owner ids of an object for user/group/project accounting (FORMAT.md logical 1.9), found by libdataset in
// its bonus.
struct OwnerIds {
  std::uint64_t uid = 0, gid = 0, projid = 0;
};
using OwnerFinder =
    std::function<std::optional<OwnerIds>(DmuType bonus_type, ByteView bonus, std::uint8_t dnode_flags)>;

struct ObjectSetEnv {
  BlockIo* io = nullptr;
  ThreadPool* workers = nullptr;
  BlockOwner* owner = nullptr;
  DirtyTracker* dirty = nullptr;  // may be null
  std::uint64_t objset_id = 0;    // dataset object number; 0 for the MOS
  std::uint32_t vdev_count = 0;
  // Called during sync when something is first stored that needs a per-dataset feature: large_blocks,
  // large_dnode, zstd_compress, a checksum's feature... (guid). May be null.
  std::function<void(std::string_view feature_guid)> feature_used;
  OwnerFinder find_owner;  // filesystems only
  bool user_accounting = false, object_accounting = false, project_accounting = false;
  bool hole_birth = true;                 // freed blocks leave holes that remember their txg
  std::uint32_t new_objset_bytes = 4096;  // objset block of a new object set: 1024 before pool version 15
};

struct ObjectSpec {
  DmuType type = DmuType::none;
  std::uint32_t block_bytes = 0;  // 0 = 512
  unsigned indirect_shift = 17;
  DmuType bonus_type = DmuType::none;
  std::uint32_t bonus_bytes = 0;
  std::uint32_t dnode_slots = 1;  // 512-byte slots (dnodesize)
};

struct ObjectInfo {
  DmuType type, bonus_type;
  std::uint32_t block_bytes;
  std::uint32_t bonus_bytes;           // in use
  std::uint32_t bonus_capacity_bytes;  // most that fits this dnode (less 128 if it has a spill block)
  std::uint32_t dnode_slots;
  unsigned levels;
  std::uint64_t max_blkid;
  std::uint64_t used_bytes;  // as of the last sync
  std::uint8_t flags;        // dnode flags as stored
  ByteOrder bonus_order;     // byte order in which the bonus was written
};

// One open object. Handles are shared: opening a number twice gives the same Object.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::uint64_t number() const = 0;
  virtual ObjectInfo info() const = 0;

  // Bytes beyond what was ever written read as zeros; there is no end-of-file here (files keep their size in
  // the bonus).
  virtual Status read(std::uint64_t offset_bytes, MutableByteView out) = 0;
  // One whole block as cached, without copying; byte-swapped to host order by the type's swap class (ZAP,
  // dnode and u64 arrays; u8 data as it is).
  virtual Result<BufferRef> read_block(std::uint64_t blkid) = 0;
  virtual Status write(const Tx& tx, std::uint64_t offset_bytes, ByteView data) = 0;
  // Takes over a whole block without copying; data.size() == block size.
  virtual Status write_block(const Tx& tx, std::uint64_t blkid, Buffer data) = 0;
  // One whole block to change in place, loaded if need be: for structured users that hold content_lock()
  // exclusively, until they let go of it or of `tx`. Counts as written at once.
  virtual Result<MutableBufferRef> modify_block(const Tx& tx, std::uint64_t blkid) = 0;
  // Punches a hole; partial blocks at the ends are zeroed. length UINT64_MAX = to the end.
  virtual Status free_range(const Tx& tx, std::uint64_t offset_bytes, std::uint64_t length_bytes) = 0;
  // Only while at most block 0 exists.
  virtual Status set_block_size(const Tx& tx, std::uint32_t block_bytes) = 0;

  // The bonus as stored bytes (in info().bonus_order for SA; swapped to host order for u64-array types).
  virtual Bytes bonus() const = 0;
  virtual Status set_bonus(const Tx& tx, ByteView bonus) = 0;  // also changes its length
  virtual Status set_bonus_type(const Tx& tx, DmuType bonus_type) = 0;
  virtual Status set_type(const Tx& tx, DmuType type) = 0;  // zapifying
  virtual Result<std::optional<BufferRef>> spill() const = 0;
  virtual Status set_spill(const Tx& tx, std::optional<Buffer> data) = 0;  // nothing = remove

  // Next data or hole at or after offset, by block; nothing if none (SEEK_DATA, SEEK_HOLE).
  virtual Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset_bytes) = 0;
  virtual Result<std::optional<std::uint64_t>> next_hole(std::uint64_t offset_bytes) = 0;
  // Starts reading [offset, offset+length) into the cache without waiting.
  virtual void prefetch(std::uint64_t offset_bytes, std::uint64_t length_bytes) = 0;

  // For Zap and other structured users: serialises their operations on this object.
  virtual SharedMutex& content_lock() = 0;
};
using ObjectRef = std::shared_ptr<Object>;

class ObjectSet {
 public:
  // Opens the object set whose root block is `root`. With `root` a hole: an empty one of `type`, created by
  // the first sync (meta dnode levels as FORMAT.md logical 1.6 says).
  static Result<std::unique_ptr<ObjectSet>> open(const ObjectSetEnv& env, const BlockPointer& root,
                                                 ObjsetType type_if_new);
  virtual ~ObjectSet() = default;

  virtual ObjsetType type() const = 0;
  virtual BlockPointer root() const = 0;    // as of the last sync
  virtual std::uint64_t flags() const = 0;  // os_flags
  virtual void set_flags(const Tx& tx, std::uint64_t flags) = 0;
  virtual Bytes zil_header() const = 0;  // 192 bytes
  virtual void set_zil_header(const Tx& tx, ByteView header) = 0;
  virtual void set_policy(const StoragePolicy& policy) = 0;

  virtual Result<ObjectRef> open_object(std::uint64_t number) = 0;  // Errc::not_found if free
  virtual Result<ObjectRef> create_object(const Tx& tx, const ObjectSpec& spec) = 0;
  virtual Result<ObjectRef> claim_object(const Tx& tx, std::uint64_t number, const ObjectSpec& spec) = 0;
  // Frees data, spill and dnode when `tx`'s group syncs; the number may be used again afterwards.
  virtual Status free_object(const Tx& tx, std::uint64_t number) = 0;
  // Allocated object with the smallest number > `after`; nothing at the end.
  virtual Result<std::optional<std::uint64_t>> next_object(std::uint64_t after) = 0;
  virtual std::uint64_t object_count() const = 0;

  virtual bool is_dirty(std::uint64_t txg) const = 0;
  // No more changes will come for this txg from open context. Called before its sync begins.
  virtual void close_txg(std::uint64_t txg) = 0;
  // Writes all that is dirty in `txg`. May be called again in the same txg (MOS: pass 2 and up), then blocks
  // born in this txg are rewritten in place. `pass` starts at 1; compression is off from pass 5.
  virtual Result<BlockPointer> sync(std::uint64_t txg, unsigned pass, WriteBatch& batch) = 0;
  // Frees every block (destroy of a head without snapshots); used in syncing context.
  virtual Status free_all(std::uint64_t txg) = 0;
  // Visits every allocated bp (dnodes' data, indirect, spill, meta dnode) born after `min_birth`; for scans.
  virtual Status traverse(std::uint64_t min_birth,
                          const std::function<Status(const BlockPointer&, const Bookmark&)>& visit) = 0;
};

// Swaps a block read from a device to host order by its type.
Status swap_block(MutableByteView block, DmuType type);

}  // namespace tarn
