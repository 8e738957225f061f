// RAID-Z at the top of the tree: writes with parity; raidz_read.cc reads.
#include <fmt/format.h>

#include <algorithm>

#include "libpool/vdev/raidz_read.h"
#include "libpool/vdev/top_vdev.h"

namespace tarn {

namespace {

constexpr std::uint64_t kReflowOffsetBits = 55;
constexpr unsigned kReflowUnitShift = 9;
constexpr std::uint64_t kScratchValid = 1;

// What skip sectors are written with: as large as the largest sector.
alignas(Buffer::kAlignment) constexpr std::byte kZeroSector[1 << 16] = {};

// One block on its way to the children. Lives until the last column has been answered for.
struct RaidzWrite {
  BufferRef data;
  Buffer parity;
  WriteBatch& batch;
  const std::uint64_t length_bytes;
  const std::size_t tolerated;
  std::atomic<std::size_t> left;
  Mutex mutex;
  std::vector<unsigned> failed_children GUARDED_BY(mutex);
  Status first_error GUARDED_BY(mutex);

  void column_done(unsigned child, Status result) {
    if (!result) {
      MutexLock lock(mutex);
      if (std::find(failed_children.begin(), failed_children.end(), child) == failed_children.end())
        failed_children.push_back(child);
      if (first_error) first_error = std::move(result);
    }
    if (left.fetch_sub(1) != 1) return;
    Status outcome;
    {
      MutexLock lock(mutex);
      if (failed_children.size() > tolerated) outcome = std::move(first_error);
    }
    batch.end(length_bytes, std::move(outcome));
  }
};

class RaidzTop final : public TopVdev {
 public:
  RaidzTop(VdevConfig& config, VdevCounters& counters, std::vector<CopySet> children)
      : TopVdev(config, counters),
        children_(std::move(children)),
        parity_count_(static_cast<unsigned>(config.nparity)),
        expanding_(config.raidz_expanding),
        expand_txgs_(config.raidz_expand_txgs),
        original_width_(static_cast<unsigned>(children_.size() - expand_txgs_.size()) -
                        (expanding_ ? 1 : 0)) {}

  VdevState state() const override {
    std::size_t lost = 0;
    bool all_healthy = true;
    for (const CopySet& child : children_) {
      lost += child.usable_count() == 0;
      for (const LeafVdev* leaf : child.leaves())
        all_healthy = all_healthy && leaf->state() == VdevState::healthy;
    }
    if (lost > parity_count_) return VdevState::cant_open;
    return all_healthy ? VdevState::healthy : VdevState::degraded;
  }

  Status usable() const override {
    std::string why;
    std::size_t lost = 0;
    for (const CopySet& child : children_) {
      if (child.usable_count() != 0) continue;
      ++lost;
      for (const LeafVdev* leaf : child.leaves())
        why += fmt::format("{}{}", why.empty() ? "" : ", ",
                           leaf->problem().empty() ? leaf->config().path : leaf->problem());
    }
    if (lost <= parity_count_) return {};
    return Error(Errc::io, fmt::format("{}: {} of {} devices are not available: {}", name(), lost,
                                       children_.size(), why));
  }

  std::uint64_t usable_bytes() const override {
    std::uint64_t smallest = 0;
    for (const CopySet& child : children_) {
      const std::uint64_t capacity = child.capacity_bytes();
      if (capacity != 0) smallest = smallest == 0 ? capacity : std::min(smallest, capacity);
    }
    return smallest == 0 ? config_.asize_bytes : smallest * (children_.size() - (expanding_ ? 1 : 0));
  }

  std::uint64_t allocated_size(std::uint64_t physical_bytes) const override {
    return raidz_allocated_bytes(physical_bytes, logical_width(UINT64_MAX), parity_count_, ashift());
  }
  std::uint64_t deflated_size(std::uint64_t allocated_bytes) const override {
    return raidz_deflated_bytes(allocated_bytes, original_width_, parity_count_, ashift());
  }
  std::size_t tolerated_failures() const override { return parity_count_; }
  const std::vector<CopySet>& copy_sets() const override { return children_; }
  void set_reflow(std::uint64_t reflow_word) override { reflow_word_ = reflow_word; }

  Status read(std::uint64_t offset_bytes, MutableByteView out, const ReadHow& how) override;
  void write(std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg, WriteBatch& batch) override;
  void discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) override;

 private:
  unsigned logical_width(std::uint64_t txg) const {
    return original_width_ + static_cast<unsigned>(std::count_if(expand_txgs_.begin(), expand_txgs_.end(),
                                                                 [&](std::uint64_t t) { return t <= txg; }));
  }
  Result<RaidzMap> map_block(std::uint64_t offset_bytes, std::uint64_t length_bytes, std::uint64_t txg,
                             bool writing) const;

