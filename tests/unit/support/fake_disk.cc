#include "tests/unit/support/fake_disk.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tarn::support {

FakeDisk::FakeDisk(std::uint64_t size_bytes, std::string path, unsigned sector_bytes)
    : size_bytes_(size_bytes), path_(std::move(path)), sector_bytes_(sector_bytes) {
  void* memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
}

FakeDisk::~FakeDisk() { munmap(memory_, size_bytes_); }

Status FakeDisk::attempt(const std::vector<Range>& bad, const char* what, std::uint64_t offset_bytes,
                         std::uint64_t length_bytes) {
  const auto failed = [&](const char* why) {
    return Error(Errc::io, fmt::format("{}: {} of {} bytes at {:#x}: {}", path_, what, length_bytes,
                                       offset_bytes, why));
  };
  if (unplugged_) return failed("unplugged");
  if (fail_next_ != 0) {
    --fail_next_;
    return failed("injected failure");
  }
  if (offset_bytes > size_bytes_ || length_bytes > size_bytes_ - offset_bytes)
    return failed("beyond the end");
  if (std::any_of(bad.begin(), bad.end(), [&](const Range& r) {
        return offset_bytes < r.end && r.begin < offset_bytes + length_bytes;
      }))
    return failed("bad sector");
  return {};
}

Status FakeDisk::read(std::uint64_t offset_bytes, MutableByteView out) {
  MutexLock lock(mutex_);
  ++read_count_;
  TRY(attempt(bad_reads_, "read", offset_bytes, out.size()));
  std::memcpy(out.data(), memory_ + offset_bytes, out.size());
  return {};
}

Status FakeDisk::write(std::uint64_t offset_bytes, ByteView data) {
  MutexLock lock(mutex_);
  ++write_count_;
  TRY(attempt(bad_writes_, "write", offset_bytes, data.size()));
  if (offset_bytes % sector_bytes_ != 0 || data.size() % sector_bytes_ != 0)
    return Error(Errc::io, fmt::format("{}: write of {} bytes at {:#x} is not aligned", path_, data.size(),
                                       offset_bytes));
  std::memcpy(memory_ + offset_bytes, data.data(), data.size());
  if (logging_)
    log_.push_back({.flush = false, .offset_bytes = offset_bytes, .data = Bytes(data.begin(), data.end())});
  return {};
}

Status FakeDisk::flush() {
  MutexLock lock(mutex_);
  ++flush_count_;
  if (fail_next_flushes_ != 0) {
    --fail_next_flushes_;
    return Error(Errc::io, fmt::format("{}: cache flush: injected failure", path_));
  }
  TRY(attempt({}, "cache flush", 0, 0));
  if (logging_) log_.push_back({.flush = true, .offset_bytes = 0, .data = {}});
  return {};
}

Status FakeDisk::discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  MutexLock lock(mutex_);
  TRY(attempt({}, "discard", offset_bytes, length_bytes));
  std::memset(memory_ + offset_bytes, 0, length_bytes);
  return {};
}

void FakeDisk::flip_bit(std::uint64_t offset_bytes, unsigned bit) {
  memory_[offset_bytes] ^= std::byte(1 << bit);
}

void FakeDisk::corrupt(std::uint64_t offset_bytes, std::uint64_t length_bytes, std::uint64_t seed) {
  const Bytes junk = pattern_bytes(length_bytes, seed);
  std::memcpy(memory_ + offset_bytes, junk.data(), junk.size());
}

void FakeDisk::fail_reads(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  MutexLock lock(mutex_);
  bad_reads_.push_back({offset_bytes, offset_bytes + length_bytes});
}

void FakeDisk::fail_writes(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  MutexLock lock(mutex_);
  bad_writes_.push_back({offset_bytes, offset_bytes + length_bytes});
}

void FakeDisk::repair_all() {
  MutexLock lock(mutex_);
  bad_reads_.clear();
  bad_writes_.clear();
  fail_next_ = 0;
  fail_next_flushes_ = 0;
  unplugged_ = false;
}

void FakeDisk::log_writes(bool on) {
  MutexLock lock(mutex_);
  logging_ = on;
}

std::vector<FakeDisk::LogEntry> FakeDisk::take_log() {
  MutexLock lock(mutex_);
  return std::exchange(log_, {});
}

Bytes pattern_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes out(count);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(out.data() + i, &word, std::min<std::size_t>(8, count - i));
  }
  return out;
}

BufferRef pattern_buffer(std::size_t count, std::uint64_t seed) {
  return std::make_shared<Buffer>(Buffer::copy_of(pattern_bytes(count, seed)));
}

}  // namespace tarn::support
