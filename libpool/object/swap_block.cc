// Byte-swapping of whole blocks by the type of what they hold (FORMAT.md 13.3). The input is in foreign
// order; every length in it is checked after it was swapped.
#include <algorithm>

#include "libpool/object/dnode.h"
#include "libpool/object/object_set.h"

namespace tarn {

namespace {

template <typename T>
void swap_at(MutableByteView block, std::size_t at) {
  if (at + sizeof(T) > block.size()) return;
  T value;
  std::memcpy(&value, block.data() + at, sizeof value);
  value = byte_swap(value);
  std::memcpy(block.data() + at, &value, sizeof value);
}

template <typename T>
void swap_array(MutableByteView block) {
  for (std::size_t at = 0; at + sizeof(T) <= block.size(); at += sizeof(T)) swap_at<T>(block, at);
}

// Variable ACEs: u16 type, u16 flags, u32 mask, then a u64 fuid unless the flags name a special who; object
// ACEs carry 32 more bytes of GUIDs (FORMAT.md logical 4.11).
void swap_aces(MutableByteView aces) {
  constexpr std::uint16_t kWhoMask = 0x7040;
  for (std::size_t at = 0; at + 8 <= aces.size();) {
    swap_at<std::uint16_t>(aces, at);
    swap_at<std::uint16_t>(aces, at + 2);
    swap_at<std::uint32_t>(aces, at + 4);
    const auto type = load<std::uint16_t>(aces.data() + at, kHostOrder);
    const auto who = load<std::uint16_t>(aces.data() + at + 2, kHostOrder) & kWhoMask;
    at += 8;
    if (who == 0x1000 || who == 0x2040 || who == 0x4000) continue;
    swap_at<std::uint64_t>(aces, at);
    at += 8 + (type >= 5 && type <= 8 ? 32 : 0);
  }
}

// Old ACEs: u32 who, u32 mask, u16 flags, u16 type.
void swap_old_aces(MutableByteView aces) {
  for (std::size_t at = 0; at + 12 <= aces.size(); at += 12) {
    swap_at<std::uint32_t>(aces, at);
    swap_at<std::uint32_t>(aces, at + 4);
    swap_at<std::uint16_t>(aces, at + 8);
    swap_at<std::uint16_t>(aces, at + 10);
  }
}

// Old znode (FORMAT.md logical 4.4): u64 fields up to 176, then an ACL of 88 bytes in one of two forms.
void swap_znode(MutableByteView bonus) {
  constexpr std::size_t kAclAt = 176, kAcesAt = 192, kEnd = 264;
  if (bonus.size() < kEnd) return swap_u64_array(bonus.first(std::min(bonus.size(), kAclAt)));
  swap_u64_array(bonus.first(kAclAt));
  swap_at<std::uint64_t>(bonus, kAclAt);
  swap_at<std::uint32_t>(bonus, kAclAt + 8);
  swap_at<std::uint16_t>(bonus, kAclAt + 12);
  swap_at<std::uint16_t>(bonus, kAclAt + 14);
  const bool version1 = load<std::uint16_t>(bonus.data() + kAclAt + 12, kHostOrder) >= 1;
  version1 ? swap_aces(bonus.subspan(kAcesAt, kEnd - kAcesAt))
           : swap_old_aces(bonus.subspan(kAcesAt, kEnd - kAcesAt));
}

void swap_bonus(MutableByteView bonus, DmuType type) {
  switch (swap_class(type)) {
    case SwapClass::u64:
      return swap_u64_array(bonus);
    case SwapClass::znode:
      return swap_znode(bonus);
    default:
      return;  // SA knows its own order
  }
}

// One dnode at the start of `in`, which reaches to the end of its block. Returns how many slots it takes.
unsigned swap_dnode(MutableByteView in) {
  if (in.size() < kDnodeSlotBytes) return 1;
  swap_at<std::uint16_t>(in, 8);
  swap_at<std::uint16_t>(in, 10);
  swap_at<std::uint64_t>(in, 16);
  swap_at<std::uint64_t>(in, 24);
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(in[at]); };
  const unsigned slots =
      std::min<unsigned>(byte(12) + 1u, static_cast<unsigned>(in.size() / kDnodeSlotBytes));
  const MutableByteView whole = in.first(slots * kDnodeSlotBytes);
  const unsigned root_count = std::min<unsigned>(byte(3), kMaxDvas);
  const std::size_t bonus_at = kDnodeCoreBytes + root_count * kBlockPointerBytes;
  swap_u64_array(whole.subspan(kDnodeCoreBytes, root_count * kBlockPointerBytes));
  std::size_t end = whole.size();
  if (byte(7) & kDnodeSpill) {
    end -= kBlockPointerBytes;
    if (end >= bonus_at) swap_u64_array(whole.subspan(end));
  }
  const std::size_t bonus_bytes = load<std::uint16_t>(in.data() + 10, kHostOrder);
  if (bonus_at <= end)
    swap_bonus(whole.subspan(bonus_at, std::min(bonus_bytes, end - bonus_at)), static_cast<DmuType>(byte(4)));
  return slots;
}

void swap_dnode_block(MutableByteView block) {
  const std::size_t count = block.size() / kDnodeSlotBytes;
  for (std::size_t slot = 0; slot < count;) {
    const MutableByteView rest = block.subspan(slot * kDnodeSlotBytes);
    slot += rest[0] == std::byte{0} ? 1 : swap_dnode(rest);
  }
}

void swap_objset(MutableByteView block) {
  if (block.size() < 1024) return;
  swap_dnode(block.first(512));
  swap_u64_array(block.subspan(512, 208));  // ZIL header, type, flags; the MACs are bytes
  for (const std::size_t at : {1024u, 1536u, 2048u})
    if (at + kDnodeSlotBytes <= block.size()) swap_dnode(block.subspan(at, kDnodeSlotBytes));
}

void swap_micro_zap(MutableByteView block) {
  swap_array<std::uint64_t>(block.first(std::min<std::size_t>(block.size(), 24)));
  for (std::size_t at = 64; at + 64 <= block.size(); at += 64) {
    swap_at<std::uint64_t>(block, at);
    swap_at<std::uint32_t>(block, at + 8);
  }
}

void swap_zap_leaf(MutableByteView block) {
  constexpr std::size_t kHashAt = 48, kChunkBytes = 24;
  swap_array<std::uint64_t>(block.first(24));
  swap_at<std::uint32_t>(block, 24);
  for (const std::size_t at : {28u, 30u, 32u, 34u}) swap_at<std::uint16_t>(block, at);
  const std::size_t hash_bytes = block.size() / 32 * 2;
  if (kHashAt + hash_bytes > block.size()) return;
  swap_array<std::uint16_t>(block.subspan(kHashAt, hash_bytes));
  for (std::size_t at = kHashAt + hash_bytes; at + kChunkBytes <= block.size(); at += kChunkBytes) {
    if (block[at] == std::byte{252}) {
      for (const std::size_t field : {2u, 4u, 6u, 8u, 10u}) swap_at<std::uint16_t>(block, at + field);
      swap_at<std::uint32_t>(block, at + 12);
      swap_at<std::uint64_t>(block, at + 16);
    } else {
      swap_at<std::uint16_t>(block, at + 22);
    }
  }
}

void swap_zap(MutableByteView block) {
  if (block.size() < 512) return;
  const std::uint64_t kind = byte_swap(load<std::uint64_t>(block.data(), kHostOrder));
  if (kind == 0x8000000000000003ULL) return swap_micro_zap(block);
  if (kind == 0x8000000000000000ULL) return swap_zap_leaf(block);
  swap_u64_array(block);  // header or pointer table
}

}  // namespace

Status swap_block(MutableByteView block, DmuType type) {
  switch (swap_class(type)) {
    case SwapClass::u8:
      break;
    case SwapClass::u16:
      swap_array<std::uint16_t>(block);
      break;
    case SwapClass::u32:
      swap_array<std::uint32_t>(block);
      break;
    case SwapClass::u64:
      swap_u64_array(block);
      break;
    case SwapClass::zap:
      swap_zap(block);
      break;
    case SwapClass::dnode:
      swap_dnode_block(block);
      break;
    case SwapClass::objset:
      swap_objset(block);
      break;
    case SwapClass::znode:
      swap_znode(block);
      break;
    case SwapClass::old_acl:
      swap_old_aces(block);
      break;
    case SwapClass::acl:
      swap_aces(block);
      break;
    default:
      return Error(Errc::unsupported, "block of an unknown byte-swap class");
  }
  return {};
}

}  // namespace tarn
