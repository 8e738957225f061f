#include "libpool/txg/pool_properties.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(PoolProperties, AliasesLeadToTheProperty) {
  EXPECT_EQ(find_pool_property("cap")->name, "capacity");
  EXPECT_EQ(find_pool_property("rdonly")->name, "readonly");
  EXPECT_EQ(find_pool_property("nonsense"), nullptr);
}

TEST(PoolProperties, ChecksValues) {
  EXPECT_EQ(*check_pool_property("autoexpand", "on"), "on");
  EXPECT_FALSE(check_pool_property("autoexpand", "maybe"));
  EXPECT_EQ(*check_pool_property("failmode", "panic"), "panic");
  EXPECT_FALSE(check_pool_property("ashift", "8"));
  EXPECT_FALSE(check_pool_property("ashift", "17"));
  EXPECT_EQ(*check_pool_property("ashift", "12"), "12");
  EXPECT_EQ(check_pool_property("size", "1").error().code(), Errc::read_only);
  EXPECT_EQ(check_pool_property("nonsense", "1").error().code(), Errc::not_found);
  EXPECT_FALSE(check_pool_property("comment", std::string(33, 'x')));
  EXPECT_FALSE(check_pool_property("comment", "tab\t"));
  EXPECT_EQ(*check_pool_property("org.example:note", "any \x01 text"), "any \x01 text");
  EXPECT_EQ(*check_pool_property("dedup_table_quota", "auto"), "auto");
  EXPECT_FALSE(check_pool_property("feature@teleport", "enabled"));
  EXPECT_EQ(*check_pool_property("feature@bookmarks", "enabled"), "enabled");
}

TEST(PoolProperties, NumbersRoundTrip) {
  for (const auto& [name, text] : {std::pair{"failmode", "continue"},
                                   {"delegation", "off"},
                                   {"ashift", "13"},
                                   {"dedup_table_quota", "none"},
                                   {"dedup_table_quota", "1048576"}}) {
    const PoolPropertyInfo& info = *find_pool_property(name);
    EXPECT_EQ(pool_property_from_u64(info, *pool_property_to_u64(info, text)), text);
  }
}

TEST(PoolName, FollowsTheRules) {
  EXPECT_TRUE(check_pool_name("tank-1_a.b:c d"));
  for (const char* bad : {"", "1tank", "mirror1", "raidz", "spares", "draid2", "log", "a/b", "a@b", "täst"})
    EXPECT_FALSE(check_pool_name(bad)) << bad;
  EXPECT_TRUE(check_pool_name("logs"));
  EXPECT_FALSE(check_pool_name(std::string(240, 'a')));
  EXPECT_TRUE(check_pool_name("mirror1", false));
}

}  // namespace
}  // namespace tarn
