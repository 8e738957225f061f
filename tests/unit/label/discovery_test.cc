#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "libpool/label/label.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/temp_dir.h"

namespace tarn {
namespace {

DiscoveredPool only_pool(const std::string& folder) {
  const Result<std::vector<DiscoveredPool>> pools = discover_pools({.folders = {folder}});
  EXPECT_TRUE(pools) << pools.error().text();
  EXPECT_EQ(pools->size(), 1u);
  return pools->empty() ? DiscoveredPool{} : pools->front();
}

std::set<std::string> names(const DiscoveredPool& pool) {
  std::set<std::string> out;
  for (const DiscoveredDevice& device : pool.devices)
    out.insert(std::filesystem::path(device.path).filename().string());
  return out;
}

using Names = std::set<std::string>;

TEST(Discovery, FormerMembersDoNotCount) {
  const support::Fixture replaced("replaced");
  EXPECT_EQ(names(only_pool(replaced.folder())), (Names{"disk2.img", "disk3.img"}));
  const support::Fixture grown("grown");
  EXPECT_EQ(names(only_pool(grown.folder())), (Names{"disk1.img", "disk2.img"}));
}

// Without any member left, a former one must not look like a pool.
TEST(Discovery, FormerMembersAloneAreNoPool) {
  const support::Fixture fixture("replaced");
  for (const char* name : {"disk2.img", "disk3.img"}) std::filesystem::remove(fixture.folder() + "/" + name);
  const auto pools = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(pools);
  EXPECT_TRUE(pools->empty());
}

TEST(Discovery, RemovedTopLevelVdevIsIndirectOrMissing) {
  const support::Fixture fixture("removed-vdev");
  const DiscoveredPool all = only_pool(fixture.folder());
  EXPECT_EQ(names(all), (Names{"disk0.img", "disk2.img"}));
  ASSERT_EQ(all.root.children.size(), 3u);
  EXPECT_EQ(all.root.children[1].kind, VdevKind::indirect);
  EXPECT_EQ(all.root.guid_sum(), all.best_uberblock->guid_sum);
  std::filesystem::remove(fixture.folder() + "/disk1.img");
  EXPECT_EQ(only_pool(fixture.folder()).root.children[1].kind, VdevKind::missing);
}

TEST(Discovery, PathsAreThoseFoundNow) {
  const support::Fixture fixture("raidz1-3");
  const DiscoveredPool pool = only_pool(fixture.folder());
  for (const VdevConfig& leaf : pool.root.children.at(0).children)
    EXPECT_TRUE(leaf.path.starts_with(fixture.folder())) << leaf.path;
}

TEST(Discovery, DamagedLabelsDoNotHideGoodOnes) {
  const support::Fixture fixture("corrupt-labels");
  const DiscoveredPool pool = only_pool(fixture.folder());
  EXPECT_EQ(pool.devices.size(), 2u);
  EXPECT_EQ(pool.problems.size(), 5u);  // labels lost: 2 of one device, 3 of the other
}

TEST(Discovery, SparesAndCachesAreListedBesideThePool) {
  const support::Fixture fixture("raidz1-log-cache-spare");
  const DiscoveredPool pool = only_pool(fixture.folder());
  EXPECT_EQ(pool.devices.size(), 4u);
  ASSERT_EQ(pool.aux_devices.size(), 2u);
  EXPECT_TRUE(pool.aux_devices[0].is_cache);
  EXPECT_FALSE(pool.aux_devices[1].is_cache);
}

TEST(Discovery, OneDeviceUnderSeveralNamesCountsOnce) {
  const support::Fixture fixture("single");
  std::filesystem::create_symlink("disk0.img", fixture.folder() + "/another-name");
  const DiscoveredPool pool = only_pool(fixture.folder());
  EXPECT_EQ(pool.devices.size(), 1u);
  EXPECT_TRUE(pool.problems.empty());
}

TEST(Discovery, CopiesOfADeviceAreReported) {
  const support::Fixture fixture("single");
  std::filesystem::copy_file(fixture.folder() + "/disk0.img", fixture.folder() + "/disk0.copy");
  const DiscoveredPool pool = only_pool(fixture.folder());
  EXPECT_EQ(pool.devices.size(), 1u);
  ASSERT_EQ(pool.problems.size(), 1u);
  EXPECT_NE(pool.problems[0].find("same device guid"), std::string::npos);
}

TEST(Discovery, DevicesMayBeNamedThemselves) {
  const support::Fixture fixture("mirror2");
  const auto pools = discover_pools({.folders = {fixture.folder() + "/disk1.img"}});
  ASSERT_TRUE(pools);
  ASSERT_EQ(pools->size(), 1u);
  EXPECT_EQ(names(pools->front()), (Names{"disk1.img"}));
  EXPECT_FALSE(discover_pools({.folders = {fixture.folder() + "/absent"}}));
}

TEST(Discovery, MissingTopLevelVdevsKeepTheirPlace) {
  const support::Fixture fixture("raidz1-log-cache-spare");
  std::filesystem::remove(fixture.folder() + "/disk3.img");  // the log
  const DiscoveredPool pool = only_pool(fixture.folder());
  ASSERT_EQ(pool.root.children.size(), 2u);
  EXPECT_EQ(std::count_if(pool.root.children.begin(), pool.root.children.end(),
                          [](const VdevConfig& top) { return top.kind == VdevKind::missing; }),
            1);
}

std::string label_device(const support::TempDir& folder, PoolState state) {
  const std::string path = folder.file("disk", 64 << 20);
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  auto disk = open_disk(path, {.exclusive = false}, *engine);
  Label label;
  label.guid = label.top_guid = 7;
  label.pool.name = "tank";
  label.pool.pool_guid = 9;
  label.pool.txg = 42;
  label.pool.state = state;
  label.pool.vdev_children = 1;
  label.top.kind = VdevKind::file;
  label.top.guid = 7;
  label.top.ashift = 12;
  EXPECT_TRUE(write_initial_labels(**disk, label.encode()));
  return path;
}

TEST(Discovery, DestroyedPoolsAreListedOnRequest) {
  const support::TempDir folder;
  label_device(folder, PoolState::destroyed);
  EXPECT_TRUE(discover_pools({.folders = {folder.path()}})->empty());
  EXPECT_EQ(discover_pools({.folders = {folder.path()}, .include_destroyed = true})->size(), 1u);
}

// Labels of ours are accepted by zdb, where it is installed.
TEST(Labels, AreReadByZdb) {
  if (std::system("command -v zdb >/dev/null") != 0) GTEST_SKIP() << "no zdb here";
  const support::TempDir folder;
  const std::string path = label_device(folder, PoolState::exported);
  const std::string out = folder.path() + "/zdb.txt";
  ASSERT_EQ(std::system(("zdb -l " + path + " >" + out).c_str()), 0);
  std::ifstream in(out);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("name: 'tank'"), std::string::npos) << text;
  EXPECT_NE(text.find("labels = 0 1 2 3"), std::string::npos) << text;
}

TEST(DeviceUse, FollowsTheLabel) {
  const support::TempDir folder;
  const auto use = [&](PoolState state) { return probe_device_use(label_device(folder, state))->kind; };
  EXPECT_EQ(use(PoolState::active), DeviceUse::Kind::potentially_active_pool);
  EXPECT_EQ(use(PoolState::exported), DeviceUse::Kind::exported_pool);
  EXPECT_EQ(use(PoolState::destroyed), DeviceUse::Kind::destroyed_pool);
  EXPECT_EQ(use(PoolState::spare), DeviceUse::Kind::spare);
  EXPECT_EQ(use(PoolState::l2cache), DeviceUse::Kind::cache);
}

TEST(DeviceUse, HeldDevicesAreNotToBeForced) {
  const support::TempDir folder;
  const std::string path = label_device(folder, PoolState::active);
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  const auto holder = open_disk(path, {.exclusive = true}, *engine);
  ASSERT_TRUE(holder);
  const Result<DeviceUse> use = probe_device_use(path);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->kind, DeviceUse::Kind::active_pool);
  EXPECT_FALSE(use->force_allowed);
  EXPECT_EQ(use->pool_name, "tank");
}

