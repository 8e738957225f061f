#include "libpool/vdev/leaf.h"

#include <fmt/format.h>

namespace tarn {

namespace {
constexpr std::uint64_t kLabelGranuleBytes = 256 << 10;
constexpr std::uint64_t kAllLabelsBytes = kLabelsAndBootBytes + 2 * kLabelBytes;
constexpr auto kRelaxed = std::memory_order_relaxed;
}  // namespace

std::uint64_t allocatable_bytes(std::uint64_t device_bytes) {
  if (device_bytes < kMinDeviceBytes) return 0;
  return round_down(device_bytes, kLabelGranuleBytes) - kAllLabelsBytes;
}

LeafVdev::LeafVdev(const VdevConfig& config, const DiskOpener& opener, std::uint64_t needed_bytes)
    : config_(config) {
  open(opener, needed_bytes);
}

void LeafVdev::open(const DiskOpener& opener, std::uint64_t needed_bytes) {
  const auto be = [&](VdevState state, VdevAux aux) {
    state_ = state;
    aux_ = aux;
  };
  if (config_.offline) return be(VdevState::offline, VdevAux::none);
  if (config_.removed) return be(VdevState::removed, VdevAux::none);
  if (config_.kind == VdevKind::missing) return be(VdevState::cant_open, VdevAux::open_failed);
  Result<std::shared_ptr<Disk>> disk = opener(config_);
  if (!disk) {
    problem_ = disk.error().text();
    return be(VdevState::cant_open,
              disk.error().code() == Errc::corrupt ? VdevAux::corrupt_data : VdevAux::open_failed);
  }
  disk_ = std::move(*disk);
  const std::uint64_t capacity = capacity_bytes();
  if (capacity == 0 || capacity < needed_bytes) {
    problem_ = fmt::format("{}: device of {} bytes is too small", config_.path, disk_->size_bytes());
    disk_.reset();
    return be(VdevState::cant_open, VdevAux::too_small);
  }
  const VdevAux persistent = config_.aux_state == "external" ? VdevAux::external : VdevAux::err_exceeded;
  if (config_.faulted) return be(VdevState::faulted, persistent);
  if (config_.degraded) return be(VdevState::degraded, persistent);
  be(VdevState::healthy, VdevAux::none);
}

Status LeafVdev::set_state(VdevState state, VdevAux aux) {
  if (state >= VdevState::degraded && !disk_)
    return Error(Errc::io, fmt::format("{}: device is not open", config_.path));
  aux_ = aux;
  state_ = state;
  return {};
}

void LeafVdev::count_read(std::uint64_t length_bytes, const Status& result) {
  counters_.read_ops.fetch_add(1, kRelaxed);
  if (result) {
    counters_.read_bytes.fetch_add(length_bytes, kRelaxed);
  } else {
    counters_.read_errors.fetch_add(1, kRelaxed);
  }
}

void LeafVdev::write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts, std::uint64_t txg,
                           std::function<void(Status)> done) {
  if (!usable()) {
    note_missing(txg);
    return done(Error(Errc::io, fmt::format("{}: device is not available", config_.path)));
  }
  std::uint64_t length_bytes = 0;
  for (const ByteView part : parts) length_bytes += part.size();
  dirty_.store(true, kRelaxed);
  disk_->write_async(kLabelsAndBootBytes + offset_bytes, std::move(parts),
                     [this, length_bytes, txg, done = std::move(done)](Status result) {
                       counters_.write_ops.fetch_add(1, kRelaxed);
                       if (result) {
                         counters_.write_bytes.fetch_add(length_bytes, kRelaxed);
                       } else {
                         counters_.write_errors.fetch_add(1, kRelaxed);
                         note_missing(txg);
                       }
                       done(std::move(result));
                     });
}

void LeafVdev::repair(std::uint64_t offset_bytes, ByteView data) {
  if (!usable()) return;
  dirty_.store(true, kRelaxed);
  counters_.write_ops.fetch_add(1, kRelaxed);
  if (disk_->write(kLabelsAndBootBytes + offset_bytes, data)) {
    counters_.write_bytes.fetch_add(data.size(), kRelaxed);
  } else {
    counters_.write_errors.fetch_add(1, kRelaxed);
  }
}

void LeafVdev::discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  // A hint: a device that cannot do it keeps its old bytes, which nobody reads.
  if (usable()) (void)disk_->discard(kLabelsAndBootBytes + offset_bytes, length_bytes);
}

void LeafVdev::flush_async(std::function<void(Status)> done) {
  dirty_.store(false, kRelaxed);
  if (!usable()) return done(Error(Errc::io, fmt::format("{}: device is not available", config_.path)));
  disk_->flush_async([this, done = std::move(done)](Status result) {
    if (!result) {
      counters_.write_errors.fetch_add(1, kRelaxed);
      dirty_.store(true, kRelaxed);
    }
    done(std::move(result));
  });
}

void LeafVdev::note_missing(std::uint64_t txg) {
  if (txg == 0) return;
  MutexLock lock(mutex_);
  missing_.add(txg, txg + 1);
  complete_.store(false, kRelaxed);
}

bool LeafVdev::lacks(std::uint64_t txg) const {
  if (complete_.load(kRelaxed)) return false;
  MutexLock lock(mutex_);
  return missing_.contains(txg);
}

TxgSet LeafVdev::missing() const {
  MutexLock lock(mutex_);
  return missing_;
}

void LeafVdev::set_missing(TxgSet txgs) {
  MutexLock lock(mutex_);
  missing_ = std::move(txgs);
  complete_.store(missing_.empty(), kRelaxed);
}

}  // namespace tarn
