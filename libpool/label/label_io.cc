// Reading and writing labels on a disk (FORMAT.md 2).
#include <fmt/format.h>

#include "libpool/label/label.h"
#include "libpool/label/label_layout.h"

namespace tarn {
namespace {

Result<Label> read_label(Disk& disk, unsigned index) {
  const std::uint64_t offset = label_offset(index, disk.size_bytes()) + kConfigOffset;
  Buffer block(kConfigBytes);
  TRY(disk.read(offset, block.span()));
  TRY(verify_trailer(block, {offset, 0, 0, 0}));
  return Label::decode(TRY(unpack(block.view().first(kConfigBytes - kTrailerBytes))));
}

// Smaller devices have no room for four labels; offsets on them make no sense.
Status check_size(const Disk& disk) {
  if (disk.size_bytes() >= kLabelCount * kLabelBytes) return {};
  return Error(Errc::invalid_argument, fmt::format("{}: too small for labels", disk.path()));
}

Result<Buffer> pack_config(const NvList& config, std::uint64_t offset) {
  const Bytes packed = pack(config, NvEncoding::xdr);
  if (packed.size() > kConfigBytes - kTrailerBytes)
    return Error(Errc::too_large, fmt::format("label config of {} bytes does not fit", packed.size()));
  Buffer block = Buffer::zeroed(kConfigBytes);
  std::memcpy(block.data(), packed.data(), packed.size());
  seal_trailer(block.span(), {offset, 0, 0, 0});
  return block;
}

}  // namespace

std::uint64_t label_offset(unsigned index, std::uint64_t device_bytes) {
  assert(index < kLabelCount);
  if (index < 2) return index * kLabelBytes;
  return round_down(device_bytes, kLabelBytes) - (kLabelCount - index) * kLabelBytes;
}

LabelSet read_labels(Disk& disk) {
  LabelSet out;
  if (disk.size_bytes() < kLabelCount * kLabelBytes) {
    out.problems.fill("device is too small for labels");
    return out;
  }
  for (unsigned index = 0; index < kLabelCount; ++index) {
    Result<Label> label = read_label(disk, index);
    if (label) {
      out.labels[index] = *std::move(label);
    } else {
      out.problems[index] = fmt::format("label {}: {}", index, label.error().text());
    }
  }
  return out;
}

Status write_label_config(Disk& disk, unsigned index, const NvList& config) {
  TRY(check_size(disk));
  const std::uint64_t offset = label_offset(index, disk.size_bytes()) + kConfigOffset;
  return disk.write(offset, TRY(pack_config(config, offset))).in(fmt::format("label {}", index));
}

Status write_initial_labels(Disk& disk, const NvList& config) {
  TRY(check_size(disk));
  for (unsigned index = 0; index < kLabelCount; ++index) {
    const std::uint64_t start = label_offset(index, disk.size_bytes());
    // The boot sector area in front stays as it is.
    Buffer rest = Buffer::zeroed(kLabelBytes - kBootEnvOffset);
    const auto part = [&](std::uint64_t at, std::size_t bytes) {
      return rest.span().subspan(at - kBootEnvOffset, bytes);
    };
    seal_trailer(part(kBootEnvOffset, kBootEnvBytes), {start + kBootEnvOffset, 0, 0, 0});
    const Buffer packed = TRY(pack_config(config, start + kConfigOffset));
    std::memcpy(part(kConfigOffset, kConfigBytes).data(), packed.data(), packed.size());
    // The ring is one region: no slot of it verifies (FORMAT.md 2.4).
    seal_trailer(part(kRingOffset, kRingBytes), {start + kRingOffset, 0, 0, 0});
    TRY(disk.write(start + kBootEnvOffset, rest).in(fmt::format("label {}", index)));
  }
  return disk.flush();
}

Status clear_labels(Disk& disk, bool force) {
  TRY(check_size(disk));
  const LabelSet set = read_labels(disk);
  const Buffer zeros = Buffer::zeroed(kLabelBytes);
  for (unsigned index = 0; index < kLabelCount; ++index)
    if (force || set.labels[index])
      TRY(disk.write(label_offset(index, disk.size_bytes()), zeros).in(fmt::format("label {}", index)));
  return disk.flush();
}

}  // namespace tarn
