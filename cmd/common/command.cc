#include "cmd/common/command.h"

#include <fmt/format.h>
#include <time.h>

#include <filesystem>

namespace tarn {
namespace {

std::string& stored_command_line() {
  static std::string line;
  return line;
}

void print_usage(const Program& program, FILE* to) {
  fmt::print(to, "{}", program.usage_head);
  for (const Subcommand& command : *program.table) fmt::print(to, "{}", command.synopsis);
  fmt::print(to, "{}", program.usage_tail);
}

}  // namespace

void remember_command_line(int argc, char** argv) {
  std::string& line = stored_command_line();
  line = std::filesystem::path(argv[0]).filename().string();
  for (int i = 1; i < argc; ++i) line += std::string(" ") + argv[i];
}

const std::string& command_line() { return stored_command_line(); }

int fail(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  return kExitFailed;
}

int fail_to_open(const std::string& pool, const Error& error) {
  return fail(fmt::format("cannot open '{}': {}", pool, error.text()));
}

std::vector<std::string> live_pools(const Client& client) {
  std::vector<std::string> dead;
  std::vector<std::string> alive = client.pools(&dead);
  for (const std::string& text : dead) fmt::print(stderr, "{}\n", text);
  return alive;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

std::string format_time(std::uint64_t seconds, const char* format) {
  const time_t when = static_cast<time_t>(seconds);
  tm parts{};
  localtime_r(&when, &parts);
  char text[64];
  return std::string(text, strftime(text, sizeof text, format, &parts));
}

int run_program(const Program& program, int argc, char** argv) {
  remember_command_line(argc, argv);
  if (argc < 2) {
    fmt::print(stderr, "missing command\n");
    print_usage(program, stderr);
    return kExitUsage;
  }
  std::string name = argv[1];
  if (name == "-?" || name == "--help") {
    print_usage(program, stdout);
    return kExitOk;
  }
  if (name == "-V" || name == "--version") name = "version";
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  for (const Subcommand& command : *program.table) {
    if (name != command.name) continue;
    if (arguments.size() == 1 && (arguments[0] == "-?" || arguments[0] == "--help")) {
      fmt::print("usage:\n{}", command.synopsis);
      return kExitOk;
    }
    return command.run(arguments);
  }
  fmt::print(stderr, "unrecognized command '{}'\n", name);
  print_usage(program, stderr);
  return kExitUsage;
}

}  // namespace tarn
