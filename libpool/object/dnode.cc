#include "libpool/object/dnode.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {

namespace {

constexpr std::size_t kTypeAt = 0, kIndirectShiftAt = 1, kLevelsAt = 2, kRootCountAt = 3, kBonusTypeAt = 4,
                      kChecksumAt = 5, kCompressionAt = 6, kFlagsAt = 7, kBlockSectorsAt = 8,
                      kBonusBytesAt = 10, kExtraSlotsAt = 12, kMaxBlkidAt = 16, kUsedAt = 24;
constexpr std::uint32_t kMaxBlockSectors = 32768;

std::uint8_t byte_at(ByteView in, std::size_t at) { return static_cast<std::uint8_t>(in[at]); }

Error bad(const std::string& what) { return Error(Errc::corrupt, "dnode: " + what); }

}  // namespace

unsigned TreeShape::levels_for(std::uint64_t blkid) const {
  unsigned needed = 1;
  // ancestor() of the top level must be one of the dnode's own pointers.
  while (needed < kMaxLevels && ancestor(blkid, needed - 1) >= root_count) ++needed;
  return needed;
}

Result<Dnode> Dnode::decode(ByteView in, ByteOrder bonus_order) {
  if (in.size() < kDnodeSlotBytes) return bad("shorter than a slot");
  Dnode d;
  d.type = static_cast<DmuType>(byte_at(in, kTypeAt));
  d.indirect_shift = byte_at(in, kIndirectShiftAt);
  d.levels = byte_at(in, kLevelsAt);
  d.root_count = byte_at(in, kRootCountAt);
  d.bonus_type = static_cast<DmuType>(byte_at(in, kBonusTypeAt));
  d.checksum = static_cast<ChecksumType>(byte_at(in, kChecksumAt));
  d.compression = static_cast<CompressionType>(byte_at(in, kCompressionAt));
  d.flags = byte_at(in, kFlagsAt);
  const std::uint32_t sectors = load<std::uint16_t>(in.data() + kBlockSectorsAt, kHostOrder);
  const std::size_t bonus_bytes = load<std::uint16_t>(in.data() + kBonusBytesAt, kHostOrder);
  const unsigned slots = byte_at(in, kExtraSlotsAt) + 1u;
  d.max_blkid = load<std::uint64_t>(in.data() + kMaxBlkidAt, kHostOrder);
  d.used_bytes = load<std::uint64_t>(in.data() + kUsedAt, kHostOrder);
  if (!(d.flags & kDnodeUsedBytes)) d.used_bytes <<= kSectorShift;
  d.bonus_order = bonus_order;

  if (d.type == DmuType::none) return bad("free slot");
  if (d.indirect_shift < 12 || d.indirect_shift > 17)
    return bad(fmt::format("indirect block shift {}", d.indirect_shift));
  if (d.levels < 1 || d.levels > kMaxLevels) return bad(fmt::format("{} levels", d.levels));
  if (d.root_count < 1 || d.root_count > kMaxDvas) return bad(fmt::format("{} block pointers", d.root_count));
  if (sectors < 1 || sectors > kMaxBlockSectors) return bad(fmt::format("block size of {} sectors", sectors));
  if (slots > kMaxDnodeSlots || slots * kDnodeSlotBytes > in.size())
    return bad(fmt::format("{} slots do not fit its block", slots));
  d.slots = static_cast<std::uint8_t>(slots);
  d.block_bytes = sectors << kSectorShift;
  const bool has_spill = d.flags & kDnodeSpill;
  const std::size_t bonus_at = kDnodeCoreBytes + d.root_count * kBlockPointerBytes;
  if (bonus_at + bonus_bytes + (has_spill ? kBlockPointerBytes : 0) > d.stored_bytes())
    return bad(fmt::format("bonus of {} bytes does not fit", bonus_bytes));

  auto pointer_at = [&](std::size_t at) {
    return BlockPointer::decode(in.subspan(at).first<kBlockPointerBytes>(), kHostOrder);
  };
  for (unsigned i = 0; i < d.root_count; ++i)
    d.roots[i] = pointer_at(kDnodeCoreBytes + i * kBlockPointerBytes);
  if (has_spill) d.spill = pointer_at(d.stored_bytes() - kBlockPointerBytes);
  const ByteView bonus = in.subspan(bonus_at, bonus_bytes);
  d.bonus.assign(bonus.begin(), bonus.end());
  return d;
}

void Dnode::encode(MutableByteView out) const {
  assert(out.size() == stored_bytes());
  assert(bonus.size() <= bonus_capacity(spill.has_value()));
  std::fill(out.begin(), out.end(), std::byte{0});
  auto put = [&](std::size_t at, std::uint8_t v) { out[at] = static_cast<std::byte>(v); };
  put(kTypeAt, static_cast<std::uint8_t>(type));
  put(kIndirectShiftAt, indirect_shift);
  put(kLevelsAt, levels);
  put(kRootCountAt, root_count);
  put(kBonusTypeAt, static_cast<std::uint8_t>(bonus_type));
  put(kChecksumAt, static_cast<std::uint8_t>(checksum));
  put(kCompressionAt, static_cast<std::uint8_t>(compression));
  const std::uint8_t stored_flags =
      static_cast<std::uint8_t>((flags & ~kDnodeSpill) | (spill ? kDnodeSpill : 0));
  put(kFlagsAt, stored_flags);
  store<std::uint16_t>(out.data() + kBlockSectorsAt, static_cast<std::uint16_t>(block_bytes >> kSectorShift),
                       kHostOrder);
  store<std::uint16_t>(out.data() + kBonusBytesAt, static_cast<std::uint16_t>(bonus.size()), kHostOrder);
  put(kExtraSlotsAt, static_cast<std::uint8_t>(slots - 1));
  store<std::uint64_t>(out.data() + kMaxBlkidAt, max_blkid, kHostOrder);
  const std::uint64_t used = (stored_flags & kDnodeUsedBytes) ? used_bytes : used_bytes >> kSectorShift;
  store<std::uint64_t>(out.data() + kUsedAt, used, kHostOrder);
  for (unsigned i = 0; i < root_count; ++i)
    roots[i].encode(out.subspan(kDnodeCoreBytes + i * kBlockPointerBytes).first<kBlockPointerBytes>(),
                    kHostOrder);
  if (!bonus.empty())
    std::memcpy(out.data() + kDnodeCoreBytes + root_count * kBlockPointerBytes, bonus.data(), bonus.size());
  if (spill) spill->encode(out.last<kBlockPointerBytes>(), kHostOrder);
}

unsigned dnode_slots_at(ByteView dnode_block, unsigned slot) {
  const std::size_t at = slot * kDnodeSlotBytes;
  if (at + kDnodeSlotBytes > dnode_block.size() || byte_at(dnode_block, at) == 0) return 0;
  const unsigned wanted = byte_at(dnode_block, at + kExtraSlotsAt) + 1u;
  return std::min<unsigned>(wanted, static_cast<unsigned>(dnode_block.size() / kDnodeSlotBytes) - slot);
}

}  // namespace tarn
