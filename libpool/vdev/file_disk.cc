#include "libpool/vdev/file_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace tarn {

FileDisk::FileDisk(Properties properties, IoEngine& engine)
    : properties_(std::move(properties)),
      engine_(engine),
      size_bytes_(properties_.size_bytes),
      queue_(properties_.fd, engine) {}

FileDisk::~FileDisk() {
  queue_.wait_idle();
  close(properties_.fd);  // releases the lock too
}

bool FileDisk::aligned(std::uint64_t offset_bytes, const void* memory, std::uint64_t length_bytes) const {
  if (!properties_.direct) return true;
  return ((offset_bytes | reinterpret_cast<std::uintptr_t>(memory) | length_bytes) &
          (properties_.sector_bytes - 1)) == 0;
}

Status FileDisk::check_range(std::uint64_t offset_bytes, std::uint64_t length_bytes, const char* what) const {
  const std::uint64_t size = size_bytes();
  if (offset_bytes <= size && length_bytes <= size - offset_bytes) return {};
  return Error(Errc::io, fmt::format("{}: {} of {} bytes at {:#x} is beyond the end ({:#x})", path(), what,
                                     length_bytes, offset_bytes, size));
}

Status FileDisk::failure(int error, const char* what, std::uint64_t offset_bytes,
                         std::uint64_t length_bytes) const {
  if (error == 0) return {};
  const std::string where =
      fmt::format("{}: {} of {} bytes at {:#x}", path(), what, length_bytes, offset_bytes);
  return Error(Errc::io, Error::system(error, where).text());
}

IoRequest FileDisk::prepare_read(std::uint64_t offset_bytes, std::span<const MutableByteView> parts,
                                 PreparedRead& prepared) {
  std::uint64_t length_bytes = 0;
  bool in_place = true;
  std::uint64_t part_offset = offset_bytes;
  for (const MutableByteView part : parts) {
    in_place = in_place && aligned(part_offset, part.data(), part.size());
    part_offset += part.size();
    length_bytes += part.size();
  }
  IoRequest request;
  request.kind = IoRequest::Kind::read;
  request.fd = properties_.fd;
  prepared.problem = check_range(offset_bytes, length_bytes, "read");
  if (!prepared.problem) return request;  // no parts: ends at once
  queue_.wait_for_overlapping(offset_bytes, length_bytes);
  if (in_place && parts.size() <= IoRequest::kMaxParts) {
    request.offset_bytes = offset_bytes;
    request.parts.reserve(parts.size());
    for (const MutableByteView part : parts) request.parts.push_back({part.data(), part.size()});
    return request;
  }
  request.offset_bytes = round_down(offset_bytes, properties_.sector_bytes);
  prepared.skip_bytes = offset_bytes - request.offset_bytes;
  prepared.bounce = Buffer(round_up(prepared.skip_bytes + length_bytes, properties_.sector_bytes));
  request.parts.push_back({prepared.bounce.data(), prepared.bounce.size()});
  return request;
}

Status FileDisk::finish_read(std::uint64_t offset_bytes, std::span<const MutableByteView> parts,
                             PreparedRead& prepared, int error) {
  if (!prepared.problem) return std::move(prepared.problem);
  std::uint64_t length_bytes = 0;
  for (const MutableByteView part : parts) length_bytes += part.size();
  if (error != 0) return failure(error, "read", offset_bytes, length_bytes);
  const std::byte* from = prepared.bounce.data() + prepared.skip_bytes;
  if (!prepared.bounce.empty()) {
    for (const MutableByteView part : parts) {
      std::memcpy(part.data(), from, part.size());
      from += part.size();
    }
  }
  return {};
}

Status FileDisk::read(std::uint64_t offset_bytes, MutableByteView out) {
  if (out.empty()) return {};
  PreparedRead prepared;
  IoRequest request = prepare_read(offset_bytes, {&out, 1}, prepared);
  if (prepared.problem) run_blocking(request);
  return finish_read(offset_bytes, {&out, 1}, prepared, request.error);
}

