// Space maps: the log of allocations and frees that says which space of a metaslab is in use
// (FORMAT.md 11.2, 11.3). Encoding and decoding only; the objects are the metaslab's matter.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

inline constexpr std::size_t kHistogramBuckets = 32;
inline constexpr std::size_t kSmallSpaceMapHeaderBytes = 24;
inline constexpr std::size_t kSpaceMapHeaderBytes = 64 + 8 * kHistogramBuckets;
inline constexpr std::uint32_t kSpaceMapBlockBytes = 128 << 10;
static_assert(kSpaceMapHeaderBytes == 320);

// Maps are read in chunks of whole blocks.
constexpr std::uint64_t space_map_chunk_bytes(std::uint64_t block_bytes) {
  return block_bytes >= kSpaceMapBlockBytes ? block_bytes : round_down(kSpaceMapBlockBytes, block_bytes);
}

// The bonus of a space map object; host order.
struct SpaceMapHeader {
  std::uint64_t object = 0, length_bytes = 0;
  std::int64_t allocated_bytes = 0;
  std::array<std::uint64_t, kHistogramBuckets> histogram{};
  bool has_histogram = true;

  static Result<SpaceMapHeader> decode(ByteView bonus);
  Bytes encode() const;
};

// The space that a map describes: offsets are relative to `start`, in units of 2^shift.
struct SpaceMapRange {
  std::uint64_t start = 0, size = 0;
  unsigned shift = 9;
};

struct SpaceMapEntry {
  bool is_free = false;
  std::uint32_t vdev = 0;             // meaningful in log space maps only
  std::uint64_t start = 0, size = 0;  // bytes, absolute
};

// Entries of `words`, in order. Errc::corrupt for one that lies outside of the range or is cut short.
Status decode_space_map(ByteView words, const SpaceMapRange& range,
                        const std::function<Status(const SpaceMapEntry&)>& visit);

// Builds what is appended to a map. Two-word entries do not cross a block, hence the position is part of it.
class SpaceMapWriter {
 public:
  SpaceMapWriter(const SpaceMapRange& range, std::uint64_t position_bytes, std::uint64_t block_bytes,
                 bool two_words)
      : range_(range), position_bytes_(position_bytes), block_bytes_(block_bytes), two_words_(two_words) {}
  // Opens a batch of entries of one kind.
  void begin(bool is_free, std::uint64_t txg, unsigned pass);
  void add(std::uint64_t start, std::uint64_t size);
  const Bytes& bytes() const { return out_; }

 private:
  void word(std::uint64_t value);

  const SpaceMapRange range_;
  std::uint64_t position_bytes_;
  const std::uint64_t block_bytes_;
  const bool two_words_;
  bool is_free_ = false;
  Bytes out_;
};

// Bucket of a free segment; the last one takes all larger ones.
void count_in_histogram(std::array<std::uint64_t, kHistogramBuckets>& histogram, std::uint64_t size,
                        unsigned shift);
// Percent, as OpenZFS prints it: 100 for sectors, 0 for segments of 16 MiB and up, weighted by space. Nothing
// free: 0.
std::uint64_t fragmentation_percent(const std::array<std::uint64_t, kHistogramBuckets>& histogram,
                                    unsigned shift);

}  // namespace tarn
