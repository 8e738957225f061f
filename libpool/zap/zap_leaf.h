// ZapLeaf: one leaf block of a fat ZAP, worked on in place (FORMAT.md logical 2.4). The block may come from a
// damaged device: chunk numbers and chain lengths are checked at every step.
#pragma once

#include <cstdint>
#include <optional>

#include "libpool/zap/zap_hash.h"

namespace tarn {

class ZapLeaf {
 public:
  static constexpr std::uint16_t kEnd = 0xffff;
  struct Entry {
    std::uint16_t chunk = kEnd, next = kEnd, name_chunk = kEnd, name_count = 0, value_chunk = kEnd,
                  value_count = 0;
    std::uint8_t integer_bytes = 8;
    std::uint32_t cd = 0;
    std::uint64_t hash = 0;
  };

  // A view of a stored leaf; `block` outlives it. Only leaves opened on a mutable block may be changed.
  static Result<ZapLeaf> open(ByteView block);
  static Result<ZapLeaf> open(MutableByteView block);
  // Makes `block` an empty leaf.
  static ZapLeaf format(MutableByteView block, std::uint64_t prefix, unsigned prefix_bits, bool sorted_by_cd);

  std::uint64_t prefix() const { return get<std::uint64_t>(16); }
  unsigned prefix_bits() const { return get<std::uint16_t>(32); }
  unsigned entry_count() const { return get<std::uint16_t>(30); }
  bool covers(std::uint64_t hash) const {
    return prefix_bits() == 0 || hash >> (64 - prefix_bits()) == prefix();
  }

  // The entry whose stored name (with its NUL, or key words) is `stored`; nothing if there is none.
  Result<std::optional<Entry>> find(std::uint64_t hash, ByteView stored) const;
  // Calls visit(entry) for every entry with this hash, by rising cd; it returns true to stop.
  template <typename Visit>
  Status for_hash(std::uint64_t hash, Visit visit) const {
    unsigned steps = 0;
    for (std::uint16_t chunk = bucket(hash); chunk != kEnd;) {
      if (++steps > chunks_) return Error(Errc::corrupt, "ZAP leaf: a chain loops");
      const Entry entry = TRY(entry_at(chunk));
      if (entry.hash == hash && visit(entry)) return {};
      chunk = entry.next;
    }
    return {};
  }
  // Every entry, in chunk order.
  template <typename Visit>
  Status for_each(Visit visit) const {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      if (type_at(chunk) != kEntryType) continue;
      TRY(visit(TRY(entry_at(static_cast<std::uint16_t>(chunk)))));
    }
    return {};
  }
  Result<std::uint32_t> free_cd(std::uint64_t hash) const;
  // Stored bytes of name and value.
  Result<Bytes> name_of(const Entry& entry, bool u64_keys) const;
  Result<Bytes> value_of(const Entry& entry) const;
  // Integers of the value without a copy in between, up to `limit`.
  Result<ZapValue> integers_of(const Entry& entry) const;
  Result<std::uint64_t> first_integer(const Entry& entry) const;

  // False if it has no room.
  Result<bool> insert(std::uint64_t hash, std::uint32_t cd, ByteView stored_name, std::uint16_t name_count,
                      std::uint8_t integer_bytes, ByteView stored_value);
  Status remove(const Entry& entry);
  // Overwrites a value of the same size and integer size.
  Status overwrite_value(const Entry& entry, ByteView stored_value);
  // Moves the upper half of the hash range into `other`, a fresh leaf's block.
  Status split_into(MutableByteView other, bool u64_keys);

  // Whether an entry of these sizes fits an empty leaf of `block_bytes`.
  static bool fits(std::size_t block_bytes, std::size_t name_bytes, std::size_t value_bytes);

 private:
  static constexpr std::size_t kHashAt = 48, kChunkBytes = 24, kArrayBytes = 21;
  static constexpr std::uint8_t kArrayType = 251, kEntryType = 252, kFreeType = 253;

  ZapLeaf(const std::byte* data, std::size_t size);
  static Status check(ByteView block);
  template <typename T>
  T get(std::size_t at) const {
    return load<T>(data_ + at, kHostOrder);
  }
  template <typename T>
  void put(std::size_t at, T value) {
    store<T>(writable_ + at, value, kHostOrder);
  }
  std::size_t chunk_at(unsigned chunk) const { return kHashAt + hash_bytes_ + chunk * kChunkBytes; }
  std::uint8_t type_at(unsigned chunk) const { return static_cast<std::uint8_t>(data_[chunk_at(chunk)]); }
  std::size_t bucket_at(std::uint64_t hash) const;
  std::uint16_t bucket(std::uint64_t hash) const { return get<std::uint16_t>(bucket_at(hash)); }
  Result<Entry> entry_at(std::uint16_t chunk) const;
  Status link(std::uint16_t chunk, std::uint64_t hash, std::uint32_t cd);
  // Calls visit(place, bytes) for the data parts of an array.
  template <typename Visit>
  Status walk_array(std::uint16_t chunk, std::size_t bytes, Visit visit) const;
  Result<std::uint16_t> take_chunk();
  Result<std::uint16_t> store_array(ByteView bytes);
  void free_chunk(std::uint16_t chunk);
  Status free_array(std::uint16_t chunk, std::size_t bytes);

  const std::byte* data_;
  std::byte* writable_ = nullptr;
  std::size_t size_;
  unsigned shift_;
  std::size_t hash_bytes_;
  unsigned chunks_;
};

}  // namespace tarn
