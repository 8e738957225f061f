// poold: the process that owns one imported pool. Started by `pool create` and `pool import` with their
// wishes on descriptor 3; it answers there once the pool is open and mounted, then serves the pool's socket
// until export, destroy or SIGTERM (which exports cleanly).
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

#include "cmd/common/protocol.h"
#include "cmd/common/run_dir.h"
#include "cmd/poold/pool_service.h"
#include "cmd/poold/server.h"

namespace tarn {
namespace {

constexpr int kStartupDescriptor = 3;

// From here output goes to the pool's log; the terminal of the command that started us is let go.
Status detach(const std::string& log_path) {
  FileDescriptor log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return Error::system(errno, log_path);
  FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(null.get(), 0);
  ::dup2(log.get(), 1);
  ::dup2(log.get(), 2);
  ::setsid();
  if (::chdir("/") != 0) return Error::system(errno, "chdir /");
  return {};
}

// Signals arrive on a descriptor, so that the export runs as ordinary code.
FileDescriptor signal_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC));
}

struct Started {
  std::unique_ptr<PoolService> service;
  std::optional<Server> server;
  FileDescriptor lock;
};

Result<Started> start(const RunDir& run_dir, const std::string& pool, const Json& startup) {
  Started started;
  started.lock = TRY(run_dir.lock(pool));
  started.service = TRY(PoolService::start(startup));
  started.server.emplace(TRY(Server::bind(run_dir.socket_path(pool))));
  TRY(run_dir.write_note(pool, {{"pid", ::getpid()},
                                {"folders", startup.value("search", Json::array())},
                                {"altroot", startup.value("altroot", "")}}));
  return started;
}

int run(const std::string& pool) {
  FileDescriptor starter(kStartupDescriptor);
  ::fcntl(starter.get(), F_SETFD, FD_CLOEXEC);
  FileDescriptor signals = signal_descriptor();  // before any thread starts: they inherit the mask
  const Result<Json> startup = receive_message(starter.get());
  if (!startup) {
    fmt::print(stderr,
               "poold: started without a request; it is started by 'pool create' and 'pool import'\n");
    return 2;
  }
  Result<RunDir> run_dir = RunDir::open();
  Status detached = run_dir ? detach(run_dir->log_path(pool)) : Status(run_dir.error());
  if (!detached) {
    (void)send_message(starter.get(), error_to_json(detached.error()));
    return 1;
  }
  ::umask(022);
  Result<Started> started = start(*run_dir, pool, *startup);
  if (!started) {
    (void)send_message(starter.get(), error_to_json(started.error()));
    return 1;
  }
  PoolService& service = *started->service;
  (void)send_message(starter.get(), {{"result", {{"problems", service.mount_problems()}}}});
  starter.reset();

  Server& server = *started->server;
  // Once only: a new process of the same name may be there as soon as these are gone.
  std::once_flag removed;
  const auto remove_traces = [&] { std::call_once(removed, [&] { run_dir->remove(pool); }); };
  const Server::Handler handler = [&](const std::string& method, const Json& params, const Peer& peer) {
    Result<Json> result = service.handle(method, params, peer);
    if (service.finished()) {
      // Before the reply: the command returns when nothing of the pool is left.
      remove_traces();
      server.stop();
    }
    return result;
  };
  for (;;) {
    server.serve(handler, signals.get());
    if (service.finished()) break;
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) != sizeof info) continue;
    const Status exported = service.export_pool(/*force=*/true);
    if (exported || service.finished()) {
      if (!exported)
        fmt::print("export after signal {} failed: {}\n", info.ssi_signo, exported.error().text());
      break;
    }
    fmt::print("signal {}: cannot export: {}\n", info.ssi_signo, exported.error().text());
    server.resume();
  }
  started->service.reset();
  remove_traces();
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    fmt::print(stderr, "usage: poold POOL\n(started by 'pool create' and 'pool import')\n");
    return 2;
  }
  return tarn::run(argv[1]);
}
