// Files as devices, through each I/O engine: ordering, merging, alignment, locks.
#include "libpool/vdev/file_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>

#include "libpool/vdev/vdev_tree.h"
#include "tests/unit/support/fake_disk.h"

namespace tarn {
namespace {

using support::pattern_bytes;

class TemporaryFile {
 public:
  explicit TemporaryFile(std::uint64_t size_bytes) {
    path_ = (std::filesystem::temp_directory_path() / "tarn-disk-XXXXXX").string();
    const int fd = mkstemp(path_.data());
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size_bytes)), 0);
    close(fd);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class FileDiskTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = std::string(GetParam()) == "threads" ? make_thread_engine(4) : make_uring_engine();
    if (!engine_) GTEST_SKIP() << "no io_uring here";
  }
  std::unique_ptr<Disk> open(const DiskOpenOptions& options = {}) {
    Result<std::unique_ptr<Disk>> disk = open_disk(file_.path(), options, *engine_);
    EXPECT_TRUE(disk) << disk.error().text();
    return std::move(*disk);
  }

  TemporaryFile file_{64 << 20};
  std::unique_ptr<IoEngine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Engines, FileDiskTest, testing::Values("io_uring", "threads"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(FileDiskTest, ReadsAtAnyOffsetAndIntoAnyMemory) {
  const std::unique_ptr<Disk> disk = open();
  const Bytes data = pattern_bytes(64 << 10, 1);
  ASSERT_TRUE(disk->write(1 << 20, data)) << "from memory that is not aligned";
  for (const auto& [offset, length] : {std::pair{0, 65536}, {1, 100}, {511, 2}, {4095, 8193}, {512, 512}}) {
    Bytes out(static_cast<std::size_t>(length) + 1);
    ASSERT_TRUE(disk->read(static_cast<std::uint64_t>((1 << 20) + offset), std::span(out).subspan(1)));
    EXPECT_TRUE(std::equal(out.begin() + 1, out.end(), data.begin() + offset)) << offset;
  }
}

TEST_P(FileDiskTest, RefusesWhatLiesBeyondTheEnd) {
  const std::unique_ptr<Disk> disk = open();
  Buffer buffer = Buffer::zeroed(4096);
  EXPECT_FALSE(disk->read(64 << 20, buffer.span()));
  EXPECT_FALSE(disk->read((64 << 20) - 512, buffer.span()));
  EXPECT_FALSE(disk->write(UINT64_MAX - 511, buffer));
  Status late;
  disk->write_async(64 << 20, {buffer}, [&](Status result) { late = std::move(result); });
  EXPECT_FALSE(late);
}

// Many writes in random order, of random sizes, some to the same places: the last call to a place wins, and
// reads see it.
TEST_P(FileDiskTest, OverlappingWritesKeepTheirOrder) {
  const std::unique_ptr<Disk> disk = open();
  constexpr std::size_t kSectors = 512;
  std::vector<std::uint64_t> expected(kSectors);
  std::mt19937_64 random(7);
  WriteBatch batch(4 << 20);
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    const std::size_t first = random() % kSectors,
                      count = 1 + random() % std::min<std::size_t>(8, kSectors - first);
    auto buffer = std::make_shared<Buffer>(count * 512);
    for (std::size_t s = 0; s < count; ++s) {
      expected[first + s] = i;
      for (std::size_t word = 0; word < 64; ++word) std::memcpy(buffer->data() + s * 512 + word * 8, &i, 8);
    }
    std::vector<ByteView> parts{buffer->view().first(512)};
    if (count > 1) parts.push_back(buffer->view().subspan(512));
    batch.begin(buffer->size());
    disk->write_async(first * 512, parts,
                      [buffer, &batch](Status result) { batch.end(buffer->size(), std::move(result)); });
    if (i % 50 == 0) {
      const std::size_t place = random() % kSectors;
      Buffer out(512);
      ASSERT_TRUE(disk->read(place * 512, out.span()));
      ASSERT_EQ(load<std::uint64_t>(out.data() + 256, kHostOrder), expected[place]) << "sector " << place;
    }
  }
  ASSERT_TRUE(batch.wait());
  ASSERT_TRUE(disk->flush());
  Buffer all(kSectors * 512);
  ASSERT_TRUE(disk->read(0, all.span()));
  for (std::size_t s = 0; s < kSectors; ++s)
    ASSERT_EQ(load<std::uint64_t>(all.data() + s * 512, kHostOrder), expected[s]) << "sector " << s;
}

