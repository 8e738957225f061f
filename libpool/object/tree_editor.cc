#include "libpool/object/tree_editor.h"

#include <fmt/format.h>

#include "libpool/object/parallel_for.h"

namespace tarn {

namespace {

BlockPointer decode_slot(ByteView block, std::uint64_t slot, ByteOrder order) {
  return BlockPointer::decode(block.subspan(slot * kBlockPointerBytes).first<kBlockPointerBytes>(), order);
}

void encode_slot(Buffer& block, std::uint64_t slot, const BlockPointer& bp) {
  bp.encode(block.span().subspan(slot * kBlockPointerBytes).first<kBlockPointerBytes>(), kHostOrder);
}

}  // namespace

Bookmark TreeEditor::bookmark(unsigned level, std::uint64_t id) const {
  return {.objset = set_.id(), .object = object_, .level = static_cast<std::int64_t>(level), .blkid = id};
}

void TreeEditor::grow(std::uint64_t blkid) {
  const unsigned needed = dnode_.shape().levels_for(blkid);
  while (dnode_.levels < needed) {
    // The dnode's pointers move into a new indirect block, which pointer 0 will name.
    const unsigned level = dnode_.levels;
    bool any = false;
    for (unsigned i = 0; i < dnode_.root_count; ++i) any = any || dnode_.roots[i] != BlockPointer{};
    if (any || level > 1) {
      auto block = std::make_shared<Buffer>(Buffer::zeroed(dnode_.shape().bytes_at(level)));
      for (unsigned i = 0; i < dnode_.root_count; ++i) encode_slot(*block, i, dnode_.roots[i]);
      changed_[level][0] = std::move(block);
    }
    dnode_.roots = {};
    ++dnode_.levels;
  }
}

Result<BufferRef> TreeEditor::read_indirect(const BlockPointer& bp, unsigned level, std::uint64_t id) {
  const TreeShape shape = dnode_.shape();
  const std::string where =
      fmt::format("object {}: level {} block {}", static_cast<std::int64_t>(object_), level, id);
  TRY(set_.check_pointer(bp, shape, level).in(where));
  BufferRef block = TRY(set_.io().read(bp, bookmark(level, id)));
  if (block->size() != shape.bytes_at(level))
    return Error(Errc::corrupt, where + ": indirect block of a wrong size");
  if (bp.byte_order == kHostOrder) return block;
  auto swapped = std::make_shared<Buffer>(Buffer::copy_of(block->view()));
  swap_u64_array(swapped->span());
  return BufferRef(std::move(swapped));
}

Result<Buffer*> TreeEditor::indirect(unsigned level, std::uint64_t id) {
  auto& blocks = changed_[level];
  const auto found = blocks.find(id);
  if (found != blocks.end()) return found->second.get();
  const BlockPointer bp = TRY(pointer_at(level, id));
  std::shared_ptr<Buffer> block;
  if (bp.is_hole()) {
    block = std::make_shared<Buffer>(Buffer::zeroed(dnode_.shape().bytes_at(level)));
    // A hole that remembers its birth passes it on to the blocks under it.
    if (bp.logical_birth) {
      const BlockPointer child = BlockPointer::hole(dnode_.type, static_cast<std::uint8_t>(level - 1),
                                                    dnode_.shape().bytes_at(level - 1), bp.logical_birth);
      for (std::uint64_t i = 0; i < dnode_.shape().pointers_per_block(); ++i) encode_slot(*block, i, child);
    }
  } else {
    const BufferRef stored = TRY(read_indirect(bp, level, id));
    block = std::make_shared<Buffer>(Buffer::copy_of(stored->view()));
  }
  return (blocks[id] = std::move(block)).get();
}

Result<BlockPointer> TreeEditor::pointer_at(unsigned level, std::uint64_t id) {
  if (level + 1u == dnode_.levels) {
    if (id >= dnode_.root_count)
      return Error(Errc::corrupt, fmt::format("object {}: no place for block {}", object_, id));
    return dnode_.roots[id];
  }
  const TreeShape shape = dnode_.shape();
  const Buffer* parent = TRY(indirect(level + 1, id >> shape.pointers_shift()));
  return decode_slot(parent->view(), id & (shape.pointers_per_block() - 1), kHostOrder);
}

Status TreeEditor::set_pointer_at(unsigned level, std::uint64_t id, const BlockPointer& bp) {
  if (level + 1u == dnode_.levels) {
    if (id >= dnode_.root_count)
      return Error(Errc::corrupt, fmt::format("object {}: no place for block {}", object_, id));
    dnode_.roots[id] = bp;
    return {};
  }
  const TreeShape shape = dnode_.shape();
  Buffer* parent = TRY(indirect(level + 1, id >> shape.pointers_shift()));
  encode_slot(*parent, id & (shape.pointers_per_block() - 1), bp);
  return {};
}

Result<BlockPointer> TreeEditor::pointer(std::uint64_t blkid) { return pointer_at(0, blkid); }
Status TreeEditor::set_pointer(std::uint64_t blkid, const BlockPointer& bp) {
  return set_pointer_at(0, blkid, bp);
}

BlockPointer TreeEditor::hole_in_place_of(unsigned level) const {
  if (!set_.hole_birth()) return {};
  return BlockPointer::hole(dnode_.type, static_cast<std::uint8_t>(level), dnode_.shape().bytes_at(level),
                            run_.txg);
}

// Frees block `id` of `level` and all under it. An indirect block that cannot be read leaks what it points
// at: better than a pool that cannot sync any more because a damaged file was removed.
void TreeEditor::drop_all(unsigned level, std::uint64_t id, const BlockPointer& bp) {
  if (level > 0) {
    const auto changed = changed_[level].find(id);
    BufferRef block;
    if (changed != changed_[level].end()) {
      block = changed->second;
      changed_[level].erase(changed);
    } else if (!bp.is_hole()) {
      if (auto stored = read_indirect(bp, level, id)) block = std::move(*stored);
    }
    const TreeShape shape = dnode_.shape();
    for (std::uint64_t i = 0; block && i < shape.pointers_per_block(); ++i) {
      const BlockPointer child = decode_slot(block->view(), i, kHostOrder);
      const std::uint64_t child_id = (id << shape.pointers_shift()) + i;
      if (!child.is_hole() || (level > 1 && changed_[level - 1].contains(child_id)))
        drop_all(level - 1, child_id, child);
    }
  }
  if (!bp.is_hole()) charged_ -= set_.release(run_, bp);
}

Status TreeEditor::free_under(unsigned level, std::uint64_t id, std::uint64_t first, std::uint64_t last) {
  const BlockPointer bp = TRY(pointer_at(level, id));
  const TreeShape shape = dnode_.shape();
  const bool changed = level > 0 && changed_[level].contains(id);
  if (bp.is_hole() && !changed) return {};
  const std::uint64_t start = shape.first_under(id, level), end = shape.last_under(id, level);
  if (first <= start && last >= end) {
    drop_all(level, id, bp);
    return set_pointer_at(level, id, hole_in_place_of(level));
  }
  const std::uint64_t from = shape.ancestor(std::max(first, start), level - 1);
  const std::uint64_t to = shape.ancestor(std::min(last, end), level - 1);
  for (std::uint64_t child = from; child <= to; ++child) TRY(free_under(level - 1, child, first, last));
  return {};
}

Status TreeEditor::free_range(std::uint64_t first, std::uint64_t last) {
  const TreeShape shape = dnode_.shape();
  const unsigned top = shape.levels - 1;
  for (std::uint64_t id = shape.ancestor(first, top);
       id < shape.root_count && id <= shape.ancestor(last, top); ++id)
    TRY(free_under(top, id, first, last));
  return {};
}

Status TreeEditor::write_indirects() {
  const TreeShape shape = dnode_.shape();
  for (unsigned level = 1; level < shape.levels; ++level) {
    struct Job {
      std::uint64_t id;
      std::shared_ptr<Buffer> block;
      BlockPointer before;
      Result<BlockPointer> now = BlockPointer{};
      std::int64_t charged = 0;
    };
    std::vector<Job> jobs;
    for (auto& [id, block] : changed_[level]) jobs.push_back({.id = id, .block = block, .before = {}});
    for (Job& job : jobs) job.before = TRY(pointer_at(level, job.id));
    parallel_for(set_.workers(), jobs.size(), [&](std::size_t i) {
      Job& job = jobs[i];
      std::uint64_t fill = 0;
      bool all_holes = true;
      for (std::uint64_t slot = 0; slot < shape.pointers_per_block(); ++slot) {
        const BlockPointer child = decode_slot(job.block->view(), slot, kHostOrder);
        if (child.is_hole()) continue;
        all_holes = false;
        fill += child.fill_count();
      }
      if (all_holes) {
        if (job.before.is_hole()) {
          job.now = job.before;
        } else {
          job.charged -= set_.release(run_, job.before);
          job.now = hole_in_place_of(level);
        }
        return;
      }
      BlockWrite write{
          .data = job.block, .type = dnode_.type, .level = static_cast<std::uint8_t>(level), .fill = fill};
      set_.apply_policy(run_, dnode_, write);
      job.now = set_.replace(run_, std::move(write), job.before, bookmark(level, job.id), job.charged);
    });
    for (Job& job : jobs) {
      const BlockPointer now = TRY(std::move(job.now));
      charged_ += job.charged;
      if (now != job.before) TRY(set_pointer_at(level, job.id, now));
    }
  }
  return {};
}

}  // namespace tarn
