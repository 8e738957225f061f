// The form in which a block is stored: a hole, a few bytes inside the block pointer, compressed or plain
// (FORMAT.md 8.2, 6.4).
#pragma once

#include "libpool/io/block_io.h"

namespace tarn {

struct StoredForm {
  enum class Kind : std::uint8_t { hole, embedded, stored } kind = Kind::stored;
  CompressionType compression = CompressionType::off;
  BufferRef data;                 // kind stored: PSIZE bytes; the caller's own buffer if not compressed
  std::size_t payload_bytes = 0;  // kind embedded
  std::array<std::byte, kMaxEmbeddedBytes> payload{};
};

StoredForm choose_stored_form(const BlockWrite& block, std::uint64_t min_alloc_bytes);
// The block pointer of an embedded block.
BlockPointer embedded_pointer(const BlockWrite& block, const StoredForm& form);
// Logical content of an embedded block pointer.
Result<BufferRef> read_embedded(const BlockPointer& bp);

}  // namespace tarn
