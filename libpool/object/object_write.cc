// Changing an object: dirty buffers, freed ranges, bonus and spill of the open txg.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libpool/object/object_impl.h"
#include "libpool/object/object_set_impl.h"

namespace tarn {

DirtyState& ObjectImpl::dirty(std::uint64_t txg) {
  // See the top of object_impl.h: never behind the newest change.
  if (!dirty_.empty()) txg = std::max(txg, dirty_.rbegin()->first);
  const auto [state, inserted] = dirty_.try_emplace(txg);
  if (inserted) set_.mark_dirty(shared_from_this(), txg);
  return state->second;
}

const DirtyState* ObjectImpl::dirty_state(std::uint64_t txg) const {
  ReaderLock lock(lock_);
  const auto state = dirty_.find(txg);
  return state == dirty_.end() ? nullptr : &state->second;
}

void ObjectImpl::finish_sync(std::uint64_t txg, Dnode dnode) {
  std::int64_t bytes = 0;
  DirtyState done;  // its buffers are freed after the lock
  {
    WriterLock lock(lock_);
    const auto state = dirty_.find(txg);
    if (state != dirty_.end()) {
      done = std::move(state->second);
      dirty_.erase(state);
      bytes = done.dirty_bytes;
    }
    synced_ = std::move(dnode);
    ++generation_;
  }
  if (bytes) set_.report_dirty(txg, -bytes);
}

void ObjectImpl::account(DirtyState& state, std::uint64_t txg, std::int64_t bytes) {
  state.dirty_bytes += bytes;
  set_.report_dirty(std::max(txg, dirty_.rbegin()->first), bytes);
}

void ObjectImpl::mark_created(const Tx& tx) {
  WriterLock lock(lock_);
  dirty(tx.txg()).created = true;
}

void ObjectImpl::mark_removed(const Tx& tx) {
  WriterLock lock(lock_);
  DirtyState& state = dirty(tx.txg());
  state.removed = true;
  account(state, tx.txg(), -state.dirty_bytes);
  state.blocks.clear();
  removed_.store(true, std::memory_order_release);
}

Status ObjectImpl::check_write(std::uint64_t blkid) const {
  if (removed()) return Error(Errc::not_found, fmt::format("object {} was freed", number_));
  if (blkid > 0 && !std::has_single_bit(block_bytes_))
    return Error(Errc::invalid_argument,
                 fmt::format("{}: only one block of {} bytes can exist", where(blkid), block_bytes_));
  // The block ids that kMaxLevels of the narrowest tree can address are far beyond any file; this bounds the
  // arithmetic.
  if (blkid >= std::uint64_t{1} << 54)
    return Error(Errc::too_large, where(blkid) + ": beyond the largest object");
  return {};
}

void ObjectImpl::insert_block(DirtyState& state, std::uint64_t blkid, MutableBufferRef buffer) {
  state.blocks[blkid] = std::move(buffer);
  if (blkid > max_blkid_) max_blkid_ = blkid;
  state.max_blkid = max_blkid_;
}

// Changes part of a block: `data`, or `zeros` zero bytes. Reads the old content unless all of it is replaced.
Status ObjectImpl::change_part(const Tx& tx, std::uint64_t blkid, std::size_t at, ByteView data,
                               std::size_t zeros) {
  const std::size_t length = data.empty() ? zeros : data.size();
  auto apply = [&](Buffer& buffer) {
    if (data.empty()) {
      std::memset(buffer.data() + at, 0, length);
    } else {
      std::memcpy(buffer.data() + at, data.data(), length);
    }
  };
  BufferRef base;
  bool have_base = false;
  for (;;) {
    {
      WriterLock lock(lock_);
      TRY(check_write(blkid));
      DirtyState& state = dirty(tx.txg());
      const auto mine = state.blocks.find(blkid);
      if (mine != state.blocks.end()) {
        apply(*mine->second);
        return {};
      }
      const bool whole = at == 0 && length == block_bytes_;
      if (!whole && !have_base) {
        MutableBufferRef older;
        const Where place = locate_dirty(blkid, &older);
        have_base = place != Where::disk || blkid > synced_.max_blkid;
        base = std::move(older);
      }
      if (whole || have_base) {
        auto buffer = std::make_shared<Buffer>(block_bytes_);
        if (!whole) {
          const std::size_t have = base ? std::min(base->size(), buffer->size()) : 0;
          if (have) std::memcpy(buffer->data(), base->data(), have);
          if (have < buffer->size()) std::memset(buffer->data() + have, 0, buffer->size() - have);
        }
        apply(*buffer);
        insert_block(state, blkid, std::move(buffer));
        account(state, tx.txg(), block_bytes_);
        return {};
      }
    }
    base = TRY(fetch(blkid));
    have_base = true;
  }
}

Status ObjectImpl::write(const Tx& tx, std::uint64_t offset_bytes, ByteView data) {
  if (data.empty()) return {};
  if (data.size() - 1 > UINT64_MAX - offset_bytes)
    return Error(Errc::too_large, "write beyond the largest offset");
  std::uint64_t block_bytes = 0;
  {
    ReaderLock lock(lock_);
    block_bytes = block_bytes_;
  }
  while (!data.empty()) {
    const std::uint64_t blkid = offset_bytes / block_bytes;
    const std::size_t at = offset_bytes % block_bytes;
    const std::size_t length = std::min<std::size_t>(block_bytes - at, data.size());
    TRY(change_part(tx, blkid, at, data.first(length), 0));
    data = data.subspan(length);
    offset_bytes += length;
  }
  return {};
}

Status ObjectImpl::write_block(const Tx& tx, std::uint64_t blkid, Buffer data) {
  WriterLock lock(lock_);
  TRY(check_write(blkid));
  if (data.size() != block_bytes_)
    return Error(Errc::invalid_argument, fmt::format("{}: {} bytes written to a block of {}", where(blkid),
                                                     data.size(), block_bytes_));
  DirtyState& state = dirty(tx.txg());
  const bool fresh = !state.blocks.contains(blkid);
  insert_block(state, blkid, std::make_shared<Buffer>(std::move(data)));
  if (fresh) account(state, tx.txg(), block_bytes_);
  return {};
}

Result<MutableBufferRef> ObjectImpl::modify_block(const Tx& tx, std::uint64_t blkid) {
  for (;;) {
    {
      ReaderLock lock(lock_);
      if (!dirty_.empty() && dirty_.rbegin()->first >= tx.txg()) {
        const auto& blocks = dirty_.rbegin()->second.blocks;
        const auto mine = blocks.find(blkid);
        if (mine != blocks.end()) return mine->second;
      }
    }
    TRY(change_part(tx, blkid, 0, {}, 0));
  }
}

// Zeroes part of a block that holds data; a hole stays one.
Status ObjectImpl::zero_part(const Tx& tx, std::uint64_t blkid, std::size_t at, std::size_t length) {
  const Place place = locate(blkid);
  if (place.where == Where::hole) return {};
  if (place.where == Where::disk && !TRY(fetch(blkid))) return {};
  return change_part(tx, blkid, at, {}, length);
}

Status ObjectImpl::free_range(const Tx& tx, std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (length_bytes == 0) return {};
  std::uint64_t block_bytes = 0, max_blkid = 0;
  {
    ReaderLock lock(lock_);
    TRY(check_write(0));
    block_bytes = block_bytes_;
    max_blkid = max_blkid_;
  }
  const bool to_end = length_bytes > UINT64_MAX - offset_bytes ||
                      offset_bytes + length_bytes >= (max_blkid + 1) * block_bytes;
  const std::uint64_t end = to_end ? (max_blkid + 1) * block_bytes : offset_bytes + length_bytes;
  if (offset_bytes >= end) return {};

  std::uint64_t first = offset_bytes / block_bytes;
  const std::size_t head = offset_bytes % block_bytes;
  if (head) {
    const std::size_t length = std::min<std::uint64_t>(block_bytes - head, end - offset_bytes);
    TRY(zero_part(tx, first, head, length));
    ++first;
  }
  const std::uint64_t whole_end = end / block_bytes;  // first block not freed as a whole
  if (const std::size_t tail = end % block_bytes; tail && whole_end >= first)
    TRY(zero_part(tx, whole_end, 0, tail));
  if (first >= whole_end && !(to_end && head == 0)) return {};

  WriterLock lock(lock_);
  DirtyState& state = dirty(tx.txg());
  if (first < whole_end) {
    const std::uint64_t last = whole_end - 1;
    std::int64_t dropped = 0;
    const auto from = state.blocks.lower_bound(first), to = state.blocks.upper_bound(last);
    for (auto it = from; it != to; ++it) dropped += static_cast<std::int64_t>(it->second->size());
    state.blocks.erase(from, to);
    if (dropped) account(state, tx.txg(), -dropped);
    state.freed.add(first, last);
  }
  if (to_end && first <= max_blkid_) {
    max_blkid_ = first ? first - 1 : 0;
    state.max_blkid = max_blkid_;
  }
  return {};
}

Status ObjectImpl::set_block_size(const Tx& tx, std::uint32_t block_bytes) {
  block_bytes = static_cast<std::uint32_t>(round_up(std::max<std::uint32_t>(block_bytes, 512), 512));
  if (block_bytes > kMaxBlockBytes)
    return Error(Errc::invalid_argument, fmt::format("block size {} is beyond 16 MiB", block_bytes));
  {
    ReaderLock lock(lock_);
    TRY(check_write(0));
    if (block_bytes == block_bytes_) return {};
    if (max_blkid_ > 0)
      return Error(Errc::busy, fmt::format("object {} has several blocks: its block size is fixed", number_));
  }
  const BufferRef old = TRY(fetch(0));
  WriterLock lock(lock_);
  DirtyState& state = dirty(tx.txg());
  const std::int64_t before =
      state.blocks.contains(0) ? static_cast<std::int64_t>(state.blocks[0]->size()) : 0;
  block_bytes_ = block_bytes;
  state.block_bytes = block_bytes;
  if (!old) return {};
  auto buffer = std::make_shared<Buffer>(Buffer::zeroed(block_bytes));
  std::memcpy(buffer->data(), old->data(), std::min<std::size_t>(old->size(), block_bytes));
  insert_block(state, 0, std::move(buffer));
  account(state, tx.txg(), static_cast<std::int64_t>(block_bytes) - before);
  return {};
}

Status ObjectImpl::set_bonus(const Tx& tx, ByteView bonus) {
  WriterLock lock(lock_);
  TRY(check_write(0));
  const std::uint32_t capacity = synced_.bonus_capacity(has_spill_);
  if (bonus.size() > capacity)
    return Error(Errc::out_of_range,
                 fmt::format("object {}: bonus of {} bytes, {} fit", number_, bonus.size(), capacity));
  DirtyState& state = dirty(tx.txg());
  bonus_.assign(bonus.begin(), bonus.end());
  bonus_order_ = kHostOrder;
  state.bonus = bonus_;
  return {};
}

Status ObjectImpl::set_bonus_type(const Tx& tx, DmuType bonus_type) {
  WriterLock lock(lock_);
  TRY(check_write(0));
  dirty(tx.txg()).bonus_type = bonus_type;
  bonus_type_ = bonus_type;
  return {};
}

Status ObjectImpl::set_type(const Tx& tx, DmuType type) {
  WriterLock lock(lock_);
  TRY(check_write(0));
  dirty(tx.txg()).type = type;
  type_ = type;
  return {};
}

Status ObjectImpl::set_spill(const Tx& tx, std::optional<Buffer> data) {
  WriterLock lock(lock_);
  TRY(check_write(0));
  if (data) {
    if (data->size() < 512 || data->size() > kOldMaxBlockBytes || data->size() % 512)
      return Error(Errc::invalid_argument,
                   fmt::format("object {}: spill block of {} bytes", number_, data->size()));
    if (bonus_.size() > synced_.bonus_capacity(true))
      return Error(Errc::out_of_range,
                   fmt::format("object {}: the bonus leaves no room for a spill block", number_));
  } else if (!has_spill_) {
    return {};
  }
  DirtyState& state = dirty(tx.txg());
  state.spill_changed = true;
  state.spill = data ? std::make_shared<Buffer>(std::move(*data)) : nullptr;
  has_spill_ = state.spill != nullptr;
  return {};
}

}  // namespace tarn
