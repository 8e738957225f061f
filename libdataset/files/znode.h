// Znode: one file, directory or other named object in memory: its attributes decoded, and the locks that
// order work on it. Attributes are written through to the object's bonus at every change (FORMAT.md
// logical 4.3, 4.4).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "libdataset/sa/sa_codec.h"
#include "libpool/base/clock.h"
#include "libpool/base/mutex.h"
#include "libpool/object/object_set.h"

namespace tarn {

struct ZnodeAttributes {
  std::uint64_t mode = 0, size = 0, gen = 0, uid = 0, gid = 0, parent = 0, flags = 0, links = 0;
  TimeSpec atime, mtime, ctime, crtime;
  std::optional<std::uint64_t> projid;
  std::uint64_t rdev = 0;             // as stored
  std::uint64_t xattr_directory = 0;  // 0 = none
  bool has_sa_xattrs = false;
  bool is_directory() const;
  bool is_regular() const;
};

class Znode {
 public:
  // `registry` may be null when the file system has none (ZPL versions before 5). Errc::not_found if the
  // object is free or is no file.
  static Result<std::shared_ptr<Znode>> load(ObjectSet& objset, SaRegistry* registry, std::uint64_t number);
  // Gives a new object its attributes. `extra` are appended behind the standard ones: RDEV, DACL_*, SYMLINK,
  // DXATTR.
  static Result<std::shared_ptr<Znode>> create(SaRegistry& registry, const Tx& tx, ObjectRef object,
                                               const ZnodeAttributes& attributes,
                                               const std::vector<std::pair<SaAttr, Bytes>>& extra);

  std::uint64_t number() const { return object_->number(); }
  Object& object() { return *object_; }
  const ObjectRef& object_ref() const { return object_; }

  ZnodeAttributes attributes() const;
  // Changes standard attributes.
  Status update(SaRegistry& registry, const Tx& tx, const std::function<void(ZnodeAttributes&)>& change);
  // Changes any attribute: `change` also gets all values as stored. Needs `lock` exclusively, as those who
  // add or remove attributes must not meet.
  Status rebuild(SaRegistry& registry, const Tx& tx,
                 const std::function<Status(ZnodeAttributes&, SaValues&)>& change);
  // One attribute as stored, in host order.
  Result<std::optional<Bytes>> value(const SaRegistry* registry, SaAttr attr) const;
  Result<std::string> symlink_target(const SaRegistry* registry) const;

  // An access time in memory only: it reaches the disk with the next change, or by update().
  void set_atime(TimeSpec time);
  bool atime_pending() const { return atime_pending_.load(std::memory_order_relaxed); }

  // Orders whole operations: the names in a directory, the data and size of a file, attributes added or
  // removed.
  SharedMutex lock;
  bool dead = false;  // guarded by `lock`: the object was freed
  // Whether it has file capabilities (an xattr that writing takes away): looked up once.
  enum class Capability : std::uint8_t { unknown, absent, present };
  std::atomic<Capability> capability{Capability::unknown};
  std::atomic<std::uint64_t> last_txg{0};                     // of the latest change
  std::atomic<std::uint64_t> next_read{0}, prefetched_to{0};  // sequential reads are seen by these

 private:
  explicit Znode(ObjectRef object) : object_(std::move(object)) {}
  Status store(SaRegistry& registry, const Tx& tx, const ZnodeAttributes& attributes)
      REQUIRES(attributes_mutex_);
  Result<SaValues> values(const SaRegistry& registry) const REQUIRES(attributes_mutex_);
  Result<SaValues> current_values(SaRegistry& registry, const Tx& tx) const REQUIRES(attributes_mutex_);
  Status write_values(SaRegistry& registry, const Tx& tx, const ZnodeAttributes& attributes, SaValues values)
      REQUIRES(attributes_mutex_);

  const ObjectRef object_;
  mutable Mutex attributes_mutex_;
  ZnodeAttributes attributes_ GUARDED_BY(attributes_mutex_);
  // The bonus begins with the fixed part, in host order: changes can be patched in.
  bool patchable_ GUARDED_BY(attributes_mutex_) = false;
  std::size_t header_bytes_ GUARDED_BY(attributes_mutex_) = 0;
  std::atomic<bool> atime_pending_{false};
};
using ZnodeRef = std::shared_ptr<Znode>;

}  // namespace tarn
