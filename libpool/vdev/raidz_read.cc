// How a block is read:
//
// 1. The data columns, all at once, each from a device that has the block's txg. If they verify, that was it.
// 2. Columns that could not be read, or lie on devices that are absent or lack the txg, are reconstructed;
// only then
//    parity is read.
// 3. If the result does not verify, some device returned wrong bytes without saying so. Everything is read,
// and
//    every set of one, two, three suspect devices is tried: their columns are taken as lost and reconstructed
//    until the verifier accepts. Devices and not columns, since a moved block (FORMAT.md 9.5) has many
//    columns per device.
// 4. If nothing helps, devices that lack the txg are asked after all: their log of missing txgs is a worst
// case.
//
// Afterwards the truth is known, so what was read can be judged: columns that differ are counted and
// rewritten.
#include "libpool/vdev/raidz_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tarn {

namespace {

constexpr std::uint64_t kScratchShiftBytes = 3584 << 10;  // the scratch area is that far before offset 0

enum class ColumnState : std::uint8_t {
  unread,
  good,
  failed,
  stale
};  // good: read without an error, maybe wrong

class BlockRead {
 public:
  BlockRead(const RaidzMap& map, const std::vector<CopySet>& children, MutableByteView out,
            const ReadHow& how)
      : map_(map), children_(children), out_(out), how_(how), columns_(map.columns.size()) {
    if (out.size() == map.data_bytes) {
      block_ = out;
    } else {
      padded_ = Buffer::zeroed(map.data_bytes);
      block_ = padded_.span();
    }
  }

  Status run();

 private:
  struct Column {
    ColumnState state = ColumnState::unread;
    LeafVdev* leaf = nullptr;
  };
  // One vectored read of columns that lie next to each other on a device.
  struct Piece {
    LeafVdev* leaf;
    std::size_t column;
  };

  MutableByteView view(std::size_t index) { return column_view(map_, index, block_, parity_.span()); }
  std::uint64_t place(std::size_t index) const {
    const RaidzColumn& column = map_.columns[index];
    return column.scratch ? column.offset_bytes - kScratchShiftBytes : column.offset_bytes;
  }

  void prepare_parity();
  void read_columns(const std::vector<std::size_t>& wanted, bool stale_too);
  void issue(std::vector<Piece>& pieces);
  void read_missing_from_other_copies();
  bool any_missing() const;
  bool reconstruct(const std::vector<bool>& suspects);
  bool verified() { return how_.verify(ByteView(block_).first(out_.size())); }
  bool try_suspects();
  Status failure() const;
  Status finish();
  void judge();
  void check_everything();
  void repair(std::size_t index);

  const RaidzMap& map_;
  const std::vector<CopySet>& children_;
  const MutableByteView out_;
  const ReadHow& how_;
  Buffer padded_;
  MutableByteView block_;  // the caller's buffer, or padded_
  Buffer parity_;          // as read
  Buffer as_read_;         // copy of the block before suspects were replaced; empty until needed
  std::vector<Column> columns_;
};

Status BlockRead::run() {
  std::vector<std::size_t> data, all_parity;
  for (std::size_t i = 0; i < map_.columns.size(); ++i) {
    if (map_.columns[i].length_bytes != 0) (map_.columns[i].parity ? all_parity : data).push_back(i);
  }
  read_columns(data, false);
  if (any_missing()) {
    read_missing_from_other_copies();
    if (any_missing()) {
      prepare_parity();
      read_columns(all_parity, false);
    }
  }
  const std::vector<bool> none(children_.size());
  bool enough = reconstruct(none);
  if (enough && verified()) return finish();

  prepare_parity();
  read_columns(all_parity, false);
  if (try_suspects()) return finish();

  // The last resort.
  std::vector<std::size_t> stale;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].state == ColumnState::stale) stale.push_back(i);
  }
  if (stale.empty()) return failure();
  as_read_ = Buffer();
  read_columns(stale, true);
  enough = reconstruct(none);
  if ((enough && verified()) || try_suspects()) return finish();
  return failure();
}

void BlockRead::prepare_parity() {
  if (parity_.empty()) parity_ = Buffer(map_.parity_bytes);
}

void BlockRead::read_columns(const std::vector<std::size_t>& wanted, bool stale_too) {
  std::vector<Piece> pieces;
  pieces.reserve(wanted.size());
  for (const std::size_t index : wanted) {
    Column& column = columns_[index];
    if (column.state == ColumnState::good || column.state == ColumnState::failed) continue;
    const CopySet& child = children_[map_.columns[index].child];
    column.leaf = child.preferred(place(index), how_.birth_txg);
    if (!column.leaf && stale_too) {
      const CopySet::Candidates candidates = child.candidates(place(index), how_.birth_txg);
      if (!candidates.leaves.empty()) column.leaf = candidates.leaves.front();
    }
    if (column.leaf) {
      pieces.push_back({column.leaf, index});
    } else {
      column.state = ColumnState::stale;
    }
  }
  issue(pieces);
}

