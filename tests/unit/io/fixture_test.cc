// Pools made by OpenZFS: every copy of the MOS root, and every block that the MOS reaches, reads and
// verifies.
#include "tests/unit/support/fixture.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "libpool/io/block_io.h"
#include "libpool/label/label.h"
#include "libpool/object/object_set.h"
#include "libpool/vdev/disk.h"
#include "libpool/vdev/io_engine.h"
#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr std::size_t kDatasetBpOffset = 128;  // in the dataset's bonus

class OpenZfsPool : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenZfsPool, EveryBlockOfTheMosVerifies) {
  const support::Fixture fixture(GetParam());
  ASSERT_TRUE(fixture.unpacked);
  auto pools = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(pools && pools->size() == 1);
  const DiscoveredPool& pool = (*pools)[0];
  ASSERT_TRUE(pool.best_uberblock);
  const auto engine = make_io_engine();
  auto tree = VdevTree::open(
      pool.root,
      [&](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
        return std::shared_ptr<Disk>(TRY(open_disk(leaf.path, {.read_only = true}, *engine)));
      },
      true);
  ASSERT_TRUE(tree) << tree.error().text();
  const auto io = BlockIo::create(**tree, {});
  std::size_t seen = 0, gangs = 0;
  const auto read_each_copy = [&](const BlockPointer& bp, const Bookmark& mark) -> Status {
    TRY(io->read(bp, mark, false));
    for (unsigned i = 1; i < bp.dva_count() && !bp.is_gang(); ++i) {
      BlockPointer copy = bp;
      copy.dvas = {bp.dvas[i]};
      TRY(io->read(copy, mark, false));
    }
    ++seen;
    return {};
  };
  const BlockPointer& root = pool.best_uberblock->root;
  ASSERT_TRUE(read_each_copy(root, {}));
  ThreadPool workers("test", 1);
  auto mos = ObjectSet::open({.io = io.get(), .workers = &workers, .vdev_count = (*tree)->top_count()}, root,
                             ObjsetType::meta);
  ASSERT_TRUE(mos) << mos.error().text();
  const Status walked = (*mos)->traverse(0, read_each_copy);
  EXPECT_TRUE(walked) << walked.error().text();
  EXPECT_GT(seen, 20u);
  const auto directory = Zap::open(**mos, 1);
  ASSERT_TRUE(directory);
  if (const auto stored = directory->lookup("org.illumos:checksum_salt")) {
    ChecksumSalt salt;
    ASSERT_EQ(stored->integers.size(), salt.size());
    std::ranges::transform(stored->integers, salt.begin(),
                           [](std::uint64_t value) { return std::byte(value); });
    io->set_salt(salt);
  }

  // The datasets: gang blocks, and each compression and checksum, are in these.
  for (std::uint64_t number = 0;;) {
    const auto next = (*mos)->next_object(number);
    ASSERT_TRUE(next);
    if (!*next) break;
    number = **next;
    const ObjectRef object = *(*mos)->open_object(number);
    if (object->info().bonus_type != DmuType::dsl_dataset) continue;
    const Bytes bonus = object->bonus();
    ASSERT_GE(bonus.size(), kDatasetBpOffset + kBlockPointerBytes);
    const BlockPointer objset_root = BlockPointer::decode(
        ByteView(bonus).subspan(kDatasetBpOffset).first<kBlockPointerBytes>(), kHostOrder);
    if (objset_root.is_hole()) continue;
    auto objset = ObjectSet::open(
        {.io = io.get(), .workers = &workers, .objset_id = number, .vdev_count = (*tree)->top_count()},
        objset_root, ObjsetType::filesystem);
    ASSERT_TRUE(objset) << objset.error().text();
    const Status read = (*objset)->traverse(0, [&](const BlockPointer& bp, const Bookmark& mark) -> Status {
      gangs += bp.is_gang();
      return read_each_copy(bp, mark);
    });
    EXPECT_TRUE(read) << read.error().text();
  }
  if (std::string_view(GetParam()) == "gang") {
    EXPECT_GT(gangs, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, OpenZfsPool,
                         ::testing::Values("single", "mirror2", "raidz1-3", "raidz1-5", "raidz2-6",
                                           "raidz3-7", "raidz1-log-cache-spare", "checksum", "compression",
                                           "gang"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tarn
