// A pool made by OpenZFS, unpacked and opened as a VdevTree with no more than this room and those below it:
// first label of each image, newest uberblock of the first image.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "libpool/base/buffer.h"
#include "libpool/block/block_pointer.h"
#include "libpool/checksum/checksum.h"
#include "libpool/nvlist/nvlist.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

class FixturePool {
 public:
  explicit FixturePool(const std::string& name) {
    folder_ = (std::filesystem::temp_directory_path() / "tarn-fixture-XXXXXX").string();
    if (!mkdtemp(folder_.data())) ADD_FAILURE() << folder_;
    const std::string archive = fmt::format(TARN_SOURCE_DIR "/tests/fixtures/{}/disks.tar.zst", name);
    if (std::system(fmt::format("tar --zstd -xf '{}' -C '{}'", archive, folder_).c_str()) != 0)
      ADD_FAILURE() << archive;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) add_image(entry.path());
  }
  ~FixturePool() {
    tree.reset();
    std::filesystem::remove_all(folder_);
  }

  Status open(bool read_only) {
    tree.reset();
    tree = TRY(VdevTree::open(
        root,
        [this](const VdevConfig& leaf) -> Result<std::shared_ptr<Disk>> {
          const auto found = paths.find(leaf.guid);
          if (found == paths.end()) return Error(Errc::not_found, leaf.path + ": no such image");
          return std::shared_ptr<Disk>(TRY(open_disk(found->second, {}, *engine)));
        },
        read_only));
    tree->set_reflow(reflow_word);
    return {};
  }

  // Every copy of the block, straight from the devices.
  Status read(const BlockPointer& bp, bool scrub = false) {
    for (unsigned i = 0; i < bp.dva_count(); ++i) {
      Buffer out(bp.physical_bytes);
      const Verifier verify = [&](ByteView data) {
        const Result<ChecksumWords> sum = compute_checksum(bp.checksum_type, data, bp.byte_order, {});
        return sum && *sum == bp.checksum;
      };
      const Dva& dva = bp.dvas[i];
      TRY(scrub ? tree->scrub(dva.vdev, dva.offset_bytes, out.span(), bp.birth_on_disk(), verify)
                : tree->read(dva.vdev, dva.offset_bytes, out.span(), bp.birth_on_disk(), verify));
    }
    return {};
  }

  VdevConfig root;
  BlockPointer root_block;
  std::uint64_t reflow_word = 0;
  std::map<std::uint64_t, std::string> paths;  // by guid
  std::unique_ptr<IoEngine> engine = make_io_engine();
  std::unique_ptr<VdevTree> tree;

 private:
  void add_image(const std::filesystem::path& path) {
    const Result<std::unique_ptr<Disk>> disk = open_disk(path, {.read_only = true}, *engine);
    ASSERT_TRUE(disk) << disk.error().text();
    Buffer label(kLabelBytes);
    ASSERT_TRUE((*disk)->read(0, label.span()));
    const Result<NvList> config = unpack(label.view().subspan(16 << 10, 112 << 10));
    ASSERT_TRUE(config) << path;
    paths[config->u64("guid").value_or(0)] = path;
    const Result<VdevConfig> top = VdevConfig::decode(*config->list("vdev_tree"));
    ASSERT_TRUE(top) << top.error().text();
    std::uint64_t best_txg = 0;
    const std::uint64_t slot_bytes = std::max<std::uint64_t>(1024, std::uint64_t{1} << top->ashift);
    for (std::uint64_t at = 128 << 10; at < kLabelBytes; at += slot_bytes) {
      ByteReader slot(label.view().subspan(at, slot_bytes), kHostOrder);
      if (slot.u64() != 0x00bab10c) continue;
      slot.skip(8);
      const std::uint64_t txg = slot.u64();
      if (txg < best_txg || txg < newest_txg_) continue;
      slot.skip(16);
      best_txg = newest_txg_ = txg;
      root_block =
          BlockPointer::decode(slot.bytes(kBlockPointerBytes).first<kBlockPointerBytes>(), kHostOrder);
      slot.seek(208);
      reflow_word = slot.u64();
      root.children = {*top};
    }
    root.kind = VdevKind::root;
    root.guid = config->u64("pool_guid").value_or(0);
  }

  std::string folder_;
  std::uint64_t newest_txg_ = 0;
};

}  // namespace tarn
