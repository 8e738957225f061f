// Reading: finding a block in the unsynced changes or the tree on disk, and reading ahead of sequential
// readers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "libpool/object/object_impl.h"
#include "libpool/object/object_set_impl.h"
#include "libpool/object/parallel_for.h"

namespace tarn {

namespace {

constexpr std::uint64_t kMinPrefetchBytes = 256 << 10;
constexpr std::uint64_t kMaxPrefetchBytes = 8 << 20;
// A block that took longer than this came from a device: the rest of a large read goes to several workers.
constexpr auto kSlowRead = std::chrono::microseconds(100);
constexpr std::size_t kParallelBlocks = 3;

}  // namespace

ObjectImpl::ObjectImpl(ObjectSetImpl& set, std::uint64_t number, Dnode dnode)
    : set_(set),
      number_(number),
      synced_(std::move(dnode)),
      type_(synced_.type),
      bonus_type_(synced_.bonus_type),
      block_bytes_(synced_.block_bytes),
      max_blkid_(synced_.max_blkid),
      bonus_(synced_.bonus),
      bonus_order_(synced_.bonus_order),
      has_spill_(synced_.spill.has_value()) {}

ObjectInfo ObjectImpl::info() const {
  ReaderLock lock(lock_);
  return {.type = type_,
          .bonus_type = bonus_type_,
          .block_bytes = block_bytes_,
          .bonus_bytes = static_cast<std::uint32_t>(bonus_.size()),
          .bonus_capacity_bytes = synced_.bonus_capacity(has_spill_),
          .dnode_slots = synced_.slots,
          .levels = synced_.levels,
          .max_blkid = max_blkid_,
          .used_bytes = synced_.used_bytes,
          .flags = synced_.flags,
          .bonus_order = bonus_order_};
}

Bytes ObjectImpl::bonus() const {
  ReaderLock lock(lock_);
  return bonus_;
}

Dnode ObjectImpl::synced_dnode() const {
  ReaderLock lock(lock_);
  return synced_;
}

std::string ObjectImpl::where(std::uint64_t blkid) const {
  return fmt::format("object {}: block {}", static_cast<std::int64_t>(number_), blkid);
}

ObjectImpl::Where ObjectImpl::locate_dirty(std::uint64_t blkid, MutableBufferRef* out) const {
  for (auto state = dirty_.rbegin(); state != dirty_.rend(); ++state) {
    const auto found = state->second.blocks.find(blkid);
    if (found != state->second.blocks.end()) {
      *out = found->second;
      return Where::dirty;
    }
    if (state->second.freed.contains(blkid)) return Where::hole;
  }
  return Where::disk;
}

ObjectImpl::TreeView ObjectImpl::view_for(std::uint64_t blkid) const {
  TreeView view{
      .shape = synced_.shape(), .root = {}, .max_blkid = synced_.max_blkid, .generation = generation_};
  const std::uint64_t top = view.shape.ancestor(blkid, view.shape.levels - 1);
  if (top < view.shape.root_count) view.root = synced_.roots[top];
  return view;
}

ObjectImpl::Place ObjectImpl::locate(std::uint64_t blkid) const {
  ReaderLock lock(lock_);
  Place place;
  if (!dirty_.empty()) {
    MutableBufferRef buffer;
    place.where = locate_dirty(blkid, &buffer);
    place.buffer = std::move(buffer);
  }
  if (place.where == Where::disk) {
    if (blkid > synced_.max_blkid) {
      place.where = Where::hole;
    } else {
      place.tree = view_for(blkid);
    }
  }
  return place;
}

Result<ObjectImpl::Found> ObjectImpl::walk(const TreeView& tree, std::uint64_t blkid) {
  const TreeShape& shape = tree.shape;
  const std::uint64_t mask = shape.pointers_per_block() - 1;
  auto pointer_in = [&](const Buffer& indirect, ByteOrder order, std::uint64_t slot) {
    return BlockPointer::decode(
        indirect.view().subspan(slot * kBlockPointerBytes).first<kBlockPointerBytes>(), order);
  };
  auto checked = [&](const BlockPointer& bp, unsigned level) -> Status {
    return set_.check_pointer(bp, shape, level).in(fmt::format("{}: level {}", where(blkid), level));
  };
  if (shape.levels > 1) {
    MutexLock lock(recent_lock_);
    if (recent_indirect_ && recent_generation_ == tree.generation && recent_id_ == shape.ancestor(blkid, 1)) {
      Found found{.bp = pointer_in(*recent_indirect_, recent_order_, blkid & mask), .level = 0};
      if (!found.bp.is_hole()) TRY(checked(found.bp, 0));
      return found;
    }
  }
  Found found{.bp = tree.root, .level = shape.levels - 1};
  for (;;) {
    if (found.bp.is_hole()) return found;
    TRY(checked(found.bp, found.level));
    if (found.level == 0) return found;
    const Bookmark bookmark{.objset = set_.id(),
                            .object = number_,
                            .level = found.level,
                            .blkid = shape.ancestor(blkid, found.level)};
    BufferRef indirect = TRY(set_.io().read(found.bp, bookmark));
    if (indirect->size() != shape.bytes_at(found.level))
      return Error(Errc::corrupt,
                   fmt::format("{}: indirect block of {} bytes", where(blkid), indirect->size()));
    const ByteOrder order = found.bp.byte_order;
    --found.level;
    found.bp = pointer_in(*indirect, order, shape.ancestor(blkid, found.level) & mask);
    if (found.level == 0) {
      MutexLock lock(recent_lock_);
      recent_indirect_ = std::move(indirect);
      recent_order_ = order;
      recent_id_ = shape.ancestor(blkid, 1);
      recent_generation_ = tree.generation;
    }
  }
}

Result<ObjectImpl::Found> ObjectImpl::find_on_disk(std::uint64_t blkid) {
  TreeView view;
  {
    ReaderLock lock(lock_);
    view = view_for(blkid);
  }
  if (blkid > view.max_blkid) return Found{.bp = {}, .level = view.shape.levels - 1};
  return walk(view, blkid);
}

Result<BufferRef> ObjectImpl::load(const BlockPointer& bp, std::uint64_t blkid) {
  const Bookmark bookmark{.objset = set_.id(), .object = number_, .level = 0, .blkid = blkid};
  BufferRef data = TRY(set_.io().read(bp, bookmark));
  if (data->size() != bp.logical_bytes)
    return Error(Errc::corrupt,
                 fmt::format("{}: {} bytes instead of {}", where(blkid), data->size(), bp.logical_bytes));
  const DmuType type = bp.type;
  if (bp.byte_order == kHostOrder || swap_class(type) == SwapClass::u8) return data;
  auto swapped = std::make_shared<Buffer>(Buffer::copy_of(data->view()));
  TRY(swap_block(swapped->span(), type).in(where(blkid)));
  return BufferRef(std::move(swapped));
}

Result<BufferRef> ObjectImpl::fetch_at(Place place, std::uint64_t blkid, ByteOrder* order) {
  if (order) *order = kHostOrder;
  for (int attempt = 0;; ++attempt) {
    if (place.where == Where::dirty) return std::move(place.buffer);
    if (place.where == Where::hole) return BufferRef();
    Result<Found> found = walk(place.tree, blkid);
    if (found) {
      if (found->bp.is_hole()) return BufferRef();
      Result<BufferRef> data = load(found->bp, blkid);
      if (data) {
        if (order) *order = found->bp.byte_order;
        return data;
      }
      found = std::move(data).error();
    }
    // The tree may have changed under us: its blocks were freed, or written again in place by a later pass.
    const std::uint64_t seen = place.tree.generation;
    place = locate(blkid);
    const bool same_tree = place.where == Where::disk && place.tree.generation == seen;
    if (same_tree || attempt == 8) return std::move(found).error();
  }
}

Result<BufferRef> ObjectImpl::fetch(std::uint64_t blkid, ByteOrder* order) {
  return fetch_at(locate(blkid), blkid, order);
}

Result<BufferRef> ObjectImpl::read_block(std::uint64_t blkid) {
  BufferRef data = TRY(fetch(blkid));
  if (data) return data;
  std::uint32_t bytes = 0;
  {
    ReaderLock lock(lock_);
    bytes = block_bytes_;
  }
  return BufferRef(std::make_shared<Buffer>(Buffer::zeroed(bytes)));
}

Status ObjectImpl::read_part(std::uint64_t blkid, std::size_t at, MutableByteView out) {
  const BufferRef data = TRY(fetch(blkid));
  // A block written with an older block size ends early: zeros follow.
  const std::size_t have = data && data->size() > at ? std::min(out.size(), data->size() - at) : 0;
  if (have) std::memcpy(out.data(), data->data() + at, have);
  if (have < out.size()) std::memset(out.data() + have, 0, out.size() - have);
  return {};
}

Status ObjectImpl::read(std::uint64_t offset_bytes, MutableByteView out) {
  if (out.empty()) return {};
  if (out.size() - 1 > UINT64_MAX - offset_bytes)
    return Error(Errc::invalid_argument, "read beyond the largest offset");
  std::uint64_t block_bytes = 0, max_blkid = 0;
  {
    ReaderLock lock(lock_);
    block_bytes = block_bytes_;
    max_blkid = max_blkid_;
  }
  const std::uint64_t first = offset_bytes / block_bytes;
  const std::uint64_t last = (offset_bytes + out.size() - 1) / block_bytes;
  if (max_blkid > 0) note_read(first, last);

  auto part = [&](std::uint64_t blkid) -> Status {
    const std::uint64_t from = std::max(offset_bytes, blkid * block_bytes);
    const std::uint64_t block_end = blkid == last ? offset_bytes + out.size() : (blkid + 1) * block_bytes;
    return read_part(blkid, from - blkid * block_bytes, out.subspan(from - offset_bytes, block_end - from));
  };
  for (std::uint64_t blkid = first; blkid <= last; ++blkid) {
    if (blkid > max_blkid) {  // nothing was ever written there
      const std::uint64_t from = std::max(offset_bytes, blkid * block_bytes) - offset_bytes;
      std::memset(out.data() + from, 0, out.size() - from);
      return {};
    }
    const auto started = std::chrono::steady_clock::now();
    TRY(part(blkid));
    const std::uint64_t left = last - blkid;
    if (left < kParallelBlocks || std::chrono::steady_clock::now() - started < kSlowRead) continue;
    Mutex error_lock;
    Status first_error;
    parallel_for(set_.workers(), left, [&](std::size_t i) {
      Status status = part(blkid + 1 + i);
      if (status) return;
      MutexLock lock(error_lock);
      if (first_error) first_error = std::move(status);
    });
    return first_error;
  }
  return {};
}

// A read that starts where another ended makes a stream; every further one doubles how far ahead is read.
void ObjectImpl::note_read(std::uint64_t first, std::uint64_t last) {
  std::uint64_t from = 0, to = 0, max_blkid = 0, block_bytes = 0;
  {
    ReaderLock lock(lock_);
    max_blkid = max_blkid_;
    block_bytes = block_bytes_;
  }
  const std::uint64_t min_window = std::max<std::uint64_t>(1, kMinPrefetchBytes / block_bytes);
  const std::uint64_t max_window = std::max<std::uint64_t>(2, kMaxPrefetchBytes / block_bytes);
  {
    MutexLock lock(stream_lock_);
    ++stream_clock_;
    Stream* stream = nullptr;
    for (Stream& candidate : streams_) {
      // A read of less than a block comes back to the same block several times.
      if (candidate.next != UINT64_MAX && (first == candidate.next || first + 1 == candidate.next))
        stream = &candidate;
    }
    if (!stream) {
      stream = &*std::min_element(streams_.begin(), streams_.end(),
                                  [](const Stream& a, const Stream& b) { return a.last_use < b.last_use; });
      *stream = {.next = last + 1, .ahead = last + 1, .window = 0, .last_use = stream_clock_};
      return;
    }
    stream->last_use = stream_clock_;
    if (last + 1 == stream->next) return;
    stream->next = last + 1;
    stream->ahead = std::max(stream->ahead, last + 1);
    // Topped up once half the window is used, so that requests stay large.
    if (stream->window && stream->ahead - stream->next > stream->window / 2) return;
    stream->window = std::clamp(stream->window * 2, min_window, max_window);
    from = stream->ahead;
    to = std::min(max_blkid, stream->next + stream->window - 1);
    if (from > to) return;
    stream->ahead = to + 1;
  }
  prefetch_blocks(from, to);
}

void ObjectImpl::prefetch(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (length_bytes == 0) return;
  std::uint64_t block_bytes = 0, max_blkid = 0;
  {
    ReaderLock lock(lock_);
    block_bytes = block_bytes_;
    max_blkid = max_blkid_;
  }
  const std::uint64_t first = offset_bytes / block_bytes;
  const std::uint64_t end =
      length_bytes > UINT64_MAX - offset_bytes ? UINT64_MAX : offset_bytes + length_bytes - 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, kMaxPrefetchBytes / block_bytes);
  const std::uint64_t last = std::min({end / block_bytes, max_blkid, first + most - 1});
  if (first <= last) prefetch_blocks(first, last);
}

