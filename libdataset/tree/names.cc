#include "libdataset/tree/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

Error invalid(std::string text) { return Error(Errc::invalid_argument, std::move(text)); }

bool legal_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':' || c == ' ';
}

Status check_component(std::string_view component) {
  if (component.empty()) return invalid("empty component or misplaced '@' or '#' delimiter in name");
  for (char c : component) {
    if (c == '%') return invalid("invalid character % in name");
    if (!legal_character(c)) return invalid(fmt::format("invalid character '{}' in name", c));
  }
  if (component == ".") return invalid("self reference, '.' is found in name");
  if (component == "..") return invalid("parent reference, '..' is found in name");
  return {};
}

}  // namespace

std::string DatasetName::full() const {
  if (kind == NameKind::dataset) return dir;
  return fmt::format("{}{}{}", dir, kind == NameKind::snapshot ? '@' : '#', tail);
}

Result<DatasetName> parse_dataset_name(std::string_view name) {
  if (name.size() > kMaxDatasetNameBytes) return Error(Errc::name_too_long, "name is too long");
  if (name.starts_with('/')) return invalid("leading slash in name");
  if (name.ends_with('/')) return invalid("trailing slash in name");
  DatasetName out;
  const std::size_t delimiter = name.find_first_of("@#");
  if (delimiter != std::string_view::npos) {
    out.kind = name[delimiter] == '@' ? NameKind::snapshot : NameKind::bookmark;
    out.tail = std::string(name.substr(delimiter + 1));
    if (out.tail.find_first_of("@#") != std::string::npos)
      return invalid("multiple '@' and/or '#' delimiters in name");
    if (out.tail.find('/') != std::string::npos) return invalid("trailing slash in name");
  }
  out.dir = std::string(name.substr(0, delimiter));
  std::string_view rest = out.dir;
  for (;;) {
    const std::size_t slash = rest.find('/');
    TRY(check_component(rest.substr(0, slash)));
    if (slash == std::string_view::npos) break;
    rest = rest.substr(slash + 1);
  }
  if (out.kind != NameKind::dataset) TRY(check_component(out.tail));
  return out;
}

Result<std::string> parse_dir_name(std::string_view name) {
  DatasetName parsed = TRY(parse_dataset_name(name));
  if (parsed.kind == NameKind::snapshot) return invalid("snapshot delimiter '@' is not expected here");
  if (parsed.kind == NameKind::bookmark) return invalid("bookmark delimiter '#' is not expected here");
  if (static_cast<std::size_t>(std::count(name.begin(), name.end(), '/')) >= kMaxNestingDepth) {
    return Error(Errc::name_too_long, "maximum name nesting depth exceeded");
  }
  return std::move(parsed.dir);
}

std::string_view parent_name(std::string_view dir) {
  const std::size_t slash = dir.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : dir.substr(0, slash);
}

std::string_view last_component(std::string_view dir) { return dir.substr(dir.rfind('/') + 1); }

}  // namespace tarn
