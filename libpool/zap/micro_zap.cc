#include "libpool/zap/micro_zap.h"

#include <algorithm>
#include <cstring>

namespace tarn {

namespace {

// As many names of one hash as would still fit a 16 KiB leaf, at 5 chunks each.
constexpr std::size_t kLeafChunks = 638, kChunksPerEntry = 5;

}  // namespace

std::string_view MicroZap::name_at(std::size_t at) const {
  const char* text = reinterpret_cast<const char*>(block_.data() + at + kNameAt);
  return {text, strnlen(text, kEntryBytes - kNameAt)};
}

std::optional<MicroZap::Found> MicroZap::find(std::string_view name) const {
  if (name.empty() || name.size() > kMaxNameBytes) return std::nullopt;
  std::optional<Found> found;
  for_each([&](std::size_t at) {
    const char* stored = reinterpret_cast<const char*>(block_.data() + at + kNameAt);
    if (stored[0] != name[0] || std::memcmp(stored, name.data(), name.size()) != 0 ||
        stored[name.size()] != 0)
      return false;
    found = {.at = at, .value = value_at(at)};
    return true;
  });
  return found;
}

std::uint64_t MicroZap::count() const {
  std::uint64_t count = 0;
  for_each([&](std::size_t) {
    ++count;
    return false;
  });
  return count;
}

std::optional<std::size_t> MicroZap::free_slot() const {
  for (std::size_t at = kEntryBytes; at + kEntryBytes <= block_.size(); at += kEntryBytes)
    if (block_[at + kNameAt] == std::byte{0}) return at;
  return std::nullopt;
}

Result<std::optional<std::uint32_t>> MicroZap::free_cd(std::uint64_t hash) const {
  const ZapKeying keys = keying();
  std::vector<std::uint32_t> taken;
  Status failed;
  for_each([&](std::size_t at) {
    auto other = hash_name(name_at(at), keys);
    if (!other) {
      failed = std::move(other).error();
      return true;
    }
    if (*other == hash) taken.push_back(cd_at(at));
    return false;
  });
  if (!failed) return std::move(failed).error();
  if ((taken.size() + 1) * kChunksPerEntry >= kLeafChunks) return std::optional<std::uint32_t>();
  std::sort(taken.begin(), taken.end());
  std::uint32_t cd = 0;
  for (const std::uint32_t used : taken)
    if (used == cd) ++cd;
  return std::optional<std::uint32_t>(cd);
}

void MicroZap::format(MutableByteView block, std::uint64_t salt, std::uint64_t norm_flags) {
  std::memset(block.data(), 0, block.size());
  store(block.data(), kMicroZapType, kHostOrder);
  store(block.data() + 8, salt, kHostOrder);
  store(block.data() + 16, norm_flags, kHostOrder);
}

void MicroZap::put(MutableByteView block, std::size_t at, std::string_view name, std::uint32_t cd,
                   std::uint64_t value) {
  clear(block, at);
  store(block.data() + at, value, kHostOrder);
  store(block.data() + at + 8, cd, kHostOrder);
  std::memcpy(block.data() + at + kNameAt, name.data(), name.size());
}

}  // namespace tarn
