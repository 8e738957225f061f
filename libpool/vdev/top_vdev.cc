#include "libpool/vdev/top_vdev.h"

#include <fmt/format.h>

namespace tarn {

std::string TopVdev::name() const { return is_leaf(config_.kind) ? config_.path : config_.display_name(); }

Status TopVdev::check_place(std::uint64_t offset_bytes, std::uint64_t allocated_bytes) const {
  const std::uint64_t size = std::max(config_.asize_bytes, usable_bytes());
  if (offset_bytes % sector_bytes() != 0 || offset_bytes > size || allocated_bytes > size - offset_bytes) {
    return Error(Errc::corrupt, fmt::format("{}: no block of {} bytes can be at {:#x}", name(),
                                            allocated_bytes, offset_bytes));
  }
  return {};
}

BufferRef padded_to_sector(BufferRef data, std::uint64_t sector_bytes) {
  const std::uint64_t padded_bytes = round_up(data->size(), sector_bytes);
  if (padded_bytes == data->size()) return data;
  auto padded = std::make_shared<Buffer>(padded_bytes);
  std::memcpy(padded->data(), data->data(), data->size());
  std::memset(padded->data() + data->size(), 0, padded_bytes - data->size());
  return padded;
}

}  // namespace tarn
