// What every subcommand of `pool` and `fs` needs: the client, the command line for the history, error lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/client.h"
#include "cmd/common/options.h"

namespace tarn {

// The command line as typed, program name included ("zpool" when started through that link): for the history.
void remember_command_line(int argc, char** argv);
const std::string& command_line();

// Prints "TEXT\n" on stderr and returns exit code 1.
int fail(const std::string& text);

// What a Client::connect failure prints: "cannot open 'X': no such pool", or what happened to its process.
int fail_to_open(const std::string& pool, const Error& error);
// Also says so on stderr when pools are left whose process died.
std::vector<std::string> live_pools(const Client& client);

// Splits "a,b,c"; empty parts are kept.
std::vector<std::string> split(std::string_view text, char separator);
// "name=value"; nothing without '='.
std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text);

// A date as status, history and listings print it; local time zone.
std::string format_time(std::uint64_t seconds, const char* format);

// The part of main() that both programs share: -?, --help, -V, --version, unknown subcommands.
struct Program {
  const char* name;        // "zpool": the word in usage texts
  const char* usage_head;  // first lines of the usage
  const char* usage_tail;
  const std::vector<Subcommand>* table;
};
int run_program(const Program& program, int argc, char** argv);

}  // namespace tarn
