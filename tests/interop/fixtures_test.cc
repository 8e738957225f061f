// Pools made by OpenZFS: Tarn opens them read-only and reads the whole MOS; opens copies for writing, syncs,
// exports; zdb judges. The pools lie in tests/fixtures or in the folder that TARN_FIXTURES names; absent ones
// are skipped.
#include <gtest/gtest.h>

#include <filesystem>

#include "libpool/txg/pool.h"
#include "tests/unit/support/pool_folder.h"
#include "tests/unit/support/zdb.h"

namespace tarn {
namespace {

using support::PoolFolder;

class Fixture : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    pool_name_ = folder_.unpack_fixture(GetParam());
    if (pool_name_.empty()) GTEST_SKIP() << "no fixture " << GetParam();
  }
  Result<std::unique_ptr<Pool>> open(bool read_only) {
    DiscoveredPool found = TRY(folder_.discover(pool_name_));
    return Pool::open({.found = std::move(found),
                       .read_only = read_only,
                       .force = true,
                       .history_command = "pool import " + pool_name_},
                      PoolFolder::settings());
  }

  PoolFolder folder_;
  std::string pool_name_;
};

class ReadOnlyFixture : public Fixture {};

TEST_P(ReadOnlyFixture, OpensAndReadsTheWholeMos) {
  const std::string before = folder_.fingerprint();
  {
    auto pool = open(true);
    ASSERT_TRUE(pool) << pool.error().text();
    std::uint64_t objects = 0, bytes = 0;
    ObjectSet& mos = (*pool)->mos();
    for (std::uint64_t number = 0;;) {
      const auto next = mos.next_object(number);
      ASSERT_TRUE(next) << next.error().text();
      if (!*next) break;
      number = **next;
      const auto object = mos.open_object(number);
      ASSERT_TRUE(object) << object.error().text();
      const ObjectInfo info = (*object)->info();
      for (std::uint64_t block = 0; info.max_blkid < 64 && block <= info.max_blkid; ++block) {
        const auto data = (*object)->read_block(block);
        ASSERT_TRUE(data) << "object " << number << ": " << data.error().text();
        bytes += (*data)->size();
      }
      ++objects;
    }
    EXPECT_GT(objects, 20u);
    const Status traversed = mos.traverse(0, [](const BlockPointer&, const Bookmark&) { return Status(); });
    EXPECT_TRUE(traversed) << traversed.error().text();
    const auto history = (*pool)->history();
    ASSERT_TRUE(history) << history.error().text();
    EXPECT_FALSE(history->empty());
    EXPECT_GT(std::stoull(*(*pool)->property("allocated")), 0u);
  }
  EXPECT_EQ(folder_.fingerprint(), before) << "a read-only import wrote to a device";
}

constexpr const char* kReadable[] = {"single",
                                     "file-vdev",
                                     "mirror2",
                                     "mirror3",
                                     "raidz1-3",
                                     "raidz1-5",
                                     "raidz2-6",
                                     "raidz3-7",
                                     "two-mirrors",
                                     "raidz1-log-cache-spare",
                                     "compression",
                                     "checksum",
                                     "posix",
                                     "datasets",
                                     "zvols",
                                     "unclean",
                                     "unclean-slog",
                                     "unclean-encrypted",
                                     "unclean-raidz",
                                     "degraded-raidz1",
                                     "degraded-raidz2",
                                     "degraded-mirror",
                                     "corrupt-labels",
                                     "spare-in-use",
                                     "resilver-interrupted",
                                     "resilver-cut",
                                     "offline-dtl",
                                     "offline-online",
                                     "replaced",
                                     "grown",
                                     "encryption",
                                     "encrypted-root",
                                     "dedup",
                                     "dedup-legacy",
                                     "special-class",
                                     "checkpoint",
                                     "v28",
                                     "compat-zol-0.8",
                                     "compat-2.0",
                                     "compat-2.1",
                                     "compat-freebsd-11.3",
                                     "no-features",
                                     "block-clone",
                                     "leaks",
                                     "gang",
                                     "many-datasets"};
INSTANTIATE_TEST_SUITE_P(Pools, ReadOnlyFixture, ::testing::ValuesIn(kReadable), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

class WritableFixture : public Fixture {};

TEST_P(WritableFixture, ZdbAcceptsItAfterSyncsAndExport) {
  for (int round = 0; round < 2; ++round) {
    auto pool = open(false);
    ASSERT_TRUE(pool) << pool.error().text();
    for (int i = 0; i < 6; ++i) {
      const Status set = (*pool)->set_property("org.example:round", std::to_string(round * 100 + i));
      ASSERT_TRUE(set) << set.error().text();
    }
    const Status closed = (*pool)->close(PoolState::exported);
    ASSERT_TRUE(closed) << closed.error().text();
    pool->reset();
    if (support::zdb_available()) ASSERT_EQ(support::zdb_complaints(folder_.path(), pool_name_), "");
  }
  auto pool = open(true);
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_EQ(*(*pool)->property("org.example:round"), "105");
}

constexpr const char* kWritable[] = {"single",
                                     "file-vdev",
                                     "mirror2",
                                     "mirror3",
                                     "raidz1-3",
                                     "raidz1-5",
                                     "raidz2-6",
                                     "raidz3-7",
                                     "two-mirrors",
                                     "raidz1-log-cache-spare",
                                     "compression",
                                     "checksum",
                                     "posix",
                                     "zvols",
                                     "degraded-raidz1",
                                     "degraded-raidz2",
                                     "degraded-mirror",
                                     "corrupt-labels",
                                     "replaced",
                                     "grown",
                                     "encryption",
                                     "encrypted-root",
                                     "compat-zol-0.8",
                                     "compat-freebsd-11.3",
                                     "no-features",
                                     "leaks",
                                     "gang",
                                     "many-datasets",
                                     "v28",
                                     "offline-dtl"};
INSTANTIATE_TEST_SUITE_P(Pools, WritableFixture, ::testing::ValuesIn(kWritable), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace tarn
