// FakeDisk: a device in memory whose failures the test chooses. Memory that was never written reads as zeros
// and takes no space, so that devices may be large.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "libpool/base/buffer.h"
#include "libpool/base/mutex.h"
#include "libpool/vdev/disk.h"

namespace tarn::support {

class FakeDisk final : public Disk {
 public:
  // What reached the device, in order; a flush has no data.
  struct LogEntry {
    bool flush = false;
    std::uint64_t offset_bytes = 0;
    Bytes data;
  };

  explicit FakeDisk(std::uint64_t size_bytes = 64 << 20, std::string path = "/fake/disk0",
                    unsigned sector_bytes = 512);
  ~FakeDisk() override;

  const std::string& path() const override { return path_; }
  std::uint64_t size_bytes() const override { return size_bytes_; }
  unsigned logical_sector_bytes() const override { return sector_bytes_; }
  Status read(std::uint64_t offset_bytes, MutableByteView out) override EXCLUDES(mutex_);
  Status write(std::uint64_t offset_bytes, ByteView data) override EXCLUDES(mutex_);
  Status flush() override EXCLUDES(mutex_);
  Status discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) override EXCLUDES(mutex_);

  // The device's bytes, past all failures.
  MutableByteView content() { return {memory_, size_bytes_}; }
  void flip_bit(std::uint64_t offset_bytes, unsigned bit = 0);
  // Overwrites with bytes made from the seed.
  void corrupt(std::uint64_t offset_bytes, std::uint64_t length_bytes, std::uint64_t seed = 1);

  // Ranges that fail until repaired; overlapping requests fail as a whole.
  void fail_reads(std::uint64_t offset_bytes, std::uint64_t length_bytes) EXCLUDES(mutex_);
  void fail_writes(std::uint64_t offset_bytes, std::uint64_t length_bytes) EXCLUDES(mutex_);
  // The next operations of any kind fail.
  void fail_next(unsigned count) { fail_next_ = count; }
  void fail_next_flushes(unsigned count) { fail_next_flushes_ = count; }
  // Every operation fails while unplugged.
  void unplug(bool unplugged = true) { unplugged_ = unplugged; }
  void repair_all() EXCLUDES(mutex_);

  // Logging is off at first.
  void log_writes(bool on) EXCLUDES(mutex_);
  std::vector<LogEntry> take_log() EXCLUDES(mutex_);

  std::uint64_t read_count() const { return read_count_; }
  std::uint64_t write_count() const { return write_count_; }
  std::uint64_t flush_count() const { return flush_count_; }

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  Status attempt(const std::vector<Range>& bad, const char* what, std::uint64_t offset_bytes,
                 std::uint64_t length_bytes) REQUIRES(mutex_);

  const std::uint64_t size_bytes_;
  const std::string path_;
  const unsigned sector_bytes_;
  std::byte* memory_ = nullptr;
  std::atomic<unsigned> fail_next_{0}, fail_next_flushes_{0};
  std::atomic<bool> unplugged_{false};
  std::atomic<std::uint64_t> read_count_{0}, write_count_{0}, flush_count_{0};
  Mutex mutex_;
  std::vector<Range> bad_reads_ GUARDED_BY(mutex_), bad_writes_ GUARDED_BY(mutex_);
  bool logging_ GUARDED_BY(mutex_) = false;
  std::vector<LogEntry> log_ GUARDED_BY(mutex_);
};

// Bytes that look random but depend on the seed alone.
Bytes pattern_bytes(std::size_t count, std::uint64_t seed);
BufferRef pattern_buffer(std::size_t count, std::uint64_t seed);

}  // namespace tarn::support
