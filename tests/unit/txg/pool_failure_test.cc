// What a pool does when its devices fail under it.
#include <gtest/gtest.h>

#include <map>

#include "libpool/txg/pool.h"
#include "tests/unit/support/fake_disk.h"
#include "tests/unit/support/mini_datasets.h"

namespace tarn {
namespace {

using support::FakeDisk;

class PoolFailure : public ::testing::Test {
 protected:
  VdevConfig leaf(const std::string& name) {
    disks_[name] = std::make_shared<FakeDisk>(128 << 20, name);
    VdevConfig leaf;
    leaf.kind = VdevKind::file;
    leaf.path = name;
    return leaf;
  }
  PoolSettings settings() {
    PoolSettings settings{.cache_limit_bytes = 16 << 20, .dirty_limit_bytes = 64 << 20, .worker_threads = 2};
    settings.disk_opener = [this](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
      if (gone_ == leaf.path) return Error(Errc::not_found, leaf.path + ": gone");
      return std::shared_ptr<Disk>(disks_.at(leaf.path));
    };
    return settings;
  }
  std::unique_ptr<Pool> create(VdevConfig top) {
    VdevConfig root;
    root.kind = VdevKind::root;
    root.children.push_back(std::move(top));
    auto pool = Pool::create({.name = "tank", .root = std::move(root)}, settings(), support::mini_datasets());
    EXPECT_TRUE(pool) << (pool ? "" : pool.error().text());
    return pool ? std::move(*pool) : nullptr;
  }
  // What discovery would find, from the config of the open pool.
  static DiscoveredPool found(Pool& pool) {
    DiscoveredPool out;
    out.config.name = pool.name();
    out.config.pool_guid = pool.guid();
    out.root = pool.config_tree();
    return out;
  }
  std::map<std::string, std::shared_ptr<FakeDisk>> disks_;
  std::string gone_;
};

TEST_F(PoolFailure, LosingTheOnlyDiskSuspendsWithoutClaimingSuccess) {
  auto pool = create(leaf("a"));
  ASSERT_TRUE(pool);
  ASSERT_TRUE(pool->set_property("org.example:n", "1"));
  const DiscoveredPool before = found(*pool);
  disks_["a"]->unplug();
  const Status set = pool->set_property("org.example:n", "2");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code(), Errc::suspended);
  EXPECT_EQ(pool->begin(0).error().code(), Errc::suspended);
  EXPECT_FALSE(pool->close(PoolState::exported));
  pool.reset();
  disks_["a"]->unplug(false);
  auto again = Pool::open({.found = before}, settings());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*(*again)->property("org.example:n"), "1");
}

TEST_F(PoolFailure, FailedUberblockWriteIsNoSuccess) {
  auto pool = create(leaf("a"));
  ASSERT_TRUE(pool);
  ASSERT_TRUE(pool->set_property("org.example:n", "1"));
  for (unsigned index = 0; index < kLabelCount; ++index)
    disks_["a"]->fail_writes(label_offset(index, 128 << 20), 256 << 10);
  EXPECT_EQ(pool->set_property("org.example:n", "2").error().code(), Errc::suspended);
}

// A half that was away while the other was written owes those txgs, and says so after a reopen.
TEST_F(PoolFailure, MirrorGoesOnWithoutAHalfAndRemembersWhatItMissed) {
  VdevConfig mirror;
  mirror.kind = VdevKind::mirror;
  mirror.children = {leaf("a"), leaf("b")};
  auto pool = create(std::move(mirror));
  ASSERT_TRUE(pool);
  ASSERT_TRUE(pool->set_property("org.example:n", "1"));
  const DiscoveredPool before = found(*pool);
  const std::uint64_t lost = before.root.children[0].children[1].guid;
  ASSERT_TRUE(pool->close(PoolState::exported));
  pool.reset();

  gone_ = "b";
  auto degraded = Pool::open({.found = before}, settings());
  ASSERT_TRUE(degraded) << degraded.error().text();
  EXPECT_EQ(*(*degraded)->property("health"), "DEGRADED");
  const Status set = (*degraded)->set_property("org.example:n", "2");
  ASSERT_TRUE(set) << set.error().text();
  const std::uint64_t missed = (*degraded)->synced_txg();
  ASSERT_TRUE((*degraded)->close(PoolState::exported));
  degraded->reset();

  gone_.clear();
  auto whole = Pool::open({.found = before, .read_only = true}, settings());
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(*(*whole)->property("org.example:n"), "2");
  EXPECT_TRUE((*whole)->vdevs().missing_txgs(lost).contains(missed));
  EXPECT_TRUE((*whole)->vdevs().missing_txgs(before.root.children[0].children[0].guid).empty());
}

}  // namespace
}  // namespace tarn
