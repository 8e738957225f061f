// Single disks, mirrors, replacing and spare vdevs at the top: one CopySet.
#include <fmt/format.h>

#include "libpool/vdev/top_vdev.h"

namespace tarn {

namespace {

class MirrorTop final : public TopVdev {
 public:
  MirrorTop(VdevConfig& config, VdevCounters& counters, std::vector<LeafVdev*> leaves)
      : TopVdev(config, counters) {
    copies_.emplace_back(std::move(leaves));
  }

  VdevState state() const override {
    const std::vector<LeafVdev*>& leaves = copies().leaves();
    if (leaves.size() == 1) return leaves.front()->state();
    if (copies().usable_count() == 0) return VdevState::cant_open;
    for (const LeafVdev* leaf : leaves) {
      if (leaf->state() != VdevState::healthy) return VdevState::degraded;
    }
    return VdevState::healthy;
  }

  Status usable() const override {
    if (copies().usable_count() != 0) return {};
    std::string why = fmt::format("{}: no device of it is available", name());
    for (const LeafVdev* leaf : copies().leaves()) {
      if (!leaf->problem().empty()) why += fmt::format(" ({})", leaf->problem());
    }
    return Error(Errc::io, std::move(why));
  }

  std::uint64_t usable_bytes() const override {
    const std::uint64_t capacity = copies().capacity_bytes();
    return capacity != 0 ? capacity : config_.asize_bytes;
  }
  std::uint64_t allocated_size(std::uint64_t physical_bytes) const override {
    return round_up(physical_bytes, sector_bytes());
  }
  std::uint64_t deflated_size(std::uint64_t allocated_bytes) const override { return allocated_bytes; }
  std::size_t tolerated_failures() const override { return 0; }
  const std::vector<CopySet>& copy_sets() const override { return copies_; }

  Status read(std::uint64_t offset_bytes, MutableByteView out, const ReadHow& how) override;
  void write(std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg, WriteBatch& batch) override;
  void discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) override {
    if (check_place(offset_bytes, length_bytes)) copies().discard(offset_bytes, length_bytes);
  }

 private:
  const CopySet& copies() const { return copies_.front(); }
  void compare_others(std::uint64_t offset_bytes, ByteView right, std::uint64_t birth_txg,
                      std::span<LeafVdev* const> others, std::vector<LeafVdev*>& bad) const;

  std::vector<CopySet> copies_;
};

// One copy after the other until one verifies; then the bad ones seen on the way are put right.
Status MirrorTop::read(std::uint64_t offset_bytes, MutableByteView out, const ReadHow& how) {
  TRY(check_place(offset_bytes, allocated_size(out.size())));
  const CopySet::Candidates candidates = copies().candidates(offset_bytes, how.birth_txg);
  if (candidates.leaves.empty()) {
    counters_.read_errors.fetch_add(1, std::memory_order_relaxed);
    return usable();
  }
  std::vector<LeafVdev*> bad;
  Status problem;  // the last one, but a wrong answer rather than none
  bool any_answered = false;
  for (std::size_t i = 0; i < candidates.leaves.size(); ++i) {
    LeafVdev* leaf = candidates.leaves[i];
    Status result = leaf->disk()->read(kLabelsAndBootBytes + offset_bytes, out);
    leaf->count_read(out.size(), result);
    if (result && how.verify(out)) {
      if (how.everything)
        compare_others(offset_bytes, out, how.birth_txg, std::span(candidates.leaves).subspan(i + 1), bad);
      if (how.repair && !bad.empty()) {
        // Whole sectors: the device may not take less.
        const BufferRef right =
            padded_to_sector(std::make_shared<Buffer>(Buffer::copy_of(out)), sector_bytes());
        for (LeafVdev* other : bad) other->repair(offset_bytes, right->view());
      }
      return {};
    }
    bad.push_back(leaf);
    if (result) {
      any_answered = true;
      // That a copy known to be stale is wrong is no news.
      if (i < candidates.complete_count) leaf->count_checksum_error();
      problem = Error(Errc::checksum,
                      fmt::format("{}: checksum mismatch at {:#x}", leaf->config().path, offset_bytes));
    } else if (!any_answered) {
      problem = std::move(result);
    }
  }
  // A single disk has counted it already as a device.
  if (copies().leaves().size() > 1)
    (any_answered ? counters_.checksum_errors : counters_.read_errors)
        .fetch_add(1, std::memory_order_relaxed);
  return problem;
}

// Adds to `bad` those that do not hold the same bytes.
void MirrorTop::compare_others(std::uint64_t offset_bytes, ByteView right, std::uint64_t birth_txg,
                               std::span<LeafVdev* const> others, std::vector<LeafVdev*>& bad) const {
  Buffer copy(right.size());
  for (LeafVdev* leaf : others) {
    const bool stale = leaf->lacks(birth_txg);
    if (!stale) {
      const Status result = leaf->disk()->read(kLabelsAndBootBytes + offset_bytes, copy.span());
      leaf->count_read(copy.size(), result);
      if (result && std::memcmp(copy.data(), right.data(), right.size()) == 0) continue;
      if (result) leaf->count_checksum_error();
    }
    bad.push_back(leaf);
  }
}

void MirrorTop::write(std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg, WriteBatch& batch) {
  BufferRef padded = padded_to_sector(std::move(data), sector_bytes());
  const std::uint64_t length_bytes = padded->size();
  batch.begin(length_bytes);
  if (Status place = check_place(offset_bytes, length_bytes); !place)
    return batch.end(length_bytes, std::move(place));
  const ByteView view = padded->view();
  copies().write_async(offset_bytes, {view}, txg, [padded = std::move(padded), &batch](Status result) {
    batch.end(padded->size(), std::move(result));
  });
}

}  // namespace

std::unique_ptr<TopVdev> make_mirror_top(VdevConfig& config, VdevCounters& counters,
                                         std::vector<LeafVdev*> leaves) {
  return std::make_unique<MirrorTop>(config, counters, std::move(leaves));
}

}  // namespace tarn
