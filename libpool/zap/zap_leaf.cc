#include "libpool/zap/zap_leaf.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tarn {

namespace {

constexpr std::uint32_t kLeafMagic = 0x2AB1EAF;
constexpr std::size_t kMaxNameBytes = 1024, kMaxValueBytes = 8192;

Error damaged(const char* what) { return Error(Errc::corrupt, std::string("ZAP leaf: ") + what); }

}  // namespace

ZapLeaf::ZapLeaf(const std::byte* data, std::size_t size)
    : data_(data),
      size_(size),
      shift_(static_cast<unsigned>(std::countr_zero(size))),
      hash_bytes_((size >> 5) * 2),
      chunks_(static_cast<unsigned>((size - hash_bytes_) / kChunkBytes - 2)) {}

Status ZapLeaf::check(ByteView block) {
  if (block.size() < 512 || block.size() > (1 << 20) || !std::has_single_bit(block.size()))
    return damaged("block size");
  if (load<std::uint64_t>(block.data(), kHostOrder) != kLeafType ||
      load<std::uint32_t>(block.data() + 24, kHostOrder) != kLeafMagic)
    return damaged("not a leaf");
  if (load<std::uint16_t>(block.data() + 32, kHostOrder) > 48) return damaged("prefix longer than any hash");
  return {};
}

Result<ZapLeaf> ZapLeaf::open(ByteView block) {
  TRY(check(block));
  return ZapLeaf(block.data(), block.size());
}

Result<ZapLeaf> ZapLeaf::open(MutableByteView block) {
  TRY(check(block));
  ZapLeaf leaf(block.data(), block.size());
  leaf.writable_ = block.data();
  return leaf;
}

ZapLeaf ZapLeaf::format(MutableByteView block, std::uint64_t prefix, unsigned prefix_bits,
                        bool sorted_by_cd) {
  std::memset(block.data(), 0, block.size());
  ZapLeaf leaf(block.data(), block.size());
  leaf.writable_ = block.data();
  leaf.put<std::uint64_t>(0, kLeafType);
  leaf.put<std::uint64_t>(16, prefix);
  leaf.put<std::uint32_t>(24, kLeafMagic);
  leaf.put<std::uint16_t>(28, static_cast<std::uint16_t>(leaf.chunks_));
  leaf.put<std::uint16_t>(32, static_cast<std::uint16_t>(prefix_bits));
  leaf.put<std::uint16_t>(34, 0);
  leaf.put<std::uint8_t>(36, sorted_by_cd ? 1 : 0);
  std::memset(block.data() + kHashAt, 0xff, leaf.hash_bytes_);
  for (unsigned chunk = 0; chunk < leaf.chunks_; ++chunk) {
    leaf.put<std::uint8_t>(leaf.chunk_at(chunk), kFreeType);
    leaf.put<std::uint16_t>(leaf.chunk_at(chunk) + 22,
                            chunk + 1 == leaf.chunks_ ? kEnd : static_cast<std::uint16_t>(chunk + 1));
  }
  return leaf;
}

std::size_t ZapLeaf::bucket_at(std::uint64_t hash) const {
  // The bits of the hash that follow the prefix.
  const unsigned bits = shift_ - 5;
  const std::uint64_t index = (hash >> (64 - bits - prefix_bits())) & ((std::uint64_t{1} << bits) - 1);
  return kHashAt + index * 2;
}

Result<ZapLeaf::Entry> ZapLeaf::entry_at(std::uint16_t chunk) const {
  if (chunk >= chunks_ || type_at(chunk) != kEntryType) return damaged("a chain leads to no entry");
  const std::size_t at = chunk_at(chunk);
  Entry e{.chunk = chunk,
          .next = get<std::uint16_t>(at + 2),
          .name_chunk = get<std::uint16_t>(at + 4),
          .name_count = get<std::uint16_t>(at + 6),
          .value_chunk = get<std::uint16_t>(at + 8),
          .value_count = get<std::uint16_t>(at + 10),
          .integer_bytes = get<std::uint8_t>(at + 1),
          .cd = get<std::uint32_t>(at + 12),
          .hash = get<std::uint64_t>(at + 16)};
  if (e.integer_bytes != 1 && e.integer_bytes != 2 && e.integer_bytes != 4 && e.integer_bytes != 8)
    return damaged("integer size");
  return e;
}

