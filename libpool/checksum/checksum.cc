#include "libpool/checksum/checksum.h"

#include <fmt/format.h>

#include "libpool/checksum/digests.h"

namespace tarn {
namespace {

struct Info {
  const char* name;
  bool metadata_grade, strong, salted;
  std::string_view feature;
};
constexpr std::array<Info, 15> kInfos{{{"inherit", false, false, false, {}},
                                       {"on", false, false, false, {}},
                                       {"off", false, false, false, {}},
                                       {"label", true, false, false, {}},
                                       {"gang_header", true, false, false, {}},
                                       {"zilog", false, false, false, {}},
                                       {"fletcher2", false, false, false, {}},
                                       {"fletcher4", true, false, false, {}},
                                       {"sha256", true, true, false, {}},
                                       {"zilog2", false, false, false, {}},
                                       {"noparity", false, false, false, {}},
                                       {"sha512", true, true, false, "org.illumos:sha512"},
                                       {"skein", true, true, true, "org.illumos:skein"},
                                       {"edonr", true, false, true, "org.illumos:edonr"},
                                       {"blake3", true, true, true, "org.openzfs:blake3"}}};

const Info& info(ChecksumType type) {
  static constexpr Info kUnknown{"unknown checksum", false, false, false, {}};
  return is_known(type) ? kInfos[static_cast<std::size_t>(type)] : kUnknown;
}

// In memory order: word i is digest bytes 8i to 8i+7 as the block's byte order reads them.
ChecksumWords in_memory_order(const Digest& digest, ByteOrder order) {
  ChecksumWords words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = load<std::uint64_t>(digest.data() + 8 * i, order);
  return words;
}

}  // namespace

bool is_known(ChecksumType type) { return static_cast<std::size_t>(type) < kInfos.size(); }
bool is_metadata_grade(ChecksumType type) { return info(type).metadata_grade; }
bool is_strong(ChecksumType type) { return info(type).strong; }
bool is_salted(ChecksumType type) { return info(type).salted; }
const char* name_of(ChecksumType type) { return info(type).name; }
std::string_view feature_of(ChecksumType type) { return info(type).feature; }

Result<ChecksumWords> compute_checksum(ChecksumType type, ByteView data, ByteOrder order,
                                       const ChecksumSalt& salt) {
  switch (type) {
    case ChecksumType::off:
    case ChecksumType::noparity:
      return ChecksumWords{};
    case ChecksumType::fletcher2:
      return fletcher2(data, order);
    case ChecksumType::fletcher4:
      return fletcher4(data, order);
    case ChecksumType::sha256:
      return sha256_words(data);
    case ChecksumType::sha512:
      return in_memory_order(sha512_256(data), order);
    case ChecksumType::skein:
      return in_memory_order(skein_512_256(data, salt), order);
    case ChecksumType::edonr:
      return in_memory_order(edonr_512_salted(data, salt), order);
    case ChecksumType::blake3:
      return in_memory_order(blake3_keyed(data, salt), order);
    default:
      return Error(Errc::unsupported, fmt::format("checksum {} is not supported", name_of(type)));
  }
}

}  // namespace tarn
