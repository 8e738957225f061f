// Uberblocks and their ring in the labels (FORMAT.md 2.4, 5).
#include <fmt/format.h>

#include <algorithm>

#include "libpool/label/label.h"
#include "libpool/label/label_layout.h"

namespace tarn {
namespace {

constexpr std::uint64_t kUberblockMagic = 0x00bab10c;
constexpr std::uint64_t kMmpMagic = 0xa11cea11;
constexpr std::size_t kUberblockBytes = 216;

// Heartbeats of one second are told apart by their sequence number, where it is valid (FORMAT.md 5.2).
std::uint64_t mmp_sequence(const Uberblock& u) {
  return u.mmp_magic == kMmpMagic && (u.mmp_config & 2) ? (u.mmp_config >> 32) & 0xffff : 0;
}

// Scratch state of the reflow word (FORMAT.md 5.3).
bool reflow_scratch_valid(const Uberblock& u) { return u.raidz_reflow_info >> 55 == 1; }

}  // namespace

Result<Uberblock> Uberblock::decode(ByteView slot) {
  if (slot.size() < kUberblockBytes) return Error(Errc::corrupt, "uberblock: too short");
  ByteOrder order = kHostOrder;
  if (load<std::uint64_t>(slot.data(), order) != kUberblockMagic) {
    order = order == ByteOrder::little ? ByteOrder::big : ByteOrder::little;
    if (load<std::uint64_t>(slot.data(), order) != kUberblockMagic)
      return Error(Errc::corrupt, "uberblock: no magic");
  }
  ByteReader in(slot, order);
  in.skip(8);
  Uberblock out;
  out.version = in.u64();
  out.txg = in.u64();
  out.guid_sum = in.u64();
  out.timestamp = in.u64();
  out.root = BlockPointer::decode(in.bytes(kBlockPointerBytes).first<kBlockPointerBytes>(), order);
  out.software_version = in.u64();
  out.mmp_magic = in.u64();
  out.mmp_delay = in.u64();
  out.mmp_config = in.u64();
  out.checkpoint_txg = in.u64();
  out.raidz_reflow_info = in.u64();
  return out;
}

void Uberblock::encode(MutableByteView slot) const {
  assert(slot.size() >= kUberblockBytes);
  std::fill(slot.begin(), slot.end(), std::byte{0});
  ByteWriter out(slot, kHostOrder);
  for (const std::uint64_t word : {kUberblockMagic, version, txg, guid_sum, timestamp}) out.u64(word);
  root.encode(slot.subspan(out.position()).first<kBlockPointerBytes>(), kHostOrder);
  out.seek(out.position() + kBlockPointerBytes);
  for (const std::uint64_t word :
       {software_version, mmp_magic, mmp_delay, mmp_config, checkpoint_txg, raidz_reflow_info})
    out.u64(word);
  assert(out.position() == kUberblockBytes);
}

bool newer(const Uberblock& a, const Uberblock& b) {
  if (a.txg != b.txg) return a.txg > b.txg;
  if (a.timestamp != b.timestamp) return a.timestamp > b.timestamp;
  return mmp_sequence(a) > mmp_sequence(b);
}

std::vector<Uberblock> read_all_uberblocks(Disk& disk) {
  std::vector<Uberblock> found;
  if (disk.size_bytes() < kLabelCount * kLabelBytes) return found;
  for (unsigned index = 0; index < kLabelCount; ++index) {
    const std::uint64_t ring_offset = label_offset(index, disk.size_bytes()) + kRingOffset;
    Buffer ring(kRingBytes);
    if (!disk.read(ring_offset, ring.span())) continue;
    // The slot size is not known here; a slot verifies only with the size it was written with.
    for (unsigned shift = kMinSlotShift; shift <= kMaxSlotShift; ++shift) {
      const std::size_t slot_bytes = std::size_t{1} << shift;
      for (std::size_t at = 0; at < kRingBytes; at += slot_bytes) {
        const ByteView slot = ring.view().subspan(at, slot_bytes);
        Result<Uberblock> uberblock = Uberblock::decode(slot);  // cheap: most slots stop at the magic
        if (!uberblock || !verify_trailer(slot, {ring_offset + at, 0, 0, 0})) continue;
        found.push_back(*std::move(uberblock));
      }
    }
  }
  return found;
}

std::optional<Uberblock> read_best_uberblock(Disk& disk, std::uint64_t max_txg) {
  std::optional<Uberblock> best;
  for (Uberblock& candidate : read_all_uberblocks(disk)) {
    if (candidate.txg > max_txg) continue;
    if (!best || newer(candidate, *best)) best = std::move(candidate);
  }
  return best;
}

Status write_uberblock(Disk& disk, unsigned index, const Uberblock& uberblock, unsigned ashift,
                       bool multihost) {
  if (disk.size_bytes() < kLabelCount * kLabelBytes)
    return Error(Errc::invalid_argument, fmt::format("{}: too small for labels", disk.path()));
  const unsigned shift = std::clamp(ashift, kMinSlotShift, kMaxSlotShift);
  const std::size_t slot_bytes = std::size_t{1} << shift;
  // With multihost on, the last slot belongs to the heartbeats.
  const std::uint64_t slots = (kRingBytes >> shift) - (multihost ? 1 : 0);
  // While a RAID-Z expansion has its data in the scratch area, the slot of the txg before is rewritten.
  const std::uint64_t turn = uberblock.txg - (reflow_scratch_valid(uberblock) && uberblock.txg > 0 ? 1 : 0);
  const std::uint64_t offset =
      label_offset(index, disk.size_bytes()) + kRingOffset + ((turn % slots) << shift);
  Buffer slot(slot_bytes);
  uberblock.encode(slot.span());
  seal_trailer(slot.span(), {offset, 0, 0, 0});
  return disk.write(offset, slot).in(fmt::format("label {}: uberblock", index));
}

}  // namespace tarn
