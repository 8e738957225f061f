// Disk: one storage device as bytes. FakeDisk in tests/unit/support implements it too; failures are injected
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"
#include "libpool/vdev/io_engine.h"

namespace tarn {

class Disk {
 public:
  virtual ~Disk() = default;
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size_bytes() const = 0;       // as of the last open or refresh
  virtual Status refresh_size() { return {}; }        // looks again, e.g. after the device was grown
  virtual unsigned logical_sector_bytes() const = 0;  // alignment that writes need (offset and length)
  virtual Status read(std::uint64_t offset_bytes, MutableByteView out) = 0;
  virtual Status write(std::uint64_t offset_bytes, ByteView data) = 0;
  // Asynchronous forms: `done` runs on some thread of the I/O engine and must not block. The default
  // implementations run the blocking forms in place. `parts` are contiguous on the device and stay valid
  // until done. Writes that overlap are carried out in the order of the calls; a read sees every write called
  // before it.
  virtual void read_async(std::uint64_t offset_bytes, MutableByteView out, std::function<void(Status)> done);
  virtual void write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts,
                           std::function<void(Status)> done);
  virtual void flush_async(std::function<void(Status)> done);
  virtual Status flush() = 0;  // data is on stable storage when it returns
  virtual Status discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) = 0;
};

struct DiskOpenOptions {
  bool read_only = false;
  bool exclusive =
      true;  // flock on the inode, O_EXCL on block devices: Errc::busy if another process holds it
};
// A file or block device at `path`. Uses O_DIRECT where it works, else buffered I/O.
Result<std::unique_ptr<Disk>> open_disk(const std::string& path, const DiskOpenOptions& options,
                                        IoEngine& engine);

// Reads from several disks at once; returns when all are finished, each with its own result.
struct DiskRead {
  Disk* disk = nullptr;
  std::uint64_t offset_bytes = 0;
  std::vector<MutableByteView> parts;  // contiguous on the device
  Status result;
};
void read_all(std::span<DiskRead> reads);

}  // namespace tarn
