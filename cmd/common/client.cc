#include "cmd/common/client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace tarn {
namespace {

Result<FileDescriptor> connect_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error(Errc::name_too_long,
                 fmt::format("socket path '{}' is too long; set POOL_RUN_DIR to a shorter folder", path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return Error::system(errno, "socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error::system(errno, path);
  return fd;
}

// poold lies beside the command that is running, else it is found through PATH.
std::string poold_path() {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const std::filesystem::path beside = self.parent_path() / "poold";
    if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return "poold";
}

}  // namespace

Result<Json> PoolHandle::call(const std::string& method, const Json& params) const {
  TRY(send_message(socket_.get(), {{"method", method}, {"params", params}}));
  Result<Json> reply = receive_message(socket_.get());
  if (!reply) {
    if (reply.error().code() == Errc::no_data || reply.error().code() == Errc::corrupt)
      return Error(Errc::suspended, fmt::format("the process of pool '{}' ended before it answered", name_));
    return std::move(reply).error();
  }
  return result_of_reply(*reply);
}

Result<Client> Client::open() { return Client(TRY(RunDir::open())); }

Result<PoolHandle> Client::connect(const std::string& pool) const {
  Result<FileDescriptor> socket = connect_socket(run_dir_.socket_path(pool));
  if (socket) return PoolHandle(pool, *std::move(socket));
  if (::access(run_dir_.socket_path(pool).c_str(), F_OK) != 0) return Error(Errc::not_found, "no such pool");
  if (socket.error().code() == Errc::permission) return Error(Errc::permission, "permission denied");
  std::string folders;
  if (const std::optional<Json> note = run_dir_.note(pool))
    for (const Json& folder : note->value("folders", Json::array()))
      folders += " -d " + folder.get<std::string>();
  return Error(Errc::suspended,
               fmt::format("its process ended without exporting the pool; what was synced is safe. "
                           "Import it again with 'pool import{} {}'; its log is {}",
                           folders, pool, run_dir_.log_path(pool)));
}

std::vector<std::string> Client::pools(std::vector<std::string>* dead) const {
  std::vector<std::string> alive;
  for (const std::string& name : run_dir_.pools()) {
    Result<PoolHandle> handle = connect(name);
    if (handle) {
      alive.push_back(name);
    } else if (dead) {
      dead->push_back(fmt::format("pool '{}': {}", name, handle.error().text()));
    }
  }
  return alive;
}

Result<Json> Client::start(const std::string& pool, const Json& startup) const {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error::system(errno, "socketpair");
  FileDescriptor ours(ends[0]), theirs(ends[1]);

  // The child gets its end as descriptor 3.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
  const std::string program = poold_path();
  std::string arg0 = "poold", arg1 = pool;
  char* argv[] = {arg0.data(), arg1.data(), nullptr};
  pid_t child = 0;
  const int failure = program.find('/') == std::string::npos
                          ? posix_spawnp(&child, program.c_str(), &actions, nullptr, argv, environ)
                          : posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  theirs.reset();
  if (failure) return Error::system(failure, fmt::format("cannot start '{}'", program));

  TRY(send_message(ours.get(), startup));
  Result<Json> reply = receive_message(ours.get());
  if (reply) {
    // A refusal ends the process; reap it, so that its devices are free when we return.
    if (reply->contains("error")) ::waitpid(child, nullptr, 0);
    return result_of_reply(*reply);
  }
  int wait_status = 0;
  ::waitpid(child, &wait_status, 0);
  if (WIFSIGNALED(wait_status))
    return Error(Errc::suspended,
                 fmt::format("poold was ended by signal {} ({}); its log is {}", WTERMSIG(wait_status),
                             strsignal(WTERMSIG(wait_status)), run_dir_.log_path(pool)));
  return Error(Errc::suspended, fmt::format("poold ended without an answer (exit {}); its log is {}",
                                            WEXITSTATUS(wait_status), run_dir_.log_path(pool)));
}

}  // namespace tarn
