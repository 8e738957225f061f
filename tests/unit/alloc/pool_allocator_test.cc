// The allocator over fake disks; its space maps lie in a real object set over an I/O path of its own.
#include "libpool/alloc/pool_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "tests/unit/support/fake_block_io.h"
#include "tests/unit/support/fake_tree.h"

namespace tarn {
namespace {

struct Fixture {
  support::FakeTree fake = support::make_fake_tree();
  support::FakeBlockIo io;
  support::FakeOwner owner{io};
  ThreadPool workers{"test", 2};
  WriteBatch batch;
  ObjectSetEnv env{.io = &io, .workers = &workers, .owner = &owner, .vdev_count = 1};
  std::unique_ptr<ObjectSet> mos = std::move(*ObjectSet::open(env, {}, ObjsetType::meta));
  std::unique_ptr<PoolAllocator> allocator = make();
  std::uint64_t txg = 4;

  std::unique_ptr<PoolAllocator> make() {
    return PoolAllocator::create(*fake.tree, *mos, {.log_spacemap = false}, {});
  }
  Fixture() {
    PoolAllocator::choose_geometry(fake.tree->mutable_top_config(0));
    EXPECT_TRUE(allocator->create_vdev(0, Tx::syncing(txg)));
    allocator->begin_sync(txg);
  }
  Result<std::vector<Dva>> allocate(std::uint64_t bytes, unsigned copies = 1) {
    return allocator->allocate({.physical_bytes = bytes, .copies = copies, .txg = txg});
  }
  void commit() {
    mos->close_txg(txg);
    for (unsigned pass = 1;; ++pass) {
      ASSERT_LT(pass, 10u);
      ASSERT_TRUE(mos->sync(txg, pass, batch));
      const auto wrote = allocator->sync(Tx::syncing(txg), pass);
      ASSERT_TRUE(wrote) << wrote.error().text();
      if (!*wrote && !mos->is_dirty(txg)) break;
    }
    allocator->sync_done(txg++);
    allocator->begin_sync(txg);
  }
};

TEST(PoolAllocator, ChoosesGeometryAsOpenZfsDoes) {
  const auto shift = [](std::uint64_t bytes) {
    VdevConfig top;
    top.asize_bytes = bytes;
    PoolAllocator::choose_geometry(top);
    return top.metaslab_shift;
  };
  EXPECT_EQ(shift(263716864), 24u);
  EXPECT_EQ(shift(295174144), 25u);
  EXPECT_EQ(shift(1677721600), 27u);
}

TEST(PoolAllocator, LaysConsecutiveBlocksInARow) {
  Fixture f;
  std::uint64_t last_end = 0;
  for (int i = 0; i < 20; ++i) {
    const Dva dva = (*f.allocate(8192))[0];
    if (i != 0) {
      EXPECT_EQ(dva.offset_bytes, last_end);
    }
    last_end = dva.offset_bytes + dva.allocated_bytes;
  }
}

TEST(PoolAllocator, PutsCopiesFarApart) {
  Fixture f;
  const auto dvas = *f.allocate(4096, 3);
  ASSERT_EQ(dvas.size(), 3u);
  const std::uint64_t eighth = f.allocator->totals(0).size_bytes / 8;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_GE(std::max(dvas[i].offset_bytes, dvas[j].offset_bytes) -
                    std::min(dvas[i].offset_bytes, dvas[j].offset_bytes),
                eighth);
  }
}

TEST(PoolAllocator, KeepsFreedSpaceForTwoMoreTxgs) {
  Fixture f;
  std::vector<Dva> all;
  while (auto dvas = f.allocate(1 << 20)) all.push_back((*dvas)[0]);
  EXPECT_FALSE(f.allocate(1 << 20));
  // Same txg: at once.
  f.allocator->free(all.back(), f.txg, f.txg);
  ASSERT_TRUE(f.allocate(1 << 20));
  f.commit();
  f.allocator->free(all.front(), f.txg - 1, f.txg);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(f.allocate(1 << 20)) << i;
    f.commit();
  }
  EXPECT_EQ((*f.allocate(1 << 20))[0], all.front());
}

TEST(PoolAllocator, IgnoresDvasThatLieNowhere) {
  Fixture f;
  f.allocator->free({.vdev = 0, .offset_bytes = std::uint64_t{1} << 60, .allocated_bytes = 4096}, 1, f.txg);
  f.allocator->free({.vdev = 99, .offset_bytes = 0, .allocated_bytes = 4096}, 1, f.txg);
  f.allocator->free({.vdev = 0, .offset_bytes = 512, .allocated_bytes = 512}, 1, f.txg);
  f.allocator->free({.vdev = 0, .offset_bytes = 4096, .allocated_bytes = std::uint64_t{1} << 32}, 1, f.txg);
  EXPECT_EQ(f.allocator->totals(0).allocated_bytes, 0u);
}

// Random traffic over many txgs; after each reload exactly the live blocks must be in use.
TEST(PoolAllocator, AgreesWithAModelOverTxgsAndReloads) {
  Fixture f;
  std::mt19937 random(3);
  std::map<std::uint64_t, std::pair<Dva, std::uint64_t>> live;  // offset -> (dva, birth)
  for (int round = 0; round < 40; ++round) {
    for (int step = 0; step < 100; ++step) {
      if (random() % 5 < 3 || live.empty()) {
        const auto dvas = f.allocate(4096 * (1 + random() % 32), 1 + random() % 2);
        ASSERT_TRUE(dvas);
        for (const Dva& dva : *dvas) {
          const auto next = live.lower_bound(dva.offset_bytes);
          if (next != live.end()) {
            ASSERT_LE(dva.offset_bytes + dva.allocated_bytes, next->first);
          }
          if (next != live.begin()) {
            const auto before = std::prev(next);
            ASSERT_LE(before->first + before->second.first.allocated_bytes, dva.offset_bytes);
          }
          live.emplace(dva.offset_bytes, std::pair(dva, f.txg));
        }
      } else {
        const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
        f.allocator->free(victim->second.first, victim->second.second, f.txg);
        live.erase(victim);
      }
    }
    f.commit();
    std::uint64_t used = 0;
    for (const auto& [offset, block] : live) used += block.first.allocated_bytes;
    ASSERT_EQ(f.allocator->totals(0).allocated_bytes, used);
    if (round % 8 != 7) continue;
    f.allocator = f.make();
    ASSERT_TRUE(f.allocator->load(0));
    ASSERT_EQ(f.allocator->totals(0).allocated_bytes, used);
    f.allocator->begin_sync(f.txg);
  }
}

TEST(PoolAllocator, ServesManyThreads) {
  Fixture f;
  std::vector<std::vector<Dva>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&f, &mine] {
      for (int i = 0; i < 2000; ++i) {
        auto dvas = f.allocate(4096);
        ASSERT_TRUE(dvas);
        if (i % 4 == 0) {
          f.allocator->free((*dvas)[0], f.txg, f.txg);
        } else {
          mine.push_back((*dvas)[0]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::uint64_t, int> offsets;
  for (const auto& mine : taken) {
    for (const Dva& dva : mine) EXPECT_EQ(++offsets[dva.offset_bytes], 1);
  }
}

}  // namespace
}  // namespace tarn
