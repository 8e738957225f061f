#include "libdataset/fuse/kernel_io.h"

#include <linux/fuse.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace tarn {

ssize_t KernelIo::read(int fd, void* buffer, std::size_t length) {
  const ssize_t got = ::read(fd, buffer, length);
  if (state_.load(std::memory_order_acquire) != State::before_init) return got;
  if (got < static_cast<ssize_t>(sizeof(fuse_in_header) + 16)) return got;
  fuse_in_header header;
  std::memcpy(&header, buffer, sizeof header);
  if (header.opcode != FUSE_INIT) return got;
  std::uint32_t flags = 0;  // follows major, minor and max_readahead
  std::memcpy(&flags, static_cast<const char*>(buffer) + sizeof header + 12, sizeof flags);
  offered_ = flags & FUSE_HANDLE_KILLPRIV_V2;
  state_.store(State::init_seen, std::memory_order_release);
  return got;
}

ssize_t KernelIo::writev(int fd, const iovec* pieces, int count) {
  if (state_.load(std::memory_order_acquire) != State::init_seen) return ::writev(fd, pieces, count);
  // The reply to INIT: nothing else is under way yet.
  state_.store(State::done, std::memory_order_release);
  if (!offered_ || count != 2 || pieces[1].iov_len < sizeof(fuse_init_out))
    return ::writev(fd, pieces, count);
  std::vector<char> reply(static_cast<const char*>(pieces[1].iov_base),
                          static_cast<const char*>(pieces[1].iov_base) + pieces[1].iov_len);
  fuse_init_out init;
  std::memcpy(&init, reply.data(), sizeof init);
  init.flags |= FUSE_HANDLE_KILLPRIV_V2;
  std::memcpy(reply.data(), &init, sizeof init);
  const iovec changed[2] = {pieces[0], {reply.data(), reply.size()}};
  return ::writev(fd, changed, 2);
}

}  // namespace tarn