void FileDisk::read_async(std::uint64_t offset_bytes, MutableByteView out, std::function<void(Status)> done) {
  if (out.empty()) return done({});
  auto prepared = std::make_shared<PreparedRead>();
  auto request = std::make_unique<IoRequest>(prepare_read(offset_bytes, {&out, 1}, *prepared));
  if (!prepared->problem) return done(std::move(prepared->problem));
  request->done = [this, offset_bytes, out, prepared, done = std::move(done)](int error) {
    done(finish_read(offset_bytes, {&out, 1}, *prepared, error));
  };
  engine_.submit(std::move(request));
}

Status FileDisk::write(std::uint64_t offset_bytes, ByteView data) {
  if (data.empty()) return {};
  TRY(check_range(offset_bytes, data.size(), "write"));
  Buffer bounce;
  if (!aligned(offset_bytes, data.data(), data.size())) {
    if (!aligned(offset_bytes, nullptr, data.size()))
      return failure(EINVAL, "write", offset_bytes, data.size());
    bounce = Buffer::copy_of(data);
    data = bounce.view();
  }
  queue_.wait_for_overlapping(offset_bytes, data.size());
  IoRequest request;
  request.kind = IoRequest::Kind::write;
  request.fd = properties_.fd;
  request.offset_bytes = offset_bytes;
  request.parts.push_back({const_cast<std::byte*>(data.data()), data.size()});
  run_blocking(request);
  return failure(request.error, "write", offset_bytes, data.size());
}

