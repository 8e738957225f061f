// Object sets against a model: what was written is read back, at once and after opening the set anew, and
// every allocated block is reachable.
#include "libpool/object/object_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/support/fake_block_io.h"

namespace tarn {
namespace {

using support::FakeBlockIo;
using support::FakeOwner;

struct Fixture {
  FakeBlockIo io;
  FakeOwner owner{io};
  ThreadPool workers{"test", 2};
  WriteBatch batch;
  ObjectSetEnv env{.io = &io, .workers = &workers, .owner = &owner, .objset_id = 21, .vdev_count = 1};

  std::unique_ptr<ObjectSet> open(const BlockPointer& root, ObjsetType type = ObjsetType::filesystem) {
    auto set = ObjectSet::open(env, root, type);
    EXPECT_TRUE(set) << set.error().text();
    return set ? std::move(*set) : nullptr;
  }
  BlockPointer sync(ObjectSet& set, std::uint64_t txg, unsigned pass = 1) {
    set.close_txg(txg);
    auto root = set.sync(txg, pass, batch);
    EXPECT_TRUE(root) << root.error().text();
    return root ? *root : BlockPointer{};
  }
  // Blocks that the set reaches are exactly those that are allocated.
  void expect_no_leaks(ObjectSet& set) {
    std::set<std::uint64_t> reachable;
    const Status walked = set.traverse(0, [&](const BlockPointer& bp, const Bookmark&) -> Status {
      EXPECT_TRUE(reachable.insert(bp.dvas[0].offset_bytes).second)
          << "block reached twice: " << bp.describe();
      return {};
    });
    EXPECT_TRUE(walked) << walked.error().text();
    EXPECT_EQ(reachable, io.allocated());
    EXPECT_EQ(owner.live(), static_cast<std::int64_t>(reachable.size()));
    EXPECT_TRUE(io.faults().empty()) << io.faults().front();
  }
};

Tx tx(std::uint64_t txg) { return Tx::syncing(txg); }

TEST(ObjectSet, EmptySetHasARootAfterItsFirstSync) {
  Fixture f;
  auto set = f.open({});
  EXPECT_TRUE(set->is_dirty(5));
  const BlockPointer root = f.sync(*set, 5);
  EXPECT_FALSE(root.is_hole());
  EXPECT_EQ(root.type, DmuType::objset);
  EXPECT_EQ(root.logical_bytes, 4096u);
  EXPECT_FALSE(set->is_dirty(6));
  auto again = f.open(root);
  EXPECT_EQ(again->object_count(), 0u);
  EXPECT_FALSE(again->next_object(0)->has_value());
}

TEST(ObjectSet, NumbersStartAt32AndClaimsAreKept) {
  Fixture f;
  auto set = f.open({});
  EXPECT_EQ((*set->claim_object(tx(5), 1, {.type = DmuType::master_node}))->number(), 1u);
  EXPECT_EQ((*set->create_object(tx(5), {.type = DmuType::sa_master_node}))->number(), 32u);
  EXPECT_EQ((*set->create_object(tx(5), {.type = DmuType::unlinked_set}))->number(), 33u);
  EXPECT_EQ(set->claim_object(tx(5), 33, {.type = DmuType::plain_file}).error().code(), Errc::already_exists);
  EXPECT_EQ((*set->create_object(tx(5), {.type = DmuType::plain_file, .dnode_slots = 32}))->number(), 64u);
  EXPECT_EQ((*set->create_object(tx(5), {.type = DmuType::plain_file}))->number(), 34u);
  const BlockPointer root = f.sync(*set, 5);
  EXPECT_EQ(root.fill, 5u);
  auto again = f.open(root);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t n = 0;;) {
    auto next = again->next_object(n);
    ASSERT_TRUE(next);
    if (!*next) break;
    numbers.push_back(n = **next);
  }
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 32, 33, 34, 64}));
  EXPECT_EQ(again->open_object(65).error().code(), Errc::not_found);  // inside a large dnode
  EXPECT_EQ((*again->create_object(tx(6), {.type = DmuType::plain_file}))->number(), 35u);
  f.expect_no_leaks(*set);
}

TEST(ObjectSet, FreedNumbersAreUsedAgainAfterTheSync) {
  Fixture f;
  auto set = f.open({});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(set->create_object(tx(5), {.type = DmuType::plain_file}));
  f.sync(*set, 5);
  ASSERT_TRUE(set->free_object(tx(6), 40));
  EXPECT_EQ(set->open_object(40).error().code(), Errc::not_found);
  EXPECT_EQ((*set->create_object(tx(6), {.type = DmuType::plain_file}))->number(), 72u);
  const BlockPointer root = f.sync(*set, 6);
  EXPECT_EQ(root.fill, 40u);
  EXPECT_EQ((*set->create_object(tx(7), {.type = DmuType::plain_file}))->number(), 40u);
  f.sync(*set, 7);
  f.expect_no_leaks(*set);
}

