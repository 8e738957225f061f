#include "libdataset/tree/intent_log_check.h"

#include <algorithm>

namespace tarn {
namespace {

constexpr std::size_t kHeaderBytes = 184;  // at the start of a slim block, at the end of an old one
constexpr std::size_t kNextOffset = 8, kUsedOffset = 136, kMagicOffset = 144, kChecksumOffset = 152;
constexpr std::uint64_t kSlimUnit =
    4096;  // a slim block's checksum covers its used bytes, rounded up to this
constexpr std::int64_t kLogLevel = -2;
constexpr unsigned kMaxEmptyBlocks = 1024;

bool same_words(const std::byte* stored, const ChecksumWords& words, ByteOrder order) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (load<std::uint64_t>(stored + 8 * i, order) != words[i]) return false;
  return true;
}

// The checksum was taken with the identity of the block (the pointer's checksum words) in its own place.
bool verifies(ByteView block, const BlockPointer& bp, std::size_t header, bool slim) {
  const ByteOrder order = bp.byte_order;
  if (load<std::uint64_t>(block.data() + header + kMagicOffset, order) != kTrailerMagic) return false;
  std::size_t covered = block.size();
  if (slim) {
    const std::uint64_t used = load<std::uint64_t>(block.data() + kUsedOffset, order);
    if (used < kHeaderBytes || used > block.size()) return false;
    covered = std::min<std::size_t>(round_up(used, kSlimUnit), block.size());
  }
  Bytes copy(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(covered));
  for (std::size_t i = 0; i < bp.checksum.size(); ++i)
    store<std::uint64_t>(copy.data() + header + kChecksumOffset + 8 * i, bp.checksum[i], order);
  return same_words(block.data() + header + kChecksumOffset, fletcher4(copy, order), order);
}

}  // namespace

Result<bool> intent_log_has_records(BlockIo& io, const BlockPointer& first, std::uint64_t objset) {
  BlockPointer bp = first;
  for (unsigned i = 0; i < kMaxEmptyBlocks && !bp.is_hole(); ++i) {
    // The block carries its own checksum; the pointer's words are only its identity.
    BlockPointer unverified = bp;
    unverified.checksum_type = ChecksumType::off;
    unverified.checksum = {};
    const BufferRef block =
        TRY(io.read(unverified, {.objset = objset, .object = 0, .level = kLogLevel, .blkid = i}, false));
    const bool slim = bp.checksum_type == ChecksumType::zilog2;
    if (block->size() < kHeaderBytes) return false;
    const std::size_t header = slim ? 0 : block->size() - kHeaderBytes;
    if (!verifies(block->view(), bp, header, slim)) return false;
    const std::byte* fields = block->data() + header;
    if (load<std::uint64_t>(fields + kUsedOffset, bp.byte_order) > (slim ? kHeaderBytes : 0)) return true;
    bp = BlockPointer::decode(
        std::span<const std::byte, kBlockPointerBytes>(fields + kNextOffset, kBlockPointerBytes),
        bp.byte_order);
  }
  return false;
}

}  // namespace tarn
