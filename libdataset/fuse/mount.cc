#include "libdataset/fuse/mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "libdataset/fuse/session.h"

namespace tarn {
namespace {

constexpr unsigned kReadAheadKib = 2048;

bool user_may_allow_other() {
  if (geteuid() == 0) return true;
  std::ifstream config("/etc/fuse.conf");
  for (std::string line; std::getline(config, line);) {
    if (line == "user_allow_other") return true;
  }
  return false;
}

// Options are separated by commas, which libfuse lets us escape.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> mount_arguments(const MountOptions& options, bool read_only) {
  std::string list =
      fmt::format("fsname={},subtype=zfs,default_permissions,max_read={}", escaped(options.source), 1u << 20);
  const bool root = geteuid() == 0;
  if (options.allow_other && user_may_allow_other()) list += ",allow_other";
  if (read_only) list += ",ro";
  if (!options.exec) list += ",noexec";
  if (!options.atime) list += ",noatime";
  // Only root can have devices and set-id bits work; libfuse leaves both off unless told.
  if (root && options.devices) list += ",dev";
  if (root && options.setuid) list += ",suid";
  return {"tarn", "-o", list};
}

// The kernel reads ahead 128 KiB at first; our records are as large as that. Only root may raise it.
void raise_read_ahead(const std::string& mountpoint) {
  struct stat st = {};
  if (::stat(mountpoint.c_str(), &st) != 0) return;
  std::ofstream knob(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(st.st_dev), minor(st.st_dev)));
  knob << kReadAheadKib;
}

// fusermount3 is how an ordinary user unmounts.
Status run_fusermount(const std::string& mountpoint, bool lazy) {
  std::vector<const char*> argv{"fusermount3", "-u"};
  if (lazy) argv.push_back("-z");
  argv.insert(argv.end(), {"--", mountpoint.c_str(), nullptr});
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int spawned =
      posix_spawnp(&pid, argv[0], &actions, nullptr, const_cast<char* const*>(argv.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return Error::system(spawned, "cannot run fusermount3");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error(Errc::busy, fmt::format("cannot unmount '{}': it is busy", mountpoint));
}

class MountImpl final : public Mount {
 public:
  MountImpl(std::shared_ptr<FileSystem> fs, const MountOptions& options)
      : options_(options), session_(std::move(fs), options) {}

  ~MountImpl() override {
    if (thread_.joinable()) (void)unmount(true).ok();
  }

  Status start(bool read_only) {
    TRY(session_.mount(mount_arguments(options_, read_only), options_.mountpoint));
    alive_ = true;
    unsigned threads = options_.worker_threads;
    if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency() * 2, 4u, 32u);
    thread_ = std::thread([this, threads] {
      session_.serve(threads);
      session_.end();
      alive_ = false;
    });
    if (geteuid() == 0) raise_read_ahead(options_.mountpoint);
    return {};
  }

  const std::string& mountpoint() const override { return options_.mountpoint; }
  bool alive() const override { return alive_; }
  void close_snapshot(const std::string& name) override { session_.close_snapshot(name); }

  Status unmount(bool force) override {
    if (!thread_.joinable()) return {};
    if (alive_) {
      Status done = detach(force);
      // Somebody else may have unmounted it just now.
      if (!done && alive_) return done;
    }
    thread_.join();
    return {};
  }

 private:
  Status detach(bool force) {
    if (geteuid() != 0) return run_fusermount(options_.mountpoint, force);
    if (umount2(options_.mountpoint.c_str(), force ? MNT_DETACH : 0) == 0) return {};
    const int error = errno;
    if (error == EBUSY)
      return Error(Errc::busy, fmt::format("cannot unmount '{}': it is busy", options_.mountpoint));
    return Error::system(error, fmt::format("cannot unmount '{}'", options_.mountpoint));
  }

  const MountOptions options_;
  FuseSession session_;
  std::atomic<bool> alive_{false};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Mount>> Mount::create(std::shared_ptr<FileSystem> fs, const MountOptions& options) {
  std::error_code error;
  const std::filesystem::path folder(options.mountpoint);
  if (!std::filesystem::is_directory(folder, error)) {
    return Error(Errc::not_a_directory, fmt::format("mountpoint '{}' is no folder", options.mountpoint));
  }
  if (!options.overlay && !std::filesystem::is_empty(folder, error)) {
    return Error(Errc::not_empty, fmt::format("mountpoint '{}' is not empty", options.mountpoint));
  }
  const bool read_only = options.read_only || fs->dataset()->read_only();
  auto mount = std::make_unique<MountImpl>(std::move(fs), options);
  TRY(mount->start(read_only));
  return std::unique_ptr<Mount>(std::move(mount));
}

}  // namespace tarn
