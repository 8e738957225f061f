// The run directory: where each imported pool has its socket, its lock and a note on how to import it again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/protocol.h"
#include "libpool/base/result.h"

namespace tarn {

class RunDir {
 public:
  // $POOL_RUN_DIR, else /run/tarn for root, else $XDG_RUNTIME_DIR/tarn, else /tmp/tarn-UID. Created when
  // missing.
  static Result<RunDir> open();

  const std::string& path() const { return path_; }
  std::string socket_path(const std::string& pool) const { return path_ + "/" + pool + ".sock"; }
  std::string lock_path(const std::string& pool) const { return path_ + "/" + pool + ".lock"; }
  std::string note_path(const std::string& pool) const { return path_ + "/" + pool + ".json"; }
  std::string log_path(const std::string& pool) const { return path_ + "/" + pool + ".log"; }

  // Pools with a socket, in name order: those that are imported, and those whose process died.
  std::vector<std::string> pools() const;
  // Takes the pool's lock for the life of the descriptor; Errc::busy while another process holds it.
  Result<FileDescriptor> lock(const std::string& pool) const;
  // What the pool's process wrote down at its start (devices, altroot), to say how to import it again.
  std::optional<Json> note(const std::string& pool) const;
  Status write_note(const std::string& pool, const Json& note) const;
  void remove(const std::string& pool) const;

 private:
  explicit RunDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tarn
