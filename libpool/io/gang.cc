#include "libpool/io/gang.h"

#include <fmt/format.h>

#include <cstring>

namespace tarn {

ChecksumWords gang_verifier(const BlockPointer& gang) {
  return {gang.dvas[0].vdev, gang.dvas[0].offset_bytes, gang.birth_on_disk(), 0};
}

std::size_t largest_header(const BlockPointer& gang, const VdevTree& vdevs) {
  std::size_t size = kMaxBlockBytes;
  for (unsigned i = 0; i < gang.dva_count(); ++i) {
    const std::uint32_t vdev = gang.dvas[i].vdev;
    if (vdev >= vdevs.top_count()) continue;
    const std::uint64_t space = vdevs.allocated_size(vdev, kGangHeaderBytes);
    std::size_t fits = kGangHeaderBytes;
    while (fits < kOldMaxBlockBytes && vdevs.allocated_size(vdev, fits * 2) <= space) fits *= 2;
    size = std::min(size, fits);
  }
  return size == kMaxBlockBytes ? kGangHeaderBytes : size;
}

bool verify_gang_header(ByteView region, const ChecksumWords& verifier, std::size_t& header_bytes) {
  for (const std::size_t size : {region.size(), kGangHeaderBytes}) {
    if (size > region.size() || !verify_trailer(region.first(size), verifier)) continue;
    header_bytes = size;
    return true;
  }
  return false;
}

Result<std::vector<BlockPointer>> decode_gang_header(ByteView header, const BlockPointer& gang,
                                                     std::uint32_t vdev_count) {
  const ByteOrder order = TRY(verify_trailer(header, gang_verifier(gang)));
  std::vector<BlockPointer> children;
  std::uint64_t total_bytes = 0;
  for (std::size_t at = 0; at + kBlockPointerBytes + kTrailerBytes <= header.size();
       at += kBlockPointerBytes) {
    const BlockPointer child = BlockPointer::decode(header.subspan(at).first<kBlockPointerBytes>(), order);
    if (child.is_hole()) continue;
    TRY(child.check(vdev_count).in("gang header"));
    if (child.embedded || child.level != 0 || child.compression != CompressionType::off ||
        child.logical_bytes != child.physical_bytes)
      return Error(Errc::corrupt,
                   fmt::format("gang header: a piece that makes no sense: {}", child.describe()));
    total_bytes += child.physical_bytes;
    children.push_back(child);
  }
  if (total_bytes != gang.physical_bytes)
    return Error(Errc::corrupt, fmt::format("gang header: its pieces have {} bytes together, not {}",
                                            total_bytes, gang.physical_bytes));
  return children;
}

Buffer encode_gang_header(const std::vector<BlockPointer>& children, const ChecksumWords& verifier) {
  assert(children.size() <= kGangChildren);
  Buffer header = Buffer::zeroed(kGangHeaderBytes);
  for (std::size_t i = 0; i < children.size(); ++i)
    children[i].encode(header.span().subspan(i * kBlockPointerBytes).first<kBlockPointerBytes>(), kHostOrder);
  seal_trailer(header.span(), verifier);
  return header;
}

}  // namespace tarn
