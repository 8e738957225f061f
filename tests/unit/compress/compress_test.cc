#include "libpool/compress/compress.h"

#include <gtest/gtest.h>

#include <random>

namespace tarn {
namespace {

Buffer sample(const std::string& kind, std::size_t bytes) {
  Buffer out = Buffer::zeroed(bytes);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (kind == "text")
      out.data()[i] = static_cast<std::byte>("the quick brown fox jumps over "[(i + i / 97) % 31]);
    if (kind == "sparse" && random() % 100 == 0) out.data()[i] = static_cast<std::byte>(random());
    if (kind == "random") out.data()[i] = static_cast<std::byte>(random());
  }
  return out;
}

class Codec : public testing::TestWithParam<CompressionSpec> {};

TEST_P(Codec, RoundTripsWhatItCompresses) {
  for (const char* kind : {"text", "sparse", "zero", "random"}) {
    for (const std::size_t bytes :
         {std::size_t{512}, std::size_t{4096}, std::size_t{131072}}) {
      const Buffer data = sample(kind, bytes);
      Buffer out(bytes), back(bytes);
      const auto length = compress(GetParam(), data, out.span());
      // Only runs of zeros are sure to shrink under every codec.
      if (std::string(kind) == "zero" && bytes >= 4096) ASSERT_TRUE(length) << kind << " " << bytes;
      if (!length) continue;
      EXPECT_LE(*length, bytes) << kind;
      const Status done = decompress(GetParam().type, out.view().first(*length), back.span());
      ASSERT_TRUE(done) << kind << " " << bytes << ": " << done.error().text();
      EXPECT_EQ(std::memcmp(back.data(), data.data(), bytes), 0) << kind;
    }
  }
}

TEST_P(Codec, RefusesToFitWhereThereIsNoRoom) {
  const Buffer data = sample("random", 4096);
  Buffer out(3584);
  EXPECT_FALSE(compress(GetParam(), data, out.span()));
}

// Damaged blocks end in an error or in wrong data (the checksum's business), never in a crash.
TEST_P(Codec, SurvivesDamage) {
  const Buffer data = sample("sparse", 4096);
  Buffer out(8192), back(4096);
  const auto length = compress(GetParam(), data, out.span());
  ASSERT_TRUE(length);
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Buffer damaged = Buffer::copy_of(out.view().first(*length));
    for (int flips = 0; flips < 3; ++flips)
      damaged.data()[random() % *length] ^= static_cast<std::byte>(1u << random() % 8);
    (void)decompress(GetParam().type, damaged.view().first(1 + random() % *length), back.span());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Codec,
    testing::Values(CompressionSpec{CompressionType::lzjb}, CompressionSpec{CompressionType::zle},
                    CompressionSpec{CompressionType::lz4}, CompressionSpec{CompressionType::gzip_1},
                    CompressionSpec{CompressionType::gzip_6}, CompressionSpec{CompressionType::gzip_9},
                    CompressionSpec{CompressionType::zstd, 0}, CompressionSpec{CompressionType::zstd, 19},
                    CompressionSpec{CompressionType::zstd, 103}, CompressionSpec{CompressionType::zstd, 123}),
    [](const auto& info) {
      std::string name = std::string(name_of(info.param.type)) + "_" + std::to_string(info.param.level);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace tarn