template <typename Visit>
Status ZapLeaf::walk_array(std::uint16_t chunk, std::size_t bytes, Visit visit) const {
  // Bounded by `bytes`, which is at most 16 bits times 8.
  while (bytes > 0) {
    if (chunk >= chunks_ || type_at(chunk) != kArrayType) return damaged("an array ends early");
    const std::size_t part = std::min(bytes, kArrayBytes);
    if (!visit(chunk_at(chunk) + 1, part)) return {};
    bytes -= part;
    chunk = get<std::uint16_t>(chunk_at(chunk) + 22);
  }
  return {};
}

Result<std::optional<ZapLeaf::Entry>> ZapLeaf::find(std::uint64_t hash, ByteView stored) const {
  std::optional<Entry> found;
  Status broken;
  TRY(for_hash(hash, [&](const Entry& entry) {
    // Names count bytes, keys count words.
    if (entry.name_count != stored.size() && entry.name_count * std::size_t{8} != stored.size()) return false;
    std::size_t at = 0;
    bool same = true;
    Status walked = walk_array(entry.name_chunk, stored.size(), [&](std::size_t place, std::size_t part) {
      same = std::memcmp(data_ + place, stored.data() + at, part) == 0;
      at += part;
      return same;
    });
    if (!walked) {
      broken = std::move(walked);
      return true;
    }
    if (same) found = entry;
    return same;
  }));
  if (!broken) return std::move(broken).error();
  return found;
}

Result<std::uint32_t> ZapLeaf::free_cd(std::uint64_t hash) const {
  std::vector<std::uint32_t> taken;
  TRY(for_hash(hash, [&](const Entry& entry) {
    taken.push_back(entry.cd);
    return false;
  }));
  std::sort(taken.begin(), taken.end());
  std::uint32_t cd = 0;
  for (const std::uint32_t used : taken)
    if (used == cd) ++cd;
  return cd;
}

Result<Bytes> ZapLeaf::name_of(const Entry& entry, bool u64_keys) const {
  const std::size_t bytes = entry.name_count * std::size_t{u64_keys ? 8u : 1u};
  if (bytes > kMaxNameBytes) return damaged("name too long");
  Bytes out;
  out.reserve(bytes);
  TRY(walk_array(entry.name_chunk, bytes, [&](std::size_t place, std::size_t part) {
    out.insert(out.end(), data_ + place, data_ + place + part);
    return true;
  }));
  return out;
}

Result<Bytes> ZapLeaf::value_of(const Entry& entry) const {
  const std::size_t bytes = entry.value_count * std::size_t{entry.integer_bytes};
  if (bytes > kMaxValueBytes) return damaged("value too long");
  Bytes out;
  out.reserve(bytes);
  TRY(walk_array(entry.value_chunk, bytes, [&](std::size_t place, std::size_t part) {
    out.insert(out.end(), data_ + place, data_ + place + part);
    return true;
  }));
  return out;
}

Result<ZapValue> ZapLeaf::integers_of(const Entry& entry) const {
  const Bytes bytes = TRY(value_of(entry));
  ZapValue value{.integer_bytes = entry.integer_bytes, .integers = {}};
  value.integers.reserve(entry.value_count);
  for (std::size_t at = 0; at + entry.integer_bytes <= bytes.size(); at += entry.integer_bytes) {
    std::uint64_t integer = 0;
    for (std::size_t i = 0; i < entry.integer_bytes; ++i)
      integer = integer << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    value.integers.push_back(integer);
  }
  return value;
}

