// Client: how the commands talk to the processes that own the pools.
#pragma once

#include <string>
#include <vector>

#include "cmd/common/protocol.h"
#include "cmd/common/run_dir.h"

namespace tarn {

// A connection to the process of one pool.
class PoolHandle {
 public:
  PoolHandle(std::string name, FileDescriptor socket) : name_(std::move(name)), socket_(std::move(socket)) {}
  const std::string& name() const { return name_; }
  // Sends a request and waits for its reply: the result, or the error that poold gave.
  Result<Json> call(const std::string& method, const Json& params = Json::object()) const;

 private:
  std::string name_;
  FileDescriptor socket_;
};

class Client {
 public:
  static Result<Client> open();
  const RunDir& run_dir() const { return run_dir_; }

  // Errc::not_found "no such pool" if it is not imported; Errc::suspended with what happened and how to go on
  // when its process died.
  Result<PoolHandle> connect(const std::string& pool) const;
  // Names of the imported pools, in order. Pools whose process died are left out and described in `dead`.
  std::vector<std::string> pools(std::vector<std::string>* dead = nullptr) const;

  // Starts a poold for `pool`, hands it `startup` (what to create or import) and waits for its word.
  Result<Json> start(const std::string& pool, const Json& startup) const;

 private:
  explicit Client(RunDir run_dir) : run_dir_(std::move(run_dir)) {}
  RunDir run_dir_;
};

}  // namespace tarn
