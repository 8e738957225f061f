#include "libdataset/tree/deadlist.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr std::uint32_t kListBlockBytes = 128u << 10;
constexpr std::uint32_t kHeaderBytes = 320;
constexpr std::uint64_t kDeadlistMapVersion = 26;
constexpr std::uint64_t kMoveBatch = 4096;  // block pointers held in memory while a list moves
constexpr std::string_view kEmptyListKey = "empty_bpobj";
constexpr std::string_view kEmptyListFeature = "com.delphix:empty_bpobj";

Result<std::uint64_t> new_list(SyncContext& context) {
  return Bpobj::create(context.pool.mos(), context.tx, kListBlockBytes, context.pool.version());
}

// The pool's shared empty list; 0 if there is none.
Result<std::uint64_t> shared_empty_list(Pool& pool) {
  auto number = pool.directory().lookup_u64(kEmptyListKey);
  if (number) return *number;
  if (number.error().code() == Errc::not_found) return std::uint64_t{0};
  return std::move(number).error();
}

// Ends one reference to `list`: frees it, or counts the shared empty one down.
Status release_list(SyncContext& context, std::uint64_t list) {
  Pool& pool = context.pool;
  if (list != TRY(shared_empty_list(pool))) return pool.mos().free_object(context.tx, list);
  TRY(pool.feature_adjust(context, kEmptyListFeature, -1));
  if (pool.feature_refcount(kEmptyListFeature).value_or(0) > 0) return {};
  TRY(pool.directory().remove(context.tx, kEmptyListKey));
  return pool.mos().free_object(context.tx, list);
}

// Moves all block pointers of `from` to the end of `to` and ends `from`.
Status move_list(SyncContext& context, std::uint64_t from, Bpobj& to) {
  Pool& pool = context.pool;
  if (from == TRY(shared_empty_list(pool))) return release_list(context, from);
  Bpobj source = TRY(Bpobj::open(pool.mos(), from));
  while (!source.empty()) {
    std::vector<BlockPointer> batch;
    TRY(source.drain(context.tx, kMoveBatch, pool.io(), [&](const BlockPointer& bp) -> Status {
      batch.push_back(bp);
      return {};
    }));
    if (batch.empty()) return Error(Errc::corrupt, fmt::format("block list {} does not end", from));
    TRY(to.append(context.tx, batch, pool.io()));
  }
  return release_list(context, from);
}

Result<std::uint64_t> parse_key(std::string_view name) {
  std::uint64_t key = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), key, 16);
  if (failed != std::errc{} || end != name.data() + name.size())
    return Error(Errc::corrupt, fmt::format("bad key '{}'", name));
  return key;
}

}  // namespace

Result<std::uint64_t> Deadlist::create(SyncContext& context) {
  if (context.pool.version() < kDeadlistMapVersion) return new_list(context);
  return TRY(Zap::create(context.pool.mos(), context.tx, DmuType::deadlist, {}, DmuType::deadlist_header,
                         kHeaderBytes))
      .number();
}

Result<Deadlist> Deadlist::open(Pool& pool, std::uint64_t number) {
  const std::string where = fmt::format("deadlist {}", number);
  auto object = pool.mos().open_object(number);
  if (!object) return std::move(object).error().in(where);
  Deadlist list(*object);
  list.mos_ = &pool.mos();
  const ObjectInfo info = list.object_->info();
  if (info.type == DmuType::bpobj) {
    list.plain_ = true;
    list.total_ = TRY(Bpobj::open(pool.mos(), number)).space();
    return list;
  }
  const Bytes header = list.object_->bonus();
  if (info.type != DmuType::deadlist || header.size() < 24)
    return Error(Errc::corrupt, "not a deadlist").in(where);
  ByteReader reader(header, kHostOrder);
  list.total_.used = static_cast<std::int64_t>(reader.u64());
  list.total_.compressed = static_cast<std::int64_t>(reader.u64());
  list.total_.uncompressed = static_cast<std::int64_t>(reader.u64());
  const Zap map = TRY(Zap::open(list.object_).in(where));
  for (const ZapEntry& entry : TRY(map.entries().in(where)))
    list.keys_[TRY(parse_key(entry.name).in(where))] = entry.value.first();
  return list;
}

Result<BlockSpace> Deadlist::range(std::uint64_t low, std::uint64_t high) const {
  if (plain_)
    return Error(Errc::unsupported,
                 fmt::format("deadlist {}: pools before version 26 cannot tell its parts", number()));
  BlockSpace sum;
  for (auto entry = keys_.lower_bound(low); entry != keys_.end() && entry->first < high; ++entry)
    sum += TRY(Bpobj::open(*mos_, entry->second)).space();
  return sum;
}

