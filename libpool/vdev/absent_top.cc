// Top-level vdevs without devices: holes (a place in the numbering), missing ones, and kinds that cannot be
// read.
#include <fmt/format.h>

#include "libpool/vdev/top_vdev.h"

namespace tarn {

namespace {

class AbsentTop final : public TopVdev {
 public:
  using TopVdev::TopVdev;

  VdevState state() const override { return harmless() ? VdevState::healthy : VdevState::cant_open; }
  Status usable() const override {
    if (harmless()) return {};
    return problem();
  }
  std::uint64_t usable_bytes() const override { return config_.asize_bytes; }
  std::uint64_t allocated_size(std::uint64_t physical_bytes) const override {
    return round_up(physical_bytes, sector_bytes());
  }
  std::uint64_t deflated_size(std::uint64_t allocated_bytes) const override { return allocated_bytes; }
  std::size_t tolerated_failures() const override { return 0; }
  const std::vector<CopySet>& copy_sets() const override { return none_; }
  Status read(std::uint64_t, MutableByteView, const ReadHow&) override { return problem(); }
  void write(std::uint64_t, BufferRef data, std::uint64_t, WriteBatch& batch) override {
    batch.begin(data->size());
    batch.end(data->size(), problem());
  }
  void discard(std::uint64_t, std::uint64_t) override {}

 private:
  // Holes and removed vdevs need no device; only blocks that still point there are in trouble.
  bool harmless() const { return config_.kind == VdevKind::hole || config_.kind == VdevKind::indirect; }
  Status problem() const {
    switch (config_.kind) {
      case VdevKind::hole:
        return Error(Errc::corrupt, fmt::format("vdev {}: a block points to a hole", config_.id));
      case VdevKind::missing:
        return Error(Errc::io, fmt::format("vdev {}: top-level vdev is missing", config_.id));
      default:
        return Error(Errc::unsupported, fmt::format("vdev {}: blocks on a vdev of type '{}' cannot be read",
                                                    config_.id, name_of(config_.kind)));
    }
  }

  std::vector<CopySet> none_;
};

}  // namespace

std::unique_ptr<TopVdev> make_absent_top(VdevConfig& config, VdevCounters& counters) {
  return std::make_unique<AbsentTop>(config, counters);
}

}  // namespace tarn