// Errors do not matter here: whoever reads the block will meet them.
void ObjectImpl::prefetch_blocks(std::uint64_t first, std::uint64_t last) {
  if (!set_.workers()) return;
  for (std::uint64_t blkid = first; blkid <= last; ++blkid)
    set_.run_in_background([self = shared_from_this(), blkid] { (void)self->fetch(blkid); });
}

Result<std::optional<BufferRef>> ObjectImpl::spill() const {
  std::optional<BlockPointer> bp;
  {
    ReaderLock lock(lock_);
    for (auto state = dirty_.rbegin(); state != dirty_.rend(); ++state) {
      if (!state->second.spill_changed) continue;
      if (!state->second.spill) return std::optional<BufferRef>();
      return std::optional<BufferRef>(state->second.spill);
    }
    bp = synced_.spill;
  }
  if (!bp || bp->is_hole()) return std::optional<BufferRef>();
  TRY(bp->check(set_.vdev_count()).in(fmt::format("object {}: spill block", number_)));
  const Bookmark bookmark{.objset = set_.id(), .object = number_, .level = 0, .blkid = UINT64_MAX - 1};
  return std::optional<BufferRef>(TRY(set_.io().read(*bp, bookmark)));
}

Result<std::optional<std::uint64_t>> ObjectImpl::next(std::uint64_t offset_bytes, bool want_data) {
  std::uint64_t block_bytes = 0, max_blkid = 0;
  {
    ReaderLock lock(lock_);
    block_bytes = block_bytes_;
    max_blkid = max_blkid_;
  }
  auto offset_of = [&](std::uint64_t blkid) { return std::max(offset_bytes, blkid * block_bytes); };
  std::uint64_t blkid = offset_bytes / block_bytes;
  while (blkid <= max_blkid) {
    bool is_data = false;
    std::uint64_t span_end = blkid;  // last block for which the answer is known to be the same
    Where place = Where::disk;
    TreeView view;
    {
      ReaderLock lock(lock_);
      MutableBufferRef buffer;
      place = locate_dirty(blkid, &buffer);
      // Unsynced blocks end any longer span.
      std::uint64_t limit = max_blkid;
      for (const auto& [txg, state] : dirty_) {
        const auto later = state.blocks.upper_bound(blkid);
        if (later != state.blocks.end()) limit = std::min(limit, later->first - 1);
      }
      if (place == Where::hole) {
        for (const auto& [txg, state] : dirty_)
          if (const std::uint64_t* end = state.freed.end_of(blkid))
            span_end = std::min(limit, std::max(span_end, *end));
      } else if (place == Where::disk) {
        view = view_for(blkid);
        span_end = limit;
      }
    }
    if (place == Where::dirty) {
      is_data = true;
    } else if (place == Where::disk && blkid <= view.max_blkid) {
      const Found found = TRY(walk(view, blkid));
      is_data = !found.bp.is_hole();
      const std::uint64_t id = view.shape.ancestor(blkid, found.level);
      if (is_data) {
        span_end = blkid;
      } else if (found.level + 1 < view.shape.levels || id + 1 < view.shape.root_count) {
        span_end = std::min(span_end, view.shape.last_under(id, found.level));
      }  // else: beyond all roots
    }
    if (is_data == want_data) return std::optional<std::uint64_t>(offset_of(blkid));
    if (span_end >= max_blkid) break;
    blkid = span_end + 1;
  }
  if (want_data) return std::optional<std::uint64_t>();
  return std::optional<std::uint64_t>(std::max(offset_bytes, (max_blkid + 1) * block_bytes));
}

Result<std::optional<std::uint64_t>> ObjectImpl::next_data(std::uint64_t offset_bytes) {
  return next(offset_bytes, true);
}
Result<std::optional<std::uint64_t>> ObjectImpl::next_hole(std::uint64_t offset_bytes) {
  return next(offset_bytes, false);
}

}  // namespace tarn
