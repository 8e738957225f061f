// MicroZap: a ZAP of one block with a fixed slot per entry: 64 bytes, one u64 each (FORMAT.md logical 2.1).
// Works on the bytes of the block in place.
#pragma once

#include "libpool/zap/zap_hash.h"

namespace tarn {

class MicroZap {
 public:
  static constexpr std::size_t kEntryBytes = 64, kMaxNameBytes = 49, kMaxBlockBytes = 128 << 10;
  struct Found {
    std::size_t at = 0;
    std::uint64_t value = 0;
  };

  explicit MicroZap(ByteView block) : block_(block) {}
  ZapKeying keying() const { return {.salt = word(8), .norm_flags = word(16), .flags = 0}; }
  std::optional<Found> find(std::string_view name) const;
  std::string_view name_at(std::size_t at) const;
  std::uint64_t value_at(std::size_t at) const { return load<std::uint64_t>(block_.data() + at, kHostOrder); }
  std::uint32_t cd_at(std::size_t at) const {
    return load<std::uint32_t>(block_.data() + at + 8, kHostOrder);
  }
  std::uint64_t count() const;
  // Calls visit(place) for each used slot; it returns true to stop.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t at = kEntryBytes; at + kEntryBytes <= block_.size(); at += kEntryBytes)
      if (block_[at + kNameAt] != std::byte{0} && visit(at)) return;
  }
  // Place of a free slot.
  std::optional<std::size_t> free_slot() const;
  // The cd for a new name with this hash; nothing when so many share it that only a fat ZAP may take more.
  Result<std::optional<std::uint32_t>> free_cd(std::uint64_t hash) const;

  static void format(MutableByteView block, std::uint64_t salt, std::uint64_t norm_flags);
  static void put(MutableByteView block, std::size_t at, std::string_view name, std::uint32_t cd,
                  std::uint64_t value);
  static void set_value(MutableByteView block, std::size_t at, std::uint64_t value) {
    store(block.data() + at, value, kHostOrder);
  }
  static void clear(MutableByteView block, std::size_t at) { std::memset(block.data() + at, 0, kEntryBytes); }

 private:
  static constexpr std::size_t kNameAt = 14;
  std::uint64_t word(std::size_t at) const { return load<std::uint64_t>(block_.data() + at, kHostOrder); }
  ByteView block_;
};

}  // namespace tarn
