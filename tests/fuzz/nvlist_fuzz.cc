// Any bytes unpack to a list or to an error; what was unpacked packs to something stable.
#include <cstdlib>

#include "libpool/nvlist/nvlist.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn;
  const Result<NvList> list = unpack(std::as_bytes(std::span(data, size)));
  if (!list) return 0;
  // Bytes are compared, not values: a double may be NaN.
  const Bytes packed = pack(*list, NvEncoding::xdr);
  const Result<NvList> again = unpack(packed);
  if (!again || pack(*again, NvEncoding::xdr) != packed) std::abort();
  (void)unpack(pack(*list, NvEncoding::native));
  return 0;
}
