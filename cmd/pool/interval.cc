#include "cmd/pool/interval.h"

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cmd/common/command.h"

namespace tarn {
namespace {

std::optional<double> as_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) return std::nullopt;
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace

Result<Interval> Interval::take(const Args& args) {
  Interval out;
  out.operands = args.operands();
  if (const auto format = args.value("T")) {
    if (*format != "u" && *format != "d")
      return Error(Errc::usage, fmt::format("invalid timestamp format '{}'", *format));
    out.time_format_ = (*format)[0];
  }
  std::vector<double> numbers;
  while (numbers.size() < 2 && !out.operands.empty()) {
    const std::optional<double> number = as_number(out.operands.back());
    if (!number) break;
    if (*number == 0)
      return Error(Errc::usage,
                   fmt::format("{} cannot be zero", numbers.empty() && out.operands.size() > 1 &&
                                                            as_number(out.operands[out.operands.size() - 2])
                                                        ? "count"
                                                        : "interval"));
    numbers.insert(numbers.begin(), *number);
    out.operands.pop_back();
  }
  if (!numbers.empty()) {
    out.seconds_ = numbers[0];
    out.samples_left_ = numbers.size() > 1 ? static_cast<std::uint64_t>(numbers[1]) : 0;
  }
  return out;
}

void Interval::print_time() const {
  if (time_format_ == 0) return;
  const auto now = static_cast<std::uint64_t>(::time(nullptr));
  fmt::print("{}\n", time_format_ == 'u' ? std::to_string(now) : format_time(now, "%a %b %e %H:%M:%S %Z %Y"));
}

bool Interval::wait() {
  if (samples_left_ == 1) return false;
  if (samples_left_ > 1) --samples_left_;
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
  return true;
}

}  // namespace tarn
