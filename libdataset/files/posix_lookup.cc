// Names in directories: finding, listing, adding and removing entries (FORMAT.md logical 4.7).
#include <fmt/format.h>

#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

// Cookies of read_directory, as FORMAT.md logical 4.7 has them. 2 stands for `.zfs`, which is
// libdataset/fuse's.
constexpr std::uint64_t kCookieDotDot = 1, kCookieFirst = 3;
constexpr std::uint64_t kZapEnd = UINT64_MAX;
constexpr std::uint64_t kCookieEnd = INT64_MAX;  // offsets are signed for applications
constexpr std::size_t kListBatch = 256;
constexpr int kMaxDepth = 4096;  // of directories; a longer chain of parents is a loop

// A name whose normal form we cannot compute still finds the entry of the very same bytes, by looking at all
// of them.
Result<std::pair<std::string, std::uint64_t>> find_exact(const Zap& zap, std::string_view name,
                                                         Error otherwise) {
  std::optional<std::uint64_t> value;
  TRY(zap.iterate(0, [&](const ZapEntry& entry, std::uint64_t) {
    if (entry.name == name) value = entry.value.first();
    return !value;
  }));
  if (!value) return otherwise;
  return std::pair(std::string(name), *value);
}

}  // namespace

Result<std::optional<PosixFileSystem::Entry>> PosixFileSystem::find_entry(Znode& directory,
                                                                          std::string_view name) const {
  const Zap zap = TRY(Zap::open(directory.object_ref()).in(fmt::format("directory {}", directory.number())));
  std::uint64_t value = 0;
  std::string stored(name);
  if (norm_flags_ == 0) {
    auto found = zap.lookup_u64(name);
    if (!found && found.error().code() == Errc::not_found) return std::optional<Entry>();
    value = TRY(std::move(found));
  } else {
    auto found = zap.lookup_normalized(name, !fold_case_);
    if (!found && found.error().code() == Errc::not_found) return std::optional<Entry>();
    if (!found && found.error().code() == Errc::unsupported)
      found = find_exact(zap, name, std::move(found).error());
    std::tie(stored, value) = TRY(std::move(found));
  }
  const std::uint64_t object = zpl::entry_object(value);
  if (object == 0 || object == zpl::kMasterNode) {
    return Error(Errc::corrupt,
                 fmt::format("directory {}: '{}' points to object {}", directory.number(), name, object));
  }
  return std::optional<Entry>(
      Entry{.object = object, .type = zpl::entry_type(value), .stored_name = std::move(stored)});
}

Status PosixFileSystem::add_entry(const Tx& tx, Znode& directory, std::string_view name, std::uint64_t object,
                                  std::uint64_t mode) {
  Zap zap = TRY(Zap::open(directory.object_ref()));
  return zap.add(tx, name, zpl::entry_value(object, mode))
      .in(fmt::format("directory {}", directory.number()));
}

Status PosixFileSystem::remove_entry(const Tx& tx, Znode& directory, const std::string& stored_name) {
  Zap zap = TRY(Zap::open(directory.object_ref()));
  return zap.remove(tx, stored_name).in(fmt::format("directory {}", directory.number()));
}

Status PosixFileSystem::touch_directory(const Tx& tx, Znode& directory, std::int64_t entries,
                                        std::int64_t subdirectories) {
  const TimeSpec time = now();
  return directory.update(*sa_, tx, [&](ZnodeAttributes& a) {
    a.size += static_cast<std::uint64_t>(entries);
    a.links += static_cast<std::uint64_t>(subdirectories);
    a.mtime = a.ctime = time;
  });
}

Result<bool> PosixFileSystem::is_empty(Znode& directory) const {
  return TRY(TRY(Zap::open(directory.object_ref())).count()) == 0;
}

Result<FileAttributes> PosixFileSystem::lookup(std::uint64_t directory, std::string_view name) {
  ZnodeRef dir = TRY(directory_znode(directory));
  if (name == ".") return describe(*dir);
  if (name == "..") return get_attributes(dir->attributes().parent);
  if (name.size() > 1023) return Error(Errc::name_too_long, "name is too long");
  // Shared, so that the object found is not removed before its attributes are read.
  ReaderLock lock(dir->lock);
  const std::optional<Entry> entry = TRY(find_entry(*dir, name));
  if (!entry) return Error(Errc::not_found, fmt::format("no '{}' in directory {}", name, directory));
  return describe(*TRY(znode(entry->object)));
}

// Whether `ancestor` is `directory` or above it. Needs rename_mutex_, so that the parents stay.
Result<bool> PosixFileSystem::is_below(Znode& directory, std::uint64_t ancestor) {
  std::uint64_t at = directory.number();
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (at == ancestor) return true;
    if (at == root_) return false;
    at = TRY(znode(at))->attributes().parent;
  }
  return Error(Errc::corrupt, fmt::format("directory {}: its parents form a loop", directory.number()));
}

Status PosixFileSystem::read_directory(std::uint64_t directory, std::uint64_t cookie,
                                       const std::function<bool(const DirectoryEntry&)>& visit) {
  ZnodeRef dir = TRY(directory_znode(directory));
  if (cookie == 0) {
    if (!visit({.name = ".", .object = directory, .type = S_IFDIR, .next_cookie = kCookieDotDot})) return {};
    cookie = kCookieDotDot;
  }
  if (cookie == kCookieDotDot) {
    if (!visit(
            {.name = "..", .object = dir->attributes().parent, .type = S_IFDIR, .next_cookie = kCookieFirst}))
      return {};
    cookie = kCookieFirst;
  }
  if (cookie == kCookieEnd) return {};
  const Zap zap = TRY(Zap::open(dir->object_ref()));
  std::uint64_t cursor = cookie <= kCookieFirst ? 0 : cookie;
  // In batches: `visit` may look at the entries' objects, which must not happen under the ZAP's lock.
  std::vector<DirectoryEntry> batch;
  while (cursor != kZapEnd) {
    batch.clear();
    std::uint64_t next = kZapEnd;
    TRY(zap.iterate(cursor,
                    [&](const ZapEntry& entry, std::uint64_t next_cursor) {
                      const std::uint64_t value = entry.value.first();
                      batch.push_back({.name = entry.name,
                                       .object = zpl::entry_object(value),
                                       .type = zpl::entry_type(value),
                                       .next_cookie = next_cursor == kZapEnd ? kCookieEnd : next_cursor});
                      if (batch.size() < kListBatch) return true;
                      next = next_cursor;
                      return false;
                    })
            .in(fmt::format("directory {}", directory)));
    for (DirectoryEntry& entry : batch) {
      if (entry.type == 0) {  // written by a version 1 file system: only the object knows
        if (Result<ZnodeRef> found = znode(entry.object)) entry.type = (*found)->attributes().mode & S_IFMT;
      }
      if (!visit(entry)) return {};
    }
    cursor = batch.size() < kListBatch ? kZapEnd : next;
  }
  note_read(*dir);
  return {};
}

}  // namespace tarn