Result<std::uint64_t> ZapLeaf::first_integer(const Entry& entry) const {
  if (entry.value_count == 0) return std::uint64_t{0};
  std::uint64_t integer = 0;
  TRY(walk_array(entry.value_chunk, entry.integer_bytes, [&](std::size_t place, std::size_t part) {
    for (std::size_t i = 0; i < part; ++i)
      integer = integer << 8 | static_cast<std::uint8_t>(data_[place + i]);
    return true;
  }));
  return integer;
}

bool ZapLeaf::fits(std::size_t block_bytes, std::size_t name_bytes, std::size_t value_bytes) {
  const std::size_t chunks = (block_bytes - (block_bytes >> 5) * 2) / kChunkBytes - 2;
  return 1 + div_ceil(name_bytes, kArrayBytes) + div_ceil(value_bytes, kArrayBytes) <= chunks;
}

Result<std::uint16_t> ZapLeaf::take_chunk() {
  const std::uint16_t chunk = get<std::uint16_t>(34);
  const std::uint16_t free_count = get<std::uint16_t>(28);
  if (free_count == 0 || chunk >= chunks_ || type_at(chunk) != kFreeType) return damaged("free list");
  put<std::uint16_t>(34, get<std::uint16_t>(chunk_at(chunk) + 22));
  put<std::uint16_t>(28, static_cast<std::uint16_t>(free_count - 1));
  return chunk;
}

void ZapLeaf::free_chunk(std::uint16_t chunk) {
  const std::size_t at = chunk_at(chunk);
  std::memset(writable_ + at, 0, kChunkBytes);
  put<std::uint8_t>(at, kFreeType);
  put<std::uint16_t>(at + 22, get<std::uint16_t>(34));
  put<std::uint16_t>(34, chunk);
  put<std::uint16_t>(28, static_cast<std::uint16_t>(get<std::uint16_t>(28) + 1));
}

Status ZapLeaf::free_array(std::uint16_t chunk, std::size_t bytes) {
  for (std::size_t left = div_ceil(bytes, kArrayBytes); left > 0; --left) {
    if (chunk >= chunks_ || type_at(chunk) != kArrayType) return damaged("an array ends early");
    const std::uint16_t next = get<std::uint16_t>(chunk_at(chunk) + 22);
    free_chunk(chunk);
    chunk = next;
  }
  return {};
}

Result<std::uint16_t> ZapLeaf::store_array(ByteView bytes) {
  std::uint16_t first = kEnd;
  std::size_t link_at = 0;
  while (!bytes.empty()) {
    const std::uint16_t chunk = TRY(take_chunk());
    const std::size_t at = chunk_at(chunk);
    const std::size_t part = std::min(bytes.size(), kArrayBytes);
    put<std::uint8_t>(at, kArrayType);
    std::memset(writable_ + at + 1, 0, kArrayBytes);
    std::memcpy(writable_ + at + 1, bytes.data(), part);
    put<std::uint16_t>(at + 22, kEnd);
    if (first == kEnd) first = chunk;
    if (link_at) put<std::uint16_t>(link_at, chunk);
    link_at = at + 22;
    bytes = bytes.subspan(part);
  }
  return first;
}

// Puts an entry into its bucket's chain, which is kept sorted by cd.
Status ZapLeaf::link(std::uint16_t chunk, std::uint64_t hash, std::uint32_t cd) {
  std::size_t link_at = bucket_at(hash);
  for (unsigned steps = 0; get<std::uint16_t>(link_at) != kEnd; ++steps) {
    if (steps > chunks_) return damaged("a chain loops");
    const Entry other = TRY(entry_at(get<std::uint16_t>(link_at)));
    if (other.cd > cd) break;
    link_at = chunk_at(other.chunk) + 2;
  }
  put<std::uint16_t>(chunk_at(chunk) + 2, get<std::uint16_t>(link_at));
  put<std::uint16_t>(link_at, chunk);
  return {};
}

