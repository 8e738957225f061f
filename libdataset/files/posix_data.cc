// Content of files: read, write, growth of the block size, truncation, holes, access times (FORMAT.md
// logical 4.8).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

constexpr std::uint64_t kMetadataTxBytes = 64u << 10;
constexpr std::uint64_t kWriteChunk = 1u << 20;  // most that one transaction writes
constexpr std::uint64_t kReadAhead = 8u << 20, kReadAheadStep = 4u << 20;
constexpr auto kSlowRead = std::chrono::microseconds(100);
constexpr std::int64_t kRelatimeSeconds = 24 * 3600;
constexpr const char* kCapabilityXattr = "security.capability";
constexpr std::uint64_t kMaxFileBytes = INT64_MAX;

bool before_or_same(TimeSpec a, TimeSpec b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds <= b.nanoseconds;
}

// Reads that follow each other are read ahead of.
void read_ahead(Znode& znode, std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  const std::uint64_t end = offset + length;
  if (znode.next_read.exchange(end, std::memory_order_relaxed) != offset) {
    znode.prefetched_to.store(end, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t begin = std::max(end, znode.prefetched_to.load(std::memory_order_relaxed));
  const std::uint64_t target = std::min(end + kReadAhead, size);
  if (begin >= target || (target < size && target - begin < kReadAheadStep)) return;
  znode.prefetched_to.store(target, std::memory_order_relaxed);
  znode.object().prefetch(begin, target - begin);
}

Status check_regular(const ZnodeAttributes& a) {
  if (a.is_directory()) return Error(Errc::is_a_directory, "is a directory");
  if (!a.is_regular()) return Error(Errc::invalid_argument, "is no regular file");
  return {};
}

}  // namespace

// A single block grows with the file up to the record size; with a second block its size is fixed for good.
Status PosixFileSystem::grow_block(const Tx& tx, Znode& znode, std::uint64_t end_bytes) {
  const ObjectInfo info = znode.object().info();
  const std::uint64_t block = info.block_bytes;
  if (end_bytes <= block || info.max_blkid > 0 || info.levels > 1 || znode.attributes().size > block)
    return {};
  std::uint64_t limit = dataset_->property(Property::recordsize);
  if (block > limit) {
    if (std::has_single_bit(block)) return {};
    limit = std::bit_ceil(block);
  }
  const std::uint64_t grown = std::min(limit, round_up(end_bytes, 512));
  if (grown <= block) return {};
  return znode.object()
      .set_block_size(tx, static_cast<std::uint32_t>(grown))
      .in(fmt::format("object {}", znode.number()));
}

// Needs `lock` exclusively. Leaves the times to the caller.
Status PosixFileSystem::set_size(const Tx& tx, Znode& znode, std::uint64_t size) {
  const std::uint64_t before = znode.attributes().size;
  if (size < before) {
    TRY(znode.object().free_range(tx, size, UINT64_MAX).in(fmt::format("object {}", znode.number())));
  } else if (size > before) {
    TRY(grow_block(tx, znode, size));
  }
  return znode.update(*sa_, tx, [&](ZnodeAttributes& a) { a.size = size; });
}

Status PosixFileSystem::drop_privileges(const Tx& tx, Znode& znode, bool set_id_bits, const Caller& caller) {
  const ZnodeAttributes a = znode.attributes();
  std::uint64_t mode = a.mode;
  if (set_id_bits && !a.is_directory()) {
    mode &= ~std::uint64_t{S_ISUID};
    if (mode & S_IXGRP) mode &= ~std::uint64_t{S_ISGID};
  }
  if (mode != a.mode) TRY(apply_mode(tx, znode, static_cast<std::uint32_t>(mode), false, caller));
  if (!a.has_sa_xattrs && a.xattr_directory == 0) return {};
  if (znode.capability == Znode::Capability::unknown) {
    const bool present = TRY(find_xattr(znode, kCapabilityXattr)).has_value();
    znode.capability = present ? Znode::Capability::present : Znode::Capability::absent;
  }
  if (znode.capability == Znode::Capability::absent) return {};
  TRY(erase_xattr(tx, znode, kCapabilityXattr));
  znode.capability = Znode::Capability::absent;
  return {};
}

Result<std::size_t> PosixFileSystem::read(std::uint64_t object, std::uint64_t offset, MutableByteView out) {
  ZnodeRef z = TRY(znode(object));
  std::uint64_t length = 0;
  {
    ReaderLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes a = z->attributes();
    TRY(check_regular(a));
    if (offset >= a.size) return std::size_t{0};
    length = std::min<std::uint64_t>(out.size(), a.size - offset);
    TRY(z->object().read(offset, out.first(length)).in(fmt::format("object {}", object)));
  }
  note_read(*z);
  return static_cast<std::size_t>(length);
}

Status PosixFileSystem::read_pieces(std::uint64_t object, std::uint64_t offset, std::uint64_t length,
                                    const std::function<void(std::span<const ByteView>)>& consume) {
  ZnodeRef z = TRY(znode(object));
  {
    ReaderLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes a = z->attributes();
    TRY(check_regular(a));
    length = offset >= a.size ? 0 : std::min(length, a.size - offset);
    read_ahead(*z, offset, length, a.size);
    const std::uint64_t block = z->object().info().block_bytes;
    std::vector<BufferRef> buffers;
    std::vector<ByteView> pieces;
    for (std::uint64_t done = 0; done < length;) {
      const std::uint64_t at = offset + done;
      const auto started = std::chrono::steady_clock::now();
      BufferRef buffer = TRY(z->object().read_block(at / block).in(fmt::format("object {}", object)));
      const std::uint64_t within = at % block;
      const std::uint64_t count = std::min(length - done, block - within);
      // A device was waited for: have the rest come at once.
      if (done == 0 && length > block && std::chrono::steady_clock::now() - started > kSlowRead) {
        z->object().prefetch(offset + count, length - count);
      }
      if (buffer->size() < within + count) {  // written with a smaller block size: zeros follow
        auto padded = std::make_shared<Buffer>(Buffer::zeroed(block));
        std::ranges::copy(buffer->view(), padded->span().begin());
        buffer = std::move(padded);
      }
      pieces.push_back(buffer->view().subspan(within, count));
      buffers.push_back(std::move(buffer));
      done += count;
    }
    // Still under the lock: a writer would change the blocks in place.
    consume(pieces);
  }
  note_read(*z);
  return {};
}

Result<std::size_t> PosixFileSystem::write(std::uint64_t object, std::uint64_t offset, ByteView data,
                                           bool append, const Caller& caller) {
  TRY(check_writable());
  ZnodeRef z = TRY(znode(object));
  std::size_t written = 0;
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes before = z->attributes();
    TRY(check_regular(before));
    if (before.flags & (zpl::kFlagImmutable | zpl::kFlagReadOnly))
      return Error(Errc::not_permitted, "file is immutable");
    if (append) offset = before.size;
    if ((before.flags & zpl::kFlagAppendOnly) && offset < before.size)
      return Error(Errc::not_permitted, "file is append-only");
    if (offset > kMaxFileBytes || data.size() > kMaxFileBytes - offset)
      return Error(Errc::too_large, "file is too large");
    while (written < data.size()) {
      const std::size_t count =
          std::min<std::size_t>(data.size() - written, kWriteChunk - (offset + written) % kWriteChunk);
      const std::uint64_t end = offset + written + count;
      Result<Tx> tx = begin(count + kMetadataTxBytes);
      Status done;
      if (!tx) {
        done = std::move(tx).error();
      } else {
        done = grow_block(*tx, *z, end);
        if (done) done = z->object().write(*tx, offset + written, data.subspan(written, count));
        if (done && written == 0) done = drop_privileges(*tx, *z, caller.uid != 0, caller);
        if (done) {
          done = z->update(*sa_, *tx, [&](ZnodeAttributes& a) {
            a.size = std::max(a.size, end);
            a.mtime = a.ctime = now();
            a.flags |= zpl::kFlagArchive | zpl::kFlagAvModified;
          });
        }
      }
      if (!done) {
        if (written > 0) break;  // a short write: the next one tells
        return std::move(done).error().in(fmt::format("object {}", object));
      }
      written += count;
    }
  }
  TRY(finish());
  return written;
}

