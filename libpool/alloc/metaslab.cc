#include "libpool/alloc/metaslab.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

// A map is rewritten when it is this many times longer than it need be, and long enough to matter.
constexpr std::uint64_t kCondenseFactor = 2;

void ignore(std::uint64_t, std::uint64_t) {}

}  // namespace

Status Metaslab::open(std::uint64_t object) {
  const std::string where = fmt::format("space map object {}", object);
  const ObjectRef map = TRY(env_.mos->open_object(object).in(where));
  header_ = TRY(SpaceMapHeader::decode(map->bonus()).in(where));
  header_.object = object;
  const ObjectInfo info = map->info();
  const std::uint64_t blocks = info.max_blkid + 1;
  if (header_.length_bytes / info.block_bytes > blocks || header_.length_bytes > blocks * info.block_bytes)
    return Error(Errc::corrupt, where + ": longer than its object");
  const std::int64_t allocated = header_.allocated_bytes;
  if (allocated > static_cast<std::int64_t>(range_.size) ||
      allocated < -static_cast<std::int64_t>(range_.size))
    return Error(Errc::corrupt, where + ": more allocated than the metaslab has");
  return {};
}

void Metaslab::add_logged(const LoggedChange& change) {
  logged_.push_back(change);
  logged_net_ +=
      change.is_free ? -static_cast<std::int64_t>(change.size) : static_cast<std::int64_t>(change.size);
}

std::uint64_t Metaslab::free_estimate() const {
  if (damaged_) return 0;
  if (loaded_) return allocatable_.bytes();
  const std::int64_t used = std::max<std::int64_t>(allocated_in_map(), 0);
  return range_.size - std::min<std::uint64_t>(static_cast<std::uint64_t>(used), range_.size);
}

// In chunks of whole blocks, so that no two-word entry crosses an end.
Status Metaslab::replay(const std::function<Status(const SpaceMapEntry&)>& visit) {
  if (header_.object == 0) return {};
  const ObjectRef map = TRY(env_.mos->open_object(header_.object));
  const std::uint64_t chunk_bytes = space_map_chunk_bytes(map->info().block_bytes);
  Bytes chunk;
  for (std::uint64_t at = 0; at < header_.length_bytes; at += chunk.size()) {
    chunk.resize(std::min(chunk_bytes, header_.length_bytes - at));
    TRY(map->read(at, chunk));
    TRY(decode_space_map(chunk, range_, visit));
  }
  return {};
}

Status Metaslab::load() {
  if (loaded_) return {};
  if (damaged_)
    return Error(Errc::corrupt, fmt::format("metaslab at {:#x}: space map is damaged", range_.start));
  allocatable_.clear();
  allocatable_.add(range_.start, range_.size);
  const auto apply = [this](bool is_free, std::uint64_t start, std::uint64_t size) -> Status {
    const bool fits = is_free ? allocatable_.add(start, size) : allocatable_.remove(start, size);
    if (fits) return {};
    return Error(Errc::corrupt,
                 fmt::format("{} of {} bytes at {:#x} that {} already", is_free ? "free" : "allocation", size,
                             start, is_free ? "are free" : "are in use"));
  };
  Status replayed =
      replay([&](const SpaceMapEntry& entry) { return apply(entry.is_free, entry.start, entry.size); });
  for (const LoggedChange& change : logged_) {
    if (replayed) replayed = apply(change.is_free, change.start, change.size);
  }
  if (!replayed) {
    damaged_ = true;
    allocatable_.clear();
    return std::move(replayed).in(
        fmt::format("metaslab at {:#x}: space map object {}", range_.start, header_.object));
  }
  // Freed in the map, but not to be used yet.
  for (const RangeTree& tree : freeing_)
    tree.for_each([&](auto start, auto size) { allocatable_.remove_overlap(start, size, ignore); });
  for (const RangeTree& tree : deferred_)
    tree.for_each([&](auto start, auto size) { allocatable_.remove_overlap(start, size, ignore); });
  loaded_ = true;
  return {};
}

std::optional<std::uint64_t> Metaslab::allocate(std::uint64_t size, std::uint64_t cursor, std::uint64_t txg) {
  if (!loaded_) return std::nullopt;
  const auto start = allocatable_.take(size, cursor);
  if (!start) return std::nullopt;
  // What was allocated, written to the map, given back and is now used again in one txg: the map has it
  // already.
  RangeTree& frees = frees_[txg & 3];
  if (frees.empty()) {
    allocs_[txg & 3].add(*start, size);
    return start;
  }
  RangeTree fresh;
  fresh.add(*start, size);
  frees.remove_overlap(*start, size,
                       [&](std::uint64_t at, std::uint64_t length) { fresh.remove(at, length); });
  fresh.for_each([&](auto at, auto length) { allocs_[txg & 3].add(at, length); });
  return start;
}

