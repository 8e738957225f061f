#include "cmd/common/protocol.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "libpool/base/bytes.h"

namespace tarn {
namespace {

struct NamedCode {
  Errc code;
  const char* name;
};
// Codes travel by name, so that both ends may be of different versions.
constexpr std::array kCodeNames{
    NamedCode{Errc::invalid_argument, "invalid_argument"},
    NamedCode{Errc::not_found, "not_found"},
    NamedCode{Errc::already_exists, "already_exists"},
    NamedCode{Errc::busy, "busy"},
    NamedCode{Errc::permission, "permission"},
    NamedCode{Errc::not_permitted, "not_permitted"},
    NamedCode{Errc::no_space, "no_space"},
    NamedCode{Errc::quota, "quota"},
    NamedCode{Errc::read_only, "read_only"},
    NamedCode{Errc::io, "io"},
    NamedCode{Errc::checksum, "checksum"},
    NamedCode{Errc::corrupt, "corrupt"},
    NamedCode{Errc::unsupported, "unsupported"},
    NamedCode{Errc::not_empty, "not_empty"},
    NamedCode{Errc::name_too_long, "name_too_long"},
    NamedCode{Errc::too_large, "too_large"},
    NamedCode{Errc::suspended, "suspended"},
    NamedCode{Errc::cancelled, "cancelled"},
    NamedCode{Errc::in_use_elsewhere, "in_use_elsewhere"},
    NamedCode{Errc::usage, "usage"},
};

Status send_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return Error::system(errno, "cannot write to the pool's socket");
    }
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return {};
}

// Number of bytes read: less than `size` only at the end of the stream.
Result<std::size_t> receive_all(int socket, char* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::recv(socket, data + done, size - done, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::system(errno, "cannot read from the pool's socket");
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status send_message(int socket, const Json& message) {
  // Names in the pool need not be UTF-8: replace what JSON cannot carry instead of throwing.
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxMessageBytes) return Error(Errc::too_large, "message is too large");
  std::array<std::byte, 4> length;
  store<std::uint32_t>(length.data(), static_cast<std::uint32_t>(text.size()), ByteOrder::little);
  TRY(send_all(socket, reinterpret_cast<const char*>(length.data()), length.size()));
  return send_all(socket, text.data(), text.size());
}

Result<Json> receive_message(int socket, std::uint32_t max_bytes) {
  std::array<std::byte, 4> length_bytes;
  const std::size_t got =
      TRY(receive_all(socket, reinterpret_cast<char*>(length_bytes.data()), length_bytes.size()));
  if (got == 0) return Error(Errc::no_data, "connection closed");
  if (got < length_bytes.size()) return Error(Errc::corrupt, "connection closed in the middle of a message");
  const auto length = load<std::uint32_t>(length_bytes.data(), ByteOrder::little);
  if (length > max_bytes)
    return Error(Errc::too_large, fmt::format("message of {} bytes is too large", length));
  // Grow with what really arrives: the announced length is only the peer's word.
  std::string text;
  constexpr std::size_t kStep = 1u << 20;
  while (text.size() < length) {
    const std::size_t at = text.size();
    const std::size_t want = std::min<std::size_t>(kStep, length - at);
    text.resize(at + want);
    if (TRY(receive_all(socket, text.data() + at, want)) < want)
      return Error(Errc::corrupt, "connection closed in the middle of a message");
  }
  Json message = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object()) return Error(Errc::corrupt, "message is not a JSON object");
  return message;
}

Json error_to_json(const Error& error) {
  const char* name = "io";
  for (const NamedCode& entry : kCodeNames)
    if (entry.code == error.code()) name = entry.name;
  return {{"error", {{"code", name}, {"text", error.text()}}}};
}

Result<Json> result_of_reply(const Json& reply) {
  if (const auto error = reply.find("error"); error != reply.end() && error->is_object()) {
    const std::string name = error->value("code", "io");
    Errc code = Errc::io;
    for (const NamedCode& entry : kCodeNames)
      if (name == entry.name) code = entry.code;
    return Error(code, error->value("text", "unknown error"));
  }
  const auto result = reply.find("result");
  if (result == reply.end()) return Error(Errc::corrupt, "reply without result");
  return *result;
}

}  // namespace tarn
