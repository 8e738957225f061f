#include "libdataset/sa/sa_codec.h"

#include <gtest/gtest.h>

#include "libdataset/sa/owner_ids.h"

namespace tarn {
namespace {

// Bonus buffers of the fixture `posix`, dataset special: objects 2 (file), 3 (symbolic link), 10 (character
// device).
constexpr const char* kFile =
    "5a502f0002041800a4810000000000006400000000000000120000000000000000000000000000000000000000000000"
    "2200000000000000040000000884000005232f62000000003cbfb8130000000005232f62000000003cbfb81300000000"
    "0f240e6b00000000d91b5522000000000f240e6b00000000d7ca2f200000000015000000000000000000000000000000"
    "0300000000000000000000109f011e0000004020890012000000004089001200";
constexpr const char* kSymlink =
    "5a502f00040818000600000000000000ffa1000000000000060000000000000012000000000000000000000000000000"
    "0000000000000000220000000000000004010000080400000f240e6b00000000d91b5522000000000f240e6b00000000"
    "d91b5522000000000f240e6b00000000d91b5522000000000f240e6b00000000d91b5522000000000100000000000000"
    "030000000000000000000010bf011e0000004020af00120000000040af001200746172676574";
constexpr const char* kDevice =
    "5a502f0006041800a0210000000000000000000000000000120000000000000000000000000000000000000000000000"
    "220000000000000004000000080400000f240e6b00000000da6c7a24000000000f240e6b00000000da6c7a2400000000"
    "0f240e6b00000000da6c7a24000000000f240e6b00000000da6c7a240000000001000000000000000100500000000000"
    "0300000000000000000000109f011e0000004020890012000000004088001200";

Bytes from_hex(std::string_view hex) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// As that file system numbers them (zdb shows its layouts object).
std::unique_ptr<SaRegistry> fixture_registry() {
  const SaLayout base{5, 6, 4, 12, 13, 7, 11, 0, 1, 2, 3, 8};
  const auto with = [&](std::initializer_list<std::uint16_t> more) {
    SaLayout layout = base;
    layout.insert(layout.end(), more);
    return layout;
  };
  return SaRegistry::standard({{2, with({21, 16, 19})}, {4, with({16, 19, 17})}, {6, with({10, 16, 19})}});
}

std::uint64_t u64_of(const SaValues& values, SaAttr attr) {
  const Bytes* value = values.find(static_cast<std::uint16_t>(attr));
  return value && value->size() == 8 ? load<std::uint64_t>(value->data(), kHostOrder) : UINT64_MAX;
}

constexpr std::size_t kOneSlot = 320;

TEST(SaCodec, DecodesAFile) {
  const auto registry = fixture_registry();
  const Result<SaValues> values = decode_sa(*registry, from_hex(kFile), std::nullopt);
  ASSERT_TRUE(values) << values.error().text();
  EXPECT_EQ(u64_of(*values, SaAttr::mode), 0100644u);
  EXPECT_EQ(u64_of(*values, SaAttr::size), 100u);
  EXPECT_EQ(u64_of(*values, SaAttr::links), 21u);
  EXPECT_EQ(u64_of(*values, SaAttr::parent), 34u);
  EXPECT_EQ(u64_of(*values, SaAttr::flags), 0x840800000004u);
  EXPECT_EQ(u64_of(*values, SaAttr::projid), 0u);
  EXPECT_EQ(u64_of(*values, SaAttr::dacl_count), 3u);
}

TEST(SaCodec, DecodesASymlinkTarget) {
  const auto registry = fixture_registry();
  const Result<SaValues> values = decode_sa(*registry, from_hex(kSymlink), std::nullopt);
  ASSERT_TRUE(values) << values.error().text();
  const Bytes* target = values->find(static_cast<std::uint16_t>(SaAttr::symlink));
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(as_text(*target), "target");
}

TEST(SaCodec, EncodesTheSameBytes) {
  const auto registry = fixture_registry();
  for (const char* hex : {kFile, kSymlink, kDevice}) {
    const Bytes stored = from_hex(hex);
    const Result<SaValues> values = decode_sa(*registry, stored, std::nullopt);
    ASSERT_TRUE(values) << values.error().text();
    const Result<SaImage> image = encode_sa(*registry, Tx::syncing(1), *values, kOneSlot);
    ASSERT_TRUE(image) << image.error().text();
    EXPECT_FALSE(image->spill);
    EXPECT_EQ(image->bonus, stored);
  }
}

// The same file written on a machine of the other byte order.
TEST(SaCodec, DecodesTheOtherByteOrder) {
  const auto registry = fixture_registry();
  Bytes swapped = from_hex(kFile);
  std::span<std::byte> all(swapped);
  swap_sa_value(all.subspan(0, 4), SaSwap::u32_array);
  swap_sa_value(all.subspan(4, 4), SaSwap::u16_array);
  swap_sa_value(all.subspan(8, 8 * 18), SaSwap::u64_array);  // up to DACL_COUNT
  // Entries of the ACL: 3 without a who. Two u16, one u32 each.
  for (std::size_t at = 8 + 8 * 18; at < swapped.size(); at += 8) {
    swap_sa_value(all.subspan(at, 4), SaSwap::u16_array);
    swap_sa_value(all.subspan(at + 4, 4), SaSwap::u32_array);
  }
  const Result<SaValues> values = decode_sa(*registry, swapped, std::nullopt);
  ASSERT_TRUE(values) << values.error().text();
  const Result<SaImage> image = encode_sa(*registry, Tx::syncing(1), *values, kOneSlot);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->bonus, from_hex(kFile));
  const std::optional<OwnerIds> owner = find_owner(DmuType::sa, swapped, 0);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->uid, 0u);
}

