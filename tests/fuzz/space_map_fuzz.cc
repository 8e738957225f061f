// Any bytes decode to entries inside the range or to an error; what was decoded encodes to the same entries.
#include <cstdlib>
#include <vector>

#include "libpool/alloc/space_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn;
  const SpaceMapRange range{.start = 1 << 24, .size = std::uint64_t{1} << 34, .shift = 12};
  (void)SpaceMapHeader::decode(std::as_bytes(std::span(data, size)));
  std::vector<SpaceMapEntry> entries;
  const Status decoded = decode_space_map(
      std::as_bytes(std::span(data, size)), range, [&](const SpaceMapEntry& entry) -> Status {
        if (entry.start < range.start || entry.size == 0 || entry.size > range.size ||
            entry.start - range.start > range.size - entry.size)
          std::abort();
        entries.push_back(entry);
        return {};
      });
  if (!decoded) return 0;
  for (const bool two_words : {false, true}) {
    for (const SpaceMapEntry& entry : entries) {
      SpaceMapWriter writer(range, 4096 - 16, 4096, two_words);
      writer.begin(entry.is_free, 1, 1);
      writer.add(entry.start, entry.size);
      std::uint64_t at = entry.start;
      const Status again = decode_space_map(writer.bytes(), range, [&](const SpaceMapEntry& part) -> Status {
        if (part.start != at || part.is_free != entry.is_free) std::abort();
        at += part.size;
        return {};
      });
      if (!again || at != entry.start + entry.size) std::abort();
    }
  }
  return 0;
}
