#include "cmd/poold/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace tarn {
namespace {

constexpr std::uint32_t kMaxRequestBytes = 4u << 20;  // a user's request; listings go the other way
constexpr unsigned kMaxConnections = 256;

Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return {static_cast<uid_t>(-1), 0, false};
  return {credentials.uid, credentials.pid, credentials.uid == 0 || credentials.uid == ::geteuid()};
}

}  // namespace

Result<Server> Server::bind(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path)
    return Error(
        Errc::name_too_long,
        fmt::format("socket path '{}' is too long; set POOL_RUN_DIR to a shorter folder", socket_path));
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return Error::system(errno, "socket");
  ::unlink(socket_path.c_str());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error::system(errno, socket_path);
  // Everybody may connect and ask; what he may change, his credentials decide.
  ::chmod(socket_path.c_str(), 0666);
  if (::listen(fd.get(), 64) != 0) return Error::system(errno, socket_path);
  return Server(std::move(fd));
}

void Server::serve(const Handler& handler, int stop_fd) {
  while (!stopping_) {
    pollfd waits[2] = {{listener_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
    const int ready = ::poll(waits, 2, 200);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    if (waits[1].revents) break;
    if (!(waits[0].revents & POLLIN)) continue;
    FileDescriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) continue;
    {
      MutexLock lock(mutex_);
      if (connections_ >= kMaxConnections) continue;  // closes it: the client sees the end of the stream
      ++connections_;
    }
    std::thread([this, connection = std::move(connection), &handler]() mutable {
      converse(std::move(connection), handler);
    }).detach();
  }
  stopping_ = true;
  // Idle connections notice `stopping_` within their poll interval; requests under way are finished.
  MutexLock lock(mutex_);
  while (busy_requests_ > 0 || connections_ > 0) idle_.wait(mutex_);
}

void Server::converse(FileDescriptor connection, const Handler& handler) {
  const Peer peer = peer_of(connection.get());
  while (!stopping_) {
    pollfd wait{connection.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, 200);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    Result<Json> request = receive_message(connection.get(), kMaxRequestBytes);
    if (!request) break;
    {
      MutexLock lock(mutex_);
      ++busy_requests_;
    }
    Json reply;
    const auto method = request->find("method");
    if (method == request->end() || !method->is_string()) {
      reply = error_to_json(Error(Errc::invalid_argument, "request without a method"));
    } else {
      // The JSON library throws on values of an unexpected type; such a request is the peer's fault.
      try {
        Result<Json> result =
            handler(method->get<std::string>(), request->value("params", Json::object()), peer);
        reply = result ? Json{{"result", *std::move(result)}} : error_to_json(result.error());
      } catch (const Json::exception& malformed) {
        reply = error_to_json(
            Error(Errc::invalid_argument, fmt::format("malformed request: {}", malformed.what())));
      }
    }
    const bool sent = send_message(connection.get(), reply).ok();
    {
      MutexLock lock(mutex_);
      --busy_requests_;
    }
    if (!sent) break;
  }
  connection.reset();
  MutexLock lock(mutex_);
  --connections_;
  idle_.notify_all();
}

}  // namespace tarn
