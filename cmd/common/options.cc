#include "cmd/common/options.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {

bool Args::has(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
}

std::optional<std::string> Args::value(std::string_view name) const {
  for (auto it = options_.rbegin(); it != options_.rend(); ++it)
    if (it->name == name) return it->value;
  return std::nullopt;
}

std::vector<std::string> Args::values(std::string_view name) const {
  std::vector<std::string> out;
  for (const Option& o : options_)
    if (o.name == name) out.push_back(o.value);
  return out;
}

Result<Args> parse_args(const std::vector<std::string>& arguments, std::string_view shorts,
                        const std::vector<std::string>& longs, bool stop_at_operand) {
  Args args;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      args.operands_.insert(args.operands_.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                            arguments.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      if (stop_at_operand) {
        args.operands_.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
        break;
      }
      args.operands_.push_back(word);
      continue;
    }
    if (word[1] == '-') {
      const std::string body = word.substr(2);
      const std::size_t equals = body.find('=');
      const std::string name = body.substr(0, equals);
      const bool plain = std::find(longs.begin(), longs.end(), name) != longs.end();
      const bool valued = std::find(longs.begin(), longs.end(), name + "=") != longs.end();
      if (plain && equals == std::string::npos) {
        args.options_.push_back({name, ""});
      } else if (valued && equals != std::string::npos) {
        args.options_.push_back({name, body.substr(equals + 1)});
      } else if (valued && i + 1 < arguments.size()) {
        args.options_.push_back({name, arguments[++i]});
      } else if (valued) {
        return Error(Errc::usage, fmt::format("missing argument for '{}' option", name));
      } else {
        return Error(Errc::usage, longs.empty() ? std::string("invalid option '-'")
                                                : fmt::format("invalid option '{}'", name));
      }
      continue;
    }
    for (std::size_t at = 1; at < word.size(); ++at) {
      const char letter = word[at];
      const std::size_t known = letter == ':' ? std::string_view::npos : shorts.find(letter);
      if (known == std::string_view::npos)
        return Error(Errc::usage, fmt::format("invalid option '{}'", letter));
      const bool wants_value = known + 1 < shorts.size() && shorts[known + 1] == ':';
      if (!wants_value) {
        args.options_.push_back({std::string(1, letter), ""});
        continue;
      }
      if (at + 1 < word.size()) {
        args.options_.push_back({std::string(1, letter), word.substr(at + 1)});
      } else if (i + 1 < arguments.size()) {
        args.options_.push_back({std::string(1, letter), arguments[++i]});
      } else {
        return Error(Errc::usage, fmt::format("missing argument for '{}' option", letter));
      }
      break;
    }
  }
  return args;
}

int misuse(const Subcommand& command, const std::string& problem) {
  if (!problem.empty()) fmt::print(stderr, "{}\n", problem);
  fmt::print(stderr, "usage:\n{}", command.synopsis);
  return kExitUsage;
}

}  // namespace tarn
