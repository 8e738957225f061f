// Writers, readers and syncs of one object set at the same time. Most useful under the thread sanitizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <shared_mutex>
#include <thread>

#include "libpool/object/object_set.h"
#include "libpool/zap/zap.h"
#include "tests/unit/support/fake_block_io.h"

namespace tarn {
namespace {

TEST(ObjectThreads, WritersReadersAndSyncs) {
  support::FakeBlockIo io;
  support::FakeOwner owner{io};
  ThreadPool workers{"test", 2};
  WriteBatch batch;
  const ObjectSetEnv env{.io = &io, .workers = &workers, .owner = &owner, .objset_id = 21, .vdev_count = 1};
  auto set = *ObjectSet::open(env, {}, ObjsetType::filesystem);
  constexpr std::size_t kBlock = 4096, kBlocks = 64, kWriters = 3;
  std::atomic<std::uint64_t> txg{5};
  std::shared_mutex gate;  // shared: a transaction; exclusive: the txg ends
  ObjectRef object = *set->create_object(
      Tx::syncing(5), {.type = DmuType::plain_file, .block_bytes = kBlock, .indirect_shift = 12});
  Zap zap = *Zap::create(*set, Tx::syncing(5), DmuType::directory);

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (unsigned round = 1; round <= 150; ++round) {
        {
          std::shared_lock lock(gate);
          const Tx tx = Tx::syncing(txg);
          // Own blocks, and a part of its own in a block that all share.
          for (std::size_t b = w + 1; b < kBlocks; b += kWriters)
            EXPECT_TRUE(
                object->write(tx, b * kBlock, Bytes(b % 2 ? kBlock : 100, static_cast<std::byte>(round))));
          EXPECT_TRUE(object->write(tx, w * 512, Bytes(512, static_cast<std::byte>(round))));
          EXPECT_TRUE(zap.update(tx, fmt::format("writer {} round {}", w, round), round));
          auto mine = set->create_object(tx, {.type = DmuType::plain_file});
          EXPECT_TRUE(mine);
          EXPECT_TRUE((*mine)->write(tx, 0, Bytes(300, std::byte{1})));
          if (round % 3 == 0) EXPECT_TRUE(set->free_object(tx, (*mine)->number()));
        }
        Bytes back(512);
        EXPECT_TRUE(object->read(w * 512, back));
        EXPECT_EQ(back[77], static_cast<std::byte>(round));
      }
    });
  }
  std::thread reader([&] {
    while (!stop) {
      for (std::size_t b = 1; b < kBlocks; b += 2) (void)object->info();
      (void)zap.entries();
      for (std::uint64_t n = 0;;) {
        auto next = set->next_object(n);
        if (!next || !*next) break;
        (void)set->open_object(n = **next);
      }
    }
  });
  std::thread syncer([&] {
    while (!stop) {
      std::uint64_t closed = 0;
      {
        std::unique_lock lock(gate);
        closed = txg++;
      }
      set->close_txg(closed);
      auto root = set->sync(closed, 1, batch);
      EXPECT_TRUE(root) << root.error().text();
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  syncer.join();
  ASSERT_TRUE(set->sync(txg, 1, batch));
  EXPECT_EQ(*zap.count(), kWriters * 150);
  auto again = *ObjectSet::open(env, set->root(), ObjsetType::filesystem);
  Bytes back(kWriters * 512);
  ASSERT_TRUE((*again->open_object(object->number()))->read(0, back));
  EXPECT_EQ(back, Bytes(kWriters * 512, std::byte{150}));
  EXPECT_EQ(again->object_count(), set->object_count());
  EXPECT_TRUE(io.faults().empty()) << io.faults().front();
}

}  // namespace
}  // namespace tarn
