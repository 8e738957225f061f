// ZAPs against std::map, in both forms, across syncs and growth.
#include "libpool/zap/zap.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "libpool/zap/zap_hash.h"
#include "tests/unit/support/fake_block_io.h"

namespace tarn {
namespace {

struct Fixture {
  support::FakeBlockIo io;
  support::FakeOwner owner{io};
  ThreadPool workers{"test", 2};
  WriteBatch batch;
  ObjectSetEnv env{.io = &io, .workers = &workers, .owner = &owner, .objset_id = 21, .vdev_count = 1};
  std::unique_ptr<ObjectSet> set = *ObjectSet::open(env, {}, ObjsetType::filesystem);
  std::uint64_t txg = 5;
  Tx tx() { return Tx::syncing(txg); }
  void sync() {
    auto root = set->sync(txg++, 1, batch);
    ASSERT_TRUE(root) << root.error().text();
  }
  void reopen() {
    sync();
    set = *ObjectSet::open(env, set->root(), ObjsetType::filesystem);
  }
};

TEST(ZapHash, MatchesTheWorkedExample) {
  const ZapKeying keying{.salt = 0xc2ea8d09};
  EXPECT_EQ(*hash_name("2", keying), 0x36a71ea000000000u);
  EXPECT_EQ(*hash_name("3", keying), 0x8589521000000000u);
  EXPECT_EQ(*hash_name("4", keying), 0xb9f3eb7000000000u);
}

TEST(Zap, MicroZapGrowsBySteps) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::master_node);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(zap.add(f.tx(), fmt::format("name{}", i), i));
  EXPECT_EQ(zap.object()->info().block_bytes, 1024u);
  EXPECT_EQ(zap.add(f.tx(), "name3", 1).error().code(), Errc::already_exists);
  EXPECT_EQ(*zap.lookup_u64("name3"), 3u);
  ASSERT_TRUE(zap.update(f.tx(), "name3", 33));
  ASSERT_TRUE(zap.remove(f.tx(), "name4"));
  EXPECT_EQ(zap.remove(f.tx(), "name4").error().code(), Errc::not_found);
  f.reopen();
  zap = *Zap::open(*f.set, 32);
  EXPECT_EQ(*zap.lookup_u64("name3"), 33u);
  EXPECT_EQ(*zap.count(), 7u);
}

TEST(Zap, OtherValuesMakeItFat) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::dsl_props);
  ASSERT_TRUE(zap.add(f.tx(), "a", 1));
  ASSERT_TRUE(zap.add(f.tx(), "comment", ZapValue::of_text("hello")));
  ASSERT_TRUE(zap.add(f.tx(), std::string(200, 'n'), 2));
  EXPECT_EQ(zap.object()->info().block_bytes, 16384u);
  EXPECT_EQ(zap.lookup("comment")->text(), "hello");
  EXPECT_EQ(*zap.lookup_u64("a"), 1u);
  ASSERT_TRUE(zap.update(f.tx(), "comment", ZapValue::of_text(std::string(3000, 'x'))));
  f.reopen();
  zap = *Zap::open(*f.set, 32);
  EXPECT_EQ(zap.lookup("comment")->text(), std::string(3000, 'x'));
  EXPECT_EQ(*zap.lookup_u64(std::string(200, 'n')), 2u);
  EXPECT_EQ(*zap.count(), 3u);
  EXPECT_EQ(zap.add(f.tx(), std::string(256, 'n'), 2).error().code(), Errc::name_too_long);
}

TEST(Zap, CaseFoldingFindsOtherSpellings) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::directory, {.norm_flags = kNormToUpper});
  ASSERT_TRUE(zap.add(f.tx(), "ReadMe", 7));
  EXPECT_EQ(zap.lookup_normalized("README", false)->first, "ReadMe");
  EXPECT_EQ(zap.lookup_normalized("README", true).error().code(), Errc::not_found);
  EXPECT_EQ(zap.lookup("README").error().code(), Errc::not_found);
}

TEST(Zap, U64KeysAndIncrement) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::ddt_zap,
                         {.fat = true, .flags = kZapHash64 | kZapU64Keys, .fat_block_shift = 15});
  const std::string key("\0\1\2\3\4\5\6\7\0\0\0\0\0\0\0\1", 16);
  ASSERT_TRUE(zap.add(f.tx(), key, ZapValue{.integer_bytes = 4, .integers = {1, 2, 3}}));
  EXPECT_EQ(zap.lookup(key)->integers, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(zap.entries()->at(0).name, key);
  Zap counts = *Zap::create(*f.set, f.tx(), DmuType::user_used);
  ASSERT_TRUE(counts.increment(f.tx(), "0", 512));
  ASSERT_TRUE(counts.increment(f.tx(), "0", -100));
  EXPECT_EQ(*counts.lookup_u64("0"), 412u);
  ASSERT_TRUE(counts.increment(f.tx(), "0", -412));
  EXPECT_EQ(*counts.count(), 0u);
}

TEST(Zap, HoldsAHundredThousandEntries) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::directory);
  std::map<std::string, std::uint64_t> model;
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const std::string name = fmt::format("file-{:x}", random());
    ASSERT_TRUE(zap.add(f.tx(), name, i)) << i;
    model[name] = i;
    if (i % 20000 == 19999) f.sync();
  }
  f.reopen();
  zap = *Zap::open(*f.set, 32);
  EXPECT_EQ(*zap.count(), model.size());
  for (const auto& [name, value] : model) {
    auto got = zap.lookup_u64(name);
    ASSERT_TRUE(got) << name << got.error().text();
    ASSERT_EQ(*got, value);
  }
  // In steps, as readdir does.
  std::set<std::string> seen;
  std::uint64_t cursor = 0;
  for (bool more = true; more;) {
    more = false;
    int left = 5000;
    ASSERT_TRUE(zap.iterate(cursor, [&](const ZapEntry& entry, std::uint64_t next) {
      EXPECT_TRUE(seen.insert(entry.name).second);
      cursor = next;
      more = --left == 0;
      return !more;
    }));
  }
  EXPECT_EQ(seen.size(), model.size());
  for (const auto& [name, value] : model) ASSERT_TRUE(zap.remove(f.tx(), name));
  EXPECT_EQ(*zap.count(), 0u);
  f.sync();
}

TEST(Zap, DamagedBlocksAreErrors) {
  Fixture f;
  Zap zap = *Zap::create(*f.set, f.tx(), DmuType::directory, {.fat = true});
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(zap.add(f.tx(), fmt::format("entry-{}", i), i));
  Bytes good(3 * 16384);
  ASSERT_TRUE(zap.object()->read(0, good));
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; ++round) {
    Bytes bad = good;
    for (int i = 0; i < 20; ++i) bad[random() % bad.size()] = static_cast<std::byte>(random());
    ASSERT_TRUE(zap.object()->write(f.tx(), 0, bad));
    auto opened = Zap::open(zap.object());
    if (!opened) continue;
    for (int i = 0; i < 30; ++i) {
      const std::string name = fmt::format("entry-{}", random() % 400);
      (void)opened->lookup(name);
      if (i % 3 == 0) (void)opened->remove(f.tx(), name);
      if (i % 3 == 1) (void)opened->update(f.tx(), name, ZapValue::of_text("other"));
    }
    (void)opened->entries();
  }
}

}  // namespace
}  // namespace tarn
