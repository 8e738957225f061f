#include "libpool/block/block_pointer.h"

#include <fmt/format.h>

namespace tarn {
namespace {

constexpr std::uint64_t kMask24 = 0xffffff;
constexpr unsigned kPropWord = 6, kProp2Word = 7, kPhysicalBirthWord = 9, kLogicalBirthWord = 10,
                   kFillWord = 11, kChecksumWord = 12, kWords = 16;
static_assert(kWords * 8 == kBlockPointerBytes);

constexpr std::uint64_t bits(std::uint64_t word, unsigned at, unsigned count) {
  return (word >> at) & ((1ULL << count) - 1);
}
constexpr std::uint64_t place(std::uint64_t value, unsigned at, unsigned count) {
  return (value & ((1ULL << count) - 1)) << at;
}

// Payload words of an embedded bp: all but prop and logical birth.
constexpr bool is_payload_word(unsigned word) { return word != kPropWord && word != kLogicalBirthWord; }

}  // namespace

Dva Dva::decode(std::uint64_t word0, std::uint64_t word1) {
  return {.vdev = static_cast<std::uint32_t>(bits(word0, 32, 24)),
          .offset_bytes = (word1 << 1 >> 1) << kSectorShift,
          .allocated_bytes = (word0 & kMask24) << kSectorShift,
          .gang = (word1 >> 63) != 0};
}

void Dva::encode(std::uint64_t& word0, std::uint64_t& word1) const {
  word0 = place(vdev, 32, 24) | place(allocated_bytes >> kSectorShift, 0, 24);
  word1 = (offset_bytes >> kSectorShift) | (gang ? 1ULL << 63 : 0);
}

unsigned BlockPointer::dva_count() const {
  if (embedded) return 0;
  unsigned count = 0;
  for (const Dva& dva : dvas) count += dva.allocated_bytes != 0;
  // An encrypted block keeps its salt and IV where the third DVA would be.
  if (crypt && level == 0 && count == kMaxDvas) --count;
  return count;
}

std::uint64_t BlockPointer::allocated_bytes() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < dva_count(); ++i) sum += dvas[i].allocated_bytes;
  return sum;
}

BlockPointer BlockPointer::decode(std::span<const std::byte, kBlockPointerBytes> in, ByteOrder order) {
  std::array<std::uint64_t, kWords> w;
  for (unsigned i = 0; i < kWords; ++i) w[i] = load<std::uint64_t>(in.data() + i * 8, order);
  BlockPointer bp;
  const std::uint64_t prop = w[kPropWord];
  bp.compression = static_cast<CompressionType>(bits(prop, 32, 7));
  bp.embedded = bits(prop, 39, 1);
  bp.type = static_cast<DmuType>(bits(prop, 48, 8));
  bp.level = static_cast<std::uint8_t>(bits(prop, 56, 5));
  bp.byte_order = bits(prop, 63, 1) ? ByteOrder::little : ByteOrder::big;
  bp.logical_birth = w[kLogicalBirthWord];
  if (bp.embedded) {
    bp.logical_bytes = static_cast<std::uint32_t>(bits(prop, 0, 25)) + 1;
    bp.physical_bytes = static_cast<std::uint32_t>(bits(prop, 25, 7)) + 1;
    bp.embedded_type = static_cast<EmbeddedType>(bits(prop, 40, 8));
    std::size_t at = 0;
    // Within a word the first payload byte is the least significant one.
    for (unsigned i = 0; i < kWords; ++i) {
      if (!is_payload_word(i)) continue;
      store<std::uint64_t>(bp.payload.data() + at, w[i], ByteOrder::little);
      at += 8;
    }
    return bp;
  }
  for (unsigned i = 0; i < kMaxDvas; ++i) bp.dvas[i] = Dva::decode(w[2 * i], w[2 * i + 1]);
  const bool hole = bp.is_hole();
  // A hole that never was written has no size at all.
  const bool sized = !hole || prop != 0;
  bp.logical_bytes = sized ? static_cast<std::uint32_t>((bits(prop, 0, 16) + 1) << kSectorShift) : 0;
  bp.physical_bytes = hole ? 0 : static_cast<std::uint32_t>((bits(prop, 16, 16) + 1) << kSectorShift);
  bp.checksum_type = static_cast<ChecksumType>(bits(prop, 40, 8));
  bp.crypt = bits(prop, 61, 1);
  bp.dedup = bits(prop, 62, 1);
  bp.rewritten = bits(w[kProp2Word], 63, 1);
  bp.physical_birth = w[kPhysicalBirthWord];
  bp.fill = w[kFillWord];
  for (unsigned i = 0; i < 4; ++i) bp.checksum[i] = w[kChecksumWord + i];
  return bp;
}

