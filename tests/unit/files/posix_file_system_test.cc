#include "libdataset/files/posix_file_system.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <random>
#include <thread>

#include "../support/fake_dataset.h"

namespace tarn {
namespace {

using support::FakeDataset;

class PosixFileSystemTest : public testing::Test {
 protected:
  void SetUp() override {
    format();
    mount();
  }
  void format(std::map<std::string, std::uint64_t> zpl_properties = {}) {
    const Status formatted = FileSystem::format(dataset->objset(), Tx::syncing(dataset->txg), zpl_properties,
                                                {}, dataset->clock.now());
    ASSERT_TRUE(formatted) << formatted.error().text();
    sync();
  }
  void mount() {
    auto opened = PosixFileSystem::open(dataset, dataset->host());
    ASSERT_TRUE(opened) << opened.error().text();
    fs = *opened;
    root = fs->root();
  }
  void sync() {
    const Status synced = dataset->sync();
    ASSERT_TRUE(synced) << synced.error().text();
  }
  // Everything as the disk has it.
  void remount() {
    sync();
    fs.reset();
    dataset->reopen();
    mount();
  }
  // A fresh dataset with other ZPL properties.
  void remake(std::map<std::string, std::uint64_t> zpl_properties, bool projects = false) {
    fs.reset();
    dataset = std::make_shared<FakeDataset>(projects);
    format(std::move(zpl_properties));
    mount();
  }

  std::uint64_t make_file(std::string_view name, std::string_view content = "", std::uint64_t directory = 0) {
    const auto made = fs->create(directory ? directory : root, name, S_IFREG | 0644, 0, user);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return 0;
    if (!content.empty()) put(made->object, 0, content);
    return made->object;
  }
  std::uint64_t make_directory(std::string_view name, std::uint64_t directory = 0) {
    const auto made = fs->make_directory(directory ? directory : root, name, 0755, user);
    EXPECT_TRUE(made) << made.error().text();
    return made ? made->object : 0;
  }
  void put(std::uint64_t object, std::uint64_t offset, std::string_view content) {
    const auto written = fs->write(object, offset, as_bytes(content), false, user);
    ASSERT_TRUE(written) << written.error().text();
    ASSERT_EQ(*written, content.size());
  }
  std::string get(std::uint64_t object, std::uint64_t offset = 0, std::size_t length = 1 << 22) {
    std::string out(length, '?');
    const auto got = fs->read(object, offset, std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(got) << got.error().text();
    out.resize(got ? *got : 0);
    return out;
  }
  std::vector<std::string> names(std::uint64_t directory) {
    std::vector<std::string> out;
    const Status listed = fs->read_directory(directory, 0, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") out.push_back(entry.name);
      return true;
    });
    EXPECT_TRUE(listed) << listed.error().text();
    std::ranges::sort(out);
    return out;
  }
  Errc code(const Status& status) { return status ? Errc::usage : status.error().code(); }
  template <typename T>
  Errc code(const Result<T>& result) {
    return result ? Errc::usage : result.error().code();
  }
  FileAttributes attributes(std::uint64_t object) {
    const auto a = fs->get_attributes(object);
    EXPECT_TRUE(a) << a.error().text();
    return a ? *a : FileAttributes{};
  }

