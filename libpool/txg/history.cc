#include "libpool/txg/history.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::uint32_t kBlockBytes = 128 << 10;
constexpr std::uint64_t kMinRingBytes = 128 << 10;
constexpr std::uint64_t kMaxRingBytes = 1 << 30;
constexpr std::size_t kOffsetsBytes = 40;
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxRecordBytes = 16 << 20;

}  // namespace

Result<std::uint64_t> History::create(ObjectSet& mos, const Tx& tx, std::uint64_t pool_bytes) {
  const ObjectSpec spec{.type = DmuType::history,
                        .block_bytes = kBlockBytes,
                        .bonus_type = DmuType::history_offsets,
                        .bonus_bytes = kOffsetsBytes};
  ObjectRef object = TRY(mos.create_object(tx, spec));
  History history(object);
  TRY(history.store(tx, {.max = std::clamp(pool_bytes / 1000, kMinRingBytes, kMaxRingBytes)}));
  return object->number();
}

Result<History> History::open(ObjectSet& mos, std::uint64_t number) {
  History history(TRY(mos.open_object(number).in("history")));
  TRY(history.offsets());
  return history;
}

Result<History::Offsets> History::offsets() const {
  const Bytes bonus = object_->bonus();
  ByteReader reader(bonus, kHostOrder);
  Offsets o{.kept = reader.u64(),
            .max = reader.u64(),
            .begin = reader.u64(),
            .end = reader.u64(),
            .lost = reader.u64()};
  if (reader.failed() || o.max > kMaxRingBytes || o.kept >= o.max || o.begin > o.end ||
      o.end - o.begin > o.max)
    return Error(Errc::corrupt, "history: offsets make no sense");
  return o;
}

Status History::store(const Tx& tx, const Offsets& o) {
  Bytes bonus(kOffsetsBytes);
  ByteWriter writer(bonus, kHostOrder);
  for (const std::uint64_t field : {o.kept, o.max, o.begin, o.end, o.lost}) writer.u64(field);
  return object_->set_bonus(tx, bonus);
}

namespace {

// Splits [logical, logical + length) into runs that are contiguous in the object.
template <typename Visit>
Status for_each_run(std::uint64_t kept, std::uint64_t max, std::uint64_t logical, std::uint64_t length,
                    Visit visit) {
  std::uint64_t done = 0;
  while (done < length) {
    const std::uint64_t at = logical + done;
    const std::uint64_t physical = at < kept ? at : kept + (at - kept) % (max - kept);
    const std::uint64_t run = std::min(length - done, (at < kept ? kept : max) - physical);
    TRY(visit(physical, done, run));
    done += run;
  }
  return {};
}

}  // namespace

Status History::read_ring(const Offsets& o, std::uint64_t logical, MutableByteView out) const {
  return for_each_run(o.kept, o.max, logical, out.size(),
                      [&](std::uint64_t physical, std::uint64_t done, std::uint64_t run) {
                        return object_->read(physical, out.subspan(done, run));
                      });
}

Status History::write_ring(const Tx& tx, const Offsets& o, std::uint64_t logical, ByteView data) {
  return for_each_run(o.kept, o.max, logical, data.size(),
                      [&](std::uint64_t physical, std::uint64_t done, std::uint64_t run) {
                        return object_->write(tx, physical, data.subspan(done, run));
                      });
}

Result<std::uint64_t> History::record_length(const Offsets& o, std::uint64_t logical,
                                             std::uint64_t limit) const {
  std::byte word[kLengthBytes];
  if (limit < logical || limit - logical < kLengthBytes)
    return Error(Errc::corrupt, fmt::format("history: record at {} is cut short", logical));
  TRY(read_ring(o, logical, word));
  const std::uint64_t length = load<std::uint64_t>(word, ByteOrder::little);
  if (length > kMaxRecordBytes || length > limit - logical - kLengthBytes)
    return Error(Errc::corrupt, fmt::format("history: record at {} claims {} bytes", logical, length));
  return length;
}

Status History::append(const Tx& tx, const NvList& record) {
  Offsets o = TRY(offsets());
  const Bytes packed = pack(record, NvEncoding::native);
  const std::uint64_t needed = packed.size() + kLengthBytes;
  const std::uint64_t ring = o.max - o.kept;
  if (needed >= ring) return {};  // longer than the whole ring: cannot be kept
  while (o.end - std::max(o.begin, o.kept) + needed > ring) {
    // The oldest records give way. Where they are damaged, all do.
    o.begin = std::max(o.begin, o.kept);
    auto length = record_length(o, o.begin, o.end);
    o.begin = length ? o.begin + kLengthBytes + *length : o.end;
    ++o.lost;
  }
  Bytes framed(needed);
  tarn::store<std::uint64_t>(framed.data(), packed.size(), ByteOrder::little);
  std::copy(packed.begin(), packed.end(), framed.begin() + kLengthBytes);
  TRY(write_ring(tx, o, o.end, framed));
  o.end += needed;
  return store(tx, o);
}

Status History::keep_all_so_far(const Tx& tx) {
  Offsets o = TRY(offsets());
  o.kept = o.begin = o.end;
  return store(tx, o);
}

Result<std::vector<NvList>> History::records() const {
  const Offsets o = TRY(offsets());
  std::vector<NvList> out;
  const auto collect = [&](std::uint64_t from, std::uint64_t to) -> Status {
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t length = TRY(record_length(o, at, to));
      Bytes packed(length);
      TRY(read_ring(o, at + kLengthBytes, packed));
      out.push_back(TRY(unpack(packed).in(fmt::format("history: record at {}", at))));
      at += kLengthBytes + length;
    }
    return {};
  };
  Status read = collect(0, std::min(o.kept, o.end));
  if (read) read = collect(std::max(o.begin, o.kept), o.end);
  if (!read && out.empty()) return std::move(read).error();
  return out;
}

NvList command_record(const std::string& command, const HistoryOrigin& origin, const Clock& clock) {
  NvList record;
  record.set_text("history command", command);
  record.set_text("history zone", "linux");
  record.set_u64("history who", origin.uid);
  record.set_u64("history time", static_cast<std::uint64_t>(clock.now().seconds));
  record.set_text("history hostname", origin.host);
  return record;
}

NvList internal_record(std::uint64_t txg, const std::string& event, const std::string& text,
                       const std::string& dataset, std::uint64_t dataset_id, const HistoryOrigin& origin,
                       const Clock& clock) {
  NvList record;
  if (!dataset.empty()) {
    record.set_text("dsname", dataset);
    record.set_u64("dsid", dataset_id);
  }
  record.set_text("history internal str", text);
  record.set_text("internal_name", event);
  record.set_u64("history txg", txg);
  record.set_u64("history time", static_cast<std::uint64_t>(clock.now().seconds));
  record.set_text("history hostname", origin.host);
  return record;
}

}  // namespace tarn
