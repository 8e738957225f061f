#include "cmd/pool/pool_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cmd/common/command.h"
#include "libdataset/property/property.h"
#include "libpool/txg/features.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr std::string_view kFeaturePrefix = "feature@";

Error invalid(const std::string& text) { return Error(Errc::invalid_argument, text); }

Status take_feature(const std::string& pool, const std::string& name, const std::string& value,
                    PoolOptions& out) {
  const std::string feature_name = name.substr(kFeaturePrefix.size());
  const FeatureInfo* feature = find_feature_by_name(feature_name);
  if (!feature)
    return invalid(fmt::format("cannot create '{}': feature '{}' unsupported by kernel", pool, feature_name));
  if (value != "enabled" && value != "disabled")
    return invalid(fmt::format("cannot create '{}': property '{}' can only be set to 'enabled' or 'disabled'",
                               pool, name));
  out.features[std::string(feature->guid)] = value == "enabled";
  return {};
}

Status take_pool_property(const std::string& pool, const std::string& option, std::set<std::string>& seen,
                          PoolOptions& out) {
  const auto assignment = split_assignment(option);
  if (!assignment) return invalid("missing '=' for -o option");
  const auto& [name, value] = *assignment;
  const PoolPropertyInfo* info = find_pool_property(name);
  const std::string canonical = info ? std::string(info->name) : name;
  if (!info && !name.starts_with(kFeaturePrefix))
    return invalid(fmt::format("property '{}' is not a valid pool or vdev property", name));
  if (!seen.insert(canonical).second)
    return invalid(fmt::format("property '{}' specified multiple times", canonical));
  if (!info) return take_feature(pool, name, value, out);
  if (canonical == "ashift") {
    if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos)
      return invalid("ashift must be a number.");
    out.ashift = std::strtoull(value.c_str(), nullptr, 10);
    if (out.ashift != 0 && (out.ashift < 9 || out.ashift > 16))
      return invalid(
          fmt::format("invalid 'ashift={}' property: only values between 9 and 16 are allowed.", value));
    if (out.ashift) out.properties["ashift"] = value;
    return {};
  }
  if (canonical == "altroot") {
    out.altroot = value;
    return {};
  }
  if (canonical == "version") {
    out.version = std::strtoull(value.c_str(), nullptr, 10);
    if (out.version == 5000)
      return Error(Errc::usage, "'feature@' and 'version' properties cannot be specified together");
    if (out.version < 1 || out.version > 28)
      return invalid(
          fmt::format("cannot create '{}': property 'version' number {} is invalid.", pool, value));
    return {};
  }
  if (!info->at_creation) {
    if (info->at_import)
      return invalid(
          fmt::format("cannot create '{}': property '{}' can only be set at import time", pool, canonical));
    if (info->settable)
      return invalid(fmt::format("cannot create '{}': property '{}' cannot be set at creation or import time",
                                 pool, canonical));
    return invalid(fmt::format("cannot create '{}': '{}' is readonly", pool, canonical));
  }
  out.properties[canonical] =
      TRY(check_pool_property(canonical, value).in(fmt::format("cannot create '{}'", pool)));
  return {};
}

Status take_root_property(const std::string& pool, const std::string& option, std::set<std::string>& seen,
                          PoolOptions& out) {
  const auto assignment = split_assignment(option);
  if (!assignment) return invalid("missing '=' for -O option");
  const auto& [name, value] = *assignment;
  const PropertyInfo* info = find_property(name);
  if (!info && !is_user_property(name))
    return invalid(fmt::format("property '{}' is not a valid filesystem property", name));
  if (info && !info->for_filesystem)
    return invalid(fmt::format("property '{}' is not a valid filesystem property", name));
  const std::string canonical = info ? info->name : name;
  if (!seen.insert(canonical).second)
    return invalid(fmt::format("property '{}' specified multiple times", canonical));
  if (canonical == "mountpoint" && value != "none" && value != "legacy" && (value.empty() || value[0] != '/'))
    return invalid(
        fmt::format("invalid mountpoint '{}': must be an absolute path, 'legacy', or 'none'", value));
  if (info) {
    if (info->attr == PropertyAttr::read_only)
      return invalid(fmt::format("cannot create '{}': '{}' is readonly", pool, canonical));
    TRY(parse_value(*info, value, false).in(fmt::format("cannot create '{}'", pool)));
  }
  out.root_properties.emplace_back(canonical, value);
  return {};
}

}  // namespace

Result<PoolOptions> collect_pool_options(const Args& args, const std::string& pool) {
  PoolOptions out;
  std::set<std::string> seen_pool, seen_root;
  for (const Args::Option& option : args.options()) {
    if (option.name == "o") TRY(take_pool_property(pool, option.value, seen_pool, out));
    if (option.name == "O") TRY(take_root_property(pool, option.value, seen_root, out));
  }
  if (const auto mountpoint = args.value("m")) {
    if (*mountpoint != "none" && *mountpoint != "legacy" && (mountpoint->empty() || (*mountpoint)[0] != '/'))
      return invalid(
          fmt::format("invalid mountpoint '{}': must be an absolute path, 'legacy', or 'none'", *mountpoint));
    std::erase_if(out.root_properties, [](const auto& entry) { return entry.first == "mountpoint"; });
    if (*mountpoint != "/" + pool) out.root_properties.emplace_back("mountpoint", *mountpoint);
  }
  if (const auto altroot = args.value("R")) out.altroot = *altroot;
  if (!out.altroot.empty() && out.altroot[0] != '/')
    return invalid(fmt::format("invalid alternate root '{}': must be an absolute path", out.altroot));
  if (out.altroot == "/") out.altroot.clear();
  return out;
}

std::vector<std::string> search_folders(const LayoutSpec& layout) {
  std::set<std::string> folders;
  const std::function<void(const VdevSpec&)> visit = [&](const VdevSpec& spec) {
    if (spec.leaf()) folders.insert(std::filesystem::path(spec.path).parent_path().string());
    for (const VdevSpec& child : spec.children) visit(child);
  };
  for (const VdevSpec& top : layout.tops) visit(top);
  return {folders.begin(), folders.end()};
}

}  // namespace tarn
