// FakeDataset: a dataset without a pool, over an object set in memory, for tests of the POSIX layer.
// Properties are a map; sync() runs a whole transaction group.
#pragma once

#include <map>
#include <memory>

#include "fake_block_io.h"
#include "libdataset/files/posix_file_system.h"
#include "libdataset/sa/owner_ids.h"

namespace tarn::support {

class FakeClock : public Clock {
 public:
  TimeSpec now() const override { return {.seconds = seconds, .nanoseconds = 500}; }
  std::uint64_t monotonic_ns() const override { return static_cast<std::uint64_t>(seconds) * 1'000'000'000; }
  std::int64_t seconds = 1'700'000'000;
};

class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(bool projects = false) {
    env_ = {.io = &io,
            .workers = &workers_,
            .owner = &owner_,
            .objset_id = 54,
            .vdev_count = 1,
            .find_owner = find_owner,
            .user_accounting = true,
            .object_accounting = true,
            .project_accounting = projects};
    objset_ = *ObjectSet::open(env_, BlockPointer{}, ObjsetType::filesystem);
    objset_->set_flags(Tx::syncing(txg), projects ? 7 : 3);
    properties = {
        {Property::recordsize, 131072}, {Property::xattr, 2}, {Property::atime, 1}, {Property::relatime, 1}};
  }
  const std::string name() const override { return "fake/fs"; }
  std::uint64_t object_number() const override { return 54; }
  bool is_snapshot() const override { return false; }
  bool read_only() const override { return is_read_only; }
  ObjectSet& objset() override { return *objset_; }
  Pool& pool() override { std::abort(); }
  std::uint64_t property(Property property) const override {
    const auto found = properties.find(property);
    return found == properties.end() ? 0 : found->second;
  }
  Result<Tx> begin(std::uint64_t, bool) override { return Tx(nullptr, txg); }
  Space space() const override {
    return {.referenced = 1 << 20, .available = 100 << 20, .objects_used = objset_->object_count()};
  }

  Status sync() {
    objset_->close_txg(txg);
    WriteBatch batch;
    root_ = TRY(objset_->sync(txg, 1, batch));
    TRY(batch.wait());
    synced = txg++;
    return {};
  }
  // As after a crash or export: from what the last sync wrote.
  void reopen() { objset_ = *ObjectSet::open(env_, root_, ObjsetType::filesystem); }
  PosixHost host() {
    return {.clock = &clock,
            .sync_now = [this] { return sync(); },
            .synced_txg = [this] { return synced; },
            .feature_enabled = [](const char*) { return true; }};
  }

  std::map<Property, std::uint64_t> properties;
  bool is_read_only = false;
  std::uint64_t txg = 10, synced = 9;
  FakeClock clock;
  FakeBlockIo io;

 private:
  FakeOwner owner_{io};
  ThreadPool workers_{"test", 2};
  ObjectSetEnv env_;
  BlockPointer root_;
  std::unique_ptr<ObjectSet> objset_;
};

}  // namespace tarn::support
