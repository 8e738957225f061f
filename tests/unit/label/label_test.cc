#include "libpool/label/label.h"

#include <gtest/gtest.h>

#include "tests/unit/support/fixture.h"
#include "tests/unit/support/temp_dir.h"

namespace tarn {
namespace {

std::unique_ptr<Disk> open(const std::string& path, IoEngine& engine, bool read_only = true) {
  Result<std::unique_ptr<Disk>> disk = open_disk(path, {.read_only = read_only, .exclusive = false}, engine);
  EXPECT_TRUE(disk) << disk.error().text();
  return *std::move(disk);
}

class FixtureLabels : public testing::TestWithParam<const char*> {};

// Every device's label says what zdb -l read from it.
TEST_P(FixtureLabels, AreReadAsTheManifestHasThem) {
  const support::Fixture fixture(GetParam());
  ASSERT_TRUE(fixture.unpacked);
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  for (const auto& device : fixture.manifest["devices"]) {
    if (!device.value("in_archive", true) || !device.contains("label") || !device["label"].is_object())
      continue;
    const std::unique_ptr<Disk> disk =
        open(fixture.folder() + "/" + device["file"].get<std::string>(), *engine);
    const LabelSet labels = read_labels(*disk);
    const Label* label = labels.best();
    ASSERT_NE(label, nullptr) << device["file"];
    const auto& expected = device["label"];
    const auto number = [&](const char* key) {
      const auto& value = expected[key];
      return value.is_string() ? std::stoull(value.get<std::string>()) : value.get<std::uint64_t>();
    };
    if (expected.contains("guid")) EXPECT_EQ(label->guid, number("guid"));
    const bool member = label->top.kind != VdevKind::missing;
    if (member && expected.contains("pool_guid")) EXPECT_EQ(label->pool.pool_guid, number("pool_guid"));
    if (expected.contains("txg")) EXPECT_EQ(label->pool.txg, number("txg"));
    if (member) {
      // A detached disk keeps a label, but its ring may be gone.
      EXPECT_TRUE(device.value("state", "") == "not shown" || read_best_uberblock(*disk));
      // What we would write for this label reads back equal.
      const Result<Label> again = Label::decode(label->encode());
      ASSERT_TRUE(again);
      EXPECT_EQ(again->encode(), label->encode());
    }
  }
}

TEST_P(FixtureLabels, AssembleToThePool) {
  const support::Fixture fixture(GetParam());
  ASSERT_TRUE(fixture.unpacked);
  const Result<std::vector<DiscoveredPool>> pools = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(pools) << pools.error().text();
  const std::string guid = fixture.manifest["pool"]["guid"].get<std::string>();
  const auto found = std::find_if(pools->begin(), pools->end(), [&](const DiscoveredPool& p) {
    return std::to_string(p.config.pool_guid) == guid;
  });
  ASSERT_NE(found, pools->end());
  EXPECT_EQ(found->config.name, fixture.manifest["pool"]["name"].get<std::string>());
  ASSERT_TRUE(found->best_uberblock);
  EXPECT_EQ(found->root.guid_sum(), found->best_uberblock->guid_sum);
}

INSTANTIATE_TEST_SUITE_P(All, FixtureLabels,
                         testing::Values("single", "mirror2", "raidz1-3", "replaced", "grown",
                                         "corrupt-labels", "raidz1-log-cache-spare"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Labels, OneFlippedBitIsAChecksumErrorThatNamesTheLabel) {
  const support::TempDir folder;
  const std::string path = folder.file("disk", 64 << 20);
  const std::unique_ptr<IoEngine> engine = make_thread_engine(1);
  const std::unique_ptr<Disk> disk = open(path, *engine, false);
  Label label;
  label.guid = 7;
  label.pool.pool_guid = 9;
  label.pool.txg = 42;
  label.top.kind = VdevKind::file;
  ASSERT_TRUE(write_initial_labels(*disk, label.encode()));
  EXPECT_TRUE(read_labels(*disk).labels[3]);

  Buffer sector(4096);
  const std::uint64_t at = label_offset(2, disk->size_bytes()) + (16 << 10);
  ASSERT_TRUE(disk->read(at, sector.span()));
  sector.data()[17] ^= std::byte{1};
  ASSERT_TRUE(disk->write(at, sector));
  const LabelSet damaged = read_labels(*disk);
  EXPECT_FALSE(damaged.labels[2]);
  EXPECT_NE(damaged.problems[2].find("label 2: checksum"), std::string::npos) << damaged.problems[2];
  EXPECT_TRUE(damaged.labels[1]);
}

TEST(Labels, TheRuleForTornUpdatesPicksTheLabelOfTheUberblock) {
  LabelSet set;
  for (unsigned i = 0; i < kLabelCount; ++i) {
    set.labels[i].emplace();
    set.labels[i]->guid = i + 1;
    set.labels[i]->pool.txg = i % 2 == 0 ? 12 : 11;  // even labels are ahead
  }
  EXPECT_EQ(set.best(12)->pool.txg, 12u);
  EXPECT_EQ(set.best(11)->pool.txg, 11u);
  EXPECT_EQ(set.best(10), nullptr);
}

}  // namespace
}  // namespace tarn