  const std::vector<CopySet> children_;
  const unsigned parity_count_;
  const bool expanding_;
  const std::vector<std::uint64_t> expand_txgs_;
  const unsigned original_width_;
  static constexpr std::uint64_t kUnknownReflow = UINT64_MAX;
  std::atomic<std::uint64_t> reflow_word_{kUnknownReflow};
};

Result<RaidzMap> RaidzTop::map_block(std::uint64_t offset_bytes, std::uint64_t length_bytes,
                                     std::uint64_t txg, bool writing) const {
  const unsigned width = logical_width(txg);
  TRY(check_place(offset_bytes, raidz_allocated_bytes(length_bytes, width, parity_count_, ashift())));
  RaidzReflow reflow{.expanding = expanding_};
  if (expanding_) {
    const std::uint64_t word = reflow_word_;
    if (word == kUnknownReflow)
      return Error(Errc::unsupported, fmt::format("{}: being expanded, and how far is not known", name()));
    reflow.offset_bytes = (word & ((std::uint64_t{1} << kReflowOffsetBits) - 1)) << kReflowUnitShift;
    reflow.scratch_valid = word >> kReflowOffsetBits == kScratchValid;
    // Until the scratch area has been copied back, a write below the offset could be overwritten by that.
    if (writing && reflow.scratch_valid)
      return Error(Errc::unsupported,
                   fmt::format("{}: expansion has to be recovered before writing", name()));
  }
  return make_raidz_map({.child_count = static_cast<unsigned>(children_.size()),
                         .logical_width = width,
                         .parity_count = parity_count_,
                         .ashift = ashift()},
                        offset_bytes, length_bytes, reflow);
}

Status RaidzTop::read(std::uint64_t offset_bytes, MutableByteView out, const ReadHow& how) {
  const RaidzMap map =
      TRY(map_block(offset_bytes, round_up(out.size(), sector_bytes()), how.birth_txg, false));
  Status result =
      read_raidz_block(map, children_, out, how).in(fmt::format("{}: block at {:#x}", name(), offset_bytes));
  if (!result)
    (result.error().code() == Errc::checksum ? counters_.checksum_errors : counters_.read_errors)
        .fetch_add(1, std::memory_order_relaxed);
  return result;
}

void RaidzTop::write(std::uint64_t offset_bytes, BufferRef data, std::uint64_t txg, WriteBatch& batch) {
  data = padded_to_sector(std::move(data), sector_bytes());
  const Result<RaidzMap> mapped = map_block(offset_bytes, data->size(), txg, true);
  if (!mapped) {
    batch.begin(0);
    return batch.end(0, mapped.error());
  }
  const RaidzMap& map = *mapped;
  const std::uint64_t length_bytes = map.data_bytes + map.parity_bytes;
  // Before the parity takes memory: this may wait for room.
  batch.begin(length_bytes);

  auto* write = new RaidzWrite{.data = std::move(data),
                               .parity = Buffer(map.parity_bytes),
                               .batch = batch,
                               .length_bytes = length_bytes,
                               .tolerated = parity_count_,
                               .left = 1,
                               .mutex = {},
                               .failed_children = {},
                               .first_error = {}};
  const std::shared_ptr<RaidzWrite> shared(write);
  // Data columns are views into the caller's buffer; parity generation only reads them.
  const MutableByteView block(const_cast<std::byte*>(write->data->data()), write->data->size());
  for (const RaidzRow& row : map.rows) generate_parity(row_buffers(map, row, block, write->parity.span()));

  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    const RaidzColumn& column = map.columns[c];
    if (column.length_bytes == 0) continue;
    std::vector<ByteView> parts;
    parts.reserve(2);
    parts.push_back(column_view(map, c, block, write->parity.span()));
    if (std::find(map.skip_columns.begin(), map.skip_columns.end(), c) != map.skip_columns.end())
      parts.emplace_back(kZeroSector, sector_bytes());
    shared->left.fetch_add(1);
    children_[column.child].write_async(
        column.offset_bytes, std::move(parts), txg,
        [shared, child = column.child](Status result) { shared->column_done(child, std::move(result)); });
  }
  shared->column_done(0, {});  // the one that we began with: no end before all columns are on their way
}

void RaidzTop::discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  // Whole rows only: the sectors of a partial row are cheaper left alone.
  if (!check_place(offset_bytes, length_bytes) || children_.size() != original_width_) return;
  const std::uint64_t row_bytes = children_.size() << ashift();
  const std::uint64_t first_row = div_ceil(offset_bytes, row_bytes),
                      end_row = (offset_bytes + length_bytes) / row_bytes;
  if (first_row >= end_row) return;
  for (const CopySet& child : children_)
    child.discard(first_row << ashift(), (end_row - first_row) << ashift());
}

}  // namespace

std::unique_ptr<TopVdev> make_raidz_top(VdevConfig& config, VdevCounters& counters,
                                        std::vector<CopySet> children) {
  return std::make_unique<RaidzTop>(config, counters, std::move(children));
}

}  // namespace tarn