Result<bool> ZapLeaf::insert(std::uint64_t hash, std::uint32_t cd, ByteView stored_name,
                             std::uint16_t name_count, std::uint8_t integer_bytes, ByteView stored_value) {
  const std::size_t needed =
      1 + div_ceil(stored_name.size(), kArrayBytes) + div_ceil(stored_value.size(), kArrayBytes);
  if (get<std::uint16_t>(28) < needed) return false;
  const std::uint16_t chunk = TRY(take_chunk());
  const std::size_t at = chunk_at(chunk);
  std::memset(writable_ + at, 0, kChunkBytes);
  put<std::uint8_t>(at, kEntryType);
  put<std::uint8_t>(at + 1, integer_bytes);
  put<std::uint16_t>(at + 2, kEnd);
  put<std::uint16_t>(at + 4, TRY(store_array(stored_name)));
  put<std::uint16_t>(at + 6, name_count);
  put<std::uint16_t>(at + 8, TRY(store_array(stored_value)));
  put<std::uint16_t>(at + 10, static_cast<std::uint16_t>(stored_value.size() / integer_bytes));
  put<std::uint32_t>(at + 12, cd);
  put<std::uint64_t>(at + 16, hash);
  TRY(link(chunk, hash, cd));
  put<std::uint16_t>(30, static_cast<std::uint16_t>(entry_count() + 1));
  return true;
}

Status ZapLeaf::remove(const Entry& entry) {
  std::size_t link_at = bucket_at(entry.hash);
  for (unsigned steps = 0;; ++steps) {
    const std::uint16_t chunk = get<std::uint16_t>(link_at);
    if (steps > chunks_ || chunk == kEnd) return damaged("entry is not in its chain");
    if (chunk == entry.chunk) break;
    (void)TRY(entry_at(chunk));
    link_at = chunk_at(chunk) + 2;
  }
  put<std::uint16_t>(link_at, entry.next);
  // The name's bytes end where its chain does: its unit, byte or word, is not known here.
  std::uint16_t chunk = entry.name_chunk;
  for (unsigned steps = 0; chunk != kEnd; ++steps) {
    if (steps > chunks_ || chunk >= chunks_ || type_at(chunk) != kArrayType)
      return damaged("name of an entry");
    const std::uint16_t next = get<std::uint16_t>(chunk_at(chunk) + 22);
    free_chunk(chunk);
    chunk = next;
  }
  TRY(free_array(entry.value_chunk, entry.value_count * std::size_t{entry.integer_bytes}));
  free_chunk(entry.chunk);
  put<std::uint16_t>(30, static_cast<std::uint16_t>(entry_count() - 1));
  return {};
}

Status ZapLeaf::overwrite_value(const Entry& entry, ByteView stored_value) {
  std::size_t at = 0;
  return walk_array(entry.value_chunk, stored_value.size(), [&](std::size_t place, std::size_t part) {
    std::memcpy(writable_ + place, stored_value.data() + at, part);
    at += part;
    return true;
  });
}

Status ZapLeaf::split_into(MutableByteView other, bool u64_keys) {
  const unsigned old_bits = prefix_bits();
  std::vector<Entry> entries;
  TRY(for_each([&](const Entry& entry) -> Status {
    entries.push_back(entry);
    return {};
  }));
  ZapLeaf upper = format(other, prefix() << 1 | 1, old_bits + 1, get<std::uint8_t>(36) & 1);
  put<std::uint64_t>(16, prefix() << 1);
  put<std::uint16_t>(32, static_cast<std::uint16_t>(old_bits + 1));
  std::memset(writable_ + kHashAt, 0xff, hash_bytes_);
  // First all chains anew, then the moves: remove() walks a chain of this leaf.
  for (const Entry& entry : entries) TRY(link(entry.chunk, entry.hash, entry.cd));
  for (const Entry& stale : entries) {
    if (!(stale.hash >> (63 - old_bits) & 1)) continue;
    const Entry entry = TRY(entry_at(stale.chunk));
    const Bytes name = TRY(name_of(entry, u64_keys));
    const Bytes value = TRY(value_of(entry));
    if (!TRY(upper.insert(entry.hash, entry.cd, name, entry.name_count, entry.integer_bytes, value)))
      return damaged("half of a leaf does not fit a leaf");
    TRY(remove(entry));
  }
  return {};
}

}  // namespace tarn
