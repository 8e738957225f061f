// FileDisk: a regular file or block device behind the Disk interface.
//
// With O_DIRECT, memory and device offsets have to be aligned. Memory that is not (the caller's buffer is an
// odd vector, say) is bounced through an aligned copy; reads at odd offsets are widened; writes at odd
// offsets are refused, since they would need a read-modify-write.
#pragma once

#include <memory>
#include <string>

#include "libpool/base/buffer.h"
#include "libpool/vdev/disk.h"
#include "libpool/vdev/write_queue.h"

namespace tarn {

class FileDisk final : public Disk {
 public:
  struct Properties {
    std::string path;
    int fd = -1;  // owned
    bool block_device = false;
    bool read_only = false;
    bool direct = false;
    unsigned sector_bytes = 512;  // offset and memory alignment that `direct` needs
    std::uint64_t size_bytes = 0;
  };
  FileDisk(Properties properties, IoEngine& engine);
  ~FileDisk() override;

  const std::string& path() const override { return properties_.path; }
  std::uint64_t size_bytes() const override { return size_bytes_.load(std::memory_order_relaxed); }
  Status refresh_size() override;
  unsigned logical_sector_bytes() const override { return properties_.sector_bytes; }
  Status read(std::uint64_t offset_bytes, MutableByteView out) override;
  Status write(std::uint64_t offset_bytes, ByteView data) override;
  void read_async(std::uint64_t offset_bytes, MutableByteView out, std::function<void(Status)> done) override;
  void write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts,
                   std::function<void(Status)> done) override;
  void flush_async(std::function<void(Status)> done) override;
  Status flush() override;
  Status discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) override;

  IoEngine& engine() { return engine_; }
  bool direct() const { return properties_.direct; }

  // A read in two halves, so that read_all() can run those of several disks together.
  struct PreparedRead {
    Buffer bounce;                 // empty if the parts are read in place
    std::uint64_t skip_bytes = 0;  // of the bounce buffer, before the data wanted
    Status problem;                // found before any I/O
  };
  IoRequest prepare_read(std::uint64_t offset_bytes, std::span<const MutableByteView> parts,
                         PreparedRead& prepared);
  Status finish_read(std::uint64_t offset_bytes, std::span<const MutableByteView> parts,
                     PreparedRead& prepared, int error);

 private:
  bool aligned(std::uint64_t offset_bytes, const void* memory, std::uint64_t length_bytes) const;
  Status check_range(std::uint64_t offset_bytes, std::uint64_t length_bytes, const char* what) const;
  Status failure(int error, const char* what, std::uint64_t offset_bytes, std::uint64_t length_bytes) const;

  const Properties properties_;
  IoEngine& engine_;
  std::atomic<std::uint64_t> size_bytes_;
  WriteQueue queue_;
};

}  // namespace tarn