Status PosixFileSystem::punch(std::uint64_t object, std::uint64_t offset, std::uint64_t length,
                              bool keep_size) {
  TRY(check_writable());
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes a = z->attributes();
    TRY(check_regular(a));
    if (a.flags & (zpl::kFlagImmutable | zpl::kFlagReadOnly | zpl::kFlagAppendOnly)) {
      return Error(Errc::not_permitted, "file is immutable or append-only");
    }
    if (length == 0 || offset > kMaxFileBytes || length > kMaxFileBytes - offset)
      return Error(Errc::invalid_argument, "range makes no sense");
    const std::uint64_t end = offset + length;
    Tx tx = TRY(begin(kMetadataTxBytes, true));
    if (!keep_size && end > a.size) TRY(set_size(tx, *z, end));
    if (offset < a.size) {
      // To the end of the file means to the end of its last block, which then needs no zeros stored.
      const std::uint64_t count =
          end >= a.size ? round_up(a.size, z->object().info().block_bytes) - offset : length;
      TRY(z->object().free_range(tx, offset, count).in(fmt::format("object {}", object)));
    }
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.mtime = changed.ctime = now(); }));
  }
  return finish();
}

Status PosixFileSystem::extend(std::uint64_t object, std::uint64_t end) {
  TRY(check_writable());
  ZnodeRef z = TRY(znode(object));
  {
    WriterLock lock(z->lock);
    TRY(check_alive(*z));
    const ZnodeAttributes a = z->attributes();
    TRY(check_regular(a));
    if (a.flags & (zpl::kFlagImmutable | zpl::kFlagReadOnly))
      return Error(Errc::not_permitted, "file is immutable");
    if (end > kMaxFileBytes) return Error(Errc::too_large, "file is too large");
    if (end <= a.size) return {};
    // Copy-on-write keeps no space for later; that it is there now is all that can be promised.
    Tx tx = TRY(begin(end - a.size + kMetadataTxBytes));
    TRY(set_size(tx, *z, end));
    TRY(z->update(*sa_, tx, [&](ZnodeAttributes& changed) { changed.mtime = changed.ctime = now(); }));
  }
  return finish();
}

