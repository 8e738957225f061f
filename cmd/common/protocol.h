// The socket between the commands and poold: one JSON object per message, preceded by its length as a 4-byte
// little-endian number. A request is {"method": NAME, "params": {...}}; the reply {"result": ...} or
// {"error": {"code": NAME, "text": TEXT}}. Both ends treat the other's bytes as untrusted.
#pragma once

#include <nlohmann/json.hpp>

#include "libpool/base/result.h"

namespace tarn {

using Json = nlohmann::json;

// A listing of 100,000 datasets fits; a hostile length does not make us allocate more than this.
inline constexpr std::uint32_t kMaxMessageBytes = 256u << 20;

Status send_message(int socket, const Json& message);
// Errc::no_data when the peer closed the connection between messages.
Result<Json> receive_message(int socket, std::uint32_t max_bytes = kMaxMessageBytes);

Json error_to_json(const Error& error);
// The error that a reply holds, or its result.
Result<Json> result_of_reply(const Json& reply);

// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& o) noexcept {
    if (this != &o) {
      reset();
      fd_ = std::exchange(o.fd_, -1);
    }
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace tarn
