#include "cmd/pool/property_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "libdataset/property/property.h"
#include "libpool/txg/features.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr std::string_view kFeaturePrefix = "feature@";

const char* values_help(const PoolPropertyInfo& info) {
  switch (info.kind) {
    case PoolPropertyKind::on_off:
      return "on | off";
    case PoolPropertyKind::choice:
      return "wait | continue | panic";
    case PoolPropertyKind::size:
      return "<size>";
    case PoolPropertyKind::percent:
      return "<percent>";
    case PoolPropertyKind::guid:
      return "<guid>";
    case PoolPropertyKind::number:
      return "<version>";
    case PoolPropertyKind::ashift:
      return "<ashift, 9-16, or 0=default>";
    case PoolPropertyKind::quota:
      return "<size>";
    default:
      break;
  }
  if (info.name == "altroot") return "<path>";
  if (info.name == "bootfs") return "<filesystem>";
  if (info.name == "cachefile") return "<file> | none";
  if (info.name == "comment") return "<comment-string>";
  if (info.name == "compatibility") return "<file[,file...]> | off | legacy";
  if (info.name == "health") return "<state>";
  if (info.name == "bcloneratio") return "<1.00x or higher if cloned>";
  if (info.name == "dedupratio") return "<1.00x or higher if deduped>";
  return "<value>";
}

}  // namespace

std::optional<std::string> canonical_pool_property(const std::string& name) {
  if (name == "name") return name;
  if (const PoolPropertyInfo* info = find_pool_property(name)) return std::string(info->name);
  if (name.starts_with(kFeaturePrefix) &&
      find_feature_by_name(std::string_view(name).substr(kFeaturePrefix.size())))
    return name;
  if (is_user_pool_property(name)) return name;
  return std::nullopt;
}

std::string pool_property_heading(const std::string& name) {
  if (name == "name") return "NAME";
  if (const PoolPropertyInfo* info = find_pool_property(name)) return std::string(info->header);
  std::string heading = name;
  std::transform(heading.begin(), heading.end(), heading.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return heading;
}

bool pool_property_right_aligned(const std::string& name) {
  const PoolPropertyInfo* info = find_pool_property(name);
  if (!info) return false;
  if (info->name == "health") return true;
  return info->kind != PoolPropertyKind::text && info->kind != PoolPropertyKind::guid &&
         info->kind != PoolPropertyKind::on_off && info->kind != PoolPropertyKind::choice;
}

std::vector<std::string> all_pool_property_names() {
  std::vector<std::string> names;
  for (const PoolPropertyInfo& info : all_pool_properties())
    if (info.name != "name") names.emplace_back(info.name);
  for (const FeatureInfo& feature : all_features())
    names.push_back(fmt::format("{}{}", kFeaturePrefix, feature.name));
  return names;
}

Result<std::vector<PoolValue>> fetch_pool_values(const PoolHandle& pool,
                                                 const std::vector<std::string>& names) {
  const Json reply = TRY(pool.call("pool.get", {{"names", names}}));
  std::vector<PoolValue> out;
  for (const Json& value : reply.value("values", Json::array()))
    out.push_back({value.value("name", ""), value.value("raw", "-"), value.value("source", "-")});
  return out;
}

std::string print_pool_value(const PoolValue& value, bool parsable) {
  const PoolPropertyInfo* info = find_pool_property(value.name);
  if (!info || value.raw.empty() || value.raw == "-") return value.raw;
  if (info->dash_if_zero && value.raw == "0") return "-";
  const bool digits = value.raw.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t number = digits ? std::strtoull(value.raw.c_str(), nullptr, 10) : 0;
  switch (info->kind) {
    case PoolPropertyKind::size:
    case PoolPropertyKind::quota:
      return digits && !parsable ? nice_number(number) : value.raw;
    case PoolPropertyKind::percent:
      return parsable ? value.raw : value.raw + "%";
    case PoolPropertyKind::ratio:
      return parsable ? value.raw : value.raw + "x";
    default:
      return value.raw;
  }
}

OrderedJson pool_value_json(const PoolValue& value, const JsonStyle& style) {
  const char* type = value.source == "-" ? "NONE" : value.source == "default" ? "DEFAULT" : "LOCAL";
  std::string text = print_pool_value(value, style.parsable || style.integers);
  OrderedJson shown = text;
  if (style.integers && !text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    shown = std::strtoull(text.c_str(), nullptr, 10);
  return {{"value", shown}, {"source", {{"type", type}, {"data", "-"}}}};
}

std::string pool_property_help() {
  std::string out = "\nthe following properties are supported:\n\n\tPROPERTY             EDIT   VALUES\n\n";
  std::vector<const PoolPropertyInfo*> infos;
  for (const PoolPropertyInfo& info : all_pool_properties())
    if (info.name != "name") infos.push_back(&info);
  // What only shows comes first, as the original groups them.
  std::sort(infos.begin(), infos.end(), [](const auto* a, const auto* b) {
    const bool a_edit = a->settable || a->at_creation || a->at_import,
               b_edit = b->settable || b->at_creation || b->at_import;
    return a_edit != b_edit ? b_edit : a->name < b->name;
  });
  for (const PoolPropertyInfo* info : infos)
    out += fmt::format("\t{:<19}  {:>4}   {}\n", info->name,
                       info->settable || info->at_creation || info->at_import ? "YES" : "NO",
                       values_help(*info));
  out += fmt::format("\t{:<19}  {:>4}   {}\n", "feature@...", "YES", "disabled | enabled | active");
  return out;
}

}  // namespace tarn