  std::shared_ptr<FakeDataset> dataset = std::make_shared<FakeDataset>();
  std::shared_ptr<FileSystem> fs;
  std::uint64_t root = 0;
  Caller user;
};

TEST_F(PosixFileSystemTest, NewFileSystemHasAnEmptyRoot) {
  const FileAttributes a = attributes(root);
  EXPECT_EQ(a.mode, S_IFDIR | 0755u);
  EXPECT_EQ(a.links, 2u);
  EXPECT_EQ(a.size_bytes, 2u);
  EXPECT_TRUE(names(root).empty());
  EXPECT_EQ(fs->lookup(root, "..")->object, root);
}

TEST_F(PosixFileSystemTest, FilesSurviveARemount) {
  const std::uint64_t small = make_file("small", "hello");
  const std::uint64_t dir = make_directory("dir");
  make_file("inner", std::string(300000, 'x'), dir);
  ASSERT_TRUE(fs->make_symlink(root, "link", std::string(1000, 't'), user));
  ASSERT_TRUE(fs->create(root, "null", S_IFCHR | 0600, makedev(259, 70000), user));
  remount();
  EXPECT_EQ(names(root), (std::vector<std::string>{"dir", "link", "null", "small"}));
  EXPECT_EQ(get(small), "hello");
  EXPECT_EQ(get(fs->lookup(dir, "inner")->object), std::string(300000, 'x'));
  EXPECT_EQ(*fs->read_symlink(fs->lookup(root, "link")->object), std::string(1000, 't'));
  EXPECT_EQ(fs->lookup(root, "null")->rdev, makedev(259, 70000));
  EXPECT_EQ(attributes(root).links, 3u);
  EXPECT_EQ(attributes(root).size_bytes, 6u);
  EXPECT_EQ(attributes(dir).generation, 11u);
}

TEST_F(PosixFileSystemTest, BlockSizeGrowsWithTheFile) {
  const std::uint64_t object = make_file("f");
  EXPECT_EQ(attributes(object).block_bytes, 512u);
  put(object, 0, std::string(1000, 'a'));
  EXPECT_EQ(attributes(object).block_bytes, 1024u);
  put(object, 1000, std::string(4000, 'b'));
  EXPECT_EQ(attributes(object).block_bytes, 5120u);
  put(object, 200000, "c");
  EXPECT_EQ(attributes(object).block_bytes, 131072u);
  remount();
  EXPECT_EQ(get(object), std::string(1000, 'a') + std::string(4000, 'b') + std::string(195000, '\0') + "c");
  dataset->properties[Property::recordsize] = 4096;  // has no effect on a file of two blocks
  put(object, 1000000, "d");
  EXPECT_EQ(attributes(object).block_bytes, 131072u);
}

// Random writes, truncations and holes, checked against a string.
TEST_F(PosixFileSystemTest, ContentMatchesAModel) {
  std::mt19937 random(7);
  dataset->properties[Property::recordsize] = 4096;
  const std::uint64_t object = make_file("f");
  std::string model;
  for (int step = 0; step < 600; ++step) {
    const std::uint64_t offset = random() % 60000, length = random() % 9000 + 1;
    switch (random() % 5) {
      case 0:
      case 1: {
        const std::string data(length, static_cast<char>('a' + random() % 26));
        put(object, offset, data);
        if (model.size() < offset + length) model.resize(offset + length, '\0');
        model.replace(offset, length, data);
        break;
      }
      case 2: {
        AttributeChange change;
        change.size_bytes = offset;
        ASSERT_TRUE(fs->set_attributes(object, change, user));
        model.resize(offset, '\0');
        break;
      }
      case 3:
        ASSERT_TRUE(fs->punch(object, offset, length, true));
        for (std::uint64_t i = offset; i < std::min<std::uint64_t>(offset + length, model.size()); ++i)
          model[i] = '\0';
        break;
      case 4:
        if (random() % 4 == 0)
          remount();
        else
          sync();
    }
    ASSERT_EQ(attributes(object).size_bytes, model.size()) << "step " << step;
    ASSERT_TRUE(get(object) == model) << "step " << step;
  }
  std::string joined;
  ASSERT_TRUE(fs->read_pieces(object, 0, 1 << 20, [&](std::span<const ByteView> pieces) {
    for (const ByteView piece : pieces) joined += as_text(piece);
  }));
  EXPECT_TRUE(joined == model);
  EXPECT_TRUE(dataset->io.faults().empty());
}

TEST_F(PosixFileSystemTest, HolesAreFound) {
  dataset->properties[Property::recordsize] = 4096;
  const std::uint64_t object = make_file("f");
  put(object, 40960, std::string(4096, 'x'));
  AttributeChange change;
  change.size_bytes = 100000;
  ASSERT_TRUE(fs->set_attributes(object, change, user));
  for (int round = 0; round < 2; ++round, remount()) {
    EXPECT_EQ(*fs->seek_data(object, 0), 40960u);
    EXPECT_EQ(*fs->seek_hole(object, 0), 0u);
    EXPECT_EQ(*fs->seek_hole(object, 40961), 45056u);
    EXPECT_EQ(code(fs->seek_data(object, 50000)), Errc::no_data);
    EXPECT_EQ(code(fs->seek_hole(object, 100000)), Errc::no_data);
  }
}

TEST_F(PosixFileSystemTest, UnlinkedFilesLiveUntilReleased) {
  const std::uint64_t object = make_file("f", "content");
  const FileAttributes before = attributes(object);
  ASSERT_TRUE(fs->retain(object, before.generation));
  ASSERT_TRUE(fs->unlink(root, "f", user));
  EXPECT_EQ(code(fs->lookup(root, "f")), Errc::not_found);
  EXPECT_EQ(get(object), "content");
  put(object, 7, " more");
  EXPECT_EQ(attributes(object).links, 0u);
  fs->release(object, 1);
  EXPECT_EQ(code(fs->get_attributes(object)), Errc::not_found);
  EXPECT_EQ(code(fs->retain(object, before.generation)), Errc::not_found);
}

// A crash leaves unlinked files in the delete queue; opening removes them.
TEST_F(PosixFileSystemTest, DeleteQueueIsDrainedAtOpen) {
  const std::uint64_t empty = dataset->objset().object_count();
  const std::uint64_t object = make_file("f", std::string(500000, 'x'));
  ASSERT_TRUE(fs->set_xattr(object, "user.a", as_bytes("1"), FileSystem::XattrMode::set, user));
  ASSERT_TRUE(fs->retain(object, attributes(object).generation));
  ASSERT_TRUE(fs->unlink(root, "f", user));
  EXPECT_EQ(get(object, 0, 3), "xxx");
  remount();
  sync();
  EXPECT_EQ(code(fs->get_attributes(object)), Errc::not_found);
  EXPECT_LE(dataset->objset().object_count(), empty + 1);  // the layouts may be new
}

TEST_F(PosixFileSystemTest, DirectoriesMustBeEmptyToGo) {
  const std::uint64_t dir = make_directory("dir");
  make_file("f", "", dir);
  EXPECT_EQ(code(fs->remove_directory(root, "dir", user)), Errc::not_empty);
  EXPECT_EQ(code(fs->unlink(root, "dir", user)), Errc::is_a_directory);
  EXPECT_EQ(code(fs->remove_directory(dir, "f", user)), Errc::not_a_directory);
  ASSERT_TRUE(fs->unlink(dir, "f", user));
  ASSERT_TRUE(fs->remove_directory(root, "dir", user));
  EXPECT_EQ(attributes(root).links, 2u);
  EXPECT_NE(code(fs->create(dir, "late", S_IFREG | 0644, 0, user)), Errc::usage);
}

TEST_F(PosixFileSystemTest, RenameInAllItsForms) {
  const std::uint64_t a = make_directory("a"), b = make_directory("b");
  const std::uint64_t one = make_file("one", "1", a), two = make_file("two", "2", b);
  const auto rename = [&](std::uint64_t from, std::string_view name, std::uint64_t to,
                          std::string_view new_name,
                          RenameMode mode) { return fs->rename(from, name, to, new_name, mode, user); };
  EXPECT_EQ(code(rename(a, "one", b, "two", RenameMode::no_replace)), Errc::already_exists);
  ASSERT_TRUE(rename(a, "one", b, "two", RenameMode::exchange));
  EXPECT_EQ(fs->lookup(a, "one")->object, two);
  EXPECT_EQ(fs->lookup(b, "two")->object, one);
  ASSERT_TRUE(rename(a, "one", b, "two", RenameMode::replace));
  EXPECT_EQ(fs->lookup(b, "two")->object, two);
  EXPECT_TRUE(names(a).empty());
  EXPECT_EQ(code(fs->get_attributes(one)), Errc::not_found);
  EXPECT_EQ(attributes(a).size_bytes, 2u);
  // Directories take their link with them, and not below themselves.
  ASSERT_TRUE(rename(root, "a", b, "a", RenameMode::replace));
  EXPECT_EQ(attributes(root).links, 3u);
  EXPECT_EQ(attributes(b).links, 3u);
  EXPECT_EQ(fs->lookup(a, "..")->object, b);
  EXPECT_EQ(code(rename(root, "b", a, "b", RenameMode::replace)), Errc::invalid_argument);
  EXPECT_EQ(code(rename(b, "two", root, "b", RenameMode::replace)), Errc::is_a_directory);
  EXPECT_EQ(code(rename(root, "b", b, "two", RenameMode::replace)), Errc::invalid_argument);
  EXPECT_EQ(code(rename(root, "none", b, "x", RenameMode::replace)), Errc::not_found);
  ASSERT_TRUE(rename(b, "two", b, "three", RenameMode::whiteout));
  EXPECT_EQ(fs->lookup(b, "two")->mode, S_IFCHR | 0u);
  remount();
  EXPECT_EQ(names(b), (std::vector<std::string>{"a", "three", "two"}));
}

TEST_F(PosixFileSystemTest, LinksCount) {
  const std::uint64_t object = make_file("f", "x");
  ASSERT_TRUE(fs->make_link(object, root, "g", user));
  EXPECT_EQ(attributes(object).links, 2u);
  EXPECT_EQ(code(fs->make_link(object, root, "g", user)), Errc::already_exists);
  EXPECT_EQ(code(fs->make_link(root, root, "r", user)), Errc::not_permitted);
  ASSERT_TRUE(fs->unlink(root, "f", user));
  EXPECT_EQ(get(object), "x");
  ASSERT_TRUE(fs->unlink(root, "g", user));
  EXPECT_EQ(code(fs->get_attributes(object)), Errc::not_found);
}

TEST_F(PosixFileSystemTest, NamelessFilesMayGetAName) {
  const auto kept = fs->make_tmpfile(root, 0600, user), dropped = fs->make_tmpfile(root, 0600, user);
  ASSERT_TRUE(kept && dropped);
  EXPECT_EQ(kept->links, 0u);
  put(kept->object, 0, "text");
  ASSERT_TRUE(fs->make_link(kept->object, root, "named", user));
  fs->release(kept->object, 1);
  fs->release(dropped->object, 1);
  remount();
  EXPECT_EQ(get(fs->lookup(root, "named")->object), "text");
  EXPECT_EQ(code(fs->get_attributes(dropped->object)), Errc::not_found);
}

TEST_F(PosixFileSystemTest, LargeDirectoriesListEachNameOnce) {
  for (int i = 0; i < 3000; ++i) make_file("name-" + std::to_string(i));
  EXPECT_EQ(names(root).size(), 3000u);
  // With a cookie between any two entries.
  std::vector<std::string> seen;
  std::uint64_t cookie = 0;
  for (bool more = true; more;) {
    more = false;
    int taken = 0;
    ASSERT_TRUE(fs->read_directory(root, cookie, [&](const DirectoryEntry& entry) {
      if (taken == 7) {
        more = true;
        return false;
      }
      ++taken;
      cookie = entry.next_cookie;
      if (entry.name != "." && entry.name != "..") seen.push_back(entry.name);
      return true;
    }));
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, names(root));
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(fs->unlink(root, "name-" + std::to_string(i), user)) << i;
  EXPECT_TRUE(names(root).empty());
  EXPECT_EQ(attributes(root).size_bytes, 2u);
}

TEST_F(PosixFileSystemTest, NamesAreChecked) {
  EXPECT_EQ(code(fs->create(root, std::string(256, 'n'), S_IFREG, 0, user)), Errc::name_too_long);
  EXPECT_EQ(code(fs->create(root, "a/b", S_IFREG, 0, user)), Errc::invalid_argument);
  EXPECT_EQ(code(fs->create(root, "", S_IFREG, 0, user)), Errc::invalid_argument);
  EXPECT_EQ(code(fs->create(root, "..", S_IFREG, 0, user)), Errc::already_exists);
  make_file(std::string(255, 'n'));
  make_file("\xff\xfe");
  remake({{"utf8only", 1}});
  EXPECT_EQ(code(fs->create(root, "\xff\xfe", S_IFREG, 0, user)), Errc::invalid_argument);
}

TEST_F(PosixFileSystemTest, CaseMayBeFolded) {
  remake({{"casesensitivity", 1}});
  const std::uint64_t object = make_file("Name");
  EXPECT_EQ(fs->lookup(root, "nAME")->object, object);
  EXPECT_EQ(code(fs->create(root, "NAME", S_IFREG, 0, user)), Errc::already_exists);
  ASSERT_TRUE(fs->rename(root, "name", root, "NaMe", RenameMode::replace, user));
  EXPECT_EQ(names(root), (std::vector<std::string>{"NaMe"}));
  EXPECT_EQ(attributes(root).size_bytes, 3u);
  ASSERT_TRUE(fs->unlink(root, "name", user));
  EXPECT_TRUE(names(root).empty());
}

class XattrTest : public PosixFileSystemTest, public testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Modes, XattrTest, testing::Values(zpl::kXattrDirectory, zpl::kXattrSa));

TEST_P(XattrTest, AreStoredListedAndRemoved) {
  dataset->properties[Property::xattr] = GetParam();
  const std::uint64_t object = make_file("f", "data");
  const auto set = [&](std::string_view name, std::string_view value,
                       FileSystem::XattrMode mode = FileSystem::XattrMode::set) {
    return fs->set_xattr(object, name, as_bytes(value), mode, user);
  };
  const std::string medium(3000, 'm'), large(50000, 'l');
  ASSERT_TRUE(set("user.small", "value"));
  ASSERT_TRUE(set("user.empty", ""));
  ASSERT_TRUE(set("trusted.medium", medium));
  ASSERT_TRUE(set("user.large", large));
  EXPECT_EQ(code(set("user.small", "x", FileSystem::XattrMode::create)), Errc::already_exists);
  EXPECT_EQ(code(set("user.none", "x", FileSystem::XattrMode::replace)), Errc::no_data);
  EXPECT_EQ(code(set("other.none", "x")), Errc::unsupported);
  EXPECT_EQ(code(set("system.posix_acl_access", "x")), Errc::unsupported);
  ASSERT_TRUE(set("user.small", "changed"));
  remount();
  EXPECT_EQ(as_text(*fs->get_xattr(object, "user.small")), "changed");
  EXPECT_EQ(as_text(*fs->get_xattr(object, "user.empty")), "");
  EXPECT_EQ(as_text(*fs->get_xattr(object, "trusted.medium")), medium);
  EXPECT_EQ(as_text(*fs->get_xattr(object, "user.large")), large);
  EXPECT_EQ(fs->list_xattrs(object)->size(), 4u);
  EXPECT_EQ(get(object), "data");
  for (const char* name : {"user.small", "user.empty", "trusted.medium", "user.large"}) {
    ASSERT_TRUE(fs->remove_xattr(object, name, user)) << name;
    EXPECT_EQ(code(fs->get_xattr(object, name)), Errc::no_data);
  }
  EXPECT_TRUE(fs->list_xattrs(object)->empty());
  ASSERT_TRUE(set("user.large", large));
  const std::uint64_t before = dataset->objset().object_count();
  ASSERT_TRUE(fs->unlink(root, "f", user));
  sync();
  EXPECT_EQ(dataset->objset().object_count(), before - 3);  // the file, the hidden directory, the file in it
  EXPECT_TRUE(dataset->io.faults().empty());
}

TEST_P(XattrTest, DefaultAclsAreInherited) {
  dataset->properties[Property::xattr] = GetParam();
  dataset->properties[Property::acltype] = zpl::kAclPosix;
  const std::uint64_t dir = make_directory("dir");
  // user::rwx user:1001:rwx group::r-x mask::rwx other::---
  const unsigned char acl[] = {2, 0,    0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
                               0, 0xe9, 3,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
                               7, 0,    255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
  const ByteView value = std::as_bytes(std::span(acl));
  ASSERT_TRUE(fs->set_xattr(dir, "system.posix_acl_default", value, FileSystem::XattrMode::set, user));
  const auto file = fs->create(dir, "f", S_IFREG | 0666, 0, {.umask = 077});
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->mode, S_IFREG | 0660u);
  EXPECT_TRUE(fs->get_xattr(file->object, "system.posix_acl_access"));
  const auto sub = fs->make_directory(dir, "sub", 0777, {.umask = 022});
  ASSERT_TRUE(sub);
  EXPECT_TRUE(std::ranges::equal(*fs->get_xattr(sub->object, "system.posix_acl_default"), value));
  // chmod changes the mask; an ACL that says no more than a mode becomes one.
  AttributeChange change;
  change.mode = 0600;
  ASSERT_TRUE(fs->set_attributes(file->object, change, user));
  EXPECT_EQ((*fs->get_xattr(file->object, "system.posix_acl_access"))[30], std::byte{0});
  const unsigned char minimal[] = {2, 0, 0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 4,   0,
                                   4, 0, 255, 255, 255, 255, 32, 0, 4,   0,   255, 255, 255, 255};
  ASSERT_TRUE(fs->set_xattr(file->object, "system.posix_acl_access", std::as_bytes(std::span(minimal)),
                            FileSystem::XattrMode::set, user));
  EXPECT_EQ(attributes(file->object).mode, S_IFREG | 0644u);
  EXPECT_EQ(code(fs->get_xattr(file->object, "system.posix_acl_access")), Errc::no_data);
}

TEST_F(PosixFileSystemTest, AttributesChange) {
  const std::uint64_t object = make_file("f", "x");
  dataset->clock.seconds += 100;
  AttributeChange change;
  change.mode = 04755;
  change.mtime = TimeSpec{.seconds = -5, .nanoseconds = 7};
  ASSERT_TRUE(fs->set_attributes(object, change, user));
  remount();
  FileAttributes a = attributes(object);
  EXPECT_EQ(a.mode, S_IFREG | 04755u);
  EXPECT_EQ(a.mtime.seconds, -5);
  EXPECT_EQ(a.mtime.nanoseconds, 7u);
  EXPECT_EQ(a.ctime.seconds, dataset->clock.seconds);
  AttributeChange owner;
  owner.uid = 1000;
  owner.gid = 100;
  ASSERT_TRUE(fs->set_attributes(object, owner, user));
  a = attributes(object);
  EXPECT_EQ(a.mode, S_IFREG | 0755u);  // a new owner does not inherit set-id
  EXPECT_EQ(a.uid, 1000u);
}

TEST_F(PosixFileSystemTest, WritesByOthersTakeSetIdAway) {
  const std::uint64_t object = make_file("f");
  AttributeChange change;
  change.mode = 06777;
  ASSERT_TRUE(fs->set_attributes(object, change, user));
  ASSERT_TRUE(fs->write(object, 0, as_bytes("x"), false, user));
  EXPECT_EQ(attributes(object).mode, S_IFREG | 06777u);
  ASSERT_TRUE(fs->set_xattr(object, "security.capability", as_bytes("c"), FileSystem::XattrMode::set, user));
  ASSERT_TRUE(fs->write(object, 0, as_bytes("y"), false, {.uid = 1000}));
  EXPECT_EQ(attributes(object).mode, S_IFREG | 0777u);
  EXPECT_EQ(code(fs->get_xattr(object, "security.capability")), Errc::no_data);
}

TEST_F(PosixFileSystemTest, FlagsAreObeyed) {
  const std::uint64_t object = make_file("f", "x");
  ASSERT_TRUE(fs->set_flags(object, {.append_only = true}, user));
  EXPECT_EQ(code(fs->write(object, 0, as_bytes("y"), false, user)), Errc::not_permitted);
  EXPECT_TRUE(fs->write(object, 0, as_bytes("y"), true, user));
  EXPECT_EQ(code(fs->unlink(root, "f", user)), Errc::not_permitted);
  ASSERT_TRUE(fs->set_flags(object, {.immutable = true}, user));
  EXPECT_EQ(code(fs->write(object, 9, as_bytes("y"), true, user)), Errc::not_permitted);
  EXPECT_EQ(code(fs->rename(root, "f", root, "g", RenameMode::replace, user)), Errc::not_permitted);
  EXPECT_EQ(code(fs->set_flags(object, {}, {.uid = 1000})), Errc::not_permitted);
  remount();
  EXPECT_TRUE(fs->get_flags(object)->immutable);
  ASSERT_TRUE(fs->set_flags(object, {}, user));
  EXPECT_EQ(get(object), "xy");
}

TEST_F(PosixFileSystemTest, ProjectsAreInherited) {
  remake({}, true);
  const std::uint64_t dir = make_directory("dir");
  ASSERT_TRUE(fs->set_flags(dir, {.project_inherit = true, .project = 42}, user));
  const std::uint64_t inside = make_file("f", "", dir), outside = make_file("g");
  EXPECT_EQ(fs->get_flags(inside)->project, 42u);
  EXPECT_EQ(fs->get_flags(outside)->project, 0u);
  EXPECT_EQ(code(fs->rename(root, "g", dir, "g", RenameMode::replace, user)), Errc::cross_device);
  EXPECT_EQ(code(fs->make_link(outside, dir, "g", user)), Errc::cross_device);
  remount();
  EXPECT_EQ(fs->get_flags(inside)->project, 42u);
}

TEST_F(PosixFileSystemTest, ReadOnlyRefusesChanges) {
  const std::uint64_t object = make_file("f", "x");
  sync();
  dataset->is_read_only = true;
  remount();
  EXPECT_EQ(code(fs->create(root, "g", S_IFREG, 0, user)), Errc::read_only);
  EXPECT_EQ(code(fs->write(object, 0, as_bytes("y"), false, user)), Errc::read_only);
  EXPECT_EQ(code(fs->unlink(root, "f", user)), Errc::read_only);
  EXPECT_EQ(get(object), "x");
}

// File systems before version 5: read, not written.
TEST_F(PosixFileSystemTest, OldVersionsCanBeRead) {
  for (const std::uint64_t version : {1, 2, 3, 4}) {
    remake({{"version", version}});
    EXPECT_EQ(attributes(root).mode, S_IFDIR | 0755u);
    EXPECT_EQ(code(fs->create(root, "g", S_IFREG, 0, user)), Errc::read_only);
  }
}

TEST_F(PosixFileSystemTest, LargeDnodesKeepXattrsInTheBonus) {
  dataset->properties[Property::dnodesize] = 2048;
  const std::uint64_t object = make_file("f");
  ASSERT_TRUE(
      fs->set_xattr(object, "user.a", as_bytes(std::string(1000, 'a')), FileSystem::XattrMode::set, user));
  const ObjectInfo info = (*dataset->objset().open_object(object))->info();
  EXPECT_EQ(info.dnode_slots, 4u);
  EXPECT_GT(info.bonus_bytes, 1000u);
}

// Threads that create, write, rename and remove in the same directories, while groups sync.
TEST_F(PosixFileSystemTest, ManyThreadsAtOnce) {
  const std::uint64_t dirs[2] = {make_directory("a"), make_directory("b")};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 400; ++i) {
        const std::string name = "f" + std::to_string(random() % 8),
                          other = "f" + std::to_string(random() % 8);
        const std::uint64_t dir = dirs[random() % 2], target = dirs[random() % 2];
        switch (random() % 5) {
          case 0:
            (void)fs->create(dir, name, S_IFREG | 0644, 0, user).ok();
            break;
          case 1:
            (void)fs->unlink(dir, name, user).ok();
            break;
          case 2:
            (void)fs
                ->rename(dir, name, target, other, random() % 3 ? RenameMode::replace : RenameMode::exchange,
                         user)
                .ok();
            break;
          case 3:
            if (auto found = fs->lookup(dir, name))
              (void)fs->make_link(found->object, target, other, user).ok();
            break;
          case 4:
            if (auto found = fs->lookup(dir, name)) {
              const std::string data(random() % 5000, 'x');
              (void)fs->write(found->object, random() % 5000, as_bytes(data), false, user).ok();
              (void)fs->get_attributes(found->object).ok();
            }
            break;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  remount();
  // What is left is consistent: counts and links are those of the entries.
  std::map<std::uint64_t, std::uint64_t> links;
  for (const std::uint64_t dir : dirs) {
    const auto left = names(dir);
    EXPECT_EQ(attributes(dir).size_bytes, left.size() + 2);
    for (const std::string& name : left) ++links[fs->lookup(dir, name)->object];
  }
  for (const auto& [object, count] : links) EXPECT_EQ(attributes(object).links, count);
  EXPECT_TRUE(dataset->io.faults().empty());
}

}  // namespace
}  // namespace tarn
