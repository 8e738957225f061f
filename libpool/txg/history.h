// History: the pool's log of commands and internal events, a ring in a MOS object whose first records (the
// pool's creation) are never overwritten (FORMAT.md 12.6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libpool/base/clock.h"
#include "libpool/nvlist/nvlist.h"
#include "libpool/object/object_set.h"

namespace tarn {

class History {
 public:
  // A new, empty log that may grow to a thousandth of `pool_bytes`.
  static Result<std::uint64_t> create(ObjectSet& mos, const Tx& tx, std::uint64_t pool_bytes);
  static Result<History> open(ObjectSet& mos, std::uint64_t number);

  Status append(const Tx& tx, const NvList& record);
  // Everything logged so far stays for ever (called after the record of the pool's creation).
  Status keep_all_so_far(const Tx& tx);
  // Oldest first. A damaged record ends the list with an error only if nothing could be read.
  Result<std::vector<NvList>> records() const;

 private:
  struct Offsets {
    std::uint64_t kept = 0, max = 0, begin = 0, end = 0, lost = 0;
  };
  explicit History(ObjectRef object) : object_(std::move(object)) {}
  Result<Offsets> offsets() const;
  Status store(const Tx& tx, const Offsets& offsets);
  // Copy from or to the ring at a logical offset, around its end.
  Status read_ring(const Offsets& offsets, std::uint64_t logical, MutableByteView out) const;
  Status write_ring(const Tx& tx, const Offsets& offsets, std::uint64_t logical, ByteView data);
  Result<std::uint64_t> record_length(const Offsets& offsets, std::uint64_t logical,
                                      std::uint64_t limit) const;

  ObjectRef object_;
};

// Who and where, as every record says it.
struct HistoryOrigin {
  std::uint64_t uid = 0;
  std::string host;
};
NvList command_record(const std::string& command, const HistoryOrigin& origin, const Clock& clock);
// `dataset` may be empty: an event of the whole pool.
NvList internal_record(std::uint64_t txg, const std::string& event, const std::string& text,
                       const std::string& dataset, std::uint64_t dataset_id, const HistoryOrigin& origin,
                       const Clock& clock);

}  // namespace tarn
