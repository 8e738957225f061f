#define ZSTD_STATIC_LINKING_ONLY  // magicless frames
#include "libpool/compress/zstd.h"

#include <zstd.h>

#include <array>
#include <memory>

namespace tarn {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint8_t kDefaultLevel = 3;

int level_of(std::uint8_t code) {
  constexpr std::array kTens{20, 30, 40, 50, 60, 70, 80, 90, 100};  // codes 113..121
  if (code >= 1 && code <= 19) return code;
  if (code == 102) return -1;
  if (code >= 103 && code <= 112) return 102 - code;
  if (code >= 113 && code <= 121) return -kTens[code - 113u];
  if (code == 122) return -500;
  if (code == 123) return -1000;
  return kDefaultLevel;
}

template <typename T>
using Context = std::unique_ptr<T, std::size_t (*)(T*)>;

}  // namespace

std::optional<std::size_t> zstd_compress(ByteView data, MutableByteView out, std::uint8_t level_code) {
  if (out.size() <= kHeaderBytes) return std::nullopt;
  thread_local const Context<ZSTD_CCtx> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx* c = context.get();
  if (!c) return std::nullopt;
  ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level_of(level_code));
  ZSTD_CCtx_setParameter(c, ZSTD_c_format, ZSTD_f_zstd1_magicless);
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 0);
  ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
  const std::size_t length =
      ZSTD_compress2(c, out.data() + kHeaderBytes, out.size() - kHeaderBytes, data.data(), data.size());
  if (ZSTD_isError(length)) return std::nullopt;
  const std::uint8_t level = level_code == 0 ? kDefaultLevel : level_code;
  store<std::uint32_t>(out.data(), static_cast<std::uint32_t>(length), ByteOrder::big);
  store<std::uint32_t>(out.data() + 4, static_cast<std::uint32_t>(level) << 24 | ZSTD_versionNumber(),
                       ByteOrder::big);
  return kHeaderBytes + length;
}

Status zstd_decompress(ByteView stored, MutableByteView out) {
  if (stored.size() < kHeaderBytes) return Error(Errc::corrupt, "zstd: too short");
  const auto length = load<std::uint32_t>(stored.data(), ByteOrder::big);
  if (length > stored.size() - kHeaderBytes) return Error(Errc::corrupt, "zstd: length beyond the block");
  thread_local const Context<ZSTD_DCtx> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_DCtx* d = context.get();
  if (!d) return Error(Errc::io, "zstd: no memory");
  ZSTD_DCtx_reset(d, ZSTD_reset_session_and_parameters);
  ZSTD_DCtx_setParameter(d, ZSTD_d_format, ZSTD_f_zstd1_magicless);
  const std::size_t got =
      ZSTD_decompressDCtx(d, out.data(), out.size(), stored.data() + kHeaderBytes, length);
  if (ZSTD_isError(got) || got != out.size()) return Error(Errc::corrupt, "zstd: damaged data");
  return {};
}

}  // namespace tarn
