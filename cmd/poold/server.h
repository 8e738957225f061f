// Server: the socket of one pool. A thread per connection reads requests and hands them to the service. The
// peer's credentials decide what it may ask: root and the pool's owner everything, others only what reads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>

#include "cmd/common/protocol.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"

namespace tarn {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
  bool may_change = false;
};

class Server {
 public:
  using Handler =
      std::function<Result<Json>(const std::string& method, const Json& params, const Peer& peer)>;
  // Binds `socket_path`, replacing what a dead process left there (the caller holds the pool's lock).
  static Result<Server> bind(const std::string& socket_path);

  // Serves until stop() or until `stop_fd` becomes readable; returns when no request is being handled any
  // more.
  void serve(const Handler& handler, int stop_fd);
  void stop() { stopping_ = true; }
  // Lets serve() run again after a stop.
  void resume() { stopping_ = false; }

  Server(Server&& o) noexcept : listener_(std::move(o.listener_)) {}

 private:
  explicit Server(FileDescriptor listener) : listener_(std::move(listener)) {}
  void converse(FileDescriptor connection, const Handler& handler);

  FileDescriptor listener_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  CondVar idle_;
  unsigned busy_requests_ GUARDED_BY(mutex_) = 0;
  unsigned connections_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tarn