Status Deadlist::store_total(const Tx& tx) {
  Bytes header = object_->bonus();
  ByteWriter writer(header, kHostOrder);
  writer.u64(static_cast<std::uint64_t>(total_.used));
  writer.u64(static_cast<std::uint64_t>(total_.compressed));
  writer.u64(static_cast<std::uint64_t>(total_.uncompressed));
  return object_->set_bonus(tx, header);
}

Status Deadlist::set_entry(const Tx& tx, std::uint64_t key, std::uint64_t list) {
  Zap map = TRY(Zap::open(object_));
  TRY(map.update(tx, Zap::int_key(key), list));
  keys_[key] = list;
  return {};
}

Status Deadlist::drop_entry(const Tx& tx, std::uint64_t key) {
  Zap map = TRY(Zap::open(object_));
  TRY(map.remove(tx, Zap::int_key(key)));
  keys_.erase(key);
  return {};
}

std::uint64_t Deadlist::key_for(std::uint64_t birth) const {
  auto above = keys_.lower_bound(birth);
  return above == keys_.begin() ? above->first : std::prev(above)->first;
}

Result<Bpobj> Deadlist::writable_entry(SyncContext& context, std::uint64_t key) {
  const std::uint64_t list = keys_.at(key);
  if (list == TRY(shared_empty_list(context.pool))) {
    TRY(set_entry(context.tx, key, TRY(new_list(context))));
    TRY(release_list(context, list));
  }
  return Bpobj::open(*mos_, keys_.at(key));
}

Status Deadlist::append(SyncContext& context, std::span<const BlockPointer> bps) {
  if (bps.empty()) return {};
  BlockIo& io = context.pool.io();
  for (const BlockPointer& bp : bps) total_ += space_of(bp, io);
  if (plain_) return TRY(Bpobj::open(*mos_, number())).append(context.tx, bps, io);
  if (keys_.empty()) return Error(Errc::corrupt, fmt::format("deadlist {} has no entries", number()));
  std::map<std::uint64_t, std::vector<BlockPointer>> by_key;
  for (const BlockPointer& bp : bps) by_key[key_for(bp.birth_for_freeing())].push_back(bp);
  for (const auto& [key, group] : by_key) {
    Bpobj list = TRY(writable_entry(context, key));
    TRY(list.append(context.tx, group, io));
  }
  return store_total(context.tx);
}

Result<std::uint64_t> Deadlist::clone_keys(SyncContext& context, std::uint64_t below) const {
  const std::uint64_t number = TRY(create(context));
  if (plain_) return number;
  Deadlist clone = TRY(open(context.pool, number));
  for (const auto& [key, list] : keys_) {
    if (key >= below) break;
    TRY(clone.add_key(context, key));
  }
  return number;
}

Status Deadlist::add_key(SyncContext& context, std::uint64_t key) {
  if (plain_ || keys_.contains(key)) return {};
  return set_entry(context.tx, key, TRY(new_list(context)));
}

Status Deadlist::remove_key(SyncContext& context, std::uint64_t key) {
  auto entry = keys_.find(key);
  if (entry == keys_.end()) return {};
  if (entry == keys_.begin())
    return Error(Errc::corrupt, fmt::format("deadlist {}: the first entry cannot be merged", number()));
  const std::uint64_t list = entry->second;
  Bpobj before = TRY(writable_entry(context, std::prev(entry)->first));
  TRY(move_list(context, list, before));
  return drop_entry(context.tx, key);
}

Status Deadlist::merge(SyncContext& context, Deadlist other) {
  if (plain_) {
    Bpobj list = TRY(Bpobj::open(*mos_, number()));
    TRY(move_list(context, other.number(), list));
    total_ += other.total_;
    return {};
  }
  const std::map<std::uint64_t, std::uint64_t> entries = other.keys_;
  for (const auto& [key, list] : entries) {
    if (keys_.empty()) return Error(Errc::corrupt, fmt::format("deadlist {} has no entries", number()));
    Bpobj target = TRY(writable_entry(context, key_for(key + 1)));
    TRY(move_list(context, list, target));
  }
  total_ += other.total_;
  TRY(store_total(context.tx));
  return mos_->free_object(context.tx, other.number());
}

Result<BlockSpace> Deadlist::move_from(SyncContext& context, std::uint64_t low, Bpobj& list) {
  const BlockSpace moved = TRY(range(low, UINT64_MAX));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries(keys_.lower_bound(low), keys_.end());
  for (const auto& [key, entry] : entries) {
    TRY(move_list(context, entry, list));
    TRY(drop_entry(context.tx, key));
  }
  total_ += -moved;
  TRY(store_total(context.tx));
  return moved;
}

Status Deadlist::destroy(SyncContext& context) {
  for (const auto& [key, list] : keys_) TRY(release_list(context, list));
  return mos_->free_object(context.tx, number());
}

}  // namespace tarn
