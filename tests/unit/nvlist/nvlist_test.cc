#include "libpool/nvlist/nvlist.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

// The worked example of FORMAT.md 3.5.
NvList example() {
  NvList sub, b;
  sub.set("x", std::uint32_t{7});
  b.set("b", true);
  NvList list;
  list.set_u64("ab", 0x1122334455667788).set_text("name", "tank").set_flag("on").set("sub", sub);
  list.set("v", std::vector<std::uint64_t>{1, 2}).set("kids", std::vector<NvList>{sub, b});
  list.set("st", std::vector<std::string>{"q", "longer"});
  return list;
}

std::string hex(ByteView bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned>(b) & 15];
  }
  return out;
}

TEST(Nvlist, XdrMatchesTheWorkedExample) {
  const Bytes packed = pack(example(), NvEncoding::xdr);
  EXPECT_EQ(hex(packed),
            "010100000000000000000001000000200000002000000002616200000000000800000001112233445566778800000020"
            "00000020000000046e616d6500000009000000010000000474616e6b000000180000001800000002"
            "6f6e000000000001000000000000004400000030000000037375620000000013000000010000000000000001"
            "0000001c000000200000000178000000000000060000000100000007000000000000000000"
            "00002c00000028000000017600000000000010000000020000000200000000000000010000000000000002"
            "0000007000000058000000046b69647300000014000000020000000000000001"
            "0000001c00000020000000017800000000000006000000010000000700000000000000000000000000000001"
            "0000001c0000002000000001620000000000001500000001000000010000000000000000"
            "0000002c0000003800000002737400000000001100000002000000017100000000000006"
            "6c6f6e67657200000000000000000000");
  EXPECT_EQ(packed.size(), 376u);
}

TEST(Nvlist, NativeHasTheSizeOfTheWorkedExample) {
  EXPECT_EQ(pack(example(), NvEncoding::native).size(), 444u);
}

TEST(Nvlist, BothEncodingsReadBack) {
  for (const NvEncoding encoding : {NvEncoding::xdr, NvEncoding::native}) {
    const Result<NvList> back = unpack(pack(example(), encoding));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, example());
  }
}

// Whatever is cut off or flipped, reading ends with a value or an error.
TEST(Nvlist, DamagedInputIsNeverFatal) {
  for (const NvEncoding encoding : {NvEncoding::xdr, NvEncoding::native}) {
    const Bytes packed = pack(example(), encoding);
    for (std::size_t cut = 0; cut < packed.size(); ++cut)
      EXPECT_FALSE(unpack(ByteView(packed).first(cut)) && cut < packed.size() - 8);
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      Bytes damaged = packed;
      damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      (void)unpack(damaged);
    }
  }
}

}  // namespace
}  // namespace tarn
