// FatZap: an extendible hash table over the blocks of an object (FORMAT.md logical 2.3 to 2.5):
//
//   hash: top `shift` bits -> pointer table -> leaf block, which covers all hashes with its prefix
//
// The table is the second half of block 0 while it fits, then blocks of its own. A leaf without room is split
// in two; a leaf whose prefix is as long as the table's index first doubles the table.
//
// The caller holds the object's content lock.
#pragma once

#include "libpool/object/object_set.h"
#include "libpool/zap/zap_leaf.h"

namespace tarn {

class FatZap {
 public:
  static Result<FatZap> open(Object& object);
  // Makes `object` (block size `1 << block_shift` already set) an empty fat ZAP.
  static Status format(Object& object, const Tx& tx, std::uint64_t salt, std::uint64_t norm_flags,
                       std::uint64_t flags);

  const ZapKeying& keying() const { return keying_; }
  std::uint64_t count() const { return entries_; }
  // The leaf of a hash: its block, and the leaf on it.
  struct Leaf {
    BufferRef block;
    ZapLeaf leaf;
  };
  Result<Leaf> leaf_for(std::uint64_t hash) const;

  // `cd`: nothing = the lowest free one. The name is not there yet.
  Status insert(const Tx& tx, std::uint64_t hash, std::optional<std::uint32_t> cd, std::string_view name,
                const ZapValue& value);
  Status remove(const Tx& tx, std::uint64_t hash, std::string_view name);
  // Replaces the value of an existing entry.
  Status replace(const Tx& tx, std::uint64_t hash, std::string_view name, const ZapValue& value);

  // A name as leaves store it: with its NUL, or the words of a key.
  Bytes stored_name(std::string_view name) const;

 private:
  explicit FatZap(Object& object) : object_(object) {}
  std::uint64_t table_index(std::uint64_t hash) const { return shift_ == 0 ? 0 : hash >> (64 - shift_); }
  // Block and byte offset of a table entry.
  std::pair<std::uint64_t, std::size_t> table_place(std::uint64_t index) const;
  Result<std::uint64_t> leaf_block_id(std::uint64_t hash) const;
  Result<std::pair<MutableBufferRef, ZapLeaf>> leaf_to_change(const Tx& tx, std::uint64_t block_id) const;
  Status split(const Tx& tx, std::uint64_t hash);
  Status grow_table(const Tx& tx);
  Status store_header(const Tx& tx);

  Object& object_;
  std::uint64_t block_bytes_ = 0;
  unsigned block_shift_ = 0;
  std::uint64_t table_block_ = 0, table_blocks_ = 0, shift_ = 0, next_table_ = 0, copied_ = 0;
  std::uint64_t free_block_ = 0, leaves_ = 0, entries_ = 0;
  ZapKeying keying_;
};

}  // namespace tarn