TEST(ObjectSet, BonusSpillAndTypeSurvive) {
  Fixture f;
  auto set = f.open({});
  auto object =
      *set->create_object(tx(5), {.type = DmuType::plain_file, .bonus_type = DmuType::sa, .bonus_bytes = 16});
  EXPECT_EQ(object->info().bonus_capacity_bytes, 320u);
  const Bytes bonus(100, std::byte{7});
  ASSERT_TRUE(object->set_bonus(tx(5), bonus));
  Buffer spill(1024);
  std::memset(spill.data(), 9, spill.size());
  ASSERT_TRUE(object->set_spill(tx(5), std::move(spill)));
  EXPECT_EQ(object->info().bonus_capacity_bytes, 192u);
  EXPECT_EQ(object->set_bonus(tx(5), Bytes(200)).error().code(), Errc::out_of_range);
  const std::uint64_t number = object->number();
  const BlockPointer root = f.sync(*set, 5);
  auto again = f.open(root);
  auto reopened = *again->open_object(number);
  EXPECT_EQ(reopened->bonus(), bonus);
  auto stored = *reopened->spill();
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ((*stored)->size(), 1024u);
  EXPECT_EQ((*stored)->data()[5], std::byte{9});
  EXPECT_EQ(reopened->info().used_bytes, 1024u);
  ASSERT_TRUE(reopened->set_spill(tx(6), std::nullopt));
  f.sync(*again, 6);
  EXPECT_FALSE((*reopened->spill()).has_value());
  f.expect_no_leaks(*again);
}

TEST(ObjectSet, WholeBlockWritesReadNothing) {
  Fixture f;
  auto set = f.open({});
  auto object = *set->create_object(tx(5), {.type = DmuType::plain_file, .block_bytes = 4096});
  ASSERT_TRUE(object->write(tx(5), 0, Bytes(64 << 10, std::byte{1})));
  f.sync(*set, 5);
  const std::uint64_t before = f.io.reads();
  ASSERT_TRUE(object->write(tx(6), 4096, Bytes(8192, std::byte{2})));
  ASSERT_TRUE(object->write(tx(6), 1 << 20, Bytes(10, std::byte{2})));  // beyond the old data
  EXPECT_EQ(f.io.reads(), before);
}

TEST(ObjectSet, HolesAndDataAreFound) {
  Fixture f;
  auto set = f.open({});
  auto object =
      *set->create_object(tx(5), {.type = DmuType::plain_file, .block_bytes = 4096, .indirect_shift = 12});
  ASSERT_TRUE(object->write(tx(5), 1000 * 4096, Bytes(4096, std::byte{1})));
  f.sync(*set, 5);
  ASSERT_TRUE(object->write(tx(6), 2000 * 4096, Bytes(1, std::byte{1})));
  EXPECT_EQ(**object->next_data(0), 1000u * 4096);
  EXPECT_EQ(**object->next_hole(1000 * 4096 + 5), 1001u * 4096);
  EXPECT_EQ(**object->next_data(1001 * 4096), 2000u * 4096);
  EXPECT_EQ(**object->next_hole(2000 * 4096), 2001u * 4096);
  EXPECT_FALSE((*object->next_data(2001 * 4096)).has_value());
  ASSERT_TRUE(object->free_range(tx(6), 1000 * 4096, 4096));
  EXPECT_EQ(**object->next_data(0), 2000u * 4096);
  f.sync(*set, 6);
  EXPECT_EQ(**object->next_data(0), 2000u * 4096);
  f.expect_no_leaks(*set);
}

TEST(ObjectSet, LaterPassesOfTheMosRewriteInPlace) {
  Fixture f;
  f.env.objset_id = 0;
  auto set = f.open({}, ObjsetType::meta);
  auto object = *set->create_object(tx(5), {.type = DmuType::space_map, .block_bytes = 4096});
  ASSERT_TRUE(object->write(tx(5), 0, Bytes(4096, std::byte{1})));
  f.sync(*set, 5, 1);
  const auto blocks = f.io.allocated();
  for (unsigned pass = 2; pass < 7; ++pass) {
    ASSERT_TRUE(object->write(tx(5), 0, Bytes(100, static_cast<std::byte>(pass))));
    f.sync(*set, 5, pass);
    EXPECT_EQ(f.io.allocated(), blocks);
  }
  f.expect_no_leaks(*set);
}

