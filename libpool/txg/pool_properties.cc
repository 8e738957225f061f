#include "libpool/txg/pool_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "libpool/txg/features.h"

namespace tarn {
namespace {

using Kind = PoolPropertyKind;
using Place = PoolPropertyPlace;

constexpr std::uint64_t kQuotaAuto = UINT64_MAX;
constexpr std::size_t kMaxCommentBytes = 32;
constexpr std::uint64_t kMinAshift = 9, kMaxAshift = 16;
constexpr std::size_t kMaxPoolNameBytes = 239;

constexpr PoolPropertyInfo kProperties[] = {
    {.name = "size", .header = "SIZE", .kind = Kind::size, .default_text = "-"},
    {.name = "capacity", .header = "CAP", .alias = "cap", .kind = Kind::percent, .default_text = "-"},
    {.name = "altroot",
     .header = "ALTROOT",
     .place = Place::runtime,
     .default_text = "-",
     .at_creation = true,
     .at_import = true},
    {.name = "health", .header = "HEALTH", .default_text = "-"},
    {.name = "guid", .header = "GUID", .kind = Kind::guid, .default_text = "-"},
    {.name = "version",
     .header = "VERSION",
     .kind = Kind::number,
     .default_text = "-",
     .settable = true,
     .at_creation = true},
    {.name = "bootfs",
     .header = "BOOTFS",
     .place = Place::properties,
     .default_text = "-",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "delegation",
     .header = "DELEGATION",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "on",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "autoreplace",
     .header = "REPLACE",
     .alias = "replace",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "cachefile",
     .header = "CACHEFILE",
     .place = Place::runtime,
     .default_text = "-",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "failmode",
     .header = "FAILMODE",
     .kind = Kind::choice,
     .place = Place::properties,
     .default_text = "wait",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "listsnapshots",
     .header = "LISTSNAPS",
     .alias = "listsnaps",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "autoexpand",
     .header = "EXPAND",
     .alias = "expand",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "dedupratio", .header = "DEDUP", .alias = "dedup", .kind = Kind::ratio, .default_text = "1.00"},
    {.name = "free", .header = "FREE", .kind = Kind::size, .default_text = "-"},
    {.name = "allocated", .header = "ALLOC", .alias = "alloc", .kind = Kind::size, .default_text = "-"},
    {.name = "readonly",
     .header = "RDONLY",
     .alias = "rdonly",
     .kind = Kind::on_off,
     .place = Place::runtime,
     .default_text = "off",
     .at_import = true},
    {.name = "ashift",
     .header = "ASHIFT",
     .kind = Kind::ashift,
     .place = Place::properties,
     .default_text = "0",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "comment",
     .header = "COMMENT",
     .place = Place::config,
     .default_text = "-",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "expandsize",
     .header = "EXPANDSZ",
     .alias = "expandsz",
     .kind = Kind::size,
     .default_text = "-",
     .dash_if_zero = true},
    {.name = "freeing", .header = "FREEING", .kind = Kind::size, .default_text = "0"},
    {.name = "fragmentation", .header = "FRAG", .alias = "frag", .kind = Kind::percent, .default_text = "-"},
    {.name = "leaked", .header = "LEAKED", .kind = Kind::size, .default_text = "0"},
    {.name = "multihost",
     .header = "MULTIHOST",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "checkpoint",
     .header = "CKPOINT",
     .alias = "ckpoint",
     .kind = Kind::size,
     .default_text = "-",
     .dash_if_zero = true},
    {.name = "load_guid", .header = "LOAD_GUID", .kind = Kind::guid, .default_text = "-"},
    {.name = "autotrim",
     .header = "AUTOTRIM",
     .kind = Kind::on_off,
     .place = Place::properties,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "compatibility",
     .header = "COMPATIBILITY",
     .place = Place::config,
     .default_text = "off",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "bcloneused", .header = "BCLONE_USED", .kind = Kind::size, .default_text = "0"},
    {.name = "bclonesaved", .header = "BCLONE_SAVED", .kind = Kind::size, .default_text = "0"},
    {.name = "bcloneratio", .header = "BCLONE_RATIO", .kind = Kind::ratio, .default_text = "1.00"},
    {.name = "dedup_table_size", .header = "DDTSIZE", .kind = Kind::size, .default_text = "0"},
    {.name = "dedup_table_quota",
     .header = "DDTQUOTA",
     .kind = Kind::quota,
     .place = Place::properties,
     .default_text = "auto",
     .settable = true,
     .at_creation = true,
     .at_import = true},
    {.name = "last_scrubbed_txg", .header = "LAST_SCRUBBED_TXG", .kind = Kind::number, .default_text = "0"},
};

constexpr std::array<std::string_view, 3> kFailmodes{"wait", "continue", "panic"};

bool parse_u64(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Error bad_value(std::string_view name, std::string_view why) {
  return Error(Errc::invalid_argument, fmt::format("property '{}': {}", name, why));
}

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

Result<std::string> check_text(const PoolPropertyInfo& info, std::string_view text) {
  if (info.name == "comment") {
    if (text.size() > kMaxCommentBytes)
      return bad_value(info.name, fmt::format("comment must not exceed {} characters", kMaxCommentBytes));
    if (!printable(text)) return bad_value(info.name, "comment may only have printable characters");
  } else if (info.name == "compatibility") {
    if (text != "off" && text != "legacy" && !text.empty())
      if (auto set = read_compatibility(text); !set) return std::move(set).error();
    if (text.empty()) return std::string("off");
  } else if (info.name == "altroot" || (info.name == "cachefile" && !text.empty() && text != "none")) {
    if (text.empty() || text.front() != '/') return bad_value(info.name, "must be an absolute path");
  }
  return std::string(text);
}

}  // namespace

std::span<const PoolPropertyInfo> all_pool_properties() { return kProperties; }

const PoolPropertyInfo* find_pool_property(std::string_view name) {
  const auto* found = std::ranges::find_if(kProperties, [&](const PoolPropertyInfo& info) {
    return info.name == name || (!info.alias.empty() && info.alias == name);
  });
  return found == std::end(kProperties) ? nullptr : found;
}

bool is_user_pool_property(std::string_view name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '-' || c == '.' || c == '_';
  };
  return name.find(':') != std::string_view::npos && name.size() <= 255 && name.front() != '-' &&
         std::ranges::all_of(name, legal);
}

Result<std::uint64_t> pool_property_to_u64(const PoolPropertyInfo& info, std::string_view text) {
  std::uint64_t value = 0;
  switch (info.kind) {
    case Kind::on_off:
      if (text == "on") return std::uint64_t{1};
      if (text == "off") return std::uint64_t{0};
      return bad_value(info.name, fmt::format("must be one of 'on | off', not '{}'", text));
    case Kind::choice: {
      const auto* found = std::ranges::find(kFailmodes, text);
      if (found == kFailmodes.end())
        return bad_value(info.name,
                         fmt::format("must be one of '{}', not '{}'", fmt::join(kFailmodes, " | "), text));
      return static_cast<std::uint64_t>(found - kFailmodes.begin());
    }
    case Kind::quota:
      if (text == "auto") return kQuotaAuto;
      if (text == "none") return std::uint64_t{0};
      break;
    default:
      break;
  }
  if (!parse_u64(text, value)) return bad_value(info.name, fmt::format("'{}' is not a number", text));
  if (info.kind == Kind::ashift && value != 0 && (value < kMinAshift || value > kMaxAshift))
    return bad_value(info.name,
                     fmt::format("'ashift={}' is out of range: only values between {} and {} are allowed",
                                 value, kMinAshift, kMaxAshift));
  return value;
}

std::string pool_property_from_u64(const PoolPropertyInfo& info, std::uint64_t value) {
  switch (info.kind) {
    case Kind::on_off:
      return value ? "on" : "off";
    case Kind::choice:
      return std::string(value < kFailmodes.size() ? kFailmodes[value] : "-");
    case Kind::quota:
      return value == kQuotaAuto ? "auto" : value == 0 ? "none" : std::to_string(value);
    case Kind::ratio:
      return fmt::format("{}.{:02}", value / 100, value % 100);
    default:
      return info.dash_if_zero && value == 0 ? "-" : std::to_string(value);
  }
}

Result<std::string> check_pool_property(std::string_view name, std::string_view text) {
  constexpr std::string_view kFeaturePrefix = "feature@";
  if (name.starts_with(kFeaturePrefix)) {
    if (!find_feature_by_name(name.substr(kFeaturePrefix.size())))
      return bad_value(
          name, fmt::format("feature '{}' unsupported by this version", name.substr(kFeaturePrefix.size())));
    if (text != "enabled" && text != "disabled")
      return bad_value(name, "value must be 'enabled' or 'disabled'");
    return std::string(text);
  }
  if (is_user_pool_property(name)) {
    if (text.size() >= kMaxUserPropertyBytes) return bad_value(name, "value is too long");
    return std::string(text);
  }
  const PoolPropertyInfo* info = find_pool_property(name);
  if (!info) return Error(Errc::not_found, fmt::format("bad property '{}': no such pool property", name));
  if (info->name != name)
    return Error(Errc::not_found, fmt::format("bad property '{}': its name is '{}'", name, info->name));
  if (!info->settable && !info->at_creation && !info->at_import)
    return Error(Errc::read_only, fmt::format("property '{}' is readonly", name));
  if (info->kind == Kind::text) return check_text(*info, text);
  return pool_property_from_u64(*info, TRY(pool_property_to_u64(*info, text)));
}

Status check_pool_name(std::string_view name, bool new_pool) {
  const auto refuse = [&](std::string_view why) {
    return Error(Errc::invalid_argument, fmt::format("invalid pool name '{}': {}", name, why));
  };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > kMaxPoolNameBytes)
    return Error(Errc::name_too_long, fmt::format("invalid pool name '{}': it is too long", name));
  if (!is_letter(name.front())) return refuse("it must begin with a letter");
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && !std::string_view("-_.: ").contains(c))
      return refuse(fmt::format("invalid character '{}'", c));
  if (new_pool) {
    for (const std::string_view reserved : {"mirror", "raidz", "draid", "spare"})
      if (name.starts_with(reserved)) return refuse("the name is reserved: it may be mistaken for a vdev");
    if (name == "log") return refuse("the name is reserved");
  }
  return {};
}

}  // namespace tarn