void BlockPointer::encode(std::span<std::byte, kBlockPointerBytes> out, ByteOrder order) const {
  std::array<std::uint64_t, kWords> w{};
  std::uint64_t prop = place(static_cast<std::uint64_t>(compression), 32, 7) | place(embedded, 39, 1) |
                       place(static_cast<std::uint64_t>(type), 48, 8) | place(level, 56, 5);
  // Holes have no content and hence no byte order (FORMAT.md 6.3).
  if (!is_hole()) prop |= place(byte_order == ByteOrder::little, 63, 1);
  w[kLogicalBirthWord] = logical_birth;
  if (embedded) {
    prop |= place(logical_bytes - 1, 0, 25) | place(physical_bytes - 1, 25, 7) |
            place(static_cast<std::uint64_t>(embedded_type), 40, 8);
    std::size_t at = 0;
    for (unsigned i = 0; i < kWords; ++i) {
      if (!is_payload_word(i)) continue;
      w[i] = load<std::uint64_t>(payload.data() + at, ByteOrder::little);
      at += 8;
    }
  } else {
    for (unsigned i = 0; i < kMaxDvas; ++i) dvas[i].encode(w[2 * i], w[2 * i + 1]);
    prop |=
        place(static_cast<std::uint64_t>(checksum_type), 40, 8) | place(crypt, 61, 1) | place(dedup, 62, 1);
    if (is_hole() && logical_bytes == 0) {
      prop = 0;
    } else {
      prop |= place((logical_bytes >> kSectorShift) - 1, 0, 16);
    }
    if (!is_hole()) prop |= place((physical_bytes >> kSectorShift) - 1, 16, 16);
    w[kProp2Word] = place(rewritten, 63, 1);
    w[kPhysicalBirthWord] = physical_birth;
    w[kFillWord] = fill;
    for (unsigned i = 0; i < 4; ++i) w[kChecksumWord + i] = checksum[i];
  }
  w[kPropWord] = prop;
  for (unsigned i = 0; i < kWords; ++i) store<std::uint64_t>(out.data() + i * 8, w[i], order);
}

Status BlockPointer::check(std::uint32_t vdev_count) const {
  const auto bad = [&](const char* what) {
    return Error(Errc::corrupt, fmt::format("block pointer: {}: {}", what, describe()));
  };
  if (!is_valid(type)) return bad("unknown object type");
  if (is_hole()) return {};
  if (!is_known(compression) || compression == CompressionType::inherit || compression == CompressionType::on)
    return bad("unknown compression");
  if (embedded) {
    if (embedded_type != EmbeddedType::data && embedded_type != EmbeddedType::redacted)
      return bad("unknown embedded type");
    if (physical_bytes > kMaxEmbeddedBytes) return bad("embedded payload too long");
    if (logical_bytes > kMaxBlockBytes) return bad("logical size too large");
    return {};
  }
  if (!is_known(checksum_type) || checksum_type == ChecksumType::inherit || checksum_type == ChecksumType::on)
    return bad("unknown checksum");
  if (logical_bytes > kMaxBlockBytes || physical_bytes > kMaxBlockBytes) return bad("block too large");
  if (physical_bytes > logical_bytes && compression != CompressionType::off)
    return bad("stored size above logical size");
  for (unsigned i = 0; i < dva_count(); ++i) {
    if (dvas[i].vdev >= vdev_count) return bad("no such top-level vdev");
    if (dvas[i].gang != dvas[0].gang) return bad("gang and plain copies mixed");
    if (dvas[i].offset_bytes + dvas[i].allocated_bytes < dvas[i].offset_bytes)
      return bad("offset out of range");
  }
  return {};
}

BlockPointer BlockPointer::hole(DmuType type, std::uint8_t level, std::uint32_t logical_bytes,
                                std::uint64_t birth) {
  BlockPointer bp;
  if (birth == 0) return bp;
  bp.type = type;
  bp.level = level;
  bp.logical_bytes = logical_bytes;
  bp.logical_birth = birth;
  return bp;
}

std::string BlockPointer::describe() const {
  if (embedded)
    return fmt::format("embedded {} level {} {}L/{}P birth {}", name_of(type), level, logical_bytes,
                       physical_bytes, logical_birth);
  std::string text;
  for (unsigned i = 0; i < dva_count(); ++i)
    text += fmt::format("<{}:{:#x}:{:#x}{}> ", dvas[i].vdev, dvas[i].offset_bytes, dvas[i].allocated_bytes,
                        dvas[i].gang ? " gang" : "");
  if (text.empty()) text = "hole ";
  return text + fmt::format("{} level {} {}L/{}P {} {} birth {}/{}", name_of(type), level, logical_bytes,
                            physical_bytes, name_of(compression), name_of(checksum_type), logical_birth,
                            birth_on_disk());
}

}  // namespace tarn
