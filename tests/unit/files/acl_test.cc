#include <gtest/gtest.h>
#include <sys/stat.h>

#include "libdataset/files/nfs4_acl.h"
#include "libdataset/files/posix_acl.h"
#include "libdataset/files/utf8.h"

namespace tarn {
namespace {

struct Ace {
  std::uint16_t type, who;
  std::uint32_t mask;
  friend bool operator==(const Ace&, const Ace&) = default;
};

std::vector<Ace> parsed(ByteView aces) {
  std::vector<Ace> out;
  ByteReader reader(aces, kHostOrder);
  while (reader.remaining() >= 8) out.push_back({reader.u16(), reader.u16(), reader.u32()});
  return out;
}

// Values that zdb shows on pools made by OpenZFS (FORMAT.md logical 4.11).
TEST(TrivialAcl, MatchesOpenZfs) {
  EXPECT_EQ(parsed(trivial_acl(S_IFDIR | 0755)),
            (std::vector<Ace>{{0, 0x1000, 0x1E01FF}, {0, 0x2040, 0x1200A9}, {0, 0x4000, 0x1200A9}}));
  EXPECT_EQ(parsed(trivial_acl(S_IFREG | 0644)),
            (std::vector<Ace>{{0, 0x1000, 0x1E019F}, {0, 0x2040, 0x120089}, {0, 0x4000, 0x120089}}));
}

TEST(TrivialAcl, DeniesWhatOthersHaveMore) {
  const auto aces = parsed(trivial_acl(S_IFREG | 0407));
  ASSERT_EQ(aces.size(), 6u);
  EXPECT_EQ(aces[0], (Ace{0, 0x1000, 0x1}));   // owner reads, group does not, others do
  EXPECT_EQ(aces[1], (Ace{1, 0x1000, 0x26}));  // owner lacks write and execute
  EXPECT_EQ(aces[2], (Ace{1, 0x2040, 0x27}));  // group lacks all three
}

TEST(ChmodAcl, KeepsEntriesOfNamedUsers) {
  Bytes aces = trivial_acl(S_IFREG | 0644);
  Bytes named(16);
  store<std::uint32_t>(named.data() + 4, 0x1, kHostOrder);
  store<std::uint64_t>(named.data() + 8, 1000, kHostOrder);
  aces.insert(aces.begin(), named.begin(), named.end());
  EXPECT_EQ(count_aces(aces), 4u);
  const Bytes changed = chmod_acl(aces, S_IFREG | 0600);
  EXPECT_EQ(count_aces(changed), 4u);
  EXPECT_TRUE(std::equal(named.begin(), named.end(), changed.begin()));
}

Bytes acl_bytes(std::initializer_list<PosixAcl::Entry> entries) {
  Bytes out(4 + 8 * entries.size());
  ByteWriter writer(out, ByteOrder::little);
  writer.u32(2);
  for (const auto& entry : entries) {
    writer.u16(static_cast<std::uint16_t>(entry.tag));
    writer.u16(entry.rwx);
    writer.u32(entry.id);
  }
  return out;
}

using Tag = PosixAcl::Tag;

TEST(PosixAcl, RoundTripsAndYieldsTheMode) {
  const Bytes bytes = acl_bytes({{Tag::owner, 6, ~0u},
                                 {Tag::user, 6, 1000},
                                 {Tag::group_owner, 4, ~0u},
                                 {Tag::mask, 6, ~0u},
                                 {Tag::other, 4, ~0u}});
  const Result<PosixAcl> acl = PosixAcl::decode(bytes);
  ASSERT_TRUE(acl) << acl.error().text();
  EXPECT_EQ(acl->encode(), bytes);
  EXPECT_EQ(acl->mode_bits(), 0664u);
  EXPECT_FALSE(acl->is_minimal());
}

TEST(PosixAcl, RefusesNonsense) {
  EXPECT_FALSE(PosixAcl::decode({}));
  EXPECT_FALSE(PosixAcl::decode(acl_bytes({{Tag::owner, 6, ~0u}})));
  EXPECT_FALSE(
      PosixAcl::decode(acl_bytes({{Tag::owner, 6, ~0u}, {Tag::group_owner, 4, ~0u}, {Tag::other, 9, ~0u}})));
  EXPECT_FALSE(PosixAcl::decode(acl_bytes(
      {{Tag::owner, 6, ~0u}, {Tag::user, 4, 5}, {Tag::group_owner, 4, ~0u}, {Tag::other, 4, ~0u}})));
}

TEST(PosixAcl, DefaultAclRestrictsNewObjects) {
  PosixAcl acl = *PosixAcl::decode(acl_bytes({{Tag::owner, 7, ~0u},
                                              {Tag::user, 7, 1001},
                                              {Tag::group_owner, 5, ~0u},
                                              {Tag::mask, 7, ~0u},
                                              {Tag::other, 0, ~0u}}));
  EXPECT_EQ(acl.restrict_to(0100666), 0100660u);  // what the fixture `posix` shows for dir/inherits-acl
}

TEST(Utf8, AcceptsOnlyWellFormedText) {
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xe2\x82"));
  EXPECT_FALSE(is_utf8("\xff"));
}

}  // namespace
}  // namespace tarn
