// Block pointers and DVAs: where a block lies, how it is stored, and what it must check to
// (FORMAT.md 6). Decoded from and encoded to 128 bytes in the byte order of the block they lie in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"
#include "libpool/block/dmu_type.h"
#include "libpool/checksum/checksum.h"
#include "libpool/compress/compress.h"

namespace tarn {

inline constexpr unsigned kSectorShift = 9;
inline constexpr std::uint64_t kSectorBytes = 512;
inline constexpr std::size_t kBlockPointerBytes = 128;
inline constexpr std::uint64_t kMaxBlockBytes = 16u << 20;
inline constexpr std::uint64_t kOldMaxBlockBytes = 128u << 10;
inline constexpr std::size_t kMaxEmbeddedBytes = 112;
inline constexpr unsigned kMaxDvas = 3;

// Data virtual address: a place on a top-level vdev. Offsets do not include the 4 MiB of labels.
struct Dva {
  std::uint32_t vdev = 0;             // top-level vdev id, 24 bits
  std::uint64_t offset_bytes = 0;
  std::uint64_t allocated_bytes = 0;  // with parity and padding; of a gang block with all its children
  bool gang = false;

  bool empty() const { return allocated_bytes == 0 && offset_bytes == 0 && vdev == 0 && !gang; }
  static Dva decode(std::uint64_t word0, std::uint64_t word1);
  void encode(std::uint64_t& word0, std::uint64_t& word1) const;
  friend bool operator==(const Dva&, const Dva&) = default;
};

enum class EmbeddedType : std::uint8_t { data = 0, reserved = 1, redacted = 2 };

struct BlockPointer {
  std::array<Dva, kMaxDvas> dvas{};
  std::uint32_t logical_bytes = 0;    // LSIZE
  std::uint32_t physical_bytes = 0;   // PSIZE
  CompressionType compression = CompressionType::inherit;
  ChecksumType checksum_type = ChecksumType::inherit;
  DmuType type = DmuType::none;
  std::uint8_t level = 0;
  bool embedded = false;
  bool crypt = false;
  bool dedup = false;
  bool rewritten = false;             // prop2 bit 63
  ByteOrder byte_order = kHostOrder;  // of the block's content
  std::uint64_t physical_birth = 0;   // as stored: 0 = same as logical_birth
  std::uint64_t logical_birth = 0;
  std::uint64_t fill = 0;
  ChecksumWords checksum{};
  // Embedded only: what stands in place of DVAs and checksum; physical_bytes of it count.
  EmbeddedType embedded_type = EmbeddedType::data;
  std::array<std::byte, kMaxEmbeddedBytes> payload{};

  bool is_hole() const { return !embedded && dvas[0].allocated_bytes == 0 && dvas[0].offset_bytes == 0 && dvas[0].vdev == 0 && !dvas[0].gang; }
  bool is_gang() const { return !embedded && dvas[0].gang; }
  unsigned dva_count() const;
  std::uint64_t birth_on_disk() const { return physical_birth ? physical_birth : logical_birth; }
  // What decides whether a free is of the same txg, and which deadlist (FORMAT.md 6.2).
  std::uint64_t birth_for_freeing() const { return rewritten ? birth_on_disk() : logical_birth; }
  std::uint64_t fill_count() const { return embedded ? 1 : (crypt && level == 0 ? fill & 0xffffffff : fill); }
  std::uint64_t allocated_bytes() const;  // over all DVAs; 0 for holes and embedded ones

  // Every bit pattern decodes; check() says whether it makes sense as one that came from a device.
  static BlockPointer decode(std::span<const std::byte, kBlockPointerBytes> in, ByteOrder order);
  void encode(std::span<std::byte, kBlockPointerBytes> out, ByteOrder order) const;
  // Sizes, enums and level within bounds; DVA vdev ids below `vdev_count`.
  Status check(std::uint32_t vdev_count) const;
  // A hole that remembers what it was (hole_birth), or all zero when birth is 0.
  static BlockPointer hole(DmuType type, std::uint8_t level, std::uint32_t logical_bytes, std::uint64_t birth);
  std::string describe() const;  // one line for error texts: DVAs, sizes, birth
  friend bool operator==(const BlockPointer&, const BlockPointer&) = default;
};

// Names a block for error reports and scans (FORMAT.md logical 1.3).
struct Bookmark {
  std::uint64_t objset = 0;
  std::uint64_t object = 0;
  std::int64_t level = 0;
  std::uint64_t blkid = 0;
  friend bool operator==(const Bookmark&, const Bookmark&) = default;
};

}  // namespace tarn
