// The write pipeline.
#include <fmt/format.h>

#include <cstring>

#include "libpool/io/block_io_impl.h"
#include "libpool/io/compress_stage.h"
#include "libpool/io/gang.h"

namespace tarn {

Result<BlockPointer> DeviceBlockIo::write(const BlockWrite& block, const Bookmark& bookmark,
                                          WriteBatch& batch) {
  assert(allocator_ && block.data && !block.data->empty() && block.data->size() <= kMaxBlockBytes);
  const auto free_replaced = [&]() -> Status {
    return block.rewrite ? free(*block.rewrite, block.txg) : Status();
  };
  const auto where = [&] {
    return fmt::format("write of object set {} object {} level {} block {}", bookmark.objset, bookmark.object,
                       bookmark.level, bookmark.blkid);
  };
  const std::uint32_t logical_bytes = static_cast<std::uint32_t>(block.data->size());

  // Zero detection and compression.
  const StoredForm form = choose_stored_form(block, min_alloc_bytes_);
  if (form.kind == StoredForm::Kind::hole) {
    TRY(free_replaced().in(where()));
    return BlockPointer::hole(block.type, block.level, logical_bytes, hole_birth_ ? block.txg : 0);
  }
  // Embedding.
  if (form.kind == StoredForm::Kind::embedded) {
    TRY(free_replaced().in(where()));
    return embedded_pointer(block, form);
  }
  assert(logical_bytes % kSectorBytes == 0);
  // Checksum: over what is stored, before it has a place; a gang block keeps that of the whole.
  BlockPointer bp;
  bp.type = block.type;
  bp.level = block.level;
  bp.logical_bytes = logical_bytes;
  bp.physical_bytes = static_cast<std::uint32_t>(form.data->size());
  bp.compression = form.compression;
  bp.checksum_type = block.checksum == ChecksumType::on || block.checksum == ChecksumType::inherit
                         ? ChecksumType::fletcher4
                         : block.checksum;
  bp.logical_birth = block.txg;
  bp.fill = block.fill;
  bp.checksum = TRY(compute_checksum(bp.checksum_type, *form.data, bp.byte_order, salt()).in(where()));

  // Allocation and device writes. From here on the address is known.
  TRY(place(bp, block, form.data, batch).in(where()));
  cache_.insert(BlockKey::of(bp), block.data);
  return bp;
}

Status DeviceBlockIo::place(BlockPointer& bp, const BlockWrite& block, const BufferRef& stored,
                            WriteBatch& batch) {
  if (block.rewrite && rewrite_in_place(bp, *block.rewrite, block.txg)) {
    cache_.erase(BlockKey::of(*block.rewrite));
    write_devices(bp, BlockKey::of(bp), stored, block.txg, batch);
    return {};
  }
  if (block.rewrite) TRY(free(*block.rewrite, block.txg));
  return write_new(bp, block, stored, 0, batch);
}

// A block written earlier in this same txg: no committed state refers to it, so its place may be written
// again, if the block takes exactly that much.
bool DeviceBlockIo::rewrite_in_place(BlockPointer& bp, const BlockPointer& old, std::uint64_t txg) const {
  if (old.embedded || old.is_hole() || old.is_gang() || old.dedup || old.birth_on_disk() != txg) return false;
  for (unsigned i = 0; i < old.dva_count(); ++i) {
    if (vdevs_.allocated_size(old.dvas[i].vdev, bp.physical_bytes) != old.dvas[i].allocated_bytes)
      return false;
  }
  bp.dvas = old.dvas;
  return true;
}

Status DeviceBlockIo::write_new(BlockPointer& bp, const BlockWrite& block, const BufferRef& data,
                                unsigned depth, WriteBatch& batch) {
  auto placed = allocator_.load()->allocate({.physical_bytes = data->size(),
                                             .copies = block.copies,
                                             .txg = block.txg,
                                             .alloc_class = block.alloc_class});
  if (!placed) {
    if (placed.error().code() != Errc::no_space || block.alloc_class == AllocClass::log)
      return std::move(placed).error();
    return write_gang(bp, block, data, depth, batch);
  }
  assert(!placed->empty() && placed->size() <= kMaxDvas);
  std::copy(placed->begin(), placed->end(), bp.dvas.begin());
  write_devices(bp, BlockKey::of(bp), data, block.txg, batch);
  return {};
}

// No contiguous space: pieces of a third each, which may be gang blocks again, and a header that lists them.
Status DeviceBlockIo::write_gang(BlockPointer& bp, const BlockWrite& block, const BufferRef& data,
                                 unsigned depth, WriteBatch& batch) {
  const std::uint64_t piece_bytes = round_up(div_ceil(data->size(), kGangChildren), min_alloc_bytes_);
  if (depth >= kMaxGangDepth || piece_bytes >= data->size())
    return Error(Errc::no_space, fmt::format("no space for a block of {} bytes", data->size()));
  const std::vector<Dva> header =
      TRY(allocator_.load()->allocate({.physical_bytes = kGangHeaderBytes,
                                       .copies = std::min(kMaxDvas, block.copies + 1),
                                       .txg = block.txg,
                                       .alloc_class = block.alloc_class}));
  std::vector<BlockPointer> children;
  Status result;
  for (std::uint64_t at = 0; at < data->size() && result; at += piece_bytes) {
    const ByteView view = data->view().subspan(at, std::min<std::uint64_t>(piece_bytes, data->size() - at));
    const BufferRef piece = std::make_shared<Buffer>(Buffer::copy_of(view));
    BlockPointer child;
    child.logical_bytes = child.physical_bytes = static_cast<std::uint32_t>(view.size());
    child.compression = CompressionType::off;
    child.checksum_type = bp.checksum_type;
    child.logical_birth = block.txg;
    child.fill = 1;
    auto sum = compute_checksum(child.checksum_type, view, child.byte_order, salt());
    if (!sum) {
      result = std::move(sum).error();
      break;
    }
    child.checksum = *sum;
    result = write_new(child, block, piece, depth + 1, batch);
    if (result) children.push_back(child);
  }
  if (!result) {
    // Nothing refers to the pieces yet. Their writes must have landed before their places are handed out
    // again.
    (void)batch.wait();
    for (const BlockPointer& child : children) (void)free_tree(child, block.txg, depth + 1);
    for (const Dva& dva : header) allocator_.load()->free(dva, block.txg, block.txg);
    return result;
  }
  bp.dvas = {};
  for (std::size_t i = 0; i < header.size(); ++i) {
    Dva& dva = bp.dvas[i];
    dva = header[i];
    dva.gang = true;
    for (const BlockPointer& child : children) dva.allocated_bytes += child.dvas[i].allocated_bytes;
  }
  const BufferRef encoded = std::make_shared<Buffer>(encode_gang_header(children, gang_verifier(bp)));
  write_devices(bp, gang_header_key(bp), encoded, block.txg, batch);
  return {};
}

void DeviceBlockIo::write_devices(const BlockPointer& bp, const BlockKey& key, const BufferRef& data,
                                  std::uint64_t txg, WriteBatch& batch) {
  // Whole sectors, so that the very buffer that pending_ watches is the one the devices hold.
  std::uint64_t sector_bytes = kSectorBytes;
  for (unsigned i = 0; i < bp.dva_count(); ++i)
    sector_bytes = std::max(sector_bytes, std::uint64_t{1} << vdevs_.ashift(bp.dvas[i].vdev));
  BufferRef padded = data;
  if (data->size() % sector_bytes != 0) {
    auto copy = std::make_shared<Buffer>(Buffer::zeroed(round_up(data->size(), sector_bytes)));
    std::memcpy(copy->data(), data->data(), data->size());
    padded = std::move(copy);
  }
  pending_.add(key, padded);
  for (unsigned i = 0; i < bp.dva_count(); ++i) {
    const Dva& dva = bp.dvas[i];
    // Padding to the sector of one vdev must not spill over the allocation on another.
    const bool fits =
        vdevs_.allocated_size(dva.vdev, padded->size()) == vdevs_.allocated_size(dva.vdev, data->size());
    vdevs_.write(dva.vdev, dva.offset_bytes, fits ? padded : data, txg, batch);
  }
}

}  // namespace tarn
