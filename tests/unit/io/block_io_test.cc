// BlockIo over fake disks and an allocator that hands out places in order.
#include "libpool/io/block_io.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "libpool/io/gang.h"
#include "tests/unit/support/fake_tree.h"

namespace tarn {
namespace {

using support::FakeTree;
using support::make_fake_tree;
using support::pattern_buffer;

class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(VdevTree& tree) : tree_(tree) {}
  Result<std::vector<Dva>> allocate(const AllocRequest& request) override {
    if (request.physical_bytes > largest_bytes) return Error(Errc::no_space, "too fragmented");
    std::vector<Dva> out;
    for (unsigned i = 0; i < request.copies; ++i) {
      const std::uint64_t size = tree_.allocated_size(0, request.physical_bytes);
      out.push_back({.vdev = 0, .offset_bytes = next_.fetch_add(size), .allocated_bytes = size});
      used += size;
    }
    return out;
  }
  void free(const Dva& dva, std::uint64_t, std::uint64_t) override { used -= dva.allocated_bytes; }

  std::atomic<std::uint64_t> used{0};
  std::uint64_t largest_bytes = UINT64_MAX;

 private:
  VdevTree& tree_;
  std::atomic<std::uint64_t> next_{1 << 20};
};

class BlockIoTest : public ::testing::Test {
 protected:
  BlockPointer write(BlockWrite block) {
    WriteBatch batch;
    auto bp = io->write(block, mark, batch);
    EXPECT_TRUE(bp) << bp.error().text();
    EXPECT_TRUE(batch.wait());
    return bp ? *bp : BlockPointer{};
  }
  BlockWrite random_block(std::size_t bytes, unsigned copies = 1) {
    return {.data = pattern_buffer(bytes, ++seed),
            .type = DmuType::plain_file,
            .copies = copies,
            .txg = 10,
            .fill = 1};
  }
  void expect_reads(const BlockPointer& bp, const BufferRef& want) {
    auto got = io->read(bp, mark);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_TRUE(std::ranges::equal((*got)->view(), want->view()));
  }
  void SetUp() override { io->set_allocator(&allocator); }

  std::uint64_t seed = 0;
  Bookmark mark{.objset = 54, .object = 7, .level = 0, .blkid = 3};
  FakeTree fake = make_fake_tree();
  CountingAllocator allocator{*fake.tree};
  std::unique_ptr<BlockIo> io = BlockIo::create(*fake.tree, {});
};

TEST_F(BlockIoTest, ReadsBackWhatItWroteFromCacheAndDevice) {
  for (const std::size_t bytes : {512u, 4096u, 131072u}) {
    const BlockWrite block = random_block(bytes);
    const BlockPointer bp = write(block);
    expect_reads(bp, block.data);
    io->drop_cache();
    expect_reads(bp, block.data);
  }
}

TEST_F(BlockIoTest, StoresZerosAsHoleUnlessCompressionIsOff) {
  BlockWrite block = random_block(8192);
  block.data = std::make_shared<Buffer>(Buffer::zeroed(8192));
  const BlockPointer hole = write(block);
  EXPECT_TRUE(hole.is_hole());
  EXPECT_EQ(hole.logical_birth, 10u);
  expect_reads(hole, block.data);
  block.compression.type = CompressionType::off;
  EXPECT_FALSE(write(block).is_hole());
}

TEST_F(BlockIoTest, CompressesAndEmbeds) {
  BlockWrite block = random_block(131072);
  Buffer text = Buffer::zeroed(131072);
  for (std::size_t i = 0; i < 64; ++i) text.data()[i] = std::byte(i);
  block.data = std::make_shared<Buffer>(std::move(text));
  const BlockPointer stored = write(block);
  EXPECT_EQ(stored.physical_bytes, 4096u);
  io->drop_cache();
  expect_reads(stored, block.data);

  block.may_embed = true;
  Buffer few = Buffer::zeroed(4096);
  few.data()[5] = std::byte{1};
  block.data = std::make_shared<Buffer>(std::move(few));
  const BlockPointer embedded = write(block);
  ASSERT_TRUE(embedded.embedded);
  expect_reads(embedded, block.data);
}

TEST_F(BlockIoTest, HealsABadCopyFromAnother) {
  const BlockWrite block = random_block(16384, 2);
  const BlockPointer bp = write(block);
  fake.disks[0]->flip_bit(kLabelsAndBootBytes + bp.dvas[0].offset_bytes + 100);
  io->drop_cache();
  expect_reads(bp, block.data);
  io->drop_cache();
  fake.disks[0]->flip_bit(kLabelsAndBootBytes + bp.dvas[1].offset_bytes + 100);
  expect_reads(bp, block.data);
}

TEST_F(BlockIoTest, NamesDevicePlaceAndBookmarkOfALostBlock) {
  const BlockPointer bp = write(random_block(16384));
  fake.disks[0]->flip_bit(kLabelsAndBootBytes + bp.dvas[0].offset_bytes);
  io->drop_cache();
  const auto lost = io->read(bp, mark);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Errc::checksum);
  for (const char* part : {"/fake/disk0", "object set 54 object 7 level 0 block 3", "0x100000"})
    EXPECT_NE(lost.error().text().find(part), std::string::npos) << lost.error().text();
}

