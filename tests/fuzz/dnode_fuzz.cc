// Any dnode block swaps without harm, and each of its dnodes decodes to what encodes to the same again, or to
// an error.
#include <cstdlib>

#include "libpool/object/dnode.h"
#include "libpool/object/object_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn;
  if (size < kDnodeSlotBytes) return 0;
  const ByteView input = std::as_bytes(std::span(data, std::min<std::size_t>(size, kDnodeBlockBytes)));
  Buffer block = Buffer::copy_of(input);
  for (const DmuType type : {DmuType::dnode, DmuType::objset}) {
    Buffer swapped = Buffer::copy_of(input);
    (void)swap_block(swapped.span(), type);
  }
  for (unsigned slot = 0; slot < block.size() / kDnodeSlotBytes;) {
    const unsigned slots = dnode_slots_at(block.view(), slot);
    if (slots) {
      const auto dnode = Dnode::decode(block.view().subspan(slot * kDnodeSlotBytes), kHostOrder);
      if (dnode) {
        Bytes once(dnode->stored_bytes()), twice(dnode->stored_bytes());
        dnode->encode(once);
        const auto again = Dnode::decode(once, kHostOrder);
        if (!again) std::abort();
        again->encode(twice);
        if (once != twice) std::abort();
      }
    }
    slot += std::max(slots, 1u);
  }
  return 0;
}
