#include "libpool/txg/features.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tarn {
namespace {

TEST(Features, NamesAndGuidsAreUniqueAndDependenciesExist) {
  std::set<std::string_view> names, guids;
  for (const FeatureInfo& feature : all_features()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_TRUE(guids.insert(feature.guid).second) << feature.guid;
    for (const std::string_view needed : feature.depends_on)
      EXPECT_NE(find_feature_by_guid(needed), nullptr) << feature.name << " needs " << needed;
  }
  EXPECT_EQ(find_feature_by_name("lz4_compress")->guid, "org.illumos:lz4_compress");
  EXPECT_EQ(find_feature_by_guid("no.such:feature"), nullptr);
}

class Compatibility : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tarn-compat-" + std::to_string(getpid()));
    for (const char* sub : {"etc", "usr"}) std::filesystem::create_directories(folder_ / sub);
    folders_ = {folder_ / "etc", folder_ / "usr"};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
  std::vector<std::string> folders_;
};

TEST_F(Compatibility, OffAllowsAllAndLegacyNone) {
  EXPECT_TRUE(read_compatibility("off", folders_)->names.contains("draid"));
  EXPECT_FALSE(read_compatibility("off", folders_)->names.contains("physical_rewrite"));
  EXPECT_TRUE(read_compatibility("legacy", folders_)->names.empty());
}

TEST_F(Compatibility, SeveralFilesIntersect) {
  write("usr/a", "# comment\nlz4_compress, hole_birth\nenabled_txg # why\n");
  write("usr/b", "lz4_compress\nbookmarks\n");
  EXPECT_EQ(read_compatibility("a,b", folders_)->names, std::set<std::string>{"lz4_compress"});
}

TEST_F(Compatibility, LocalFolderWins) {
  write("usr/a", "lz4_compress\n");
  write("etc/a", "bookmarks\n");
  EXPECT_EQ(read_compatibility("a", folders_)->names, std::set<std::string>{"bookmarks"});
}

TEST_F(Compatibility, UnknownFeatureIsAWarningOnlyFromTheDistribution) {
  write("usr/a", "lz4_compress teleport\n");
  write("etc/b", "teleport\n");
  const auto set = read_compatibility("a", folders_);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->warnings.size(), 1u);
  EXPECT_FALSE(read_compatibility("b", folders_));
}

TEST_F(Compatibility, RefusesWhatIsNotAProperFile) {
  write("usr/a", "lz4_compress");  // no newline at the end
  write("usr/b", "");
  EXPECT_FALSE(read_compatibility("a", folders_));
  EXPECT_FALSE(read_compatibility("b", folders_));
  EXPECT_FALSE(read_compatibility("missing", folders_));
  EXPECT_FALSE(read_compatibility("../etc/passwd", folders_));
}

}  // namespace
}  // namespace tarn