TEST_F(BlockIoTest, BuildsGangBlocksAndFreesThemWhole) {
  allocator.largest_bytes = 16384;
  const BlockWrite block = random_block(131072, 2);
  const BlockPointer bp = write(block);
  EXPECT_TRUE(bp.is_gang());
  EXPECT_EQ(bp.dva_count(), 3u);
  expect_reads(bp, block.data);
  io->drop_cache();
  expect_reads(bp, block.data);
  EXPECT_EQ(bp.allocated_bytes(), allocator.used);
  ASSERT_TRUE(io->free(bp, 11));
  EXPECT_EQ(allocator.used, 0u);
}

TEST_F(BlockIoTest, GivesBackEverythingWhenAGangDoesNotFit) {
  allocator.largest_bytes = 2048;
  WriteBatch batch;
  const auto failed = io->write(random_block(131072), mark, batch);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Errc::no_space);
  EXPECT_EQ(allocator.used, 0u);
}

TEST_F(BlockIoTest, RewritesInPlaceOnlyWhatWasBornInThisTxg) {
  BlockWrite block = random_block(16384);
  const BlockPointer first = write(block);
  BlockWrite again = random_block(16384);
  again.rewrite = first;
  const BlockPointer second = write(again);
  EXPECT_EQ(second.dvas, first.dvas);
  expect_reads(second, again.data);
  again = random_block(8192);
  again.rewrite = second;
  const BlockPointer third = write(again);
  EXPECT_NE(third.dvas, first.dvas);
  EXPECT_EQ(allocator.used, 8192u);
}

TEST_F(BlockIoTest, RefusesPointersThatMakeNoSense) {
  BlockPointer bp = write(random_block(4096));
  io->drop_cache();
  bp.dvas[0].vdev = 9;
  EXPECT_FALSE(io->read(bp, mark));
  bp.dvas[0].vdev = 0;
  bp.dvas[0].offset_bytes = std::uint64_t{1} << 60;
  EXPECT_FALSE(io->read(bp, mark));
  bp.dvas[0].offset_bytes = 0;
  bp.dvas[0].gang = true;
  EXPECT_FALSE(io->read(bp, mark));
}

TEST_F(BlockIoTest, ServesManyThreads) {
  io->set_cache_limit(1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      WriteBatch batch;
      for (int i = 0; i < 200; ++i) {
        const BlockWrite block{
            .data = pattern_buffer(4096, t * 1000 + i), .type = DmuType::plain_file, .txg = 10};
        auto bp = io->write(block, mark, batch);
        ASSERT_TRUE(bp);
        auto got = io->read(*bp, mark);
        ASSERT_TRUE(got);
        EXPECT_TRUE(std::ranges::equal((*got)->view(), block.data->view()));
        if (i % 3 != 0) continue;
        EXPECT_TRUE(io->free(*bp, 10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(io->stats().cache_bytes, 1u << 20);
}

TEST(GangHeader, RefusesPiecesThatDoNotAddUp) {
  BlockPointer gang;
  gang.dvas[0] = {.vdev = 0, .offset_bytes = 4096, .allocated_bytes = 4096, .gang = true};
  gang.physical_bytes = 8192;
  gang.logical_birth = 4;
  BlockPointer child;
  child.dvas[0] = {.vdev = 0, .offset_bytes = 8192, .allocated_bytes = 4096};
  child.logical_bytes = child.physical_bytes = 4096;
  child.compression = CompressionType::off;
  child.checksum_type = ChecksumType::fletcher4;
  const Buffer header = encode_gang_header({child}, gang_verifier(gang));
  EXPECT_FALSE(decode_gang_header(header, gang, 1));
  const Buffer both = encode_gang_header({child, child}, gang_verifier(gang));
  EXPECT_TRUE(decode_gang_header(both, gang, 1));
}

}  // namespace
}  // namespace tarn
