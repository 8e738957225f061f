// PosixFileSystem: FileSystem over one dataset's object set. One class, in files by subject:
// posix_file_system.cc opens it and does attributes, posix_lookup.cc and posix_create.cc and posix_unlink.cc
// and posix_rename.cc names, posix_data.cc content, posix_xattr.cc extended attributes, posix_reap.cc objects
// without a name.
//
// Every operation: take the locks of the znodes it concerns (several: in order of object number), check,
// begin a transaction, change. No lock is taken while a transaction is held except leaves (attributes, ZAP
// content, registry), as begin() may wait for others to finish theirs. See libdataset/README.md.
#pragma once

#include "libdataset/files/file_system.h"
#include "libdataset/files/posix_host.h"
#include "libdataset/files/znode_cache.h"
#include "libdataset/files/zpl_constants.h"
#include "libpool/zap/zap.h"

namespace tarn {

class PosixFileSystem final : public FileSystem {
 public:
  static Result<std::shared_ptr<FileSystem>> open(DatasetRef dataset, PosixHost host);
  ~PosixFileSystem() override;
  DatasetRef dataset() override { return dataset_; }
  std::uint64_t root() const override { return root_; }
  bool names_fold() const override { return norm_flags_ != 0; }

  Result<FileAttributes> get_attributes(std::uint64_t object) override;
  Result<FileAttributes> set_attributes(std::uint64_t object, const AttributeChange& change,
                                        const Caller& caller) override;
  Result<FileFlags> get_flags(std::uint64_t object) override;
  Status set_flags(std::uint64_t object, const FileFlags& flags, const Caller& caller) override;
  Result<FileAttributes> lookup(std::uint64_t directory, std::string_view name) override;
  Result<FileAttributes> create(std::uint64_t directory, std::string_view name, std::uint32_t mode,
                                std::uint64_t rdev, const Caller& caller) override;
  Result<FileAttributes> make_directory(std::uint64_t directory, std::string_view name, std::uint32_t mode,
                                        const Caller& caller) override;
  Result<FileAttributes> make_symlink(std::uint64_t directory, std::string_view name, std::string_view target,
                                      const Caller& caller) override;
  Result<FileAttributes> make_link(std::uint64_t object, std::uint64_t directory, std::string_view name,
                                   const Caller& caller) override;
  Result<FileAttributes> make_tmpfile(std::uint64_t directory, std::uint32_t mode,
                                      const Caller& caller) override;
  Result<std::string> read_symlink(std::uint64_t object) override;
  Status unlink(std::uint64_t directory, std::string_view name, const Caller& caller) override;
  Status remove_directory(std::uint64_t directory, std::string_view name, const Caller& caller) override;
  Status rename(std::uint64_t from_directory, std::string_view from, std::uint64_t to_directory,
                std::string_view to, RenameMode mode, const Caller& caller) override;
  Status retain(std::uint64_t object, std::uint64_t generation) override;
  void release(std::uint64_t object, std::uint64_t count) override;
  void release_all() override;
  Result<std::size_t> read(std::uint64_t object, std::uint64_t offset_bytes, MutableByteView out) override;
  Status read_pieces(std::uint64_t object, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                     const std::function<void(std::span<const ByteView>)>& consume) override;
  Result<std::size_t> write(std::uint64_t object, std::uint64_t offset_bytes, ByteView data, bool append,
                            const Caller& caller) override;
  Status punch(std::uint64_t object, std::uint64_t offset_bytes, std::uint64_t length_bytes,
               bool keep_size) override;
  Status extend(std::uint64_t object, std::uint64_t end_bytes) override;
  Result<std::uint64_t> seek_data(std::uint64_t object, std::uint64_t offset_bytes) override;
  Result<std::uint64_t> seek_hole(std::uint64_t object, std::uint64_t offset_bytes) override;
  Status fsync(std::uint64_t object) override;
  Status read_directory(std::uint64_t directory, std::uint64_t cookie,
                        const std::function<bool(const DirectoryEntry&)>& visit) override;
  Result<Bytes> get_xattr(std::uint64_t object, std::string_view name) override;
  Status set_xattr(std::uint64_t object, std::string_view name, ByteView value, XattrMode mode,
                   const Caller& caller) override;
  Status remove_xattr(std::uint64_t object, std::string_view name, const Caller& caller) override;
  Result<std::vector<std::string>> list_xattrs(std::uint64_t object) override;
  Result<SpaceInfo> space() override;

 private:
  PosixFileSystem(DatasetRef dataset, PosixHost host);

  // A name found in a directory.
  struct Entry {
    std::uint64_t object = 0;
    std::uint32_t type = 0;
    std::string stored_name;
  };
  // Exclusive locks of several znodes, taken in order of object number.
  class LockSet {
   public:
    explicit LockSet(std::vector<ZnodeRef> znodes);
    ~LockSet();
    LockSet(const LockSet&) = delete;
    LockSet& operator=(const LockSet&) = delete;

