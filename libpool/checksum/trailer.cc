// Embedded trailers (FORMAT.md 2.3).
#include <openssl/evp.h>

#include <cstring>
#include <memory>

#include "libpool/checksum/checksum.h"

namespace tarn {
namespace {

// SHA-256 over the region with the verifier in place of the stored words.
ChecksumWords sum_with_verifier(ByteView region, const ChecksumWords& verifier, ByteOrder order) {
  std::array<std::byte, kTrailerBytes> trailer;
  store<std::uint64_t>(trailer.data(), kTrailerMagic, order);
  for (std::size_t i = 0; i < 4; ++i) store<std::uint64_t>(trailer.data() + 8 + 8 * i, verifier[i], order);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<std::byte, 32> digest;
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  EVP_DigestUpdate(context.get(), region.data(), region.size() - kTrailerBytes);
  EVP_DigestUpdate(context.get(), trailer.data(), trailer.size());
  EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  ChecksumWords words;
  for (std::size_t i = 0; i < 4; ++i) words[i] = load<std::uint64_t>(digest.data() + 8 * i, ByteOrder::big);
  return words;
}

}  // namespace

void seal_trailer(MutableByteView region, const ChecksumWords& verifier, ByteOrder order) {
  assert(region.size() >= kTrailerBytes);
  const ChecksumWords words = sum_with_verifier(region, verifier, order);
  std::byte* trailer = region.data() + region.size() - kTrailerBytes;
  store<std::uint64_t>(trailer, kTrailerMagic, order);
  for (std::size_t i = 0; i < 4; ++i) store<std::uint64_t>(trailer + 8 + 8 * i, words[i], order);
}

Result<ByteOrder> verify_trailer(ByteView region, const ChecksumWords& verifier) {
  if (region.size() < kTrailerBytes) return Error(Errc::corrupt, "region shorter than its trailer");
  const std::byte* trailer = region.data() + region.size() - kTrailerBytes;
  ByteOrder order = kHostOrder;
  if (load<std::uint64_t>(trailer, order) != kTrailerMagic) {
    order = kHostOrder == ByteOrder::little ? ByteOrder::big : ByteOrder::little;
    if (load<std::uint64_t>(trailer, order) != kTrailerMagic)
      return Error(Errc::checksum, "no checksum trailer");
  }
  const ChecksumWords words = sum_with_verifier(region, verifier, order);
  for (std::size_t i = 0; i < 4; ++i)
    if (load<std::uint64_t>(trailer + 8 + 8 * i, order) != words[i])
      return Error(Errc::checksum, "checksum mismatch");
  return order;
}

}  // namespace tarn