TEST_P(FileDiskTest, ManyThreadsReadAndWriteAtOnce) {
  const std::unique_ptr<Disk> disk = open();
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      WriteBatch batch(1 << 20);
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t offset = (t * 200 + i) * 16384;
        BufferRef data = support::pattern_buffer(16384, offset);
        batch.begin(data->size());
        disk->write_async(offset, {data->view()},
                          [data, &batch](Status result) { batch.end(data->size(), std::move(result)); });
        if (i % 8 != 7) continue;
        Buffer first(16384), second(16384);
        std::vector<DiskRead> reads(2);
        reads[0] = {.disk = disk.get(), .offset_bytes = offset, .parts = {first.span()}, .result = {}};
        reads[1] = {.disk = disk.get(),
                    .offset_bytes = offset - 16384,
                    .parts = {second.span().first(8192), second.span().subspan(8192)},
                    .result = {}};
        read_all(reads);
        EXPECT_TRUE(reads[0].result);
        EXPECT_TRUE(reads[1].result);
        EXPECT_EQ(std::memcmp(first.data(), data->data(), 16384), 0);
        EXPECT_EQ(std::memcmp(second.data(), support::pattern_buffer(16384, offset - 16384)->data(), 16384),
                  0);
      }
      EXPECT_TRUE(batch.wait());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(FileDiskTest, ReadsFromManyDisksAtOnceEachWithItsResult) {
  const std::unique_ptr<Disk> disk = open();
  support::FakeDisk fake(1 << 20);
  ASSERT_TRUE(disk->write(0, pattern_bytes(512 * 200, 3)));
  Buffer out(512 * 200);
  std::vector<DiskRead> reads(202);
  for (std::size_t i = 0; i < 200; ++i)
    reads[i] = {.disk = disk.get(),
                .offset_bytes = i * 512,
                .parts = {out.span().subspan(i * 512, 512)},
                .result = {}};
  Buffer other(512);
  reads[200] = {.disk = &fake, .offset_bytes = 0, .parts = {other.span()}, .result = {}};
  reads[201] = {.disk = disk.get(), .offset_bytes = 64 << 20, .parts = {other.span()}, .result = {}};
  read_all(reads);
  for (std::size_t i = 0; i < 201; ++i) EXPECT_TRUE(reads[i].result) << i;
  EXPECT_FALSE(reads[201].result);
  EXPECT_TRUE(std::ranges::equal(out.view(), pattern_bytes(512 * 200, 3)));
}

TEST_P(FileDiskTest, LocksTheFileWhileOpen) {
  std::unique_ptr<Disk> disk = open();
  const Result<std::unique_ptr<Disk>> second = open_disk(file_.path(), {}, *engine_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Errc::busy);
  EXPECT_TRUE(open_disk(file_.path(), {.read_only = true, .exclusive = false}, *engine_));
  disk.reset();
  EXPECT_TRUE(open_disk(file_.path(), {}, *engine_));
}

TEST_P(FileDiskTest, ReadOnlyDiskRefusesWrites) {
  const std::unique_ptr<Disk> disk = open({.read_only = true});
  EXPECT_FALSE(disk->write(0, Buffer::zeroed(512)));
  EXPECT_TRUE(disk->flush());
}

TEST_P(FileDiskTest, DiscardedRangesReadAsZeros) {
  const std::unique_ptr<Disk> disk = open();
  ASSERT_TRUE(disk->write(8192, pattern_bytes(8192, 5)));
  const Status discarded = disk->discard(8192, 8192);
  if (!discarded && discarded.error().code() == Errc::unsupported)
    GTEST_SKIP() << "no hole punching on this file system";
  Buffer out(8192);
  ASSERT_TRUE(disk->read(8192, out.span()));
  EXPECT_TRUE(all_zero(out.view()));
}

