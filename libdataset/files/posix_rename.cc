// rename with its variants: replace, no_replace, exchange, whiteout.
#include <fmt/format.h>

#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

constexpr std::uint64_t kRenameTxBytes = 128u << 10;

}  // namespace

Status PosixFileSystem::rename(std::uint64_t from_directory, std::string_view from,
                               std::uint64_t to_directory, std::string_view to, RenameMode mode,
                               const Caller& caller) {
  TRY(check_writable());
  if (from == "." || from == ".." || to == "." || to == "..") return Error(Errc::busy, "'.' and '..' stay");
  TRY(check_name(to));
  ZnodeRef source_dir = TRY(directory_znode(from_directory));
  ZnodeRef target_dir = TRY(directory_znode(to_directory));
  const bool across = from_directory != to_directory;
  std::optional<MutexLock> tree_lock;
  if (across) tree_lock.emplace(rename_mutex_);

  std::uint64_t removed = 0;  // lost its last name
  for (bool done = false; !done;) {
    // Which objects are concerned is known only by looking; look again once they are locked.
    const std::optional<Entry> source_guess = TRY(find_entry(*source_dir, from));
    if (!source_guess)
      return Error(Errc::not_found, fmt::format("no '{}' in directory {}", from, from_directory));
    const std::optional<Entry> target_guess = TRY(find_entry(*target_dir, to));
    ZnodeRef source = TRY(znode(source_guess->object));
    ZnodeRef target = target_guess ? TRY(znode(target_guess->object)) : nullptr;
    std::vector<ZnodeRef> all{source_dir, target_dir, source};
    if (target) all.push_back(target);
    LockSet locks(std::move(all));
    TRY(check_alive(*source_dir));
    TRY(check_alive(*target_dir));
    const std::optional<Entry> source_entry = TRY(find_entry(*source_dir, from));
    const std::optional<Entry> target_entry = TRY(find_entry(*target_dir, to));
    if (!source_entry || source_entry->object != source->number() ||
        target_entry.has_value() != (target != nullptr) ||
        (target && target_entry->object != target->number())) {
      continue;
    }
    const ZnodeAttributes sd = source_dir->attributes(), td = target_dir->attributes(),
                          s = source->attributes();
    const std::optional<ZnodeAttributes> t = target ? std::optional(target->attributes()) : std::nullopt;
    const bool exchange = mode == RenameMode::exchange;
    // Another spelling of the very same entry (names that fold).
    const bool same_entry = target && !across && source_entry->stored_name == target_entry->stored_name;

    if (exchange && !target)
      return Error(Errc::not_found, fmt::format("no '{}' in directory {}", to, to_directory));
    if (mode == RenameMode::no_replace && target)
      return Error(Errc::already_exists, fmt::format("'{}' exists", to));
    if (target && source == target && (!same_entry || source_entry->stored_name == to)) return {};
    if (td.links == 0) return Error(Errc::not_found, fmt::format("directory {} was removed", to_directory));
    constexpr std::uint64_t kFixed = zpl::kFlagImmutable | zpl::kFlagAppendOnly;
    if ((sd.flags & kFixed) || (td.flags & zpl::kFlagImmutable) ||
        (target && (td.flags & zpl::kFlagAppendOnly)) || (s.flags & (kFixed | zpl::kFlagNoUnlink)) ||
        (t && (t->flags & (kFixed | zpl::kFlagNoUnlink)))) {
      return Error(Errc::not_permitted,
                   "a file or directory is immutable, append-only or not to be unlinked");
    }
    const auto other_project = [](const ZnodeAttributes& dir, const ZnodeAttributes& file) {
      return (dir.flags & zpl::kFlagProjInherit) && dir.projid.value_or(0) != file.projid.value_or(0);
    };
    if (other_project(td, s) || (exchange && other_project(sd, *t))) {
      return Error(Errc::cross_device, "directory belongs to another project");
    }
    if (across && s.is_directory() && TRY(is_below(*target_dir, source->number()))) {
      return Error(Errc::invalid_argument, "a directory cannot move below itself");
    }
    if (across && exchange && t->is_directory() && TRY(is_below(*source_dir, target->number()))) {
      return Error(Errc::invalid_argument, "a directory cannot move below itself");
    }
    if (target && !exchange && !same_entry) {
      if (s.is_directory() && !t->is_directory())
        return Error(Errc::not_a_directory, fmt::format("'{}' is no directory", to));
      if (!s.is_directory() && t->is_directory())
        return Error(Errc::is_a_directory, fmt::format("'{}' is a directory", to));
      if (t->is_directory() && !TRY(is_empty(*target)))
        return Error(Errc::not_empty, fmt::format("'{}' is not empty", to));
    }

    Tx tx = TRY(begin(kRenameTxBytes));
    const auto put_entry = [&](Znode& dir, const std::string& stored_name, const Znode& znode,
                               std::uint64_t znode_mode) -> Status {
      Zap zap = TRY(Zap::open(dir.object_ref()));
      return zap.update(tx, stored_name, zpl::entry_value(znode.object_ref()->number(), znode_mode));
    };
    const auto moved = [&](Znode& znode, std::uint64_t parent) {
      return znode.update(*sa_, tx, [&](ZnodeAttributes& a) {
        a.parent = parent;
        a.ctime = now();
      });
    };
    const std::int64_t source_is_dir = s.is_directory(), target_is_dir = t && t->is_directory();

    if (exchange) {
      TRY(put_entry(*target_dir, target_entry->stored_name, *source, s.mode));
      TRY(put_entry(*source_dir, source_entry->stored_name, *target, t->mode));
      TRY(moved(*source, to_directory));
      TRY(moved(*target, from_directory));
      TRY(touch_directory(tx, *target_dir, 0, across ? source_is_dir - target_is_dir : 0));
      TRY(touch_directory(tx, *source_dir, 0, across ? target_is_dir - source_is_dir : 0));
      done = true;
      continue;
    }

    // The target first: if that fails, nothing has changed.
    if (same_entry || (target && target_entry->stored_name != to)) {
      TRY(remove_entry(tx, *target_dir, target_entry->stored_name));
      TRY(add_entry(tx, *target_dir, to, source->number(), s.mode));
    } else if (target) {
      TRY(put_entry(*target_dir, target_entry->stored_name, *source, s.mode));
    } else {
      TRY(add_entry(tx, *target_dir, to, source->number(), s.mode));
    }
    std::int64_t source_entries = 0;
    if (!same_entry) {
      if (mode == RenameMode::whiteout) {
        ZnodeRef whiteout = TRY(make_node(tx, *source_dir, {.mode = S_IFCHR}, caller));
        TRY(put_entry(*source_dir, source_entry->stored_name, *whiteout, S_IFCHR));
      } else {
        TRY(remove_entry(tx, *source_dir, source_entry->stored_name));
        source_entries = -1;
      }
    }
    if (target && !same_entry) {
      TRY(drop_link(tx, *target));
      if (target->attributes().links == 0) removed = target->number();
    }
    TRY(moved(*source, to_directory));
    TRY(touch_directory(tx, *target_dir, target ? 0 : 1,
                        (across ? source_is_dir : 0) - (same_entry ? 0 : target_is_dir)));
    TRY(touch_directory(tx, *source_dir, source_entries, across ? -source_is_dir : 0));
    done = true;
  }
  tree_lock.reset();
  if (removed != 0) unlinked(removed);
  return finish();
}

}  // namespace tarn
