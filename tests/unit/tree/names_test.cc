#include "libdataset/tree/names.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

std::string refusal(std::string_view name) {
  const auto parsed = parse_dir_name(name);
  return parsed ? "" : parsed.error().text();
}

TEST(DatasetName, SplitsSnapshotsAndBookmarks) {
  const DatasetName snapshot = parse_dataset_name("tank/a b@two words").value();
  EXPECT_EQ(snapshot.dir, "tank/a b");
  EXPECT_EQ(snapshot.kind, NameKind::snapshot);
  EXPECT_EQ(snapshot.tail, "two words");
  EXPECT_EQ(snapshot.full(), "tank/a b@two words");
  EXPECT_EQ(parse_dataset_name("tank#m").value().kind, NameKind::bookmark);
  EXPECT_EQ(parse_dataset_name("tank").value().kind, NameKind::dataset);
}

TEST(DatasetName, RefusesWithTheWordsOfTheReference) {
  EXPECT_EQ(refusal("/tank/a"), "leading slash in name");
  EXPECT_EQ(refusal("tank/"), "trailing slash in name");
  EXPECT_EQ(refusal("tank//a"), "empty component or misplaced '@' or '#' delimiter in name");
  EXPECT_EQ(refusal(""), "empty component or misplaced '@' or '#' delimiter in name");
  EXPECT_EQ(refusal("tank/a@b"), "snapshot delimiter '@' is not expected here");
  EXPECT_EQ(refusal("tank/a#b"), "bookmark delimiter '#' is not expected here");
  EXPECT_EQ(refusal("tank/a%b"), "invalid character % in name");
  EXPECT_EQ(refusal("tank/a$b"), "invalid character '$' in name");
  EXPECT_EQ(refusal("tank/."), "self reference, '.' is found in name");
  EXPECT_EQ(refusal("tank/a/../b"), "parent reference, '..' is found in name");
  EXPECT_EQ(refusal("tank/" + std::string(256, 'a')), "name is too long");
  std::string deep = "tank";
  for (int i = 0; i < 50; ++i) deep += "/a";
  EXPECT_EQ(refusal(deep + "/z"), "maximum name nesting depth exceeded");
  EXPECT_EQ(parse_dataset_name("tank/a@b@c").error().text(), "multiple '@' and/or '#' delimiters in name");
  EXPECT_EQ(parse_dataset_name("tank/a@").error().text(),
            "empty component or misplaced '@' or '#' delimiter in name");
}

TEST(DatasetName, AcceptsWhatOpenZfsAccepts) {
  for (const char* name : {"tank/.hidden", "tank/-dash", "tank/1", "tank/a:b-c_d.e", "tank/a b"})
    EXPECT_EQ(refusal(name), "") << name;
  EXPECT_EQ(parent_name("tank/a/b"), "tank/a");
  EXPECT_EQ(parent_name("tank"), "");
  EXPECT_EQ(last_component("tank/a/b"), "b");
}

}  // namespace
}  // namespace tarn
