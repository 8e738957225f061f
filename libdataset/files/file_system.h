// FileSystem: POSIX operations on one dataset by object number (FORMAT.md logical 4). Knows no paths beyond
// one component and no FUSE; libdataset/fuse translates.
//
// Permission checks of ordinary users are done by the kernel (FUSE default_permissions); rules that depend on
// ZFS state (immutable, read-only, quotas) are checked here. An open file or directory that lost its last
// name lives until its last release().
//
// Thread safety: everything from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdataset/tree/dataset_tree.h"
#include "libpool/base/clock.h"
#include "libpool/base/result.h"

namespace tarn {

struct FileAttributes {
  std::uint64_t object = 0, generation = 0;
  std::uint32_t mode = 0;  // with S_IFMT
  std::uint64_t uid = 0, gid = 0, links = 0, size_bytes = 0;
  std::uint64_t rdev = 0;             // dev_t as glibc has it
  std::uint64_t allocated_bytes = 0;  // st_blocks * 512
  std::uint32_t block_bytes = 0;      // st_blksize
  TimeSpec atime, mtime, ctime, crtime;
  bool settled = true;  // false while a change waits for its txg: allocated_bytes may still change
};

struct Caller {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;
  std::uint32_t umask = 0;
};

struct AttributeChange {  // setattr: what is set
  std::optional<std::uint32_t> mode;
  std::optional<std::uint64_t> uid, gid, size_bytes;
  std::optional<TimeSpec> atime, mtime, ctime;
};

struct DirectoryEntry {
  std::string name;
  std::uint64_t object = 0;
  std::uint32_t type = 0 /* S_IFMT bits */;
  std::uint64_t next_cookie = 0;
};
// Flags that chattr and the project quota tools show (FORMAT.md logical 4.6).
struct FileFlags {
  bool immutable = false, append_only = false, no_dump = false, project_inherit = false;
  std::uint64_t project = 0;
};
enum class RenameMode : std::uint8_t { replace, no_replace, exchange, whiteout };
struct SpaceInfo {
  std::uint64_t block_bytes = 0, blocks = 0, free_blocks = 0, files = 0, free_files = 0;
  std::uint32_t name_max = 255;
};

class FileSystem {
 public:
  // Formats a new file system's object set (for CreateDatasetSpec::format): FORMAT.md logical 10.2.
  static Status format(ObjectSet& objset, const Tx& tx,
                       const std::map<std::string, std::uint64_t>& zpl_properties, const Caller& owner,
                       TimeSpec now);
  static Result<std::shared_ptr<FileSystem>> open(
      DatasetRef dataset);  // any ZPL version 1..5; drains the delete queue when writable
  virtual ~FileSystem() = default;
  virtual DatasetRef dataset() = 0;
  virtual std::uint64_t root() const = 0;
  // Different spellings may name one entry (normalization, casesensitivity): names must not be cached by
  // callers.
  virtual bool names_fold() const = 0;

  virtual Result<FileAttributes> get_attributes(std::uint64_t object) = 0;
  virtual Result<FileAttributes> set_attributes(std::uint64_t object, const AttributeChange& change,
                                                const Caller& caller) = 0;
  virtual Result<FileAttributes> lookup(std::uint64_t directory,
                                        std::string_view name) = 0;  // "." and ".." too
  virtual Result<FileAttributes> create(std::uint64_t directory, std::string_view name, std::uint32_t mode,
                                        std::uint64_t rdev,
                                        const Caller& caller) = 0;  // file, fifo, socket, device
  virtual Result<FileAttributes> make_directory(std::uint64_t directory, std::string_view name,
                                                std::uint32_t mode, const Caller& caller) = 0;
  virtual Result<FileAttributes> make_symlink(std::uint64_t directory, std::string_view name,
                                              std::string_view target, const Caller& caller) = 0;
  virtual Result<FileAttributes> make_link(std::uint64_t object, std::uint64_t directory,
                                           std::string_view name, const Caller& caller) = 0;
  virtual Result<FileAttributes> make_tmpfile(
      std::uint64_t directory, std::uint32_t mode,
      const Caller& caller) = 0;  // nameless; retained once for the caller
  virtual Result<std::string> read_symlink(std::uint64_t object) = 0;
  virtual Status unlink(std::uint64_t directory, std::string_view name, const Caller& caller) = 0;
  virtual Status remove_directory(std::uint64_t directory, std::string_view name, const Caller& caller) = 0;
  virtual Status rename(std::uint64_t from_directory, std::string_view from, std::uint64_t to_directory,
                        std::string_view to, RenameMode mode, const Caller& caller) = 0;

  virtual Result<FileFlags> get_flags(std::uint64_t object) = 0;
  virtual Status set_flags(std::uint64_t object, const FileFlags& flags, const Caller& caller) = 0;

  // Keeps an unlinked object alive until as many release()s. `generation` as FileAttributes gave it:
  // Errc::not_found if the object is gone, also when its number is used again.
  virtual Status retain(std::uint64_t object, std::uint64_t generation) = 0;
  virtual void release(std::uint64_t object, std::uint64_t count = 1) = 0;
  // Whoever retained has ended (a mount): all at once.
  virtual void release_all() = 0;

  virtual Result<std::size_t> read(std::uint64_t object, std::uint64_t offset_bytes,
                                   MutableByteView out) = 0;  // short at end of file
  // The same without a copy: `consume` gets the pieces in order; they are valid and unchanged until it
  // returns.
  virtual Status read_pieces(std::uint64_t object, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                             const std::function<void(std::span<const ByteView>)>& consume) = 0;
  virtual Result<std::size_t> write(std::uint64_t object, std::uint64_t offset_bytes, ByteView data,
                                    bool append, const Caller& caller) = 0;
  virtual Status punch(std::uint64_t object, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                       bool keep_size) = 0;
  virtual Status extend(std::uint64_t object,
                        std::uint64_t end_bytes) = 0;  // fallocate mode 0: grows the size only
  virtual Result<std::uint64_t> seek_data(std::uint64_t object,
                                          std::uint64_t offset_bytes) = 0;  // Errc::no_data past the last
  virtual Result<std::uint64_t> seek_hole(std::uint64_t object, std::uint64_t offset_bytes) = 0;
  virtual Status fsync(std::uint64_t object) = 0;

  // `cookie` 0 starts with "."; stops when visit returns false. Attributes for readdirplus come from
  // get_attributes.
  virtual Status read_directory(std::uint64_t directory, std::uint64_t cookie,
                                const std::function<bool(const DirectoryEntry&)>& visit) = 0;

  virtual Result<Bytes> get_xattr(std::uint64_t object, std::string_view name) = 0;  // Errc::no_data
  enum class XattrMode : std::uint8_t { set, create, replace };
  virtual Status set_xattr(std::uint64_t object, std::string_view name, ByteView value, XattrMode mode,
                           const Caller& caller) = 0;
  virtual Status remove_xattr(std::uint64_t object, std::string_view name, const Caller& caller) = 0;
  virtual Result<std::vector<std::string>> list_xattrs(std::uint64_t object) = 0;

  virtual Result<SpaceInfo> space() = 0;
};

}  // namespace tarn
