// Parsing, checking and printing of property values (FORMAT.md logical 7.1). The error texts are an
// interface: scripts compare them, so they read as OpenZFS prints them.

#include "libdataset/property/property.h"

#include <fmt/format.h>

#include <bit>
#include <ctime>

namespace tarn {
namespace {

constexpr std::uint64_t kMinRecordBytes = 512;
constexpr std::uint64_t kMaxRecordBytes = 16u << 20;
constexpr std::size_t kMaxNameBytes = 255;

Error invalid(std::string text) { return Error(Errc::invalid_argument, std::move(text)); }

bool is_block_size(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kMinRecordBytes && bytes <= kMaxRecordBytes;
}

bool is_limit(Property id) { return id == Property::filesystem_limit || id == Property::snapshot_limit; }

// Numbers where 0 means "no limit" and prints as none.
bool zero_is_none(Property id) {
  return id == Property::quota || id == Property::refquota || id == Property::reservation ||
         id == Property::refreservation;
}

// Space properties print with B below 1 KiB; other numbers without a unit.
bool prints_bytes(Property id) {
  switch (id) {
    case Property::used:
    case Property::available:
    case Property::referenced:
    case Property::usedbysnapshots:
    case Property::usedbydataset:
    case Property::usedbychildren:
    case Property::usedbyrefreservation:
    case Property::quota:
    case Property::reservation:
    case Property::refquota:
    case Property::refreservation:
      return true;
    default:
      return false;
  }
}

bool never_scaled(Property id) {
  return id == Property::guid || id == Property::createtxg || id == Property::objsetid ||
         id == Property::pbkdf2iters || id == Property::userrefs || id == Property::filesystem_count ||
         id == Property::snapshot_count || is_limit(id);
}

std::string date_text(std::uint64_t seconds, bool with_seconds) {
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char buffer[64];
  if (!localtime_r(&time, &parts) ||
      std::strftime(buffer, sizeof buffer, with_seconds ? "%a %b %e %k:%M:%S %Y" : "%a %b %e %k:%M %Y",
                    &parts) == 0) {
    return fmt::format("{}", seconds);
  }
  return buffer;
}

std::string number_text(Property id, std::uint64_t value, bool parsable) {
  switch (id) {
    case Property::creation:
      return parsable ? fmt::format("{}", value) : date_text(value, false);
    case Property::snapshots_changed:
      return parsable ? fmt::format("{}", value) : date_text(value, true);
    case Property::compressratio:
    case Property::refcompressratio:
      return fmt::format("{}.{:02}{}", value / 100, value % 100, parsable ? "" : "x");
    default:
      break;
  }
  if ((is_limit(id) || id == Property::filesystem_count || id == Property::snapshot_count) &&
      value == UINT64_MAX) {
    return "none";
  }
  if (parsable) return fmt::format("{}", value);
  if (zero_is_none(id) && value == 0) return "none";
  if (never_scaled(id)) return fmt::format("{}", value);
  return prints_bytes(id) ? nice_bytes(value) : nice_number(value);
}

Result<ParsedValue> parse_index(const PropertyInfo& info, std::string_view text) {
  for (const IndexValue& word : info.index)
    if (text == word.text) return ParsedValue{.number = word.value};
  return invalid(fmt::format("'{}' must be one of '{}'", info.name, info.values_help));
}

Result<ParsedValue> parse_number(const PropertyInfo& info, std::string_view text, bool is_volume) {
  const bool none = text == "none", automatic = text == "auto";
  std::uint64_t value = 0;
  if (none) {
    value = is_limit(info.id) ? UINT64_MAX : 0;
  } else if (!automatic) {
    value = TRY(parse_size(text));
  }
  switch (info.id) {
    case Property::quota:
    case Property::refquota:
      if (value == 0 && !none) return invalid("use 'none' to disable quota/refquota");
      break;
    case Property::refreservation:
      if (automatic && !is_volume) return invalid("'refreservation=auto' only allowed on volumes");
      if (automatic) value = kAutoReservation;
      break;
    case Property::recordsize:
    case Property::volblocksize:
      if (!is_block_size(value))
        return invalid(fmt::format("'{}' must be power of 2 from 512B to 16M", info.name));
      break;
    case Property::special_small_blocks:
      if (value != 0 && !is_block_size(value))
        return invalid(fmt::format("invalid '{}={}' property: must be zero or a power of 2 from 512B to 16M",
                                   info.name, value));
      break;
    case Property::volsize:
      if (value == 0) return invalid("'volsize' cannot be zero");
      break;
    default:
      if (automatic) return invalid(fmt::format("bad numeric value '{}'", text));
  }
  return ParsedValue{.number = value};
}

Result<ParsedValue> parse_text(const PropertyInfo& info, std::string_view text) {
  if (text.size() + 1 > kMaxPropertyTextBytes) return invalid("property value too long");
  if (info.id == Property::mountpoint && text != "none" && text != "legacy" && !text.starts_with('/')) {
    return invalid("'mountpoint' must be an absolute path, 'none', or 'legacy'");
  }
  if (info.id == Property::mlslabel) return invalid("mlslabels are unsupported");
  if (info.id == Property::keylocation && text != "none")
    return invalid("keylocation must be 'none' for unencrypted datasets");
  return ParsedValue{.text = std::string(text)};
}

bool legal_user_name(std::string_view name) {
  for (char c : name) {
    const bool legal =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
    if (!legal) return false;
  }
  return is_user_property(name);
}

bool is_default(const PropertyInfo& info, const ParsedValue& value) {
  if (info.type == PropertyType::text) return value.text == (info.default_text ? info.default_text : "");
  return value.number == info.default_number;
}

}  // namespace

bool is_user_property(std::string_view name) { return name.find(':') != std::string_view::npos; }

const char* index_text(const PropertyInfo& info, std::uint64_t value) {
  for (const IndexValue& word : info.index)
    if (word.value == value) return word.text;
  return nullptr;
}

bool applies_to(const PropertyInfo& info, PropertyTarget target) {
  switch (target) {
    case PropertyTarget::filesystem:
      return info.for_filesystem;
    case PropertyTarget::volume:
      return info.for_volume;
    case PropertyTarget::snapshot:
      return info.for_snapshot;
  }
  return false;
}

std::string print_value(const PropertyValue& value, bool parsable) {
  if (value.absent) return "-";
  const PropertyInfo* info = find_property(value.name);
  if (value.type == PropertyType::text) return value.text;
  if (value.type == PropertyType::index) {
    const char* word = info ? index_text(*info, value.number) : nullptr;
    return word ? word : fmt::format("{}", value.number);
  }
  if (info) return number_text(info->id, value.number, parsable);
  return parsable ? fmt::format("{}", value.number) : nice_bytes(value.number);
}

Result<ParsedValue> parse_value(const PropertyInfo& info, std::string_view text, bool is_volume) {
  switch (info.type) {
    case PropertyType::index:
      return parse_index(info, text);
    case PropertyType::number:
      return parse_number(info, text, is_volume);
    case PropertyType::text:
      return parse_text(info, text);
  }
  return invalid(fmt::format("invalid property '{}'", info.name));
}

Result<CheckedSetting> check_setting(std::string_view name, std::string_view text, PropertyTarget target,
                                     SetOccasion occasion) {
  const PropertyInfo* info = find_property(name);
  if (!info) {
    if (!legal_user_name(name)) return invalid(fmt::format("invalid property '{}'", name));
    if (name.size() > kMaxNameBytes) return invalid(fmt::format("property name '{}' is too long", name));
    if (text.size() + 1 > kMaxPropertyTextBytes) return invalid("property value too long");
    return CheckedSetting{.info = nullptr, .value = {.text = std::string(text)}};
  }
  if (target == PropertyTarget::snapshot) return invalid("this property can not be modified for snapshots");
  const bool once = info->attr == PropertyAttr::once || info->attr == PropertyAttr::once_inherited;
  if (!applies_to(*info, target))
    return invalid(fmt::format("'{}' does not apply to datasets of this type", info->name));
  if (info->attr == PropertyAttr::read_only || (once && occasion == SetOccasion::set))
    return invalid(fmt::format("'{}' is readonly", info->name));
  CheckedSetting checked{.info = info,
                         .value = TRY(parse_value(*info, text, target == PropertyTarget::volume))};
  if (!info->acted_upon && !is_default(*info, checked.value)) {
    return Error(
        Errc::unsupported,
        fmt::format(
            "'{}={}' is not supported: Tarn does not act on this property yet, and keeps it at its default",
            info->name, text));
  }
  return checked;
}

}  // namespace tarn
