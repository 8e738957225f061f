// The read pipeline, and BlockIo's construction.
#include <fmt/format.h>

#include <cstring>

#include "libpool/io/block_io_impl.h"
#include "libpool/io/compress_stage.h"
#include "libpool/io/gang.h"

namespace tarn {

std::unique_ptr<BlockIo> BlockIo::create(VdevTree& vdevs, const Settings& settings) {
  return std::make_unique<DeviceBlockIo>(vdevs, settings);
}

namespace {

std::string place_of(const BlockPointer& bp, const Bookmark& bookmark) {
  return fmt::format("object set {} object {} level {} block {}: {}", bookmark.objset, bookmark.object,
                     bookmark.level, bookmark.blkid, bp.describe());
}

}  // namespace

Result<BufferRef> DeviceBlockIo::read(const BlockPointer& bp, const Bookmark& bookmark, bool cache) {
  // Nothing to ask a device for.
  if (bp.is_hole()) {
    if (bp.logical_bytes > kMaxBlockBytes)
      return Error(Errc::corrupt, "hole too large").in(place_of(bp, bookmark));
    return BufferRef(std::make_shared<Buffer>(Buffer::zeroed(bp.logical_bytes)));
  }
  if (Status sane = bp.check(vdevs_.top_count()); !sane)
    return std::move(sane).error().in(place_of(bp, bookmark));
  if (bp.embedded) return read_embedded(bp).in(place_of(bp, bookmark));

  const BlockKey key = BlockKey::of(bp);
  if (cache) {
    if (BufferRef found = cache_.find(key); found && found->size() == bp.logical_bytes) return found;
  }

  // Devices, until a copy verifies.
  if (bp.crypt && bp.level == 0 && is_encrypted_type(bp.type))
    return Error(Errc::unsupported, "the block is encrypted").in(place_of(bp, bookmark));
  Result<BufferRef> stored = read_stored(bp, 0);
  if (!stored) return std::move(stored).error().in(place_of(bp, bookmark));

  // From here on the content is known to be what was written.
  BufferRef content = *stored;
  if (bp.compression != CompressionType::off) {
    auto logical = std::make_shared<Buffer>(bp.logical_bytes);
    if (Status unpacked = decompress(bp.compression, **stored, logical->span()); !unpacked)
      return std::move(unpacked).error().in(place_of(bp, bookmark));
    content = std::move(logical);
  } else if (content->size() != bp.logical_bytes) {
    // Stored padded or short without compression: no writer does that.
    return Error(Errc::corrupt, "stored and logical size differ without compression")
        .in(place_of(bp, bookmark));
  }
  if (cache) cache_.insert(key, content);
  return content;
}

Result<BufferRef> DeviceBlockIo::read_stored(const BlockPointer& bp, unsigned gang_depth) {
  if (!bp.is_gang()) return read_plain(bp);
  BufferRef whole = TRY(read_gang(bp, gang_depth));
  if (!checksum_right(bp, *whole)) return Error(Errc::checksum, "gang block: checksum mismatch of the whole");
  return whole;
}

Result<BufferRef> DeviceBlockIo::read_plain(const BlockPointer& bp) {
  if (BufferRef in_flight = pending_.find(BlockKey::of(bp))) {
    if (in_flight->size() == bp.physical_bytes) return in_flight;
    // It was padded to whole sectors for the device.
    if (in_flight->size() > bp.physical_bytes)
      return BufferRef(std::make_shared<Buffer>(Buffer::copy_of(in_flight->view().first(bp.physical_bytes))));
  }
  if (auto sum = compute_checksum(bp.checksum_type, ByteView(), bp.byte_order, salt()); !sum)
    return std::move(sum).error();
  auto out = std::make_shared<Buffer>(bp.physical_bytes);
  TRY(read_copies(bp, *out, [&](ByteView data) { return checksum_right(bp, data); }));
  return BufferRef(std::move(out));
}

// One DVA after the other; the vdev tree tries every copy or combination of columns behind each.
Status DeviceBlockIo::read_copies(const BlockPointer& bp, Buffer& out, const Verifier& verify) {
  Status problem = Error(Errc::corrupt, "no place on any device");
  for (unsigned i = 0; i < bp.dva_count(); ++i) {
    const Dva& dva = bp.dvas[i];
    Status result = vdevs_.read(dva.vdev, dva.offset_bytes, out.span(), bp.birth_on_disk(), verify);
    if (result) {
      if (i == 0) return {};
      // The copies before this one are bad: put them right. On a read-only pool this does nothing.
      auto copy = std::make_shared<Buffer>(Buffer::copy_of(out));
      WriteBatch repairs;
      for (unsigned bad = 0; bad < i; ++bad)
        vdevs_.write(bp.dvas[bad].vdev, bp.dvas[bad].offset_bytes, copy, bp.birth_on_disk(), repairs);
      (void)repairs.wait();
      return {};
    }
    result = std::move(result).in(fmt::format("vdev {} offset {:#x}", dva.vdev, dva.offset_bytes));
    // A checksum error says more than an absent device.
    if (i == 0 || problem.error().code() != Errc::checksum) problem = std::move(result);
  }
  return problem;
}

bool DeviceBlockIo::checksum_right(const BlockPointer& bp, ByteView data) const {
  const auto sum = compute_checksum(bp.checksum_type, data, bp.byte_order, salt());
  if (!sum) return false;
  // The other half of an encrypted block's words is its authentication code.
  if (bp.crypt) return (*sum)[0] == bp.checksum[0] && (*sum)[1] == bp.checksum[1];
  return *sum == bp.checksum;
}

Result<std::vector<BlockPointer>> DeviceBlockIo::read_gang_header(const BlockPointer& bp) {
  std::size_t header_bytes = kGangHeaderBytes;
  if (BufferRef in_flight = pending_.find(gang_header_key(bp)))
    return decode_gang_header(in_flight->view().first(kGangHeaderBytes), bp, vdevs_.top_count());
  Buffer region(largest_header(bp, vdevs_));
  TRY(read_copies(bp, region, [&](ByteView data) {
        return verify_gang_header(data, gang_verifier(bp), header_bytes);
      }).in("gang header"));
  return decode_gang_header(region.view().first(header_bytes), bp, vdevs_.top_count());
}

Result<BufferRef> DeviceBlockIo::read_gang(const BlockPointer& bp, unsigned depth) {
  if (depth >= kMaxGangDepth) return Error(Errc::corrupt, "gang blocks nested too deeply");
  const std::vector<BlockPointer> children = TRY(read_gang_header(bp));
  auto whole = std::make_shared<Buffer>(bp.physical_bytes);
  std::size_t at = 0;
  for (const BlockPointer& child : children) {
    const BufferRef piece = TRY(read_stored(child, depth + 1));
    std::memcpy(whole->data() + at, piece->data(), piece->size());  // sizes were added up by the decoder
    at += piece->size();
  }
  return BufferRef(std::move(whole));
}

std::uint64_t DeviceBlockIo::deflated_size(const BlockPointer& bp) const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < bp.dva_count(); ++i)
    sum += vdevs_.deflated_size(bp.dvas[i].vdev, bp.dvas[i].allocated_bytes);
  return sum;
}

}  // namespace tarn