void BlockRead::issue(std::vector<Piece>& pieces) {
  if (pieces.empty()) return;
  // Only moved blocks have more than one column per device.
  if (map_.rows.size() > 1) {
    std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      return std::pair(a.leaf, place(a.column)) < std::pair(b.leaf, place(b.column));
    });
  }
  std::vector<DiskRead> reads;
  std::vector<std::size_t> first_piece;
  reads.reserve(pieces.size());
  std::uint64_t end_bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::uint64_t offset_bytes = place(pieces[i].column);
    const bool joins = i != 0 && pieces[i - 1].leaf == pieces[i].leaf && end_bytes == offset_bytes;
    if (!joins) {
      reads.push_back(pieces[i].leaf->prepare_read(offset_bytes));
      first_piece.push_back(i);
    }
    reads.back().parts.push_back(view(pieces[i].column));
    end_bytes = offset_bytes + map_.columns[pieces[i].column].length_bytes;
  }
  read_all(reads);
  first_piece.push_back(pieces.size());
  for (std::size_t r = 0; r < reads.size(); ++r) {
    const std::size_t count = first_piece[r + 1] - first_piece[r];
    for (std::size_t i = first_piece[r]; i < first_piece[r + 1]; ++i) {
      const Piece& piece = pieces[i];
      // A bad sector must not cost the neighbours: each is asked for on its own.
      if (!reads[r].result && count > 1) {
        DiskRead single = piece.leaf->prepare_read(place(piece.column));
        single.parts.push_back(view(piece.column));
        read_all({&single, 1});
        piece.leaf->count_read(map_.columns[piece.column].length_bytes, single.result);
        columns_[piece.column].state = single.result ? ColumnState::good : ColumnState::failed;
        continue;
      }
      piece.leaf->count_read(map_.columns[piece.column].length_bytes, reads[r].result);
      columns_[piece.column].state = reads[r].result ? ColumnState::good : ColumnState::failed;
    }
  }
}

// A child may itself be a mirror (a spare or replacement at work): another half may have what one could not
// give.
void BlockRead::read_missing_from_other_copies() {
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    Column& column = columns_[index];
    const CopySet& child = children_[map_.columns[index].child];
    if (column.state != ColumnState::failed || child.leaves().size() == 1) continue;
    const CopySet::Candidates candidates = child.candidates(place(index), how_.birth_txg);
    LeafVdev* const failed = column.leaf;
    for (std::size_t i = 0; i < candidates.complete_count && column.state != ColumnState::good; ++i) {
      if (candidates.leaves[i] == failed) continue;
      std::vector<Piece> piece{{column.leaf = candidates.leaves[i], index}};
      issue(piece);
    }
    if (column.state == ColumnState::good && how_.repair) failed->repair(place(index), view(index));
  }
}

bool BlockRead::any_missing() const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!map_.columns[i].parity && map_.columns[i].length_bytes != 0 &&
        columns_[i].state != ColumnState::good)
      return true;
  }
  return false;
}

// Fills in what was not read, and what lies on suspect children. False if too much is lost; the block is
// undefined then.
bool BlockRead::reconstruct(const std::vector<bool>& suspects) {
  for (const RaidzRow& row : map_.rows) {
    std::vector<bool> lost(row.column_count);
    bool data_lost = false;
    for (std::uint32_t i = 0; i < row.column_count; ++i) {
      const std::size_t index = row.first_column + i;
      if (map_.columns[index].length_bytes == 0) continue;
      lost[i] = columns_[index].state != ColumnState::good || suspects[map_.columns[index].child];
      data_lost = data_lost || (lost[i] && i >= map_.parity_count);
    }
    if (data_lost && !reconstruct_data(row_buffers(map_, row, block_, parity_.span()), lost)) return false;
  }
  return true;
}

bool BlockRead::try_suspects() {
  as_read_ = Buffer::copy_of(block_);
  std::vector<unsigned> candidates;
  for (unsigned child = 0; child < children_.size(); ++child) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (map_.columns[i].child != child || map_.columns[i].length_bytes == 0 ||
          columns_[i].state != ColumnState::good)
        continue;
      candidates.push_back(child);
      break;
    }
  }
  for (std::size_t count = 1; count <= map_.parity_count && count <= candidates.size(); ++count) {
    // All subsets of `count` candidates, as ascending indices.
    std::vector<std::size_t> chosen(count);
    std::iota(chosen.begin(), chosen.end(), 0);
    for (;;) {
      std::vector<bool> suspects(children_.size());
      for (const std::size_t i : chosen) suspects[candidates[i]] = true;
      if (reconstruct(suspects) && verified()) return true;
      std::memcpy(block_.data(), as_read_.data(), block_.size());
      std::size_t last = count;
      while (last != 0 && chosen[last - 1] == candidates.size() - count + last - 1) --last;
      if (last == 0) break;
      ++chosen[last - 1];
      for (std::size_t i = last; i < count; ++i) chosen[i] = chosen[i - 1] + 1;
    }
  }
  return false;
}

