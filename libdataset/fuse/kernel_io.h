// KernelIo: the bytes between libfuse and /dev/fuse. It exists for one flag that libfuse 3.14 does not know:
// that this side takes set-id bits and file capabilities away when a file is written
// (FUSE_HANDLE_KILLPRIV_V2). Without it the kernel asks for the xattr security.capability before every single
// write.
#pragma once

#include <sys/uio.h>

#include <atomic>

namespace tarn {

class KernelIo {
 public:
  ssize_t read(int fd, void* buffer, std::size_t length);
  ssize_t writev(int fd, const iovec* pieces, int count);

 private:
  enum class State : int { before_init, init_seen, done };
  std::atomic<State> state_{State::before_init};
  bool offered_ = false;  // written before init_seen is, read after
};

}  // namespace tarn
