// Dirty time logs: the txgs of which a leaf lacks writes, kept in the MOS for each leaf that ever lacked any
// (FORMAT.md 10.3). The vdev tree knows the current sets; here they are loaded and stored.
#include <fmt/format.h>

#include <algorithm>

#include "libpool/txg/pool_impl.h"

namespace tarn {
namespace {

constexpr std::uint32_t kDtlBlockBytes = 4096;
constexpr std::uint32_t kHistogramBonusBytes = 320, kPlainBonusBytes = 24;
constexpr std::uint64_t kMaxDtlBytes = 16 << 20;
constexpr std::uint64_t kMaxRun = 1 << 15;
constexpr std::string_view kHistogramFeature = "com.delphix:spacemap_histogram";

// One-word entries only: offset in bits 62-16, run - 1 in bits 14-0, ALLOC (FORMAT.md 11.3).
Bytes encode_entries(const TxgSet& txgs, std::uint64_t& total) {
  std::vector<std::uint64_t> words;
  total = 0;
  for (const TxgRange& range : txgs.ranges()) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::uint64_t run = std::min(kMaxRun, range.end - at);
      words.push_back(at << 16 | (run - 1));
      at += run;
      total += run;
    }
  }
  Bytes out(words.size() * 8);
  ByteWriter writer(out, kHostOrder);
  for (const std::uint64_t word : words) writer.u64(word);
  return out;
}

Result<TxgSet> decode_entries(ByteView data) {
  TxgSet txgs;
  ByteReader reader(data, kHostOrder);
  while (reader.remaining() >= 8) {
    const std::uint64_t word = reader.u64();
    std::uint64_t offset = 0, run = 0;
    bool is_free = false;
    if ((word >> 62) == 2) continue;  // debug
    if ((word >> 62) == 3) {
      const std::uint64_t second = reader.u64();
      if (reader.failed()) return Error(Errc::corrupt, "dirty time log: entry cut short");
      run = ((word >> 24) & ((std::uint64_t{1} << 36) - 1)) + 1;
      offset = second & ~(std::uint64_t{1} << 63);
      is_free = second >> 63;
    } else {
      offset = (word >> 16) & ((std::uint64_t{1} << 47) - 1);
      run = (word & 0x7fff) + 1;
      is_free = (word >> 15) & 1;
    }
    is_free ? txgs.remove(offset, offset + run) : txgs.add(offset, offset + run);
  }
  return txgs;
}

}  // namespace

Status PoolImpl::load_dtls() {
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    Status status;
    for_each_leaf(vdevs_->top_config(i), [&](const VdevConfig& leaf) {
      if (!status || !leaf.dtl_object) return;
      status = [&]() -> Status {
        ObjectRef object = TRY(mos_->open_object(leaf.dtl_object));
        const Bytes bonus = object->bonus();
        ByteReader reader(bonus, kHostOrder);
        reader.skip(8);
        const std::uint64_t bytes = reader.u64();
        if (reader.failed() || bytes > kMaxDtlBytes)
          return Error(Errc::corrupt, "dirty time log: impossible length");
        Bytes data(bytes);
        TRY(object->read(0, data));
        TxgSet txgs = TRY(decode_entries(data));
        stored_dtls_[leaf.guid] = txgs;
        vdevs_->set_missing_txgs(leaf.guid, std::move(txgs));
        return {};
      }()
                            .in(fmt::format("{}: object {}", leaf.display_name(), leaf.dtl_object));
    });
    TRY(std::move(status));
  }
  return {};
}

// Called in every pass: writes of this very txg may have failed meanwhile.
Status PoolImpl::sync_dtls(SyncContext& context) {
  bool new_object = false;
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    Status status;
    for_each_vdev(vdevs_->mutable_top_config(i), [&](VdevConfig& leaf) {
      if (!status || !is_leaf(leaf.kind)) return;
      const TxgSet txgs = vdevs_->missing_txgs(leaf.guid);
      TxgSet& stored = stored_dtls_[leaf.guid];
      if (txgs == stored) return;
      status = [&]() -> Status {
        const bool histogram = feature_enabled(kHistogramFeature);
        if (!leaf.dtl_object) {
          const ObjectSpec spec{.type = DmuType::space_map,
                                .block_bytes = kDtlBlockBytes,
                                .bonus_type = DmuType::space_map_header,
                                .bonus_bytes = histogram ? kHistogramBonusBytes : kPlainBonusBytes};
          leaf.dtl_object = TRY(mos_->create_object(context.tx, spec))->number();
          if (histogram) TRY(feature_adjust(context, kHistogramFeature, 1));
          new_object = true;
        }
        ObjectRef object = TRY(mos_->open_object(leaf.dtl_object));
        std::uint64_t total = 0;
        const Bytes entries = encode_entries(txgs, total);
        TRY(object->free_range(context.tx, 0, UINT64_MAX));
        if (!entries.empty()) TRY(object->write(context.tx, 0, entries));
        Bytes bonus = object->bonus();
        if (bonus.size() < kPlainBonusBytes)
          return Error(Errc::corrupt, "dirty time log: header is too short");
        ByteWriter writer(bonus, kHostOrder);
        for (const std::uint64_t field : {leaf.dtl_object, static_cast<std::uint64_t>(entries.size()), total})
          writer.u64(field);
        return object->set_bonus(context.tx, bonus);
      }()
                            .in(leaf.display_name());
      stored = txgs;
    });
    TRY(std::move(status));
  }
  if (new_object) {
    config_dirty_ = true;
    TRY(sync_config(context));
  }
  return {};
}

}  // namespace tarn
