// Checksums against published vectors, against each other's definitions, and against blocks that OpenZFS
// wrote.
#include "libpool/checksum/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "libpool/checksum/digests.h"
#include "tests/unit/support/fixture.h"

namespace tarn {
namespace {

template <typename Digest>
std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

ChecksumSalt salt_of(std::string_view text) {
  ChecksumSalt salt{};
  std::memcpy(salt.data(), text.data(), std::min(text.size(), salt.size()));
  return salt;
}

Bytes counting(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

Bytes random_bytes(std::size_t count) {
  std::mt19937_64 random(7);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Fletcher, MatchesItsDefinitionForEveryLengthAndOrder) {
  const Bytes data = random_bytes(1 << 17);
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    for (const std::size_t length : {0, 4, 124, 128, 132, 148, 160, 512, 4092, 4096, 1 << 17}) {
      std::uint64_t a = 0, b = 0, c = 0, d = 0;
      for (std::size_t at = 0; at < length; at += 4) {
        a += load<std::uint32_t>(data.data() + at, order);
        b += a;
        c += b;
        d += c;
      }
      EXPECT_EQ(fletcher4(ByteView(data).first(length), order), (ChecksumWords{a, b, c, d})) << length;
    }
  }
}

TEST(Fletcher, SumsPairsInFletcher2) {
  Bytes data(32);
  store<std::uint64_t>(data.data(), 1, ByteOrder::big);
  store<std::uint64_t>(data.data() + 8, 2, ByteOrder::big);
  store<std::uint64_t>(data.data() + 16, 10, ByteOrder::big);
  store<std::uint64_t>(data.data() + 24, 20, ByteOrder::big);
  EXPECT_EQ(fletcher2(data, ByteOrder::big), (ChecksumWords{11, 22, 12, 24}));
}

TEST(Digests, MatchPublishedVectors) {
  EXPECT_EQ(hex(sha512_256(as_bytes("abc"))),
            "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23");
  EXPECT_EQ(hex(skein_512_256(ByteView{})),
            "39ccc4554a8b31853b9de7a1fe638a24cce6b35a55f2431009e18780335d2621");
  EXPECT_EQ(hex(blake3(ByteView{})), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(hex(blake3(counting(1024))), "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7");
  EXPECT_EQ(hex(blake3(counting(31744))), "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47");
  EXPECT_EQ(hex(blake3(counting(102400))),
            "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085");
  const ChecksumSalt key = salt_of("whats the Elvish word for friend");
  EXPECT_EQ(hex(blake3_keyed(ByteView{}, key)),
            "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26");
}

struct StoredBlock {
  ChecksumType type;
  std::uint64_t offset_bytes;  // on the vdev, without the labels
  std::size_t stored_bytes;
  ChecksumWords checksum;
};

// Blocks of the pool in tests/fixtures/checksum and what zdb prints as their checksums.
TEST(ComputeChecksum, AgreesWithBlocksThatOpenZfsWrote) {
  ChecksumSalt salt;
  const std::array<std::uint64_t, 4> salt_words{0x81a3c9944eae4f51, 0x27bb3e0700905531, 0xa695221f82c3f2ba,
                                                0xf2aed77f4ca2df59};
  for (std::size_t i = 0; i < 4; ++i) store(salt.data() + 8 * i, salt_words[i], ByteOrder::big);
  const StoredBlock blocks[] = {
      {ChecksumType::edonr,
       0x208800,
       0x400,
       {0x6a5db9da7cc6a5fd, 0xf81bf6e2250e9b69, 0xdf34d2b8841d0788, 0x087b1aa455bcc7ca}},
      {ChecksumType::skein,
       0x1b1c00,
       0x400,
       {0x91938775efdd83ad, 0x79e1e7ecc8bc3d56, 0x6c2dd64b7fd73189, 0x4f6f606e61a17647}},
      {ChecksumType::blake3,
       0x225e00,
       0x400,
       {0xfc89318e1fdb5331, 0xc9c4c14cf32fa480, 0x2f379de068b31727, 0x461e761f0809b75c}},
      {ChecksumType::sha512,
       0x192c00,
       0x400,
       {0x6768070b0f18090a, 0xd5676338b881f84a, 0x58e29b82055a8ba2, 0x36411835a3d4b161}}};
  const support::Fixture fixture("checksum");
  ASSERT_TRUE(fixture.unpacked);
  std::ifstream disk(fixture.folder() + "/disk0.img", std::ios::binary);
  for (const StoredBlock& block : blocks) {
    constexpr std::uint64_t kLabels = 4 << 20;
    Bytes data(block.stored_bytes);
    disk.seekg(static_cast<std::streamoff>(block.offset_bytes + kLabels));
    disk.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
    ASSERT_TRUE(disk.good());
    const auto words = compute_checksum(block.type, data, ByteOrder::little, salt);
    ASSERT_TRUE(words) << words.error().text();
    EXPECT_EQ(*words, block.checksum) << name_of(block.type);
  }
}

TEST(ComputeChecksum, RefusesWhatNoOrdinaryBlockHas) {
  for (const ChecksumType type :
       {ChecksumType::inherit, ChecksumType::on, ChecksumType::label, static_cast<ChecksumType>(77)})
    EXPECT_EQ(compute_checksum(type, {}, ByteOrder::little, {}).error().code(), Errc::unsupported);
}

TEST(Trailer, VerifiesInEitherOrderAndOnlyWithItsVerifier) {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    Bytes region = counting(8192);
    const ChecksumWords verifier{16384, 0, 0, 0};
    seal_trailer(region, verifier, order);
    const auto found = verify_trailer(region, verifier);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, order);
    EXPECT_EQ(verify_trailer(region, {1, 0, 0, 0}).error().code(), Errc::checksum);
    region[100] ^= std::byte{1};
    EXPECT_EQ(verify_trailer(region, verifier).error().code(), Errc::checksum);
  }
  EXPECT_FALSE(verify_trailer(Bytes(39), {}));
}

}  // namespace
}  // namespace tarn