   private:
    std::vector<ZnodeRef> znodes_;
  };
  // What a new object is made of.
  struct NewNode {
    std::uint32_t mode = 0;
    std::uint64_t rdev = 0;  // as stored
    std::string_view symlink_target;
    std::uint64_t links = 1;
    bool xattr_object = false;  // hidden directory of xattrs, or one of its files
    std::optional<std::pair<std::uint64_t, std::uint64_t>> owner;  // uid, gid, in place of the caller's
    std::optional<Bytes> access_acl, default_acl;
  };

  Status load_master();
  Result<ZnodeRef> znode(std::uint64_t object);
  Result<ZnodeRef> directory_znode(std::uint64_t object);
  Status check_writable() const;
  Status check_name(std::string_view name) const;
  static Status check_alive(const Znode& znode);
  FileAttributes describe(Znode& znode) const;
  TimeSpec now() const { return host_.clock->now(); }
  Result<Tx> begin(std::uint64_t bytes, bool frees = false) { return dataset_->begin(bytes, frees); }
  Status finish();  // after a change, all locks and the transaction released: sync=always

  Result<std::optional<Entry>> find_entry(Znode& directory, std::string_view name) const;
  Status add_entry(const Tx& tx, Znode& directory, std::string_view name, std::uint64_t object,
                   std::uint64_t mode);
  Status remove_entry(const Tx& tx, Znode& directory, const std::string& stored_name);
  // A directory's own attributes after an entry came or went.
  Status touch_directory(const Tx& tx, Znode& directory, std::int64_t entries, std::int64_t subdirectories);
  Result<bool> is_empty(Znode& directory) const;

  Result<ZnodeRef> make_node(const Tx& tx, Znode& parent, const NewNode& node, const Caller& caller);
  Status inherit_acl(Znode& parent, NewNode& node, const Caller& caller);
  Result<FileAttributes> create_named(std::uint64_t directory, std::string_view name, NewNode node,
                                      const Caller& caller);
  std::uint32_t dnode_slots() const;
  Status remove_name(std::uint64_t directory, std::string_view name, bool want_directory);
  Status drop_link(const Tx& tx, Znode& znode);
  Result<bool> is_below(Znode& directory, std::uint64_t ancestor);

  // Objects without a name (posix_reap.cc).
  Status enqueue(const Tx& tx, std::uint64_t object);
  Status dequeue(const Tx& tx, std::uint64_t object);
  Status reap(std::uint64_t object);
  Status drain_queue();
  void unlinked(std::uint64_t object);  // links fell to 0 in a transaction that is over
  Status free_xattr_directory(std::uint64_t object);

  // Set-id bits and file capabilities go when an ordinary user writes, or the owner changes. Needs `lock`
  // exclusively.
  Status drop_privileges(const Tx& tx, Znode& znode, bool set_id_bits, const Caller& caller);
  Status grow_block(const Tx& tx, Znode& znode, std::uint64_t end_bytes);
  Status set_size(const Tx& tx, Znode& znode, std::uint64_t size);
  void note_read(Znode& znode);
  Status flush_atime(Znode& znode);

  Status check_xattr_name(std::string_view name) const;
  Result<std::map<std::string, Bytes>> sa_xattrs(Znode& znode) const;
  Status store_sa_xattrs(const Tx& tx, Znode& znode, const std::map<std::string, Bytes>& xattrs);
  Result<std::optional<Bytes>> find_xattr(Znode& znode, std::string_view name);
  Result<std::optional<Entry>> find_xattr_entry(Znode& xattr_directory, std::string_view name) const;
  Status put_xattr(const Tx& tx, Znode& znode, std::string_view name, ByteView value, const Caller& caller);
  Status put_directory_xattr(const Tx& tx, Znode& znode, std::string_view name, ByteView value,
                             const Caller& caller);
  Status erase_xattr(const Tx& tx, Znode& znode, std::string_view name);  // wherever it is; fine if it is not
  Status erase_directory_xattr(const Tx& tx, Znode& znode, std::string_view name);
  Status apply_mode(const Tx& tx, Znode& znode, std::uint32_t mode, bool with_posix_acl,
                    const Caller& caller);
  bool posix_acls() const { return dataset_->property(Property::acltype) == zpl::kAclPosix; }

  const DatasetRef dataset_;
  ObjectSet& objset_;
  const PosixHost host_;
  // Fixed after load_master().
  std::uint64_t version_ = 0, root_ = 0, delete_queue_ = 0, norm_flags_ = 0;
  bool utf8_only_ = false, fold_case_ = false, projects_ = false;
  std::unique_ptr<SaRegistry> sa_;  // null before ZPL version 5

  ZnodeCache cache_;
  Mutex rename_mutex_;  // renames across directories, one at a time: their loop check must hold
};

}  // namespace tarn
