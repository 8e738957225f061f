#include "libpool/alloc/space_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::uint64_t kOneWordMaxRun = 1 << 15;
constexpr std::uint64_t kOneWordMaxOffset = std::uint64_t{1} << 47;
constexpr std::uint64_t kTwoWordMaxRun = std::uint64_t{1} << 36;

constexpr std::uint64_t bits(std::uint64_t word, unsigned at, unsigned count) {
  return (word >> at) & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

Result<SpaceMapHeader> SpaceMapHeader::decode(ByteView bonus) {
  if (bonus.size() < kSmallSpaceMapHeaderBytes) return Error(Errc::corrupt, "space map header too short");
  ByteReader reader(bonus, kHostOrder);
  SpaceMapHeader out;
  out.object = reader.u64();
  out.length_bytes = reader.u64();
  out.allocated_bytes = static_cast<std::int64_t>(reader.u64());
  out.has_histogram = bonus.size() >= kSpaceMapHeaderBytes;
  if (out.has_histogram) {
    reader.seek(64);
    for (std::uint64_t& bucket : out.histogram) bucket = reader.u64();
  }
  if (out.length_bytes % 8 != 0) return Error(Errc::corrupt, "space map length is not of whole words");
  return out;
}

Bytes SpaceMapHeader::encode() const {
  Bytes out(has_histogram ? kSpaceMapHeaderBytes : kSmallSpaceMapHeaderBytes);
  ByteWriter writer(out, kHostOrder);
  writer.u64(object);
  writer.u64(length_bytes);
  writer.u64(static_cast<std::uint64_t>(allocated_bytes));
  if (!has_histogram) return out;
  writer.zeros(40);
  for (const std::uint64_t bucket : histogram) writer.u64(bucket);
  return out;
}

Status decode_space_map(ByteView words, const SpaceMapRange& range,
                        const std::function<Status(const SpaceMapEntry&)>& visit) {
  ByteReader reader(words, kHostOrder);
  const std::uint64_t units = range.size >> range.shift;
  while (reader.remaining() >= 8) {
    const std::uint64_t word = reader.u64();
    SpaceMapEntry entry;
    std::uint64_t offset, run;
    if (bits(word, 62, 2) == 2) continue;  // debug
    if (bits(word, 62, 2) == 3) {
      if (reader.remaining() < 8) return Error(Errc::corrupt, "space map: entry cut short");
      const std::uint64_t second = reader.u64();
      run = bits(word, 24, 36) + 1;
      entry.vdev = static_cast<std::uint32_t>(bits(word, 0, 24));
      entry.is_free = second >> 63;
      offset = bits(second, 0, 63);
    } else {
      offset = bits(word, 16, 47);
      entry.is_free = bits(word, 15, 1);
      run = bits(word, 0, 15) + 1;
    }
    if (run > units || offset > units - run)
      return Error(Errc::corrupt,
                   fmt::format("space map: entry of {} units at {} lies outside of its range", run, offset));
    entry.start = range.start + (offset << range.shift);
    entry.size = run << range.shift;
    TRY(visit(entry));
  }
  return {};
}

void SpaceMapWriter::word(std::uint64_t value) {
  const std::size_t at = out_.size();
  out_.resize(at + 8);
  store<std::uint64_t>(out_.data() + at, value, kHostOrder);
  position_bytes_ += 8;
}

void SpaceMapWriter::begin(bool is_free, std::uint64_t txg, unsigned pass) {
  is_free_ = is_free;
  word(std::uint64_t{2} << 62 | std::uint64_t{is_free} << 60 | std::uint64_t{pass & 0x3ffu} << 50 |
       (txg & ((std::uint64_t{1} << 50) - 1)));
}

void SpaceMapWriter::add(std::uint64_t start, std::uint64_t size) {
  std::uint64_t offset = (start - range_.start) >> range_.shift;
  std::uint64_t left = size >> range_.shift;
  while (left != 0) {
    if (two_words_ && (left > kOneWordMaxRun || offset >= kOneWordMaxOffset)) {
      if (position_bytes_ % block_bytes_ == block_bytes_ - 8) word(std::uint64_t{2} << 62);
      const std::uint64_t run = std::min(left, kTwoWordMaxRun);
      word(std::uint64_t{3} << 62 | (run - 1) << 24);
      word(std::uint64_t{is_free_} << 63 | offset);
      offset += run;
      left -= run;
    } else {
      const std::uint64_t run = std::min(left, kOneWordMaxRun);
      word(offset << 16 | std::uint64_t{is_free_} << 15 | (run - 1));
      offset += run;
      left -= run;
    }
  }
}

void count_in_histogram(std::array<std::uint64_t, kHistogramBuckets>& histogram, std::uint64_t size,
                        unsigned shift) {
  const std::size_t bucket =
      static_cast<std::size_t>(std::max(highbit(size) - 1 - static_cast<int>(shift), 0));
  if (bucket < kHistogramBuckets) {
    ++histogram[bucket];
  } else {
    histogram.back() += std::uint64_t{1} << (bucket - (kHistogramBuckets - 1));
  }
}

std::uint64_t fragmentation_percent(const std::array<std::uint64_t, kHistogramBuckets>& histogram,
                                    unsigned shift) {
  static constexpr std::array<std::uint64_t, 16> kPercentBySize{100, 100, 98, 95, 90, 80, 70, 60,
                                                                50,  40,  30, 20, 15, 10, 5,  0};
  long double weighted = 0, total = 0;
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    if (histogram[i] == 0) continue;
    const unsigned size_shift = static_cast<unsigned>(i) + shift;
    const std::size_t index =
        std::min<std::size_t>(size_shift < 9 ? 0 : size_shift - 9, kPercentBySize.size() - 1);
    const long double space = static_cast<long double>(histogram[i]) * std::uint64_t{1} *
                              (std::uint64_t{1} << std::min(size_shift, 62u));
    weighted += space * static_cast<long double>(kPercentBySize[index]);
    total += space;
  }
  return total > 0 ? static_cast<std::uint64_t>(weighted / total) : 0;
}

}  // namespace tarn