Status BlockRead::failure() const {
  // Too few answers, or wrong ones?
  std::size_t unanswered = 0;
  for (const RaidzRow& row : map_.rows) {
    std::size_t lost = 0;
    for (std::uint32_t i = 0; i < row.column_count; ++i) {
      const std::size_t index = row.first_column + i;
      lost += map_.columns[index].length_bytes != 0 && columns_[index].state != ColumnState::good;
    }
    unanswered = std::max(unanswered, lost);
  }
  if (unanswered > map_.parity_count)
    return Error(Errc::io, fmt::format("{} columns cannot be read, parity makes up for {}", unanswered,
                                       map_.parity_count));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].state == ColumnState::good && !map_.columns[i].parity)
      columns_[i].leaf->count_checksum_error();
  }
  return Error(Errc::checksum, "checksum mismatch, and no combination of columns gives the right data");
}

// From here the block is known to be right.
Status BlockRead::finish() {
  if (how_.everything) check_everything();
  judge();
  if (!padded_.empty()) std::memcpy(out_.data(), padded_.data(), out_.size());
  return {};
}

void BlockRead::judge() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (map_.columns[i].parity || map_.columns[i].length_bytes == 0) continue;
    if (column.state == ColumnState::failed) repair(i);
    if (column.state != ColumnState::good || as_read_.empty()) continue;
    const MutableByteView right = view(i);
    if (std::memcmp(right.data(), as_read_.data() + map_.columns[i].buffer_offset, right.size()) == 0)
      continue;
    column.leaf->count_checksum_error();
    repair(i);
  }
  // Parity that was read can be judged too, if there is reason to doubt it.
  if (parity_.empty() || (as_read_.empty() && !how_.everything)) return;
  Buffer right_parity(map_.parity_bytes);
  for (const RaidzRow& row : map_.rows) generate_parity(row_buffers(map_, row, block_, right_parity.span()));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (!map_.columns[i].parity || column.state == ColumnState::unread) continue;
    const MutableByteView right = column_view(map_, i, block_, right_parity.span());
    const MutableByteView got = view(i);
    const bool wrong =
        column.state == ColumnState::good && std::memcmp(got.data(), right.data(), right.size()) != 0;
    if (wrong) column.leaf->count_checksum_error();
    std::memcpy(got.data(), right.data(), right.size());
    if (wrong || column.state == ColumnState::failed) repair(i);
  }
}

// Scrubs and resilvers: parity, and every copy of every column; what devices lack is written to them.
void BlockRead::check_everything() {
  prepare_parity();
  std::vector<std::size_t> all_parity;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (map_.columns[i].parity) all_parity.push_back(i);
  }
  read_columns(all_parity, false);
  Buffer right_parity(map_.parity_bytes);
  for (const RaidzRow& row : map_.rows) generate_parity(row_buffers(map_, row, block_, right_parity.span()));
  Buffer scratch;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (map_.columns[i].length_bytes == 0) continue;
    const MutableByteView right = column_view(map_, i, block_, right_parity.span());
    for (LeafVdev* leaf : children_[map_.columns[i].child].leaves()) {
      if (!leaf->usable() || (leaf == columns_[i].leaf && columns_[i].state != ColumnState::stale &&
                              !leaf->lacks(how_.birth_txg)))
        continue;
      const bool known_stale = leaf->lacks(how_.birth_txg);
      if (!known_stale) {
        if (scratch.size() < right.size()) scratch = Buffer(right.size());
        DiskRead other = leaf->prepare_read(place(i));
        other.parts.push_back(scratch.span().first(right.size()));
        read_all({&other, 1});
        leaf->count_read(right.size(), other.result);
        if (other.result && std::memcmp(scratch.data(), right.data(), right.size()) == 0) continue;
        if (other.result) leaf->count_checksum_error();
      }
      if (how_.repair) leaf->repair(place(i), right);
    }
  }
}

void BlockRead::repair(std::size_t index) {
  if (how_.repair && columns_[index].leaf) columns_[index].leaf->repair(place(index), view(index));
}

}  // namespace

MutableByteView column_view(const RaidzMap& map, std::size_t index, MutableByteView block,
                            MutableByteView parity) {
  const RaidzColumn& column = map.columns[index];
  return (column.parity ? parity : block).subspan(column.buffer_offset, column.length_bytes);
}

RaidzRowBuffers row_buffers(const RaidzMap& map, const RaidzRow& row, MutableByteView block,
                            MutableByteView parity) {
  RaidzRowBuffers out;
  out.parity_count = map.parity_count;
  out.columns.reserve(row.column_count);
  for (std::uint32_t i = 0; i < row.column_count; ++i) {
    const RaidzColumn& column = map.columns[row.first_column + i];
    const MutableByteView whole = i < map.parity_count ? parity : block;
    // Parity may not be in memory when nothing is to be made from it.
    out.columns.push_back(column.length_bytes == 0 || whole.empty()
                              ? MutableByteView()
                              : whole.subspan(column.buffer_offset, column.length_bytes));
  }
  return out;
}

Status read_raidz_block(const RaidzMap& map, const std::vector<CopySet>& children, MutableByteView out,
                        const ReadHow& how) {
  return BlockRead(map, children, out, how).run();
}

}  // namespace tarn
