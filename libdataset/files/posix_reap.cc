// Objects without a name: they wait in the delete queue until nobody uses them, and are freed then or at the
// next open (FORMAT.md logical 4.7).
#include <fmt/format.h>

#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

constexpr std::uint64_t kReapTxBytes = 64u << 10;

}  // namespace

Status PosixFileSystem::enqueue(const Tx& tx, std::uint64_t object) {
  Zap queue = TRY(Zap::open(objset_, delete_queue_));
  return queue.update(tx, Zap::int_key(object), object).in("delete queue");
}

Status PosixFileSystem::dequeue(const Tx& tx, std::uint64_t object) {
  Zap queue = TRY(Zap::open(objset_, delete_queue_));
  Status removed = queue.remove(tx, Zap::int_key(object));
  if (!removed && removed.error().code() == Errc::not_found) return {};
  return std::move(removed).in("delete queue");
}

void PosixFileSystem::unlinked(std::uint64_t object) {
  // What cannot be removed now stays in the delete queue for the next open.
  if (cache_.orphan(object)) (void)reap(object).ok();
}

Status PosixFileSystem::reap(std::uint64_t object) {
  ZnodeRef z = TRY(znode(object));
  WriterLock lock(z->lock);
  TRY(check_alive(*z));
  const ZnodeAttributes a = z->attributes();
  if (a.links != 0) return {};            // named again meanwhile
  if (!cache_.orphan(object)) return {};  // in use again: its last release() comes back here
  if (a.xattr_directory != 0) TRY(free_xattr_directory(a.xattr_directory));
  Tx tx = TRY(begin(kReapTxBytes, true));
  TRY(dequeue(tx, object));
  TRY(objset_.free_object(tx, object).in(fmt::format("object {}", object)));
  z->dead = true;
  cache_.drop(object);
  return {};
}

// Guarded by the owner's lock. In several transactions: after a crash the owner is still queued, and what is
// gone is skipped.
Status PosixFileSystem::free_xattr_directory(std::uint64_t object) {
  Result<ZnodeRef> directory = znode(object);
  if (!directory)
    return directory.error().code() == Errc::not_found ? Status() : Status(std::move(directory).error());
  const Zap zap = TRY(Zap::open((*directory)->object_ref()));
  for (const ZapEntry& entry : TRY(zap.entries())) {
    const std::uint64_t child = zpl::entry_object(entry.value.first());
    Tx tx = TRY(begin(kReapTxBytes, true));
    Status freed = objset_.free_object(tx, child);
    if (!freed && freed.error().code() != Errc::not_found) return freed;
    cache_.drop(child);
    TRY(remove_entry(tx, **directory, entry.name));
  }
  Tx tx = TRY(begin(kReapTxBytes, true));
  TRY(objset_.free_object(tx, object).in(fmt::format("object {}", object)));
  cache_.drop(object);
  return {};
}

Status PosixFileSystem::drain_queue() {
  Zap queue = TRY(Zap::open(objset_, delete_queue_));
  for (const ZapEntry& entry : TRY(queue.entries())) {
    const std::uint64_t object = entry.value.first();
    Status reaped = reap(object);
    if (reaped) continue;
    if (reaped.error().code() == Errc::not_found) {  // freed, but still listed: a crash between the two
      Tx tx = TRY(begin(kReapTxBytes, true));
      TRY(dequeue(tx, object));
    }
    // Anything else (no space, damage): it stays queued and does not keep the file system from being used.
  }
  return {};
}

}  // namespace tarn