void FileDisk::write_async(std::uint64_t offset_bytes, std::vector<ByteView> parts,
                           std::function<void(Status)> done) {
  std::uint64_t length_bytes = 0;
  bool in_place = true;
  for (const ByteView part : parts) {
    in_place = in_place && aligned(offset_bytes + length_bytes, part.data(), part.size());
    length_bytes += part.size();
  }
  if (length_bytes == 0) return done({});
  if (Status inside = check_range(offset_bytes, length_bytes, "write"); !inside)
    return done(std::move(inside));
  std::vector<iovec> pieces;
  Buffer bounce;
  if (in_place && parts.size() <= IoRequest::kMaxParts) {
    pieces.reserve(parts.size());
    for (const ByteView part : parts) pieces.push_back({const_cast<std::byte*>(part.data()), part.size()});
  } else {
    if (!aligned(offset_bytes, nullptr, length_bytes))
      return done(failure(EINVAL, "write", offset_bytes, length_bytes));
    bounce = Buffer(length_bytes);
    std::byte* to = bounce.data();
    for (const ByteView part : parts) {
      std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    pieces.push_back({bounce.data(), bounce.size()});
  }
  queue_.add(offset_bytes, std::move(pieces), std::move(bounce),
             [this, offset_bytes, length_bytes, done = std::move(done)](int error) {
               done(failure(error, "write", offset_bytes, length_bytes));
             });
}

Status FileDisk::flush() {
  if (properties_.read_only) return {};
  queue_.wait_idle();
  IoRequest request;
  request.kind = IoRequest::Kind::flush;
  request.fd = properties_.fd;
  run_blocking(request);
  return failure(request.error, "cache flush", 0, size_bytes());
}

void FileDisk::flush_async(std::function<void(Status)> done) {
  if (properties_.read_only) return done({});
  queue_.wait_idle();
  auto request = std::make_unique<IoRequest>();
  request->kind = IoRequest::Kind::flush;
  request->fd = properties_.fd;
  request->done = [this, done = std::move(done)](int error) {
    done(failure(error, "cache flush", 0, size_bytes()));
  };
  engine_.submit(std::move(request));
}

Status FileDisk::discard(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (length_bytes == 0) return {};
  TRY(check_range(offset_bytes, length_bytes, "discard"));
  queue_.wait_for_overlapping(offset_bytes, length_bytes);
  int result = 0;
  if (properties_.block_device) {
    std::uint64_t range[2] = {offset_bytes, length_bytes};
    result = ioctl(properties_.fd, BLKDISCARD, range);
  } else {
    result = fallocate(properties_.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(offset_bytes), static_cast<off_t>(length_bytes));
  }
  if (result == 0) return {};
  if (errno == EOPNOTSUPP)
    return Error(Errc::unsupported, fmt::format("{}: discard is not supported", path()));
  return failure(errno, "discard", offset_bytes, length_bytes);
}

namespace {

Result<std::uint64_t> device_size(int fd, bool block_device, const std::string& path) {
  if (block_device) {
    std::uint64_t size = 0;
    if (ioctl(fd, BLKGETSIZE64, &size) != 0)
      return Error::system(errno, fmt::format("{}: size of the device", path));
    return size;
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) return Error::system(errno, path);
  return static_cast<std::uint64_t>(info.st_size);
}

// Device managers take this lock for a moment while they look at a device, hence the patience.
Status lock_exclusively(int fd, const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK) return Error::system(errno, fmt::format("{}: lock", path));
    if (attempt == 10) return Error(Errc::busy, fmt::format("{}: in use by another process", path));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

// Whether O_DIRECT requests of 512 bytes work on this file: pools on files may have such sectors.
bool direct_works(int direct_fd) {
  const Buffer probe(512);
  return pread(direct_fd, const_cast<std::byte*>(probe.data()), probe.size(), 0) ==
         static_cast<ssize_t>(probe.size());
}

}  // namespace

Status FileDisk::refresh_size() {
  size_bytes_ = TRY(device_size(properties_.fd, properties_.block_device, path()));
  return {};
}

Result<std::unique_ptr<Disk>> open_disk(const std::string& path, const DiskOpenOptions& options,
                                        IoEngine& engine) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return Error::system(errno, path);
  const bool block_device = S_ISBLK(info.st_mode);
  if (!block_device && !S_ISREG(info.st_mode))
    return Error(Errc::invalid_argument, fmt::format("{}: neither a block device nor a file", path));

  int flags = (options.read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC;
  if (block_device && options.exclusive)
    flags |= O_EXCL;  // also refuses what is mounted or a member of something
  int fd = open(path.c_str(), flags | O_DIRECT);
  bool direct = fd >= 0;
  if (fd < 0 && errno == EINVAL) fd = open(path.c_str(), flags);
  if (fd < 0) {
    if (errno == EBUSY)
      return Error(Errc::busy, fmt::format("{}: in use (mounted, or a member of something else)", path));
    return Error::system(errno, path);
  }
  FileDisk::Properties properties{
      .path = path, .fd = fd, .block_device = block_device, .read_only = options.read_only};
  const auto prepare = [&]() -> Status {
    if (options.exclusive) TRY(lock_exclusively(fd, path));
    properties.size_bytes = TRY(device_size(fd, block_device, path));
    if (block_device) {
      int sector_bytes = 0;
      if (ioctl(fd, BLKSSZGET, &sector_bytes) != 0)
        return Error::system(errno, fmt::format("{}: sector size", path));
      if (sector_bytes < 512 || (sector_bytes & (sector_bytes - 1)) != 0)
        return Error(Errc::unsupported, fmt::format("{}: sectors of {} bytes", path, sector_bytes));
      properties.sector_bytes = static_cast<unsigned>(sector_bytes);
    } else if (direct && !direct_works(fd)) {
      direct = false;
      if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT) != 0) return Error::system(errno, path);
    }
    return {};
  };
  if (Status prepared = prepare(); !prepared) {
    close(fd);
    return std::move(prepared).error();
  }
  properties.direct = direct;
  return std::unique_ptr<Disk>(std::make_unique<FileDisk>(std::move(properties), engine));
}

}  // namespace tarn
