// Datasets in real pools on files. zdb is the judge of what was written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "libdataset/files/file_system.h"
#include "libdataset/sa/owner_ids.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/label/label.h"
#include "tests/unit/support/dataset_compare.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/temp_dir.h"

namespace tarn {
namespace {

constexpr std::uint64_t kDiskBytes = 256u << 20;

CreateDatasetSpec spec_of(const std::string& name, std::vector<PropertySetting> properties = {}) {
  return {.name = name,
          .properties = std::move(properties),
          .format = [](ObjectSet& objset, const Tx& tx, const std::map<std::string, std::uint64_t>& zpl) {
            return FileSystem::format(objset, tx, zpl, {}, Clock::system().now());
          }};
}

class TreePool : public ::testing::Test {
 protected:
  void SetUp() override { open_new(); }
  void open_new(std::uint64_t version = 5000) {
    PoolCreateSpec spec{.name = "tank", .version = version};
    spec.root.kind = VdevKind::root;
    spec.features["com.delphix:log_spacemap"] = false;
    VdevConfig leaf;
    leaf.kind = VdevKind::file;
    leaf.path = folder_.file("d0", kDiskBytes);
    spec.root.children.push_back(leaf);
    auto made = Pool::create(spec, {}, DatasetTree::maker(spec_of("tank"), find_owner));
    ASSERT_TRUE(made) << made.error().text();
    pool_ = std::move(*made);
    open_tree();
  }
  void open_tree() {
    auto opened = DatasetTree::open(*pool_, find_owner);
    ASSERT_TRUE(opened) << opened.error().text();
    tree_ = std::move(*opened);
  }
  void TearDown() override {
    if (!pool_) return;
    check_sums();
    export_pool();
    const std::string command =
        fmt::format("zdb -e -p '{}' -bcc tank > '{}/zdb' 2>&1", folder_.path(), folder_.path());
    const int status = std::system(command.c_str());
    std::ifstream in(folder_.path() + "/zdb");
    const std::string output((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(status, 0) << output;
    EXPECT_NE(output.find("No leaks"), std::string::npos) << output;
  }
  void export_pool() {
    tree_.reset();
    const Status closed = pool_->close(PoolState::exported);
    EXPECT_TRUE(closed) << closed.error().text();
    pool_.reset();
  }
  void reopen() {
    export_pool();
    auto found = discover_pools({.folders = {folder_.path()}});
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 1u);
    auto opened = Pool::open({.found = (*found)[0]}, {});
    ASSERT_TRUE(opened) << opened.error().text();
    pool_ = std::move(*opened);
    open_tree();
  }
  // Every directory's used space is what its parts take; a parent's children account for it.
  void check_sums() {
    ASSERT_TRUE(pool_->sync_now());
    const auto infos = tree_->list("", UINT32_MAX, false).value();
    for (const DatasetInfo& info : infos) {
      EXPECT_EQ(info.used, info.used_by_dataset + info.used_by_snapshots + info.used_by_children +
                               info.used_by_refreservation)
          << info.name;
      const std::uint64_t objset_bytes = info.referenced;
      EXPECT_GE(objset_bytes, info.unique) << info.name;
    }
  }
  void write_file(const std::string& dataset, const std::string& name, std::size_t bytes, std::uint8_t seed) {
    auto ref = tree_->open_dataset(dataset);
    ASSERT_TRUE(ref) << ref.error().text();
    auto fs = FileSystem::open(*ref);
    ASSERT_TRUE(fs) << fs.error().text();
    auto found = (*fs)->lookup((*fs)->root(), name);
    auto file = found ? std::move(found) : (*fs)->create((*fs)->root(), name, S_IFREG | 0644, 0, {});
    ASSERT_TRUE(file) << file.error().text();
    Bytes data(bytes);
    std::uint64_t state = seed + 1;
    for (std::byte& byte : data) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
    constexpr std::size_t kChunk = 128u << 10;
    for (std::size_t at = 0; at < bytes; at += kChunk) {
      const auto written =
          (*fs)->write(file->object, at, ByteView(data).subspan(at, std::min(kChunk, bytes - at)), false, {});
      ASSERT_TRUE(written) << written.error().text();
    }
    (*fs).reset();
    ASSERT_TRUE(pool_->sync_now());
  }
  DatasetInfo info(const std::string& name) {
    auto found = tree_->info(name);
    EXPECT_TRUE(found) << name << ": " << found.error().text();
    return found ? *found : DatasetInfo{};
  }
  std::string value(const std::string& dataset, const std::string& property) {
    auto found = tree_->get(dataset, property);
    return found ? print_value(*found, true) + " " + support::source_text(*found) : found.error().text();
  }

  support::TempDir folder_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<DatasetTree> tree_;
};

#define ASSERT_DONE(expression)                 \
  do {                                          \
    const Status done_ = (expression);          \
    ASSERT_TRUE(done_) << done_.error().text(); \
  } while (false)

TEST_F(TreePool, NewPoolHasItsRootFileSystem) {
  const DatasetInfo root = info("tank");
  EXPECT_EQ(root.creation_txg, 1u);
  EXPECT_GT(root.referenced, 0u);
  EXPECT_EQ(root.used_by_dataset, root.referenced);
  EXPECT_GT(root.available, 0u);
  EXPECT_EQ(value("tank", "mountpoint"), "/tank default");
  EXPECT_EQ(value("tank", "compression"), "on default");
  EXPECT_EQ(value("tank", "version"), "5 -");
  reopen();
  EXPECT_EQ(info("tank").guid, root.guid);
}

TEST_F(TreePool, CreatesWithParentsAndInheritsProperties) {
  CreateDatasetSpec spec = spec_of("tank/a/b/c", {{"compression", "off"}, {"com.example:x", "two words"}});
  EXPECT_EQ(tree_->create(spec).error().text(), "parent does not exist");
  spec.make_parents = true;
  ASSERT_DONE(tree_->create(spec));
  ASSERT_DONE(tree_->create(spec));
  spec.make_parents = false;
  EXPECT_EQ(tree_->create(spec).error().text(), "dataset already exists");
  ASSERT_DONE(tree_->set("tank/a", {{"atime", "off"}, {"mountpoint", "/mnt/m"}}));
  reopen();
  EXPECT_EQ(value("tank/a/b/c", "compression"), "off local");
  EXPECT_EQ(value("tank/a/b", "compression"), "on default");
  EXPECT_EQ(value("tank/a/b/c", "atime"), "off inherited from tank/a");
  EXPECT_EQ(value("tank/a/b/c", "mountpoint"), "/mnt/m/b/c inherited from tank/a");
  EXPECT_EQ(value("tank/a/b/c", "com.example:x"), "two words local");
  ASSERT_DONE(tree_->inherit("tank/a", "atime", false));
  EXPECT_EQ(value("tank/a/b/c", "atime"), "on default");
  std::vector<std::string> names;
  const auto infos = tree_->list("", UINT32_MAX, true).value();
  for (const DatasetInfo& one : infos) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"tank", "tank/a", "tank/a/b", "tank/a/b/c"}));
}

