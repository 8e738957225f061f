// Zap: which of the two forms an object has, and the operations over both. Every operation takes the object's
// content lock; iterate() lets go of it while it calls back.
#include "libpool/zap/zap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libpool/base/clock.h"
#include "libpool/zap/fat_zap.h"
#include "libpool/zap/micro_zap.h"

namespace tarn {

namespace {

constexpr std::uint32_t kMinMicroBytes = 512;
constexpr unsigned kUpgradeBlockShift = 14;

Error no_entry(std::string_view name) { return Error(Errc::not_found, fmt::format("no entry '{}'", name)); }
Error entry_exists(std::string_view name) {
  return Error(Errc::already_exists, fmt::format("entry '{}' exists", name));
}

// Block 0, checked to be the start of a ZAP; `micro` says which form.
Result<BufferRef> first_block(Object& object, bool& micro) {
  BufferRef block = TRY(object.read_block(0));
  const auto kind = load<std::uint64_t>(block->data(), kHostOrder);
  micro = kind == kMicroZapType;
  if (!micro && kind != kFatZapType)
    return Error(Errc::corrupt,
                 fmt::format("object {} is no ZAP", static_cast<std::int64_t>(object.number())));
  return block;
}

bool fits_micro(std::string_view name, const ZapValue& value) {
  return name.size() <= MicroZap::kMaxNameBytes && value.integer_bytes == 8 && value.integers.size() == 1;
}

Status to_fat(Object& object, const Tx& tx) {
  // A copy: the block changes its meaning below.
  bool is_micro = false;
  const Buffer old = Buffer::copy_of(TRY(first_block(object, is_micro))->view());
  const MicroZap micro(old.view());
  const ZapKeying keying = micro.keying();
  TRY(object.set_block_size(tx, 1u << kUpgradeBlockShift));
  TRY(FatZap::format(object, tx, keying.salt, keying.norm_flags, 0));
  FatZap fat = TRY(FatZap::open(object));
  Status status;
  micro.for_each([&](std::size_t at) {
    const std::string_view name = micro.name_at(at);
    auto hash = hash_name(name, keying);
    status = hash ? fat.insert(tx, *hash, micro.cd_at(at), name,
                               {.integer_bytes = 8, .integers = {micro.value_at(at)}})
                  : Status(std::move(hash).error());
    return !status;
  });
  return status;
}

// Adds a name that is not there. False: the micro ZAP has to become a fat one first.
Result<bool> add_to_micro(Object& object, const Tx& tx, std::string_view name, std::uint64_t value) {
  for (;;) {
    const MutableBufferRef block = TRY(object.modify_block(tx, 0));
    const MicroZap micro(block->view());
    const std::uint64_t hash = TRY(hash_name(name, micro.keying()));
    const std::optional<std::uint32_t> cd = TRY(micro.free_cd(hash));
    if (!cd) return false;
    if (const auto slot = micro.free_slot()) {
      MicroZap::put(block->span(), *slot, name, *cd, value);
      return true;
    }
    if (block->size() + 512 > MicroZap::kMaxBlockBytes) return false;
    TRY(object.set_block_size(tx, static_cast<std::uint32_t>(block->size() + 512)));
  }
}

enum class Mode { add, update };

Status put_entry(Object& object, const Tx& tx, std::string_view name, const ZapValue& value, Mode mode) {
  const unsigned size = value.integer_bytes;
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return Error(Errc::invalid_argument, fmt::format("ZAP integers of {} bytes", size));
  WriterLock lock(object.content_lock());
  bool is_micro = false;
  const BufferRef block = TRY(first_block(object, is_micro));
  if (is_micro) {
    const MicroZap micro(block->view());
    TRY(check_name(name, micro.keying()));
    const auto found = micro.find(name);
    if (found && mode == Mode::add) return entry_exists(name);
    if (fits_micro(name, value)) {
      if (found) {
        const MutableBufferRef mine = TRY(object.modify_block(tx, 0));
        MicroZap::set_value(mine->span(), found->at, value.integers[0]);
        return {};
      }
      if (TRY(add_to_micro(object, tx, name, value.integers[0]))) return {};
    }
    TRY(to_fat(object, tx));
  }
  FatZap fat = TRY(FatZap::open(object));
  TRY(check_name(name, fat.keying()));
  const std::uint64_t hash = TRY(hash_name(name, fat.keying()));
  const FatZap::Leaf leaf = TRY(fat.leaf_for(hash));
  if (TRY(leaf.leaf.find(hash, fat.stored_name(name)))) {
    if (mode == Mode::add) return entry_exists(name);
    return fat.replace(tx, hash, name, value);
  }
  return fat.insert(tx, hash, std::nullopt, name, value);
}

Status remove_entry(Object& object, const Tx& tx, std::string_view name) {
  bool is_micro = false;
  const BufferRef block = TRY(first_block(object, is_micro));
  if (is_micro) {
    const auto found = MicroZap(block->view()).find(name);
    if (!found) return no_entry(name);
    MicroZap::clear(TRY(object.modify_block(tx, 0))->span(), found->at);
    return {};
  }
  FatZap fat = TRY(FatZap::open(object));
  const std::uint64_t hash = TRY(hash_name(name, fat.keying()));
  // Looked up first, so that a miss dirties nothing.
  if (!TRY(TRY(fat.leaf_for(hash)).leaf.find(hash, fat.stored_name(name)))) return no_entry(name);
  return fat.remove(tx, hash, name);
}

}  // namespace

std::string ZapValue::text() const {
  std::string out;
  for (const std::uint64_t c : integers) {
    if (c == 0) break;
    out.push_back(static_cast<char>(c));
  }
  return out;
}

ZapValue ZapValue::of_text(std::string_view text) {
  ZapValue value{.integer_bytes = 1, .integers = {}};
  for (const char c : text) value.integers.push_back(static_cast<unsigned char>(c));
  value.integers.push_back(0);
  return value;
}

std::string Zap::int_key(std::uint64_t key) { return fmt::format("{:x}", key); }

Result<Zap> Zap::open(ObjectRef object) {
  {
    ReaderLock lock(object->content_lock());
    bool is_micro = false;
    (void)TRY(first_block(*object, is_micro));
    if (!is_micro)
      (void)TRY(
          FatZap::open(*object).in(fmt::format("object {}", static_cast<std::int64_t>(object->number()))));
  }
  return Zap(std::move(object));
}

Result<Zap> Zap::open(ObjectSet& objset, std::uint64_t number) {
  return open(TRY(objset.open_object(number)));
}

Result<Zap> Zap::create(ObjectSet& objset, const Tx& tx, DmuType type, const ZapOptions& options,
                        DmuType bonus_type, std::uint32_t bonus_bytes, std::uint32_t dnode_slots) {
  const ObjectRef object = TRY(objset.create_object(
      tx, {.type = type, .bonus_type = bonus_type, .bonus_bytes = bonus_bytes, .dnode_slots = dnode_slots}));
  return format(object, tx, options);
}

Result<Zap> Zap::format(ObjectRef object, const Tx& tx, const ZapOptions& options) {
  WriterLock lock(object->content_lock());
  const std::uint64_t salt = random_u64() | 1;
  if (options.fat || options.flags) {
    if (options.fat_block_shift < 9 || options.fat_block_shift > 17)
      return Error(Errc::invalid_argument, fmt::format("fat ZAP block shift {}", options.fat_block_shift));
    TRY(object->set_block_size(tx, 1u << options.fat_block_shift));
    TRY(FatZap::format(*object, tx, salt, options.norm_flags, options.flags));
  } else {
    std::uint32_t bytes = object->info().block_bytes;
    if (bytes > MicroZap::kMaxBlockBytes) TRY(object->set_block_size(tx, bytes = kMinMicroBytes));
    Buffer block(bytes);
    MicroZap::format(block.span(), salt, options.norm_flags);
    TRY(object->write_block(tx, 0, std::move(block)));
  }
  return Zap(std::move(object));
}

Result<ZapValue> Zap::lookup(std::string_view name) const {
  ReaderLock lock(object_->content_lock());
  bool is_micro = false;
  const BufferRef block = TRY(first_block(*object_, is_micro));
  if (is_micro) {
    const auto found = MicroZap(block->view()).find(name);
    if (!found) return no_entry(name);
    return ZapValue{.integer_bytes = 8, .integers = {found->value}};
  }
  const FatZap fat = TRY(FatZap::open(*object_));
  TRY(check_name(name, fat.keying()));
  const std::uint64_t hash = TRY(hash_name(name, fat.keying()));
  const FatZap::Leaf leaf = TRY(fat.leaf_for(hash));
  const auto entry = TRY(leaf.leaf.find(hash, fat.stored_name(name)));
  if (!entry) return no_entry(name);
  return leaf.leaf.integers_of(*entry);
}

Result<std::uint64_t> Zap::lookup_u64(std::string_view name) const {
  ReaderLock lock(object_->content_lock());
  bool is_micro = false;
  const BufferRef block = TRY(first_block(*object_, is_micro));
  if (is_micro) {
    const auto found = MicroZap(block->view()).find(name);
    if (!found) return no_entry(name);
    return found->value;
  }
  const FatZap fat = TRY(FatZap::open(*object_));
  TRY(check_name(name, fat.keying()));
  const std::uint64_t hash = TRY(hash_name(name, fat.keying()));
  const FatZap::Leaf leaf = TRY(fat.leaf_for(hash));
  const auto entry = TRY(leaf.leaf.find(hash, fat.stored_name(name)));
  if (!entry) return no_entry(name);
  return leaf.leaf.first_integer(*entry);
}

Result<std::pair<std::string, std::uint64_t>> Zap::lookup_normalized(std::string_view name,
                                                                     bool match_case) const {
  ReaderLock lock(object_->content_lock());
  bool is_micro = false;
  const BufferRef block = TRY(first_block(*object_, is_micro));
  std::optional<FatZap> fat;
  if (!is_micro) fat.emplace(TRY(FatZap::open(*object_)));
  const ZapKeying keying = is_micro ? MicroZap(block->view()).keying() : fat->keying();
  TRY(check_name(name, keying));
  const std::uint64_t compare =
      match_case ? keying.norm_flags & ~std::uint64_t{kNormToUpper} : keying.norm_flags;
  const std::string wanted = TRY(normalize_name(name, compare));
  const std::uint64_t hash = TRY(hash_name(name, keying));
  auto matches = [&](std::string_view stored) {
    const auto normal = normalize_name(stored, compare);
    return normal && *normal == wanted;
  };
  std::optional<std::pair<std::string, std::uint64_t>> best;  // lowest cd wins
  Status status;
  if (is_micro) {
    const MicroZap micro(block->view());
    std::uint32_t best_cd = 0;
    micro.for_each([&](std::size_t at) {
      if (matches(micro.name_at(at)) && (!best || micro.cd_at(at) < best_cd)) {
        best = {std::string(micro.name_at(at)), micro.value_at(at)};
        best_cd = micro.cd_at(at);
      }
      return false;
    });
  } else {
    const FatZap::Leaf leaf = TRY(fat->leaf_for(hash));
    TRY(leaf.leaf.for_hash(hash, [&](const ZapLeaf::Entry& entry) {
      auto stored = leaf.leaf.name_of(entry, keying.flags & kZapU64Keys);
      auto value = leaf.leaf.first_integer(entry);
      if (!stored || !value) {
        status = !stored ? std::move(stored).error() : std::move(value).error();
        return true;
      }
      std::string_view text = as_text(*stored);
      if (!(keying.flags & kZapU64Keys) && !text.empty()) text.remove_suffix(1);
      if (!matches(text)) return false;
      best = {std::string(text), *value};
      return true;
    }));
    if (!status) return std::move(status).error();
  }
  if (!best) return no_entry(name);
  return std::move(*best);
}

Status Zap::add(const Tx& tx, std::string_view name, const ZapValue& value) {
  return put_entry(*object_, tx, name, value, Mode::add);
}
Status Zap::add(const Tx& tx, std::string_view name, std::uint64_t value) {
  return add(tx, name, ZapValue{.integer_bytes = 8, .integers = {value}});
}
Status Zap::update(const Tx& tx, std::string_view name, const ZapValue& value) {
  return put_entry(*object_, tx, name, value, Mode::update);
}
Status Zap::update(const Tx& tx, std::string_view name, std::uint64_t value) {
  return update(tx, name, ZapValue{.integer_bytes = 8, .integers = {value}});
}

Status Zap::remove(const Tx& tx, std::string_view name) {
  WriterLock lock(object_->content_lock());
  return remove_entry(*object_, tx, name);
}

Status Zap::increment(const Tx& tx, std::string_view name, std::int64_t delta) {
  if (delta == 0) return {};
  const Result<std::uint64_t> old = lookup_u64(name);
  if (!old && old.error().code() != Errc::not_found) return old.error();
  const std::uint64_t value = (old ? *old : 0) + static_cast<std::uint64_t>(delta);
  if (value == 0) return old ? remove(tx, name) : Status{};
  return update(tx, name, value);
}

Result<std::uint64_t> Zap::count() const {
  ReaderLock lock(object_->content_lock());
  bool is_micro = false;
  const BufferRef block = TRY(first_block(*object_, is_micro));
  if (is_micro) return MicroZap(block->view()).count();
  return TRY(FatZap::open(*object_)).count();
}

Status Zap::iterate(std::uint64_t cursor,
                    const std::function<bool(const ZapEntry&, std::uint64_t next_cursor)>& visit) const {
  if (cursor == UINT64_MAX) return {};
  struct Item {
    ZapPosition position;
    ZapEntry entry;
  };
  std::optional<ZapPosition> from;
  for (bool more = true; more;) {
    std::vector<Item> items;
    unsigned hash_bits = 28;
    ZapPosition next;
    {
      ReaderLock lock(object_->content_lock());
      bool is_micro = false;
      const BufferRef block = TRY(first_block(*object_, is_micro));
      if (is_micro) {
        const MicroZap micro(block->view());
        if (!from) from = ZapPosition::parse(cursor, hash_bits);
        ZapKeying plain = micro.keying();
        plain.norm_flags = 0;
        micro.for_each([&](std::size_t at) {
          // A name whose normal form we cannot make still has to have some fixed place in the order.
          auto hash = hash_name(micro.name_at(at), micro.keying());
          if (!hash) hash = hash_name(micro.name_at(at), plain);
          const ZapPosition position{*hash, micro.cd_at(at)};
          if (position >= *from)
            items.push_back({position,
                             {.name = std::string(micro.name_at(at)),
                              .value = {8, {micro.value_at(at)}},
                              .cursor = position.serialize(hash_bits)}});
          return false;
        });
        more = false;
      } else {
        const FatZap fat = TRY(FatZap::open(*object_));
        const bool u64_keys = fat.keying().flags & kZapU64Keys;
        hash_bits = fat.keying().hash_bits();
        if (!from) from = ZapPosition::parse(cursor, hash_bits);
        const FatZap::Leaf leaf = TRY(fat.leaf_for(from->hash));
        TRY(leaf.leaf.for_each([&](const ZapLeaf::Entry& entry) -> Status {
          const ZapPosition position{entry.hash, entry.cd};
          if (position < *from) return {};
          const Bytes stored = TRY(leaf.leaf.name_of(entry, u64_keys));
          std::string_view name = as_text(stored);
          if (!u64_keys && !name.empty()) name.remove_suffix(1);
          items.push_back({position,
                           {.name = std::string(name),
                            .value = TRY(leaf.leaf.integers_of(entry)),
                            .cursor = position.serialize(hash_bits)}});
          return {};
        }));
        const unsigned bits = leaf.leaf.prefix_bits();
        next.hash = bits == 0 ? 0 : (leaf.leaf.prefix() + 1) << (64 - bits);
        // A hash that wraps to 0 is the end. Hashes only grow, so damaged leaves cannot make this loop.
        more = next.hash > from->hash;
      }
    }
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.position < b.position; });
    for (const Item& item : items) {
      const ZapPosition after{item.position.hash, item.position.cd + 1};
      if (!visit(item.entry, after.serialize(hash_bits))) return {};
    }
    from = next;
  }
  return {};
}

Result<std::vector<ZapEntry>> Zap::entries() const {
  std::vector<ZapEntry> out;
  TRY(iterate(0, [&](const ZapEntry& entry, std::uint64_t) {
    out.push_back(entry);
    return true;
  }));
  return out;
}

}  // namespace tarn
