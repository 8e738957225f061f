// Bpobj: a list of block pointers in a MOS object, with space totals (FORMAT.md 12.3). Used here for the
// frees put off to the next txg (sync_bplist) and the blocks of destroyed datasets (free_bpobj).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "libpool/io/block_io.h"
#include "libpool/object/object_set.h"

namespace tarn {

// Space of a block as accounting counts it (FORMAT.md logical 3.9).
struct BlockSpace {
  std::int64_t used = 0, compressed = 0, uncompressed = 0;
  BlockSpace& operator+=(const BlockSpace& o) {
    used += o.used;
    compressed += o.compressed;
    uncompressed += o.uncompressed;
    return *this;
  }
  BlockSpace operator-() const { return {-used, -compressed, -uncompressed}; }
  bool zero() const { return used == 0 && compressed == 0 && uncompressed == 0; }
};
BlockSpace space_of(const BlockPointer& bp, const BlockIo& io);

class Bpobj {
 public:
  // A new, empty one. Its header has the fields that pools of `version` know.
  static Result<std::uint64_t> create(ObjectSet& mos, const Tx& tx, std::uint32_t block_bytes,
                                      std::uint64_t pool_version);
  static Result<Bpobj> open(ObjectSet& mos, std::uint64_t number);

  std::uint64_t number() const { return object_->number(); }
  std::uint64_t count() const { return header_.count; }
  bool empty() const { return header_.count == 0 && header_.subobj_count == 0; }
  BlockSpace space() const {
    return {.used = static_cast<std::int64_t>(header_.bytes),
            .compressed = static_cast<std::int64_t>(header_.compressed),
            .uncompressed = static_cast<std::int64_t>(header_.uncompressed)};
  }

  Status append(const Tx& tx, std::span<const BlockPointer> bps, const BlockIo& io);
  // Hands up to `limit` block pointers to `visit` from the end of the list (sub-lists last) and removes them.
  // Returns how many. An error of `visit` stops; what it accepted before is removed.
  Result<std::uint64_t> drain(const Tx& tx, std::uint64_t limit, const BlockIo& io,
                              const std::function<Status(const BlockPointer&)>& visit);

 private:
  struct Header {
    std::uint64_t count = 0, bytes = 0, compressed = 0, uncompressed = 0, subobjs = 0, subobj_count = 0,
                  freed_count = 0;
  };
  Bpobj(ObjectSet& mos, ObjectRef object) : mos_(&mos), object_(std::move(object)) {}
  Status load();
  Status store(const Tx& tx);
  Result<std::uint64_t> drain_own(const Tx& tx, std::uint64_t limit, const BlockIo& io,
                                  const std::function<Status(const BlockPointer&)>& visit);

  ObjectSet* mos_;
  ObjectRef object_;
  Header header_;
  std::size_t header_words_ = 0;
};

}  // namespace tarn