TEST(ObjectSet, FreeAllLeavesNothing) {
  Fixture f;
  auto set = f.open({});
  for (int i = 0; i < 50; ++i) {
    auto object =
        *set->create_object(tx(5), {.type = DmuType::plain_file, .block_bytes = 512, .indirect_shift = 12});
    ASSERT_TRUE(object->write(tx(5), 0, Bytes(100000, std::byte{3})));
  }
  f.sync(*set, 5);
  ASSERT_TRUE(set->free_all(6));
  EXPECT_TRUE(f.io.allocated().empty());
  EXPECT_TRUE(f.io.faults().empty());
}

// Writes, truncations, holes, frees and re-creations in two overlapping txgs, compared with plain byte
// vectors.
class ObjectModel : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ObjectModel, MatchesAfterEverySync) {
  std::mt19937_64 random(GetParam());
  auto below = [&](std::uint64_t n) { return random() % n; };
  Fixture f;
  auto set = f.open({});
  std::map<std::uint64_t, Bytes> model;
  std::map<std::uint64_t, Bytes> at_close;  // the model as of the closed txg
  std::uint64_t open_txg = 5;
  auto compare = [&](ObjectSet& in, const std::map<std::uint64_t, Bytes>& expected) {
    for (const auto& [number, bytes] : expected) {
      auto object = in.open_object(number);
      ASSERT_TRUE(object) << number << ": " << object.error().text();
      Bytes got(bytes.size() + 1000, std::byte{0xee});
      const Status status = (*object)->read(0, got);
      ASSERT_TRUE(status) << status.error().text();
      for (std::size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(got[i], bytes[i]) << "object " << number << " at " << i << " txg " << open_txg;
      for (std::size_t i = bytes.size(); i < got.size(); ++i)
        ASSERT_EQ(got[i], std::byte{0}) << "object " << number << " at " << i;
    }
    ASSERT_EQ(in.object_count(), expected.size());
  };
  auto mutate = [&] {
    const Tx t = tx(open_txg);
    const std::uint64_t what = below(20);
    if (model.empty() || (what == 0 && model.size() < 12)) {
      const std::uint32_t sizes[] = {512, 1024, 4096};
      auto object = set->create_object(t, {.type = DmuType::plain_file,
                                           .block_bytes = sizes[below(3)],
                                           .indirect_shift = 12,
                                           .dnode_slots = static_cast<std::uint32_t>(1 + below(4))});
      ASSERT_TRUE(object);
      ASSERT_TRUE(model.emplace((*object)->number(), Bytes()).second);
      return;
    }
    auto it = std::next(model.begin(), static_cast<long>(below(model.size())));
    Bytes& bytes = it->second;
    if (what == 1) {
      ASSERT_TRUE(set->free_object(t, it->first));
      model.erase(it);
      return;
    }
    auto object = *set->open_object(it->first);
    if (what < 14) {
      const std::uint64_t offset = below(4) ? below(40000) : below(400000),
                          length = 1 + below(below(3) ? 3000 : 20000);
      Bytes data(length);
      for (auto& b : data) b = static_cast<std::byte>(random());
      if (below(5) == 0) std::fill(data.begin(), data.end(), std::byte{0});
      ASSERT_TRUE(object->write(t, offset, data));
      if (bytes.size() < offset + length) bytes.resize(offset + length);
      std::copy(data.begin(), data.end(), bytes.begin() + static_cast<long>(offset));
    } else if (what < 17) {
      const std::uint64_t to = below(bytes.size() + 1);
      ASSERT_TRUE(object->free_range(t, to, UINT64_MAX));
      bytes.resize(to);
    } else {
      const std::uint64_t offset = below(bytes.size() + 1), length = below(30000);
      ASSERT_TRUE(object->free_range(t, offset, length));
      for (std::uint64_t i = offset; i < std::min<std::uint64_t>(bytes.size(), offset + length); ++i)
        bytes[i] = std::byte{0};
    }
  };
  BlockPointer root;
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round) {
    for (int i = 0; i < 15; ++i) ASSERT_NO_FATAL_FAILURE(mutate());
    at_close = model;
    const std::uint64_t closing = open_txg++;
    const auto open_changes = below(10);
    for (std::uint64_t i = 0; i < open_changes; ++i)
      ASSERT_NO_FATAL_FAILURE(mutate());  // the next txg, before the sync
    root = f.sync(*set, closing);
    ASSERT_NO_FATAL_FAILURE(compare(*set, model));
    {
      auto other = f.open(root);
      ASSERT_NO_FATAL_FAILURE(compare(*other, at_close));
    }
    f.expect_no_leaks(*set);
    if (below(4) == 0) {
      root = f.sync(*set, open_txg++);
      set = f.open(root);
      ASSERT_NO_FATAL_FAILURE(compare(*set, model));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ObjectModel, ::testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace tarn
