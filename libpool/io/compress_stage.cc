#include "libpool/io/compress_stage.h"

#include <cstring>

namespace tarn {
namespace {

CompressionType resolve(CompressionType type) {
  return type == CompressionType::on || type == CompressionType::inherit ? CompressionType::lz4 : type;
}

bool may_embed(const BlockWrite& block) {
  return block.may_embed && block.level == 0 && block.type != DmuType::dnode && block.type != DmuType::objset;
}

}  // namespace

StoredForm choose_stored_form(const BlockWrite& block, std::uint64_t min_alloc_bytes) {
  StoredForm form{.data = block.data};
  const ByteView logical = *block.data;
  const CompressionSpec spec{resolve(block.compression.type), block.compression.level};
  if (spec.type == CompressionType::off) return form;
  if (all_zero(logical)) {
    form.kind = StoredForm::Kind::hole;
    return form;
  }
  if (spec.type == CompressionType::empty) return form;

  std::size_t target = logical.size() - logical.size() / 8;
  if (spec.type != CompressionType::zle) target = round_down(target, min_alloc_bytes);
  if (target < min_alloc_bytes) target = kMaxEmbeddedBytes;
  if (target == kMaxEmbeddedBytes && !may_embed(block)) return form;
  target = std::min(target, logical.size());

  // Most blocks compress well; what is cut off afterwards was only reserved, not touched.
  Buffer scratch(target);
  const std::optional<std::size_t> length = compress(spec, logical, scratch.span());
  if (!length) return form;
  if (*length <= kMaxEmbeddedBytes && *length > 0 && may_embed(block)) {
    form.kind = StoredForm::Kind::embedded;
    form.compression = spec.type;
    form.payload_bytes = *length;
    std::memcpy(form.payload.data(), scratch.data(), *length);
    return form;
  }
  const std::size_t physical = std::max<std::size_t>(round_up(*length, min_alloc_bytes), min_alloc_bytes);
  if (physical >= logical.size()) return form;
  auto stored = std::make_shared<Buffer>(physical);
  std::memcpy(stored->data(), scratch.data(), *length);
  std::memset(stored->data() + *length, 0, physical - *length);
  form.compression = spec.type;
  form.data = std::move(stored);
  return form;
}

BlockPointer embedded_pointer(const BlockWrite& block, const StoredForm& form) {
  BlockPointer bp;
  bp.embedded = true;
  bp.type = block.type;
  bp.level = block.level;
  bp.logical_bytes = static_cast<std::uint32_t>(block.data->size());
  bp.physical_bytes = static_cast<std::uint32_t>(form.payload_bytes);
  bp.compression = form.compression;
  bp.logical_birth = block.txg;
  bp.payload = form.payload;
  return bp;
}

Result<BufferRef> read_embedded(const BlockPointer& bp) {
  if (bp.embedded_type == EmbeddedType::redacted) return Error(Errc::io, "the block was redacted");
  if (bp.embedded_type != EmbeddedType::data || bp.physical_bytes > kMaxEmbeddedBytes ||
      bp.logical_bytes > kMaxBlockBytes)
    return Error(Errc::corrupt, "bad embedded block pointer");
  const ByteView payload = ByteView(bp.payload).first(bp.physical_bytes);
  auto out = std::make_shared<Buffer>(Buffer::zeroed(bp.logical_bytes));
  if (bp.compression == CompressionType::off) {
    std::memcpy(out->data(), payload.data(), std::min<std::size_t>(payload.size(), out->size()));
  } else {
    TRY(decompress(bp.compression, payload, out->span()));
  }
  return BufferRef(std::move(out));
}

}  // namespace tarn
