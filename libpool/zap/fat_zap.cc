#include "libpool/zap/fat_zap.h"

#include <fmt/format.h>

#include <bit>

namespace tarn {

namespace {

constexpr std::uint64_t kMagic = 0x2F52AB2ABULL;
constexpr std::size_t kNameLimit = 256, kDirectoryNameLimit = 1024, kValueLimit = 8192;
constexpr std::size_t kTableBlockAt = 16, kTableBlocksAt = 24, kShiftAt = 32, kNextTableAt = 40,
                      kCopiedAt = 48, kFreeBlockAt = 56, kLeavesAt = 64, kEntriesAt = 72, kSaltAt = 80,
                      kNormFlagsAt = 88, kFlagsAt = 96;

Error damaged(const std::string& what) { return Error(Errc::corrupt, "fat ZAP: " + what); }

Bytes stored_integers(const ZapValue& value) {
  Bytes out;
  out.reserve(value.integers.size() * value.integer_bytes);
  for (const std::uint64_t integer : value.integers)
    for (int shift = (value.integer_bytes - 1) * 8; shift >= 0; shift -= 8)
      out.push_back(static_cast<std::byte>(integer >> shift));
  return out;
}

}  // namespace

Result<FatZap> FatZap::open(Object& object) {
  const BufferRef block = TRY(object.read_block(0));
  FatZap zap(object);
  zap.block_bytes_ = block->size();
  if (!std::has_single_bit(zap.block_bytes_) || zap.block_bytes_ < 512 || zap.block_bytes_ > (1 << 20))
    return damaged(fmt::format("blocks of {} bytes", zap.block_bytes_));
  zap.block_shift_ = static_cast<unsigned>(std::countr_zero(zap.block_bytes_));
  auto word = [&](std::size_t at) { return load<std::uint64_t>(block->data() + at, kHostOrder); };
  if (word(0) != kFatZapType || word(8) != kMagic) return damaged("bad header");
  zap.table_block_ = word(kTableBlockAt);
  zap.table_blocks_ = word(kTableBlocksAt);
  zap.shift_ = word(kShiftAt);
  zap.next_table_ = word(kNextTableAt);
  zap.copied_ = word(kCopiedAt);
  zap.free_block_ = word(kFreeBlockAt);
  zap.leaves_ = word(kLeavesAt);
  zap.entries_ = word(kEntriesAt);
  zap.keying_ = {.salt = word(kSaltAt), .norm_flags = word(kNormFlagsAt), .flags = word(kFlagsAt)};
  // The table must be exactly as long as its shift says, and lie among the blocks in use.
  const bool embedded = zap.table_blocks_ == 0;
  if (zap.shift_ > 48 || (embedded && zap.shift_ != zap.block_shift_ - 4))
    return damaged(fmt::format("pointer table shift {}", zap.shift_));
  if (!embedded && (zap.shift_ < zap.block_shift_ - 3 ||
                    zap.table_blocks_ != std::uint64_t{1} << (zap.shift_ - (zap.block_shift_ - 3)) ||
                    zap.table_block_ == 0 || zap.table_block_ >= zap.free_block_ ||
                    zap.table_blocks_ > zap.free_block_ - zap.table_block_))
    return damaged("pointer table out of bounds");
  return zap;
}

Status FatZap::format(Object& object, const Tx& tx, std::uint64_t salt, std::uint64_t norm_flags,
                      std::uint64_t flags) {
  FatZap zap(object);
  zap.block_bytes_ = object.info().block_bytes;
  zap.block_shift_ = static_cast<unsigned>(std::countr_zero(zap.block_bytes_));
  zap.shift_ = zap.block_shift_ - 4;
  zap.free_block_ = 2;
  zap.leaves_ = 1;
  Buffer header = Buffer::zeroed(zap.block_bytes_);
  store(header.data(), kFatZapType, kHostOrder);
  store(header.data() + 8, kMagic, kHostOrder);
  store(header.data() + kSaltAt, salt, kHostOrder);
  store(header.data() + kNormFlagsAt, norm_flags, kHostOrder);
  store(header.data() + kFlagsAt, flags, kHostOrder);
  for (std::size_t at = zap.block_bytes_ / 2; at < zap.block_bytes_; at += 8)
    store<std::uint64_t>(header.data() + at, 1, kHostOrder);
  Buffer leaf = Buffer::zeroed(zap.block_bytes_);
  ZapLeaf::format(leaf.span(), 0, 0, norm_flags != 0);
  TRY(object.write_block(tx, 0, std::move(header)));
  TRY(object.write_block(tx, 1, std::move(leaf)));
  return zap.store_header(tx);
}

Status FatZap::store_header(const Tx& tx) {
  const MutableBufferRef block = TRY(object_.modify_block(tx, 0));
  auto put = [&](std::size_t at, std::uint64_t value) { store(block->data() + at, value, kHostOrder); };
  put(kTableBlockAt, table_block_);
  put(kTableBlocksAt, table_blocks_);
  put(kShiftAt, shift_);
  put(kNextTableAt, next_table_);
  put(kCopiedAt, copied_);
  put(kFreeBlockAt, free_block_);
  put(kLeavesAt, leaves_);
  put(kEntriesAt, entries_);
  return {};
}

std::pair<std::uint64_t, std::size_t> FatZap::table_place(std::uint64_t index) const {
  if (table_blocks_ == 0) return {0, block_bytes_ / 2 + index * 8};
  const unsigned per_block_shift = block_shift_ - 3;
  return {table_block_ + (index >> per_block_shift),
          (index & ((std::uint64_t{1} << per_block_shift) - 1)) * 8};
}

Result<std::uint64_t> FatZap::leaf_block_id(std::uint64_t hash) const {
  const auto [block_id, at] = table_place(table_index(hash));
  const BufferRef block = TRY(object_.read_block(block_id));
  if (at + 8 > block->size()) return damaged("pointer table block of a wrong size");
  const auto leaf = load<std::uint64_t>(block->data() + at, kHostOrder);
  if (leaf == 0 || leaf >= free_block_) return damaged(fmt::format("pointer to block {}", leaf));
  return leaf;
}

Result<FatZap::Leaf> FatZap::leaf_for(std::uint64_t hash) const {
  BufferRef block = TRY(object_.read_block(TRY(leaf_block_id(hash))));
  if (block->size() != block_bytes_) return damaged("leaf of a wrong size");
  ZapLeaf leaf = TRY(ZapLeaf::open(block->view()));
  if (!leaf.covers(hash) || leaf.prefix_bits() > shift_)
    return damaged("pointer table leads to a wrong leaf");
  return Leaf{.block = std::move(block), .leaf = leaf};
}

Result<std::pair<MutableBufferRef, ZapLeaf>> FatZap::leaf_to_change(const Tx& tx,
                                                                    std::uint64_t block_id) const {
  MutableBufferRef block = TRY(object_.modify_block(tx, block_id));
  if (block->size() != block_bytes_) return damaged("leaf of a wrong size");
  ZapLeaf leaf = TRY(ZapLeaf::open(block->span()));
  return std::pair(std::move(block), leaf);
}

Bytes FatZap::stored_name(std::string_view name) const {
  const ByteView bytes = as_bytes(name);
  Bytes out(bytes.begin(), bytes.end());
  if (!(keying_.flags & kZapU64Keys)) out.push_back(std::byte{0});
  return out;
}

Status FatZap::insert(const Tx& tx, std::uint64_t hash, std::optional<std::uint32_t> cd,
                      std::string_view name, const ZapValue& value) {
  const Bytes stored = stored_name(name);
  const Bytes integers = stored_integers(value);
  const std::size_t limit = object_.info().type == DmuType::directory ? kDirectoryNameLimit : kNameLimit;
  if (stored.size() > limit) return Error(Errc::name_too_long, fmt::format("name of {} bytes", name.size()));
  if (integers.size() > kValueLimit || !ZapLeaf::fits(block_bytes_, stored.size(), integers.size()))
    return Error(Errc::too_large, fmt::format("ZAP value of {} bytes", integers.size()));
  const auto name_count =
      static_cast<std::uint16_t>(keying_.flags & kZapU64Keys ? stored.size() / 8 : stored.size());
  // Each round halves the range of the leaf.
  for (unsigned round = 0; round <= 64; ++round) {
    (void)TRY(leaf_for(hash));  // checks that the table leads to the right leaf
    auto [block, leaf] = TRY(leaf_to_change(tx, TRY(leaf_block_id(hash))));
    const std::uint32_t entry_cd = cd ? *cd : TRY(leaf.free_cd(hash));
    if (TRY(leaf.insert(hash, entry_cd, stored, name_count, value.integer_bytes, integers))) {
      ++entries_;
      return store_header(tx);
    }
    TRY(split(tx, hash));
  }
  return Error(Errc::no_space, "ZAP: too many names with one hash");
}

Status FatZap::remove(const Tx& tx, std::uint64_t hash, std::string_view name) {
  (void)TRY(leaf_for(hash));
  auto [block, leaf] = TRY(leaf_to_change(tx, TRY(leaf_block_id(hash))));
  const std::optional<ZapLeaf::Entry> entry = TRY(leaf.find(hash, stored_name(name)));
  if (!entry) return Error(Errc::not_found, fmt::format("no entry '{}'", name));
  TRY(leaf.remove(*entry));
  if (entries_ > 0) --entries_;
  return store_header(tx);
}

Status FatZap::replace(const Tx& tx, std::uint64_t hash, std::string_view name, const ZapValue& value) {
  (void)TRY(leaf_for(hash));
  auto [block, leaf] = TRY(leaf_to_change(tx, TRY(leaf_block_id(hash))));
  const std::optional<ZapLeaf::Entry> entry = TRY(leaf.find(hash, stored_name(name)));
  if (!entry) return Error(Errc::not_found, fmt::format("no entry '{}'", name));
  if (entry->integer_bytes == value.integer_bytes && entry->value_count == value.integers.size())
    return leaf.overwrite_value(*entry, stored_integers(value));
  const Bytes integers = stored_integers(value);
  if (integers.size() > kValueLimit ||
      !ZapLeaf::fits(block_bytes_, stored_name(name).size(), integers.size()))
    return Error(Errc::too_large, fmt::format("ZAP value of {} bytes", integers.size()));
  TRY(leaf.remove(*entry));
  --entries_;
  return insert(tx, hash, entry->cd, name, value);
}

Status FatZap::split(const Tx& tx, std::uint64_t hash) {
  const std::uint64_t old_id = TRY(leaf_block_id(hash));
  const unsigned old_bits = TRY(leaf_for(hash)).leaf.prefix_bits();
  if (old_bits >= shift_) TRY(grow_table(tx));
  if (next_table_ != 0) TRY(grow_table(tx));  // another implementation left it half grown
  auto [block, leaf] = TRY(leaf_to_change(tx, old_id));
  Buffer upper = Buffer::zeroed(block_bytes_);
  TRY(leaf.split_into(upper.span(), keying_.flags & kZapU64Keys));
  const std::uint64_t new_id = free_block_++;
  TRY(object_.write_block(tx, new_id, std::move(upper)));
  ++leaves_;
  const std::uint64_t upper_prefix = leaf.prefix() | 1;
  const unsigned spare_bits = static_cast<unsigned>(shift_) - leaf.prefix_bits();
  for (std::uint64_t i = 0; i < std::uint64_t{1} << spare_bits; ++i) {
    const auto [table, at] = table_place((upper_prefix << spare_bits) + i);
    const MutableBufferRef pointers = TRY(object_.modify_block(tx, table));
    if (at + 8 > pointers->size()) return damaged("pointer table block of a wrong size");
    store(pointers->data() + at, new_id, kHostOrder);
  }
  return store_header(tx);
}

// Doubles the pointer table, all at once. The current table stays the truth until then: a copy that another
// implementation has begun is written anew.
Status FatZap::grow_table(const Tx& tx) {
  if (shift_ + 2 >= keying_.hash_bits()) return Error(Errc::no_space, "ZAP: pointer table at its limit");
  const std::uint64_t per_block = std::uint64_t{1} << (block_shift_ - 3);
  const std::uint64_t old_block = table_block_, old_blocks = table_blocks_;
  const std::uint64_t new_blocks = old_blocks == 0 ? 1 : old_blocks * 2;
  const std::uint64_t new_block = next_table_ ? next_table_ : free_block_;
  if (next_table_ && (next_table_ >= free_block_ || new_blocks > free_block_ - next_table_))
    return damaged("growing table out of bounds");
  if (!next_table_) free_block_ += new_blocks;
  const std::uint64_t old_entries = std::uint64_t{1} << shift_;
  for (std::uint64_t block = 0; block < new_blocks; ++block) {
    Buffer out = Buffer::zeroed(block_bytes_);
    BufferRef source;
    std::uint64_t source_id = UINT64_MAX;
    for (std::uint64_t i = 0; i < per_block; ++i) {
      const std::uint64_t index = (block * per_block + i) / 2;
      if (index >= old_entries) break;
      const auto [id, at] = table_place(index);
      if (id != source_id) {
        source = TRY(object_.read_block(id));
        source_id = id;
      }
      if (at + 8 > source->size()) return damaged("pointer table block of a wrong size");
      std::memcpy(out.data() + i * 8, source->data() + at, 8);
    }
    TRY(object_.write_block(tx, new_block + block, std::move(out)));
  }
  table_block_ = new_block;
  table_blocks_ = new_blocks;
  ++shift_;
  next_table_ = copied_ = 0;
  if (old_blocks) TRY(object_.free_range(tx, old_block * block_bytes_, old_blocks * block_bytes_));
  return store_header(tx);
}

}  // namespace tarn
