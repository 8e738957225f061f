// Attributes of one object as stored in its bonus and spill block (FORMAT.md logical 4.3).
//
// Either part has its own header: magic (which tells the byte order), layout number, lengths of the
// variable-size attributes. Values in memory are in host order; what we write is in host order.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "libdataset/sa/sa_registry.h"
#include "libpool/base/buffer.h"

namespace tarn {

inline constexpr std::size_t kMaxSaBytes = 128u << 10;  // all attributes of an object
inline constexpr std::size_t kMaxSaValueBytes = 65535;

// An object's attributes in storage order.
class SaValues {
 public:
  struct Item {
    std::uint16_t number;
    Bytes value;
  };

  const std::vector<Item>& items() const { return items_; }
  const Bytes* find(std::uint16_t number) const;
  // Replaces in place, or appends.
  void set(std::uint16_t number, ByteView value);
  void set_u64(std::uint16_t number, std::uint64_t value);
  // Replaces in place, or inserts before position `index`.
  void insert(std::size_t index, std::uint16_t number, ByteView value);
  bool remove(std::uint16_t number);

 private:
  std::vector<Item> items_;
};

// `bonus_order` is not needed: the magic tells. An empty bonus with a spill is legal.
Result<SaValues> decode_sa(const SaRegistry& registry, ByteView bonus, std::optional<ByteView> spill);

struct SaImage {
  Bytes bonus;
  std::optional<Buffer> spill;  // padded to 512
};
// `bonus_capacity_bytes`: of the dnode without a spill block. Errc::too_large when the attributes exceed
// kMaxSaBytes.
Result<SaImage> encode_sa(SaRegistry& registry, const Tx& tx, const SaValues& values,
                          std::size_t bonus_capacity_bytes);
// Writes an image to its object, in the order that always fits.
Status store_sa(Object& object, const Tx& tx, SaImage image);

// The part that every layout of files begins with, at fixed places behind the header.
inline constexpr std::size_t kSaModeAt = 0, kSaSizeAt = 8, kSaGenAt = 16, kSaUidAt = 24, kSaGidAt = 32,
                             kSaParentAt = 40, kSaFlagsAt = 48, kSaAtimeAt = 56, kSaMtimeAt = 72,
                             kSaCtimeAt = 88, kSaCrtimeAt = 104, kSaLinksAt = 120, kSaFixedBytes = 128,
                             kSaProjidAt = 128;
// The order of the fixed part.
inline constexpr SaAttr kSaFixedOrder[] = {SaAttr::mode,  SaAttr::size,   SaAttr::gen,    SaAttr::uid,
                                           SaAttr::gid,   SaAttr::parent, SaAttr::flags,  SaAttr::atime,
                                           SaAttr::mtime, SaAttr::ctime,  SaAttr::crtime, SaAttr::links};

struct SaHeader {
  ByteOrder order = kHostOrder;
  std::uint16_t layout = 0;
  std::size_t bytes = 0;  // of the header
};
Result<SaHeader> decode_sa_header(ByteView part);

}  // namespace tarn
