// Where things lie inside a label (FORMAT.md 2.2, 2.4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

inline constexpr std::uint64_t kBootEnvOffset = 8 << 10;
inline constexpr std::size_t kBootEnvBytes = 8 << 10;
inline constexpr std::uint64_t kConfigOffset = 16 << 10;
inline constexpr std::size_t kConfigBytes = 112 << 10;
inline constexpr std::uint64_t kRingOffset = 128 << 10;
inline constexpr std::size_t kRingBytes = 128 << 10;
inline constexpr unsigned kMinSlotShift = 10, kMaxSlotShift = 13;

static_assert(kConfigOffset == kBootEnvOffset + kBootEnvBytes && kRingOffset == kConfigOffset + kConfigBytes);

}  // namespace tarn
