// What a label holds, past its checksums: the packed config and uberblocks. The first byte of the input says
// which; checksums would stop the fuzzer at the door.
#include <cstdlib>

#include "libpool/label/label.h"

namespace {

using namespace tarn;

void config(ByteView in) {
  const Result<NvList> list = unpack(in);
  if (!list) return;
  const Result<Label> label = Label::decode(*list);
  if (!label) return;
  (void)label->top.guid_sum();
  (void)label->top.display_name();
  // A label that we accept can be written again, and says the same then.
  const NvList written = label->encode();
  const Result<Label> again = Label::decode(written);
  if (!again || pack(again->encode(), NvEncoding::xdr) != pack(written, NvEncoding::xdr)) std::abort();
}

void uberblock(ByteView in) {
  const Result<Uberblock> decoded = Uberblock::decode(in);
  if (!decoded) return;
  (void)decoded->root.check(1);
  (void)decoded->root.describe();
  Bytes slot(1024);
  decoded->encode(slot);
  const Result<Uberblock> again = Uberblock::decode(slot);
  if (!again || newer(*again, *decoded) || newer(*decoded, *again)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView rest = std::as_bytes(std::span(data + 1, size - 1));
  data[0] == 'u' ? uberblock(rest) : config(rest);
  return 0;
}
