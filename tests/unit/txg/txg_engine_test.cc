#include "libpool/txg/txg_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace tarn {
namespace {

using namespace std::chrono_literals;

// Records what was synced; can be told to fail.
struct Host {
  Status sync(std::uint64_t txg, std::vector<std::shared_ptr<TxgEngine::Task>>& tasks) {
    for (const auto& task : tasks) task->result = task->run();
    if (txg == fail_at) return Error(Errc::io, "disk on fire");
    last = txg;
    ++count;
    return {};
  }
  std::atomic<std::uint64_t> last = 0, count = 0, fail_at = 0;
};

std::unique_ptr<TxgEngine> make_engine(Host& host, TxgEngine::Settings settings = {}) {
  auto engine =
      std::make_unique<TxgEngine>(settings, [&host](auto txg, auto& tasks) { return host.sync(txg, tasks); });
  engine->start();
  return engine;
}

TEST(TxgEngine, SyncNowBringsJoinedTxgToDisk) {
  Host host;
  auto engine = make_engine(host);
  const std::uint64_t txg = *engine->join();
  EXPECT_EQ(txg, 4u);
  engine->release(txg);
  ASSERT_TRUE(engine->sync_now(false));
  EXPECT_EQ(host.last, 4u);
  EXPECT_EQ(engine->synced_txg(), 4u);
  EXPECT_EQ(engine->open_txg(), 5u);
  ASSERT_TRUE(engine->sync_now(false));  // nothing joined txg 5
  EXPECT_EQ(host.count, 1u);
  ASSERT_TRUE(engine->sync_now(true));
  EXPECT_EQ(host.last, 5u);
}

TEST(TxgEngine, WaitsForTransactionsBeforeSync) {
  Host host;
  auto engine = make_engine(host);
  const std::uint64_t txg = *engine->join();
  std::thread waiter([&] { EXPECT_TRUE(engine->wait_synced(txg)); });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(host.count, 0u);
  // New ones wait meanwhile: what they change must not mix with what is still being changed for the txg
  // before.
  std::atomic<std::uint64_t> joined = 0;
  std::thread next([&] {
    joined = *engine->join();
    engine->release(joined);
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(joined, 0u);
  engine->release(txg);
  next.join();
  waiter.join();
  EXPECT_EQ(joined, txg + 1);
  EXPECT_GE(host.last, txg);
}

TEST(TxgEngine, TimeoutSyncsATouchedTxg) {
  Host host;
  auto engine = make_engine(host, {.timeout_ms = 30});
  engine->release(*engine->join());
  for (int i = 0; i < 200 && host.count == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(host.last, 4u);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(host.count, 1u);  // idle: no more txgs
}

TEST(TxgEngine, DirtyLimitHoldsWritersBack) {
  Host host;
  auto engine = make_engine(host, {.dirty_limit_bytes = 1000});
  const std::uint64_t txg = *engine->join();
  engine->dirtied(txg, 1000);
  std::atomic<bool> joined = false;
  std::thread writer([&] {
    const std::uint64_t next = *engine->join();
    joined = true;
    engine->release(next);
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(joined);
  engine->release(txg);  // lets it sync, which cleans it
  writer.join();
  EXPECT_GE(host.last, txg);
  EXPECT_EQ(engine->dirty_bytes(), 0u);
}

TEST(TxgEngine, TaskResultComesAfterItsTxgIsSynced) {
  Host host;
  auto engine = make_engine(host);
  ASSERT_TRUE(engine->run_task([&] {
    EXPECT_EQ(host.count, 0u);
    return Status();
  }));
  EXPECT_EQ(host.count, 1u);
  const Status refused = engine->run_task([] { return Status(Error(Errc::already_exists, "there")); });
  EXPECT_EQ(refused.error().code(), Errc::already_exists);
}

TEST(TxgEngine, FailedSyncSuspends) {
  Host host;
  host.fail_at = 4;
  auto engine = make_engine(host);
  engine->release(*engine->join());
  EXPECT_EQ(engine->sync_now(false).error().code(), Errc::suspended);
  EXPECT_EQ(engine->join().error().code(), Errc::suspended);
  EXPECT_EQ(engine->run_task([] { return Status(); }).error().code(), Errc::suspended);
  EXPECT_EQ(engine->synced_txg(), 3u);
  EXPECT_FALSE(engine->stop());
}

TEST(TxgEngine, StopSyncsWhatIsOpen) {
  Host host;
  auto engine = make_engine(host);
  engine->release(*engine->join());
  ASSERT_TRUE(engine->stop());
  EXPECT_EQ(host.last, 4u);
  EXPECT_EQ(engine->join().error().code(), Errc::cancelled);
}

}  // namespace
}  // namespace tarn