Result<std::uint64_t> PosixFileSystem::seek_data(std::uint64_t object, std::uint64_t offset) {
  ZnodeRef z = TRY(znode(object));
  ReaderLock lock(z->lock);
  const std::uint64_t size = z->attributes().size;
  if (offset >= size) return Error(Errc::no_data, "offset is beyond the end of the file");
  const std::optional<std::uint64_t> found = TRY(z->object().next_data(offset));
  if (!found || *found >= size) return Error(Errc::no_data, "no data behind the offset");
  return std::max(*found, offset);
}

Result<std::uint64_t> PosixFileSystem::seek_hole(std::uint64_t object, std::uint64_t offset) {
  ZnodeRef z = TRY(znode(object));
  ReaderLock lock(z->lock);
  const std::uint64_t size = z->attributes().size;
  if (offset >= size) return Error(Errc::no_data, "offset is beyond the end of the file");
  const std::optional<std::uint64_t> found = TRY(z->object().next_hole(offset));
  return found ? std::clamp(*found, offset, size) : size;
}

Status PosixFileSystem::fsync(std::uint64_t object) {
  if (dataset_->read_only() || dataset_->property(Property::sync) == zpl::kSyncDisabled) return {};
  if (ZnodeRef z = cache_.cached(object);
      z && z->last_txg.load(std::memory_order_relaxed) <= host_.synced_txg())
    return {};
  return host_.sync_now();
}

// atime: with relatime once a day, or when the file changed since; else at every read, on disk at most once a
// second.
void PosixFileSystem::note_read(Znode& znode) {
  if (!sa_ || dataset_->property(Property::atime) == 0 || !check_writable()) return;
  const ZnodeAttributes a = znode.attributes();
  const TimeSpec time = now();
  const bool relatime = dataset_->property(Property::relatime) != 0;
  if (relatime && !before_or_same(a.atime, a.mtime) && !before_or_same(a.atime, a.ctime) &&
      time.seconds - a.atime.seconds < kRelatimeSeconds) {
    return;
  }
  if (!relatime && time.seconds == a.atime.seconds) return znode.set_atime(time);
  znode.set_atime(time);
  (void)flush_atime(znode).ok();  // a read does not fail for want of an access time
}

Status PosixFileSystem::flush_atime(Znode& znode) {
  if (!check_writable()) return {};
  ReaderLock lock(znode.lock);
  TRY(check_alive(znode));
  Tx tx = TRY(begin(kMetadataTxBytes, true));
  return znode.update(*sa_, tx, [](ZnodeAttributes&) {});
}

}  // namespace tarn
