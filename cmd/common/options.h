// Command lines as OpenZFS takes them: options and operands mixed, short options bundled, `--` ends the
// options, and misuse answered with "invalid option 'X'" and the subcommand's usage, exit 2.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libpool/base/result.h"

namespace tarn {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRefused = 255;

// Parsed arguments of one subcommand.
class Args {
 public:
  struct Option {
    std::string name;   // "f", or a long one: "json-int"
    std::string value;  // empty for flags
  };

  bool has(std::string_view name) const;
  // The last one given wins.
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  const std::vector<Option>& options() const { return options_; }
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  friend Result<Args> parse_args(const std::vector<std::string>&, std::string_view,
                                 const std::vector<std::string>&, bool);
  std::vector<Option> options_;
  std::vector<std::string> operands_;
};

// `shorts` as getopt has it ("fno:"); `longs` names of long options ("json", or "with-value="). With
// `stop_at_operand` the first operand ends the options. The error (Errc::usage) holds the line to print
// before the usage.
Result<Args> parse_args(const std::vector<std::string>& arguments, std::string_view shorts,
                        const std::vector<std::string>& longs = {}, bool stop_at_operand = false);

// One subcommand: a row of a command's table. Help, completions and the manual's synopsis are made from it.
struct Subcommand {
  const char* name;
  const char* synopsis;  // lines as usage prints them, TAB-indented, each ending in a newline
  const char* summary;   // one sentence for the manual and completions
  int (*run)(const std::vector<std::string>& arguments);
};

// Prints `problem` (unless empty) and the usage of `command`; exit code 2.
int misuse(const Subcommand& command, const std::string& problem);

}  // namespace tarn