TEST_P(FileDiskTest, SeesThatTheFileHasGrown) {
  const std::unique_ptr<Disk> disk = open();
  std::filesystem::resize_file(file_.path(), 80 << 20);
  EXPECT_EQ(disk->size_bytes(), std::uint64_t{64 << 20});
  ASSERT_TRUE(disk->refresh_size());
  EXPECT_EQ(disk->size_bytes(), std::uint64_t{80 << 20});
}

TEST(OpenDisk, SaysWhatIsWrongWithThePath) {
  const std::unique_ptr<IoEngine> engine = make_io_engine();
  const Result<std::unique_ptr<Disk>> absent = open_disk("/nowhere/disk", {}, *engine);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Errc::not_found);
  const Result<std::unique_ptr<Disk>> folder = open_disk("/tmp", {}, *engine);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Errc::invalid_argument);
}

// Records what reaches it and finishes requests only when told to.
class HeldEngine final : public IoEngine {
 public:
  void submit(std::unique_ptr<IoRequest> request) override { held.push_back(std::move(request)); }
  void run(std::span<IoRequest>) override {}
  const char* name() const override { return "held"; }
  std::vector<std::unique_ptr<IoRequest>> held;
};

// While the device is busy, neighbours gather and leave as one request; a failed one is taken apart again.
TEST(WriteQueue, MergesNeighboursWhileTheDeviceIsBusy) {
  HeldEngine engine;
  WriteQueue queue(-1, engine);
  Buffer memory(1 << 20);
  std::vector<int> errors(40, -1);
  const auto add = [&](std::size_t index, std::uint64_t offset) {
    queue.add(offset, {{memory.data(), 4096}}, {}, [&errors, index](int error) { errors[index] = error; });
  };
  for (std::size_t i = 0; i < WriteQueue::kMaxUnderWay; ++i) add(i, i << 20);
  ASSERT_EQ(engine.held.size(), WriteQueue::kMaxUnderWay);
  for (std::size_t i = 0; i < 8; ++i) add(20 + i, (16 << 20) + (7 - i) * 4096);
  add(30, 32 << 20);
  EXPECT_EQ(engine.held.size(), WriteQueue::kMaxUnderWay);
  engine.held[0]->done(0);
  ASSERT_EQ(engine.held.size(), WriteQueue::kMaxUnderWay + 1);
  const IoRequest& merged = *engine.held.back();
  EXPECT_EQ(merged.offset_bytes, std::uint64_t{16 << 20});
  EXPECT_EQ(merged.parts.size(), 8u);
  merged.done(EIO);
  ASSERT_EQ(engine.held.size(), WriteQueue::kMaxUnderWay + 9) << "eight single ones";
  for (std::size_t i = 0; i < 8; ++i) engine.held[WriteQueue::kMaxUnderWay + 1 + i]->done(i == 2 ? EIO : 0);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(errors[20 + i], 7 - i == 2 ? EIO : 0) << i;
  for (std::size_t i = 1; i < WriteQueue::kMaxUnderWay; ++i) engine.held[i]->done(0);
  engine.held.back()->done(0);
  EXPECT_EQ(errors[30], 0);
}

TEST(WriteQueue, HoldsBackWritesThatOverlapUnfinishedOnes) {
  HeldEngine engine;
  WriteQueue queue(-1, engine);
  Buffer memory(8192);
  std::vector<int> order;
  const auto add = [&](int name, std::uint64_t offset, std::size_t length) {
    queue.add(offset, {{memory.data(), length}}, {}, [&order, name](int) { order.push_back(name); });
  };
  add(1, 0, 8192);
  add(2, 4096, 4096);
  add(3, 4096, 4096);
  ASSERT_EQ(engine.held.size(), 1u);
  engine.held[0]->done(0);
  ASSERT_EQ(engine.held.size(), 2u);
  engine.held[1]->done(0);
  ASSERT_EQ(engine.held.size(), 3u);
  engine.held[2]->done(0);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace tarn
