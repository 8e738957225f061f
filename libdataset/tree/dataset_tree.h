// DatasetTree: the datasets of a pool by name: file systems, volumes and snapshots (FORMAT.md logical 3). All
// changes run as sync tasks of the pool. Also the pool's SyncParticipant: it syncs the object sets of open
// datasets.
//
// Error texts are what follows "cannot VERB 'NAME': " in the commands ("dataset does not exist").
//
// Thread safety: everything from any thread except the pool's sync thread. Close the tree before the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdataset/property/property.h"
#include "libpool/base/result.h"
#include "libpool/object/object_set.h"
#include "libpool/txg/pool.h"

namespace tarn {

enum class DatasetKind : std::uint8_t { filesystem, volume, snapshot, bookmark };

// What listings need, read from the MOS in one go.
struct DatasetInfo {
  std::string name;  // full: pool/a@snap
  DatasetKind kind = DatasetKind::filesystem;
  std::uint64_t object = 0;  // dataset object number (objsetid)
  std::uint64_t dir_object = 0;
  std::uint64_t guid = 0, creation_txg = 0, creation_time = 0;
  std::uint64_t used = 0, available = 0, referenced = 0, unique = 0, compressed = 0,
                uncompressed = 0;  // dataset's own
  std::uint64_t dir_compressed = 0, dir_uncompressed = 0;
  std::uint64_t used_by_snapshots = 0, used_by_dataset = 0, used_by_children = 0, used_by_refreservation = 0,
                written = 0;
  std::string origin;               // clones: full name of the snapshot
  std::vector<std::string> clones;  // snapshots
  std::uint64_t userrefs = 0;
  bool defer_destroy = false, inconsistent = false;
  std::uint64_t volsize = 0, volblocksize = 0;
};

// One open head or snapshot: its object set, shared by all users.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::string name() const = 0;  // as of now (renames)
  virtual std::uint64_t object_number() const = 0;
  virtual bool is_snapshot() const = 0;
  virtual bool read_only() const = 0;  // snapshot, pool read-only or property readonly
  virtual ObjectSet& objset() = 0;
  virtual Pool& pool() = 0;
  // Effective numeric value of a native property (inherited, default), as of now. Cached: cheap.
  virtual std::uint64_t property(Property property) const = 0;
  // A transaction, after checking quotas and the pool's space for `bytes`.
  virtual Result<Tx> begin(std::uint64_t bytes, bool may_use_slop = false) = 0;
  // referenced and available bytes for statfs, objects used.
  struct Space {
    std::uint64_t referenced = 0, available = 0, objects_used = 0;
  };
  virtual Space space() const = 0;
};
using DatasetRef = std::shared_ptr<Dataset>;

struct PropertySetting {
  std::string name;
  std::string value;
};  // as the user typed them

struct CreateDatasetSpec {
  std::string name;
  DatasetKind kind = DatasetKind::filesystem;
  std::vector<PropertySetting> properties;
  std::uint64_t volsize = 0;
  bool make_parents = false;  // -p
  // Fills the new file system's object set in the same txg (libdataset/files): master node, root directory.
  std::function<Status(ObjectSet&, const Tx&, const std::map<std::string, std::uint64_t>& zpl_properties)>
      format;
};

class DatasetTree : public SyncParticipant {
 public:
  // For Pool::create: the DSL of a new pool, with its root file system (FORMAT.md 13.1 steps 4, 6).
  static Pool::DatasetMaker maker(const CreateDatasetSpec& root, OwnerFinder find_owner);
  // `find_owner` (libdataset/files) finds the owner of an object in its bonus, for user and group accounting.
  // Errc::unsupported when the pool is writable and a dataset holds an intent log that would have to be
  // replayed.
  static Result<std::unique_ptr<DatasetTree>> open(Pool& pool, OwnerFinder find_owner);

  virtual Status create(const CreateDatasetSpec& spec) = 0;
  virtual Status destroy(const std::string& name) = 0;  // head without snapshots or children, or a snapshot
  virtual Status rename(const std::string& from, const std::string& to, bool make_parents) = 0;
  // Several snapshots ("fs@name") in one transaction group: all or none. `properties`: user properties for
  // each.
  virtual Status snapshot(const std::vector<std::string>& names,
                          const std::vector<PropertySetting>& properties) = 0;
  virtual Result<DatasetInfo> info(const std::string& name) = 0;
  // `root` itself, then its descendants to `depth` (UINT_MAX all), in name order. With `snapshots`: after
  // their head come its snapshots by creation, then its bookmarks; they count as one level below it. An empty
  // root is the pool's.
  virtual Result<std::vector<DatasetInfo>> list(const std::string& root, unsigned depth, bool snapshots) = 0;

  // Value and source of every property that applies; see property.h.
  virtual Result<PropertyValue> get(const std::string& dataset, const std::string& property) = 0;
  virtual Result<std::vector<PropertyValue>> get_all(const std::string& dataset) = 0;
  virtual Status set(const std::string& dataset, const std::vector<PropertySetting>& settings) = 0;
  virtual Status inherit(const std::string& dataset, const std::string& property, bool received) = 0;

  // Who knows which datasets are mounted (property `mounted`).
  virtual void set_mounted_query(std::function<bool(const std::string& dataset)> query) = 0;

  virtual Result<DatasetRef> open_dataset(const std::string& name) = 0;  // snapshots too: read-only
  virtual Pool& pool() = 0;
};

}  // namespace tarn
