// BlockIo: reads and writes whole blocks by block pointer. The stages of a write, in order: zero detection,
// compression, embedding, allocation (gang if fragmented), checksum, device writes. Of a read: cache, devices
// (with reconstruction until the checksum is right), gang assembly, decompression.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "libpool/base/buffer.h"
#include "libpool/base/result.h"
#include "libpool/block/block_pointer.h"
#include "libpool/io/allocator.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {

struct BlockWrite {
  BufferRef data;                       // logical content, LSIZE bytes, host byte order
  DmuType type = DmuType::none;
  std::uint8_t level = 0;
  CompressionSpec compression;          // `off`: no zero detection either
  ChecksumType checksum = ChecksumType::fletcher4;
  unsigned copies = 1;
  std::uint64_t txg = 0;
  std::uint64_t fill = 0;               // what the block pointer's fill shall say
  bool may_embed = false;               // embedded_data enabled, and the caller takes an embedded bp
  AllocClass alloc_class = AllocClass::normal;
  // A block that was already written in this txg (later sync pass): its space is used again if the new stored size
  // fits it; otherwise it is freed.
  std::optional<BlockPointer> rewrite;
};

struct BlockIoStats { std::uint64_t cache_hits = 0, cache_misses = 0, cache_bytes = 0; };

class BlockIo {
 public:
  struct Settings {
    std::uint64_t cache_limit_bytes = 256u << 20;
    ChecksumSalt salt{};
    std::uint64_t min_alloc_bytes = 4096;   // of the smallest-ashift normal vdev; compression rounds to it
    bool hole_birth = true;
  };
  static std::unique_ptr<BlockIo> create(VdevTree& vdevs, const Settings& settings);
  virtual ~BlockIo() = default;

  // The allocator comes after the MOS can be read. Until then write() is not allowed.
  virtual void set_allocator(Allocator* allocator) = 0;
  virtual void set_salt(const ChecksumSalt& salt) = 0;
  virtual void set_cache_limit(std::uint64_t bytes) = 0;
  virtual VdevTree& vdevs() = 0;

  // The logical content (LSIZE bytes), in the byte order that bp.byte_order says. Holes give zeros of their
  // logical size. Errors name device, offset and bookmark. `cache` = false for scans.
  virtual Result<BufferRef> read(const BlockPointer& bp, const Bookmark& bookmark, bool cache = true) = 0;
  // The block pointer is final at once; the data is on the devices after batch.wait(). The new block is put into the
  // cache. A data-less result (all zeros) is a hole.
  virtual Result<BlockPointer> write(const BlockWrite& block, const Bookmark& bookmark, WriteBatch& batch) = 0;
  // Frees every DVA (gang children and headers too). Embedded bps and holes are fine.
  virtual Status free(const BlockPointer& bp, std::uint64_t txg) = 0;
  // Space as accounting counts it: sum over DVAs of the deflated size.
  virtual std::uint64_t deflated_size(const BlockPointer& bp) const = 0;
  virtual BlockIoStats stats() const = 0;
  virtual void drop_cache() = 0;
};

}  // namespace tarn