void Metaslab::free(std::uint64_t start, std::uint64_t size, bool born_in_txg, std::uint64_t txg) {
  RangeTree in_map;  // what has to be freed in the map too
  in_map.add(start, size);
  // An allocation of this txg that the map has not seen is simply forgotten. One of an earlier txg is not:
  // its map will say ALLOC, and this txg's map FREE.
  allocs_[txg & 3].remove_overlap(start, size,
                                  [&](std::uint64_t at, std::uint64_t length) { in_map.remove(at, length); });
  in_map.for_each([&](auto at, auto length) { frees_[txg & 3].add_missing(at, length); });
  if (!born_in_txg) {
    freeing_[txg & 3].add_missing(start, size);
  } else if (loaded_) {
    allocatable_.add_missing(start, size);
  }
}

void Metaslab::sync_done(std::uint64_t txg) {
  RangeTree& waiting = deferred_[txg & 1];
  if (loaded_) waiting.for_each([&](auto start, auto size) { allocatable_.add_missing(start, size); });
  waiting = std::move(freeing_[txg & 3]);
  freeing_[txg & 3] = {};
}

RangeTree Metaslab::free_in_map(std::uint64_t txg) const {
  RangeTree out = allocatable_;
  const auto take_over = [&](const RangeTree& tree) {
    tree.for_each([&](auto start, auto size) { out.add_missing(start, size); });
  };
  for (const RangeTree& tree : deferred_) take_over(tree);
  take_over(freeing_[txg & 3]);
  // A later txg's changes are not in this one's map.
  for (std::uint64_t other = txg + 1; other < txg + 4; ++other) {
    take_over(allocs_[other & 3]);
    frees_[other & 3].for_each([&](auto start, auto size) { out.remove_overlap(start, size, ignore); });
  }
  return out;
}

Result<Metaslab::Written> Metaslab::sync(const Tx& tx, unsigned pass) {
  Written written;
  if (!dirty(tx.txg())) return written;
  TRY(load());
  ObjectRef map;
  if (header_.object == 0) {
    const std::uint32_t bonus_bytes = env_.histogram ? kSpaceMapHeaderBytes : kSmallSpaceMapHeaderBytes;
    map = TRY(env_.mos->create_object(tx, {.type = DmuType::space_map,
                                           .block_bytes = kSpaceMapBlockBytes,
                                           .indirect_shift = 14,
                                           .bonus_type = DmuType::space_map_header,
                                           .bonus_bytes = bonus_bytes}));
    header_ = {.object = map->number(), .has_histogram = env_.histogram};
    written.created_object = true;
  } else {
    map = TRY(env_.mos->open_object(header_.object));
  }
  const RangeTree free = free_in_map(tx.txg());
  const std::uint64_t needed_bytes = (free.segment_count() + 1) * 16;
  // Only in the first pass: the passes must come to an end.
  const bool too_long = pass == 1 && header_.length_bytes > map->info().block_bytes &&
                        header_.length_bytes > needed_bytes * kCondenseFactor;
  if (too_long || !logged_.empty()) {
    TRY(write_whole(tx, *map, pass, free));
  } else {
    TRY(append(tx, *map, pass));
  }
  allocs_[tx.txg() & 3].clear();
  frees_[tx.txg() & 3].clear();
  header_.histogram = {};
  free.for_each(
      [&](std::uint64_t, std::uint64_t size) { count_in_histogram(header_.histogram, size, range_.shift); });
  TRY(set_header(tx, *map));
  written.anything = true;
  return written;
}

Status Metaslab::append(const Tx& tx, Object& object, unsigned pass) {
  SpaceMapWriter writer(range_, header_.length_bytes, object.info().block_bytes, env_.two_words);
  const RangeTree &allocs = allocs_[tx.txg() & 3], &frees = frees_[tx.txg() & 3];
  const auto batch = [&](const RangeTree& tree, bool is_free) {
    if (tree.empty()) return;
    writer.begin(is_free, tx.txg(), pass);
    tree.for_each([&](auto start, auto size) { writer.add(start, size); });
  };
  batch(allocs, false);
  batch(frees, true);
  TRY(object.write(tx, header_.length_bytes, writer.bytes()));
  header_.length_bytes += writer.bytes().size();
  header_.allocated_bytes +=
      static_cast<std::int64_t>(allocs.bytes()) - static_cast<std::int64_t>(frees.bytes());
  return {};
}

Status Metaslab::write_whole(const Tx& tx, Object& object, unsigned pass, const RangeTree& free) {
  SpaceMapWriter writer(range_, 0, object.info().block_bytes, env_.two_words);
  writer.begin(false, tx.txg(), pass);
  std::uint64_t at = range_.start;
  free.for_each([&](std::uint64_t start, std::uint64_t size) {
    if (start > at) writer.add(at, start - at);
    at = start + size;
  });
  if (at < end()) writer.add(at, end() - at);
  TRY(object.free_range(tx, 0, UINT64_MAX));
  TRY(object.write(tx, 0, writer.bytes()));
  header_.length_bytes = writer.bytes().size();
  header_.allocated_bytes = static_cast<std::int64_t>(range_.size - free.bytes());
  logged_.clear();
  logged_net_ = 0;
  return {};
}

// A pool's older maps keep the short header they were made with.
Status Metaslab::set_header(const Tx& tx, Object& object) { return object.set_bonus(tx, header_.encode()); }

}  // namespace tarn
