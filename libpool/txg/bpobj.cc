#include "libpool/txg/bpobj.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::uint64_t kBatch = 1024;  // block pointers read at a time
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 48;
constexpr std::uint64_t kFreedFlag = 1;  // in the fill word: a free, in livelists

std::size_t header_words_of(std::uint64_t version) {
  if (version < 3) return 2;
  return version < 26 ? 4 : 6;
}

}  // namespace

BlockSpace space_of(const BlockPointer& bp, const BlockIo& io) {
  if (bp.is_hole()) return {};
  const bool data = bp.level == 0 && !is_metadata(bp.type);
  return {.used = static_cast<std::int64_t>(io.deflated_size(bp)),
          .compressed = static_cast<std::int64_t>(bp.physical_bytes),
          .uncompressed = static_cast<std::int64_t>(data ? bp.logical_bytes : bp.physical_bytes)};
}

Result<std::uint64_t> Bpobj::create(ObjectSet& mos, const Tx& tx, std::uint32_t block_bytes,
                                    std::uint64_t pool_version) {
  const ObjectSpec spec{.type = DmuType::bpobj,
                        .block_bytes = block_bytes,
                        .bonus_type = DmuType::bpobj_header,
                        .bonus_bytes = static_cast<std::uint32_t>(header_words_of(pool_version) * 8)};
  return TRY(mos.create_object(tx, spec))->number();
}

Result<Bpobj> Bpobj::open(ObjectSet& mos, std::uint64_t number) {
  const std::string where = fmt::format("block list {}", number);
  auto object = mos.open_object(number);
  if (!object) return std::move(object).error().in(where);
  Bpobj list(mos, std::move(object).value());
  if (Status loaded = list.load(); !loaded) return std::move(loaded).error().in(where);
  return list;
}

Status Bpobj::load() {
  if (object_->info().type != DmuType::bpobj)
    return Error(Errc::corrupt,
                 fmt::format("object is a {}, not a block list", name_of(object_->info().type)));
  const Bytes bonus = object_->bonus();
  header_words_ = bonus.size() / 8;
  if (header_words_ < 2) return Error(Errc::corrupt, "header is too short");
  ByteReader reader(bonus, kHostOrder);
  header_ = {};
  std::uint64_t* const fields[] = {&header_.count,        &header_.bytes,   &header_.compressed,
                                   &header_.uncompressed, &header_.subobjs, &header_.subobj_count,
                                   &header_.freed_count};
  for (std::size_t i = 0; i < std::min(header_words_, std::size(fields)); ++i) *fields[i] = reader.u64();
  if (header_.count > kMaxEntries || header_.subobj_count > kMaxEntries)
    return Error(Errc::corrupt, "impossible number of entries");
  return {};
}

Status Bpobj::store(const Tx& tx) {
  Bytes bonus = object_->bonus();
  ByteWriter writer(bonus, kHostOrder);
  const std::uint64_t fields[] = {header_.count,        header_.bytes,   header_.compressed,
                                  header_.uncompressed, header_.subobjs, header_.subobj_count,
                                  header_.freed_count};
  for (std::size_t i = 0; i < std::min(header_words_, std::size(fields)); ++i) writer.u64(fields[i]);
  return object_->set_bonus(tx, bonus);
}

Status Bpobj::append(const Tx& tx, std::span<const BlockPointer> bps, const BlockIo& io) {
  Bytes encoded(bps.size() * kBlockPointerBytes);
  std::size_t at = 0;
  for (BlockPointer bp : bps) {
    const BlockSpace space = space_of(bp, io);
    header_.bytes += static_cast<std::uint64_t>(space.used);
    header_.compressed += static_cast<std::uint64_t>(space.compressed);
    header_.uncompressed += static_cast<std::uint64_t>(space.uncompressed);
    bp.fill = 0;
    if (bp.embedded) {
      bp.payload = {};
    } else if (!bp.dedup) {
      bp.checksum = {};
    }
    bp.encode(std::span<std::byte, kBlockPointerBytes>(encoded.data() + at, kBlockPointerBytes), kHostOrder);
    at += kBlockPointerBytes;
  }
  TRY(object_->write(tx, header_.count * kBlockPointerBytes, encoded));
  header_.count += bps.size();
  return store(tx);
}

Result<std::uint64_t> Bpobj::drain_own(const Tx& tx, std::uint64_t limit, const BlockIo& io,
                                       const std::function<Status(const BlockPointer&)>& visit) {
  std::uint64_t drained = 0;
  Status failed;
  while (failed && drained < limit && header_.count > 0) {
    const std::uint64_t batch = std::min({kBatch, limit - drained, header_.count});
    Bytes encoded(batch * kBlockPointerBytes);
    TRY(object_->read((header_.count - batch) * kBlockPointerBytes, encoded));
    for (std::uint64_t i = batch; i-- > 0;) {
      const BlockPointer bp =
          BlockPointer::decode(std::span<const std::byte, kBlockPointerBytes>(
                                   encoded.data() + i * kBlockPointerBytes, kBlockPointerBytes),
                               kHostOrder);
      failed = visit(bp);
      if (!failed) break;
      BlockSpace space = space_of(bp, io);
      if (bp.fill & kFreedFlag) {
        space = -space;
        --header_.freed_count;
      }
      header_.bytes -= static_cast<std::uint64_t>(space.used);
      header_.compressed -= static_cast<std::uint64_t>(space.compressed);
      header_.uncompressed -= static_cast<std::uint64_t>(space.uncompressed);
      --header_.count;
      ++drained;
    }
  }
  if (drained > 0) {
    TRY(object_->free_range(tx, header_.count * kBlockPointerBytes, UINT64_MAX));
    TRY(store(tx));
  }
  if (!failed)
    return std::move(failed).error().in(fmt::format("block list {}, entry {}", number(), header_.count - 1));
  return drained;
}

Result<std::uint64_t> Bpobj::drain(const Tx& tx, std::uint64_t limit, const BlockIo& io,
                                   const std::function<Status(const BlockPointer&)>& visit) {
  std::uint64_t drained = TRY(drain_own(tx, limit, io, visit));
  while (drained < limit && header_.subobj_count > 0) {
    ObjectRef array = TRY(mos_->open_object(header_.subobjs));
    std::byte word[8];
    TRY(array->read((header_.subobj_count - 1) * 8, word));
    Bpobj child = TRY(Bpobj::open(*mos_, tarn::load<std::uint64_t>(word, kHostOrder)));
    if (child.header_.subobj_count != 0 || child.number() == number())
      return Error(Errc::corrupt, fmt::format("block list {}: sub-list {} has sub-lists of its own", number(),
                                              child.number()));
    const BlockSpace before = child.space();
    auto done = child.drain_own(tx, limit - drained, io, visit);
    const BlockSpace after = child.space();
    header_.bytes -= static_cast<std::uint64_t>(before.used - after.used);
    header_.compressed -= static_cast<std::uint64_t>(before.compressed - after.compressed);
    header_.uncompressed -= static_cast<std::uint64_t>(before.uncompressed - after.uncompressed);
    if (!done) {
      TRY(store(tx));
      return std::move(done).error();
    }
    drained += *done;
    if (child.header_.count == 0) {
      TRY(mos_->free_object(tx, child.number()));
      --header_.subobj_count;
      if (header_.subobj_count == 0) {
        TRY(mos_->free_object(tx, header_.subobjs));
        header_.subobjs = 0;
      }
    }
    TRY(store(tx));
  }
  return drained;
}

}  // namespace tarn
