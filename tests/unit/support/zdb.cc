#include "tests/unit/support/zdb.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace tarn::support {
namespace {

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

bool zdb_available() { return access("/usr/sbin/zdb", X_OK) == 0 || access("/sbin/zdb", X_OK) == 0; }

ZdbRun run_zdb(const std::string& folder, const std::string& pool, const std::vector<std::string>& options) {
  std::string command = "PATH=$PATH:/usr/sbin:/sbin zdb -e -p " + quoted(folder);
  for (const std::string& option : options) command += " " + quoted(option);
  command += " " + quoted(pool) + " 2>&1 </dev/null";
  ZdbRun run;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return run;
  std::array<char, 4096> chunk;
  for (std::size_t got = 0; (got = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    run.output.append(chunk.data(), got);
  const int status = pclose(pipe);
  run.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

std::string zdb_complaints(const std::string& folder, const std::string& pool) {
  const ZdbRun run = run_zdb(folder, pool, {"-bcc"});
  if (run.exit_status != 0) return "zdb ended with " + std::to_string(run.exit_status) + ":\n" + run.output;
  if (run.output.find("No leaks (block sum matches space maps exactly)") == std::string::npos)
    return "leaks:\n" + run.output;
  for (const char* word : {"leaked space", "Got error", "is not correct", "double"})
    if (run.output.find(word) != std::string::npos) return std::string(word) + ":\n" + run.output;
  return {};
}

}  // namespace tarn::support
