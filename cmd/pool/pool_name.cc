#include "cmd/pool/pool_name.h"

#include <fmt/format.h>

#include <cctype>

namespace tarn {

std::optional<std::string> pool_name_problem(const std::string& name, bool new_pool) {
  if (new_pool)
    for (const char* word : {"mirror", "raidz", "draid", "spare"})
      if (name.starts_with(word)) return "name is reserved";
  if (new_pool && name == "log") return "name is reserved";
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        std::string_view("-_.: ").find(c) == std::string_view::npos)
      return fmt::format("invalid character '{}' in pool name", c);
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0])))
    return "name must begin with a letter";
  if (name.size() > 239) return "name is too long";
  return std::nullopt;
}

}  // namespace tarn