TEST_F(TreePool, DestroyGivesTheSpaceBack) {
  const std::uint64_t before = info("tank").used_by_children;
  ASSERT_DONE(tree_->create(spec_of("tank/a")));
  ASSERT_DONE(tree_->create(spec_of("tank/a/b")));
  write_file("tank/a/b", "f", 8u << 20, 1);
  EXPECT_GT(info("tank/a").used, 8u << 20);
  EXPECT_EQ(tree_->destroy("tank/a").error().text(), "filesystem has children");
  EXPECT_EQ(tree_->destroy("tank").error().text(), "operation does not apply to pools");
  EXPECT_EQ(tree_->destroy("tank/none").error().text(), "dataset does not exist");
  {
    DatasetRef held = tree_->open_dataset("tank/a/b").value();
    EXPECT_EQ(tree_->destroy("tank/a/b").error().code(), Errc::busy);
  }
  ASSERT_DONE(tree_->destroy("tank/a/b"));
  ASSERT_DONE(tree_->destroy("tank/a"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool_->run_sync_task([](SyncContext&) { return Status(); }));
  EXPECT_LT(info("tank").used_by_children, before + (1u << 20));
}

TEST_F(TreePool, SnapshotKeepsWhatIsOverwritten) {
  ASSERT_DONE(tree_->create(spec_of("tank/a")));
  write_file("tank/a", "f", 4u << 20, 1);
  ASSERT_DONE(tree_->snapshot({"tank/a@one"}, {{"com.example:n", "1"}}));
  EXPECT_EQ(info("tank/a@one").used, 0u);
  EXPECT_EQ(value("tank/a@one", "com.example:n"), "1 local");
  write_file("tank/a", "f", 4u << 20, 2);
  EXPECT_GT(info("tank/a@one").used, 4u << 20);
  EXPECT_EQ(info("tank/a").used_by_snapshots, info("tank/a@one").used);
  EXPECT_GT(info("tank/a").written, 4u << 20);
  ASSERT_DONE(tree_->snapshot({"tank/a@two", "tank@two"}, {}));
  write_file("tank/a", "f", 4u << 20, 3);
  EXPECT_EQ(info("tank/a").used_by_snapshots, info("tank/a@one").used + info("tank/a@two").used);
  EXPECT_EQ(tree_->destroy("tank/a").error().text(), "filesystem has children");
  EXPECT_EQ(tree_->snapshot({"tank/a@two"}, {}).error().text(), "dataset already exists");
  reopen();
  auto old = FileSystem::open(tree_->open_dataset("tank/a@one").value());
  ASSERT_TRUE(old) << old.error().text();
  Bytes data(16);
  const auto file = (*old)->lookup((*old)->root(), "f");
  ASSERT_TRUE(file);
  EXPECT_EQ((*old)->read(file->object, 0, data).value(), 16u);
  EXPECT_EQ(std::to_integer<unsigned>(data[0]),
            static_cast<unsigned>((2 * 6364136223846793005u + 1442695040888963407u) >> 56));
}

TEST_F(TreePool, DestroyedSnapshotsFreeWhatOnlyTheyHad) {
  ASSERT_DONE(tree_->create(spec_of("tank/a")));
  for (std::uint8_t i = 1; i <= 4; ++i) {
    write_file("tank/a", "f", 2u << 20, i);
    write_file("tank/a", fmt::format("g{}", i), 1u << 20, i);
    ASSERT_DONE(tree_->snapshot({fmt::format("tank/a@s{}", i)}, {}));
  }
  ASSERT_DONE(tree_->destroy("tank/a@s2"));
  check_sums();
  ASSERT_DONE(tree_->destroy("tank/a@s4"));
  check_sums();
  write_file("tank/a", "f", 2u << 20, 9);
  ASSERT_DONE(tree_->destroy("tank/a@s1"));
  check_sums();
  EXPECT_EQ(info("tank/a").used_by_snapshots, info("tank/a@s3").used);
  ASSERT_DONE(tree_->destroy("tank/a@s3"));
  check_sums();
  EXPECT_EQ(info("tank/a").used_by_snapshots, 0u);
  EXPECT_EQ(info("tank/a").unique, info("tank/a").referenced);
}

TEST_F(TreePool, RenameMovesSpaceBetweenParents) {
  ASSERT_DONE(tree_->create(spec_of("tank/a")));
  ASSERT_DONE(tree_->create(spec_of("tank/b")));
  ASSERT_DONE(tree_->create(spec_of("tank/a/x")));
  write_file("tank/a/x", "f", 2u << 20, 1);
  ASSERT_DONE(tree_->set("tank/a/x", {{"reservation", "20M"}}));
  ASSERT_DONE(tree_->snapshot({"tank/a/x@s"}, {}));
  const std::uint64_t root_used = info("tank").used;
  ASSERT_DONE(tree_->rename("tank/a/x", "tank/b/y", false));
  ASSERT_DONE(tree_->rename("tank/b/y@s", "tank/b/y@t", false));
  EXPECT_EQ(tree_->info("tank/a/x").error().text(), "dataset does not exist");
  EXPECT_LT(info("tank/a").used, 1u << 20);
  EXPECT_GE(info("tank/b").used, 20u << 20);
  EXPECT_NEAR(static_cast<double>(info("tank").used), static_cast<double>(root_used), 1 << 20);
  EXPECT_EQ(tree_->rename("tank/b", "tank/b/c", false).error().text(),
            "New dataset name cannot be a descendant of current dataset name");
  reopen();
  EXPECT_EQ(info("tank/b/y@t").kind, DatasetKind::snapshot);
}

TEST_F(TreePool, EnforcesQuotasAndReservations) {
  ASSERT_DONE(tree_->create(spec_of("tank/q", {{"quota", "4M"}})));
  EXPECT_EQ(value("tank/q", "quota"), "4194304 local");
  EXPECT_LE(info("tank/q").available, 4u << 20);
  auto ref = tree_->open_dataset("tank/q").value();
  EXPECT_EQ(ref->begin(8u << 20, false).error().code(), Errc::quota);
  EXPECT_TRUE(ref->begin(8u << 20, true));
  EXPECT_EQ(tree_->set("tank/q", {{"quota", "1K"}}).error().text(),
            "size is less than current used or reserved space");
  EXPECT_EQ(tree_->set("tank/q", {{"reservation", "10T"}}).error().text(),
            "size is greater than available space");
  ASSERT_DONE(tree_->set("tank/q", {{"quota", "none"}, {"refreservation", "16M"}}));
  EXPECT_GT(info("tank/q").used_by_refreservation, 15u << 20);
  write_file("tank/q", "f", 4u << 20, 1);
  EXPECT_LT(info("tank/q").used_by_refreservation, 13u << 20);
  ASSERT_DONE(tree_->snapshot({"tank/q@s"}, {}));
  EXPECT_EQ(info("tank/q").used_by_refreservation, 16u << 20);
  ASSERT_DONE(tree_->destroy("tank/q@s"));
  EXPECT_LT(info("tank/q").used_by_refreservation, 13u << 20);
  ASSERT_DONE(tree_->set("tank/q", {{"refreservation", "none"}}));
  EXPECT_EQ(info("tank/q").used_by_refreservation, 0u);
  EXPECT_EQ(tree_->create(spec_of("tank/r", {{"reservation", "10G"}})).error().text(), "out of space");
}

TEST_F(TreePool, AppliesStorageProperties) {
  ASSERT_DONE(tree_->create(
      spec_of("tank/plain", {{"compression", "off"}, {"checksum", "sha256"}, {"copies", "2"}})));
  ASSERT_DONE(tree_->create(spec_of(
      "tank/zstd", {{"compression", "zstd-3"}, {"recordsize", "1M"}, {"redundant_metadata", "none"}})));
  write_file("tank/plain", "f", 1u << 20, 1);
  write_file("tank/zstd", "f", 4u << 20, 1);
  EXPECT_GT(info("tank/plain").referenced, 2u << 20);
  EXPECT_EQ(value("tank/zstd", "redundant_metadata"), "none local");
}

TEST(TreeFixture, ShowsWhatOpenZfsShowed) {
  support::Fixture fixture("datasets");
  ASSERT_TRUE(fixture.unpacked);
  auto found = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  auto pool = Pool::open({.found = (*found)[0], .read_only = true, .force = true}, {});
  ASSERT_TRUE(pool) << pool.error().text();
  auto tree = DatasetTree::open(**pool, find_owner);
  ASSERT_TRUE(tree) << tree.error().text();
  for (const std::string& line : support::dataset_differences(**tree, fixture.manifest.at("expect")))
    ADD_FAILURE() << line;
}

// A pool that OpenZFS made, with snapshots and a clone: changes everywhere, and zdb still finds every block
// accounted for.
TEST(TreeFixture, WritesIntoAPoolOfOpenZfs) {
  support::Fixture fixture("compat-zol-0.8");
  ASSERT_TRUE(fixture.unpacked);
  auto found = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(found) << found.error().text();
  auto pool = Pool::open({.found = (*found)[0], .force = true}, {});
  ASSERT_TRUE(pool) << pool.error().text();
  const std::string name = (*pool)->name();
  {
    auto opened = DatasetTree::open(**pool, find_owner);
    ASSERT_TRUE(opened) << opened.error().text();
    DatasetTree& tree = **opened;
    const auto write = [&](const std::string& dataset, const std::string& file_name) {
      auto ref = tree.open_dataset(dataset);
      ASSERT_TRUE(ref) << dataset << ": " << ref.error().text();
      auto fs = FileSystem::open(*ref);
      ASSERT_TRUE(fs) << dataset << ": " << fs.error().text();
      auto file = (*fs)->create((*fs)->root(), file_name, S_IFREG | 0644, 0, {});
      ASSERT_TRUE(file) << dataset << ": " << file.error().text();
      const Bytes data(200000, std::byte{0x5a});
      ASSERT_TRUE((*fs)->write(file->object, 0, data, false, {}));
    };
    for (const char* path : {"", "/docs", "/plain", "/clone"}) write(name + path, "written by tarn");
    ASSERT_TRUE((*pool)->sync_now());
    ASSERT_DONE(tree.snapshot({name + "/docs@tarn", name + "/clone@tarn", name + "/plain@tarn"}, {}));
    for (const char* path : {"/docs", "/clone"}) write(name + path, "once more");
    ASSERT_TRUE((*pool)->sync_now());
    ASSERT_DONE(tree.snapshot({name + "/docs@tarn2"}, {}));
    EXPECT_EQ(tree.destroy(name + "/docs@first").error().text(), "snapshot has dependent clones");
    ASSERT_DONE(tree.destroy(name + "/docs@tarn"));
    ASSERT_DONE(tree.destroy(name + "/plain@first"));
    ASSERT_DONE(tree.destroy(name + "/clone@tarn"));
    ASSERT_DONE(tree.destroy(name + "/clone"));
    ASSERT_DONE(tree.destroy(name + "/docs@first"));
    ASSERT_DONE(tree.create(spec_of(name + "/docs/below")));
    ASSERT_DONE(tree.rename(name + "/docs", name + "/papers", false));
    const auto infos = tree.list("", UINT32_MAX, false).value();
    for (const DatasetInfo& info : infos)
      EXPECT_EQ(info.used, info.used_by_dataset + info.used_by_snapshots + info.used_by_children +
                               info.used_by_refreservation)
          << info.name;
  }
  ASSERT_DONE((*pool)->close(PoolState::exported));
  const std::string output = fixture.folder() + "/zdb";
  const int status =
      std::system(fmt::format("zdb -e -p '{}' -bcc {} > '{}' 2>&1", fixture.folder(), name, output).c_str());
  std::ifstream in(output);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find("No leaks"), std::string::npos) << text;
}

// Writing would throw away what the intent log still holds.
TEST(TreeFixture, RefusesToWriteBesideAnUnreplayedLog) {
  support::Fixture fixture("unclean");
  ASSERT_TRUE(fixture.unpacked);
  auto found = discover_pools({.folders = {fixture.folder()}});
  ASSERT_TRUE(found) << found.error().text();
  auto pool = Pool::open({.found = (*found)[0], .force = true}, {});
  ASSERT_TRUE(pool) << pool.error().text();
  const auto tree = DatasetTree::open(**pool, find_owner);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), Errc::unsupported);
  EXPECT_NE(tree.error().text().find("intent log"), std::string::npos) << tree.error().text();
  pool->reset();
  pool = Pool::open({.found = (*found)[0], .read_only = true, .force = true}, {});
  ASSERT_TRUE(pool) << pool.error().text();
  EXPECT_TRUE(DatasetTree::open(**pool, find_owner));
}

}  // namespace
}  // namespace tarn