TEST(DeviceUse, FormerMembersAndClearedDevicesAreFree) {
  const support::Fixture fixture("replaced");
  EXPECT_EQ(probe_device_use(fixture.folder() + "/disk0.img")->kind, DeviceUse::Kind::free);
  const std::string member = fixture.folder() + "/disk2.img";
  EXPECT_EQ(probe_device_use(member)->kind, DeviceUse::Kind::exported_pool);
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  ASSERT_TRUE(clear_labels(**open_disk(member, {.exclusive = false}, *engine), false));
  EXPECT_EQ(probe_device_use(member)->kind, DeviceUse::Kind::free);
}

TEST(DeviceUse, ForeignContentIsNamed) {
  const support::TempDir folder;
  const std::string path = folder.file("disk", 64 << 20);
  EXPECT_EQ(probe_device_use(path)->kind, DeviceUse::Kind::free);
  if (std::system(("mkfs.ext4 -q -F " + path + " 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no mkfs.ext4";
  const Result<DeviceUse> use = probe_device_use(path);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->kind, DeviceUse::Kind::file_system);
  EXPECT_EQ(use->pool_name, "ext4");
  EXPECT_TRUE(use->force_allowed);
}

TEST(DeviceUse, AbsentDevicesAreAnError) {
  EXPECT_EQ(probe_device_use("/nonexistent/disk").error().code(), Errc::not_found);
}

}  // namespace
}  // namespace tarn
