// Taking names away: unlink and rmdir.
#include <fmt/format.h>

#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

constexpr std::uint64_t kUnlinkTxBytes = 64u << 10;

}  // namespace

// One name of `znode` is gone; directories lose all.
Status PosixFileSystem::drop_link(const Tx& tx, Znode& znode) {
  bool last = false;
  TRY(znode.update(*sa_, tx, [&](ZnodeAttributes& a) {
    a.links = a.is_directory() || a.links == 0 ? 0 : a.links - 1;
    a.ctime = now();
    last = a.links == 0;
  }));
  return last ? enqueue(tx, znode.number()) : Status();
}

Status PosixFileSystem::remove_name(std::uint64_t directory, std::string_view name, bool want_directory) {
  TRY(check_writable());
  ZnodeRef dir = TRY(directory_znode(directory));
  bool gone = false;
  std::uint64_t object = 0;
  for (bool done = false; !done;) {
    const std::optional<Entry> guess = TRY(find_entry(*dir, name));
    if (!guess) return Error(Errc::not_found, fmt::format("no '{}' in directory {}", name, directory));
    ZnodeRef child = TRY(znode(guess->object));
    LockSet locks({dir, child});
    TRY(check_alive(*dir));
    const std::optional<Entry> entry = TRY(find_entry(*dir, name));
    if (!entry || entry->object != guess->object) continue;  // somebody was faster: look again
    const ZnodeAttributes d = dir->attributes(), a = child->attributes();
    if (want_directory && !a.is_directory())
      return Error(Errc::not_a_directory, fmt::format("'{}' is no directory", name));
    if (!want_directory && a.is_directory())
      return Error(Errc::is_a_directory, fmt::format("'{}' is a directory", name));
    if (d.flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly)) {
      return Error(Errc::not_permitted, "directory is immutable or append-only");
    }
    if (a.flags & (zpl::kFlagImmutable | zpl::kFlagAppendOnly | zpl::kFlagNoUnlink)) {
      return Error(Errc::not_permitted, "file is immutable, append-only or not to be unlinked");
    }
    if (want_directory && !TRY(is_empty(*child)))
      return Error(Errc::not_empty, fmt::format("'{}' is not empty", name));
    Tx tx = TRY(begin(kUnlinkTxBytes, true));
    TRY(remove_entry(tx, *dir, entry->stored_name));
    TRY(drop_link(tx, *child));
    TRY(touch_directory(tx, *dir, -1, want_directory ? -1 : 0));
    object = child->number();
    gone = child->attributes().links == 0;
    done = true;
  }
  if (gone) unlinked(object);
  return finish();
}

Status PosixFileSystem::unlink(std::uint64_t directory, std::string_view name, const Caller&) {
  if (name == "." || name == "..") return Error(Errc::is_a_directory, "'.' and '..' stay");
  return remove_name(directory, name, false);
}

Status PosixFileSystem::remove_directory(std::uint64_t directory, std::string_view name, const Caller&) {
  if (name == ".") return Error(Errc::invalid_argument, "'.' cannot be removed");
  if (name == "..") return Error(Errc::not_empty, "'..' is not empty");
  return remove_name(directory, name, true);
}

}  // namespace tarn
