#include "cmd/common/run_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tarn {

namespace fs = std::filesystem;

Result<RunDir> RunDir::open() {
  std::string path;
  if (const char* given = std::getenv("POOL_RUN_DIR"); given && *given) {
    path = given;
  } else if (geteuid() == 0) {
    path = "/run/tarn";
  } else if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && *runtime) {
    path = std::string(runtime) + "/tarn";
  } else {
    path = fmt::format("/tmp/tarn-{}", geteuid());
  }
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) return Error::system(failure.value(), fmt::format("cannot create run directory '{}'", path));
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return Error::system(errno, fmt::format("run directory '{}'", path));
  // In a folder that anybody may write to, somebody else could put a socket of his own in our place.
  if (st.st_uid != geteuid() && st.st_uid != 0)
    return Error(Errc::permission, fmt::format("run directory '{}' belongs to another user", path));
  return RunDir(path);
}

std::vector<std::string> RunDir::pools() const {
  std::vector<std::string> names;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, failure)) {
    if (entry.path().extension() == ".sock") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<FileDescriptor> RunDir::lock(const std::string& pool) const {
  const std::string path = lock_path(pool);
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return Error::system(errno, path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error(Errc::busy, fmt::format("pool '{}' is in use by another process", pool));
    return Error::system(errno, path);
  }
  return fd;
}

std::optional<Json> RunDir::note(const std::string& pool) const {
  std::ifstream in(note_path(pool));
  Json note = Json::parse(in, nullptr, false);
  if (!note.is_object()) return std::nullopt;
  return note;
}

Status RunDir::write_note(const std::string& pool, const Json& note) const {
  std::ofstream out(note_path(pool));
  out << note.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  out.close();
  if (!out) return Error(Errc::io, fmt::format("cannot write '{}'", note_path(pool)));
  return {};
}

void RunDir::remove(const std::string& pool) const {
  for (const std::string& path : {socket_path(pool), note_path(pool), lock_path(pool)})
    ::unlink(path.c_str());
}

}  // namespace tarn