TEST(SaCodec, SpillsWhatDoesNotFitAndTakesItBack) {
  const auto registry = fixture_registry();
  SaValues values = *decode_sa(*registry, from_hex(kFile), std::nullopt);
  const Bytes large(5000, std::byte{7});
  values.set(static_cast<std::uint16_t>(SaAttr::dxattr), large);
  const Result<SaImage> image = encode_sa(*registry, Tx::syncing(1), values, kOneSlot);
  ASSERT_TRUE(image) << image.error().text();
  ASSERT_TRUE(image->spill);
  EXPECT_EQ(image->spill->size() % 512, 0u);
  EXPECT_LE(image->bonus.size(), kOneSlot - 128);
  const Result<SaValues> again = decode_sa(*registry, image->bonus, image->spill->view());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again->find(static_cast<std::uint16_t>(SaAttr::dxattr)), large);
  EXPECT_EQ(u64_of(*again, SaAttr::size), 100u);
}

TEST(SaCodec, RefusesMoreThanFits) {
  const auto registry = fixture_registry();
  SaValues values = *decode_sa(*registry, from_hex(kFile), std::nullopt);
  values.set(static_cast<std::uint16_t>(SaAttr::dxattr), Bytes(65536));
  const Result<SaImage> image = encode_sa(*registry, Tx::syncing(1), values, kOneSlot);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code(), Errc::too_large);
}

// Cut or overwritten anywhere, a bonus is an error or decodes: it never makes us read beyond it.
TEST(SaCodec, SurvivesDamage) {
  const auto registry = fixture_registry();
  const Bytes good = from_hex(kSymlink);
  for (std::size_t length = 0; length < good.size(); ++length) {
    (void)decode_sa(*registry, ByteView(good).first(length), std::nullopt).ok();
    (void)find_owner(DmuType::sa, ByteView(good).first(length), 0);
  }
  for (std::size_t at = 0; at < 16; ++at) {
    for (int value = 0; value < 256; ++value) {
      Bytes bad = good;
      bad[at] = static_cast<std::byte>(value);
      (void)decode_sa(*registry, bad, std::nullopt).ok();
    }
  }
}

TEST(OwnerIds, AreFoundInAttributes) {
  Bytes bonus = from_hex(kFile);
  store<std::uint64_t>(bonus.data() + 8 + kSaUidAt, 1000, kHostOrder);
  store<std::uint64_t>(bonus.data() + 8 + kSaGidAt, 100, kHostOrder);
  store<std::uint64_t>(bonus.data() + 8 + kSaProjidAt, 42, kHostOrder);
  const std::optional<OwnerIds> owner = find_owner(DmuType::sa, bonus, 0);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->uid, 1000u);
  EXPECT_EQ(owner->gid, 100u);
  EXPECT_EQ(owner->projid, 42u);
  EXPECT_FALSE(find_owner(DmuType::none, bonus, 0));
}

}  // namespace
}  // namespace tarn
