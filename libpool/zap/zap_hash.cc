#include "libpool/zap/zap_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libpool/base/bytes.h"

namespace tarn {

namespace {

// CRC-64, ECMA-182 polynomial, reflected.
constexpr std::array<std::uint64_t, 256> kCrc64 = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t i = 0; i < 256; ++i) {
    std::uint64_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xC96C5795D7870F42ULL : 0);
    table[i] = c;
  }
  return table;
}();

std::uint64_t step(std::uint64_t crc, std::uint8_t byte) { return (crc >> 8) ^ kCrc64[(crc ^ byte) & 0xff]; }

}  // namespace

Result<std::string> normalize_name(std::string_view name, std::uint64_t norm_flags) {
  std::string out(name);
  if (norm_flags == 0) return out;
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return Error(
        Errc::unsupported,
        fmt::format("name '{}': case folding and Unicode normalisation beyond ASCII are not supported",
                    name));
  if (norm_flags & kNormToUpper)
    for (char& c : out)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

Status check_name(std::string_view name, const ZapKeying& keying) {
  if (keying.flags & kZapU64Keys) {
    if (name.empty() || name.size() % 8)
      return Error(Errc::invalid_argument, "ZAP key is not made of 64-bit words");
    return {};
  }
  if (name.empty()) return Error(Errc::invalid_argument, "empty ZAP name");
  if (name.find('\0') != name.npos) return Error(Errc::invalid_argument, "ZAP name with a NUL in it");
  return {};
}

Result<std::uint64_t> hash_name(std::string_view name, const ZapKeying& keying) {
  std::uint64_t hash = keying.salt;
  if (keying.flags & kZapU64Keys) {
    const ByteView bytes = as_bytes(name);
    if (keying.flags & kZapPreHashed) {
      hash = bytes.size() >= 8 ? load<std::uint64_t>(bytes.data(), ByteOrder::big) : 0;
    } else {
      for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
        for (int i = 7; i >= 0; --i)
          hash = step(hash, static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)]));
    }
  } else if (keying.norm_flags) {
    for (const char c : TRY(normalize_name(name, keying.norm_flags)))
      hash = step(hash, static_cast<std::uint8_t>(c));
  } else {
    for (const char c : name) hash = step(hash, static_cast<std::uint8_t>(c));
  }
  return hash & ~((std::uint64_t{1} << (64 - keying.hash_bits())) - 1);
}

}  // namespace tarn
