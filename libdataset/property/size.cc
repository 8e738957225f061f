// Sizes as people write them: 1.50K, 128K, "1.5G" (FORMAT.md logical 7.1).

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "libdataset/property/property.h"

namespace tarn {
namespace {

constexpr std::string_view kUnits = "KMGTPE";
constexpr std::size_t kMaxNiceChars = 5;  // with the unit

}  // namespace

std::string nice_number(std::uint64_t value) {
  if (value < 1024) return fmt::format("{}", value);
  unsigned unit = 0;
  std::uint64_t whole = value;
  while (whole >= 1024) {
    whole /= 1024;
    ++unit;
  }
  const char letter = kUnits[unit - 1];
  const std::uint64_t factor = std::uint64_t{1} << (10 * unit);
  if (value % factor == 0) return fmt::format("{}{}", whole, letter);
  std::string out;
  for (int decimals = 2; decimals >= 0; --decimals) {
    out =
        fmt::format("{:.{}f}{}", static_cast<double>(value) / static_cast<double>(factor), decimals, letter);
    if (out.size() <= kMaxNiceChars) break;
  }
  return out;
}

std::string nice_bytes(std::uint64_t value) {
  return value < 1024 ? fmt::format("{}B", value) : nice_number(value);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto digit_at = [&](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
  };
  if (!digit_at(0) && !(text.starts_with('.') && digit_at(1)))
    return Error(Errc::invalid_argument, fmt::format("bad numeric value '{}'", text));
  std::size_t end = 0;
  while (digit_at(end)) ++end;
  const std::string_view whole_text = text.substr(0, end);
  bool fraction = false;
  if (end < text.size() && text[end] == '.') {
    fraction = true;
    ++end;
    while (digit_at(end)) ++end;
  }
  const Error too_large(Errc::invalid_argument, "numeric value is too large");

  const std::string_view suffix = text.substr(end);
  unsigned shift = 0;
  if (!suffix.empty()) {
    std::string upper;
    for (char c : suffix) upper.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    const std::size_t unit = std::string_view("BKMGTPEZ").find(upper[0]);
    const std::string_view rest = std::string_view(upper).substr(1);
    const bool good_tail = rest.empty() || (unit != 0 && (rest == "B" || rest == "IB"));
    if (unit == std::string_view::npos || !good_tail)
      return Error(Errc::invalid_argument, fmt::format("invalid numeric suffix '{}'", suffix));
    shift = static_cast<unsigned>(unit) * 10;
  }

  if (fraction) {
    const double value =
        std::strtod(std::string(text.substr(0, end)).c_str(), nullptr) * std::pow(2.0, shift);
    if (!(value < 18446744073709551616.0)) return too_large;
    return static_cast<std::uint64_t>(value);
  }
  std::uint64_t value = 0;
  for (char c : whole_text) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value))
      return too_large;
  }
  if (value != 0 && (shift >= 64 || value > (UINT64_MAX >> shift))) return too_large;
  return shift >= 64 ? 0 : value << shift;
}

}  // namespace tarn
