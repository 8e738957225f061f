#include "cmd/pool/vdev_spec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "cmd/common/command.h"
#include "libpool/label/label.h"

namespace tarn {
namespace {

struct Grouping {
  std::string type;
  unsigned nparity = 0;
  std::size_t min_devices = 2;
};

// "mirror", "raidz", "raidz1".."raidz3"; nothing for other words.
std::optional<Grouping> grouping_of(const std::string& word) {
  if (word == "mirror") return Grouping{"mirror", 0, 2};
  if (word == "raidz" || word == "raidz1") return Grouping{"raidz", 1, 2};
  if (word == "raidz2") return Grouping{"raidz", 2, 3};
  if (word == "raidz3") return Grouping{"raidz", 3, 4};
  return std::nullopt;
}

bool is_keyword(const std::string& word) {
  return grouping_of(word) || word == "log" || word == "cache" || word == "spare" || word == "special" ||
         word == "dedup" || word == "draid" || word.starts_with("draid:") || word.starts_with("draid1") ||
         word.starts_with("draid2") || word.starts_with("draid3");
}

std::vector<std::string> device_folders() {
  for (const char* variable : {"POOL_DEVICE_PATH", "ZPOOL_IMPORT_PATH"})
    if (const char* given = std::getenv(variable); given && *given) return split(given, ':');
  return {"/dev/disk/by-vdev",     "/dev/mapper",        "/dev/disk/by-partlabel",
          "/dev/disk/by-partuuid", "/dev/disk/by-label", "/dev/disk/by-uuid",
          "/dev/disk/by-id",       "/dev/disk/by-path",  "/dev"};
}

Result<std::vector<VdevSpec>> parse_leaves(const std::vector<std::string>& words, std::size_t& at) {
  std::vector<VdevSpec> leaves;
  while (at < words.size() && !is_keyword(words[at])) leaves.push_back(TRY(resolve_device(words[at++])));
  return leaves;
}

std::uint64_t leaf_bytes(const VdevSpec& leaf) {
  if (leaf.type == "file") {
    struct stat st {};
    return ::stat(leaf.path.c_str(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  }
  FileDescriptor fd(::open(leaf.path.c_str(), O_RDONLY | O_CLOEXEC));
  const off_t end = fd ? ::lseek(fd.get(), 0, SEEK_END) : 0;
  return end > 0 ? static_cast<std::uint64_t>(end) : 0;
}

void visit_leaves(const VdevSpec& spec, const std::function<void(const VdevSpec&)>& visit) {
  if (spec.leaf()) return visit(spec);
  for (const VdevSpec& child : spec.children) visit_leaves(child, visit);
}

// What replication a top-level vdev offers, for comparison and for messages.
struct Replication {
  std::string type;          // "file", "disk", "mirror", "raidz"
  std::uint64_t parity = 0;  // raidz: nparity; mirror: copies - 1
  std::uint64_t children = 1;
};

Replication replication_of(const VdevSpec& spec) {
  if (spec.type == "mirror") return {"mirror", spec.children.size() - 1, spec.children.size()};
  if (spec.type == "raidz") return {"raidz", spec.nparity, spec.children.size()};
  return {spec.type, 0, 1};
}

Replication replication_of(const Json& top) {
  const std::string type = top.value("type", "");
  const std::size_t children = top.value("children", Json::array()).size();
  if (type == "mirror") return {"mirror", children - 1, children};
  if (type == "raidz") {
    const std::string name = top.value("name", "raidz1");
    return {"raidz", name.size() > 5 ? static_cast<std::uint64_t>(name[5] - '0') : 1, children};
  }
  return {type == "file" ? "file" : "disk", 0, 1};
}

// A mirror and a RAID-Z that survive the same number of failures may be mixed.
bool same_kind(const Replication& a, const Replication& b) {
  const auto redundant = [](const Replication& r) { return r.type == "mirror" || r.type == "raidz"; };
  if (redundant(a) != redundant(b)) return false;
  return redundant(a) ? a.type == b.type || a.parity == b.parity : true;
}

std::optional<std::string> mismatch(const Replication& have, const Replication& added, bool pool_exists) {
  const char* first = pool_exists ? "pool uses" : "both";
  if (!same_kind(have, added)) {
    if (pool_exists)
      return fmt::format("mismatched replication level: pool uses {} and new vdev is {}", have.type,
                         added.type);
    return fmt::format("mismatched replication level: both {} and {} vdevs are present", have.type,
                       added.type);
  }
  if (have.type == added.type && have.parity != added.parity && have.type == "raidz")
    return fmt::format("mismatched replication level: {} {} device parity and {} {}{}{}", first, have.parity,
                       pool_exists ? "new vdev uses " : "", added.parity,
                       pool_exists ? "" : " device parity vdevs are present", "");
  if (have.type == added.type && have.children != added.children &&
      (have.type == "mirror" || have.type == "raidz")) {
    if (pool_exists)
      return fmt::format("mismatched replication level: pool uses {}-way {} and new vdev uses {}-way {}",
                         have.children, have.type, added.children, added.type);
    return fmt::format("mismatched replication level: both {}-way and {}-way {} vdevs are present",
                       have.children, added.children, added.type);
  }
  return std::nullopt;
}

}  // namespace

Json VdevSpec::to_json() const {
  Json out{{"type", type}};
  if (!path.empty()) out["path"] = path;
  if (nparity) out["nparity"] = nparity;
  if (vdev_class == "log") out["is_log"] = true;
  if (!vdev_class.empty()) out["class"] = vdev_class;
  if (type == "disk") out["whole_disk"] = whole_disk;
  if (!children.empty()) out["children"] = LayoutSpec::list_json(children);
  return out;
}

Json LayoutSpec::list_json(const std::vector<VdevSpec>& list) {
  Json out = Json::array();
  for (const VdevSpec& spec : list) out.push_back(spec.to_json());
  return out;
}

Json LayoutSpec::tree_json() const { return list_json(tops); }

Result<VdevSpec> resolve_device(const std::string& word) {
  VdevSpec spec;
  spec.given = word;
  if (word.starts_with("/") || word.starts_with("./") || word.starts_with("../")) {
    std::error_code failure;
    spec.path = word[0] == '/' ? word : std::filesystem::weakly_canonical(word, failure).string();
    if (::access(spec.path.c_str(), F_OK) != 0)
      return Error(Errc::not_found, fmt::format("cannot resolve path '{}'", spec.path));
  } else {
    for (const std::string& folder : device_folders()) {
      const std::string candidate = folder + "/" + word;
      if (::access(candidate.c_str(), F_OK) == 0) {
        spec.path = candidate;
        break;
      }
    }
    if (spec.path.empty())
      return Error(
          Errc::not_found,
          fmt::format(
              "cannot open '{}': no such device in /dev\nmust be a full path or shorthand device name",
              word));
  }
  struct stat st {};
  if (::stat(spec.path.c_str(), &st) != 0)
    return Error(Errc::not_found, fmt::format("cannot resolve path '{}'", spec.path));
  if (S_ISBLK(st.st_mode)) {
    spec.type = "disk";
  } else if (S_ISREG(st.st_mode)) {
    spec.type = "file";
  } else {
    return Error(Errc::invalid_argument,
                 fmt::format("cannot use '{}': must be a block device or regular file", spec.path));
  }
  return spec;
}

Result<LayoutSpec> parse_layout(const std::vector<std::string>& words) {
  const auto problem = [](const std::string& text) {
    return Error(Errc::invalid_argument, "invalid vdev specification: " + text);
  };
  LayoutSpec layout;
  std::string vdev_class;
  std::set<std::string> seen;
  std::size_t at = 0;
  while (at < words.size()) {
    const std::string word = words[at];
    if (word.starts_with("draid"))
      return Error(
          Errc::unsupported,
          fmt::format("invalid vdev specification: '{}': dRAID vdevs are not supported; use raidz", word));
    if (word == "special" || word == "dedup")
      return Error(
          Errc::unsupported,
          fmt::format("invalid vdev specification: '{}' allocation class vdevs are not supported", word));
    if (word == "log" || word == "cache" || word == "spare") {
      if (!seen.insert(word).second) return problem(fmt::format("'{}' can be specified only once", word));
      ++at;
      if (word == "log") {
        vdev_class = "log";
        if (at >= words.size() || (is_keyword(words[at]) && !grouping_of(words[at])))
          return problem("log requires at least 1 device");
        continue;
      }
      vdev_class.clear();
      std::vector<VdevSpec>& list = word == "cache" ? layout.caches : layout.spares;
      list = TRY(parse_leaves(words, at));
      if (list.empty()) return problem(fmt::format("{} requires at least 1 devices", word));
      continue;
    }
    if (const std::optional<Grouping> grouping = grouping_of(word)) {
      if (vdev_class == "log" && grouping->type != "mirror")
        return problem("unsupported 'log' device: raidz");
      ++at;
      VdevSpec top{
          .type = grouping->type, .nparity = grouping->nparity, .vdev_class = vdev_class, .children = {}};
      top.children = TRY(parse_leaves(words, at));
      if (top.children.size() < grouping->min_devices)
        return problem(fmt::format("{} requires at least {} devices", word, grouping->min_devices));
      if (grouping->type == "raidz" && top.children.size() > 255)
        return problem(fmt::format("{} supports no more than 255 devices", word));
      layout.tops.push_back(std::move(top));
      continue;
    }
    VdevSpec leaf = TRY(resolve_device(word));
    leaf.vdev_class = vdev_class;
    layout.tops.push_back(std::move(leaf));
    ++at;
  }
  return layout;
}

LayoutProblem check_devices(const LayoutSpec& layout, bool force) {
  LayoutProblem found;
  std::vector<std::string> overridable;
  const auto check = [&](const VdevSpec& leaf, bool shared_spare_allowed) {
    const Result<DeviceUse> use = probe_device_use(leaf.path);
    if (!use) {
      found.lines.push_back(use.error().text());
      found.force_helps = false;
      return;
    }
    std::string line;
    switch (use->kind) {
      case DeviceUse::Kind::free:
      case DeviceUse::Kind::destroyed_pool:
        return;
      case DeviceUse::Kind::active_pool:
        line = fmt::format("{} is part of active pool '{}'", leaf.path, use->pool_name);
        break;
      case DeviceUse::Kind::exported_pool:
        line = fmt::format("{} is part of exported pool '{}'", leaf.path, use->pool_name);
        break;
      case DeviceUse::Kind::potentially_active_pool:
        line = fmt::format("{} is part of potentially active pool '{}'", leaf.path, use->pool_name);
        break;
      case DeviceUse::Kind::spare:
        if (shared_spare_allowed) return;  // spares may be shared by pools
        line = fmt::format("{} is reserved as a hot spare for pool {}", leaf.path, use->pool_name);
        break;
      case DeviceUse::Kind::cache:
        line = fmt::format("{} is part of unknown pool '{}'", leaf.path, use->pool_name);
        break;
      case DeviceUse::Kind::mounted:
      case DeviceUse::Kind::swap:
      case DeviceUse::Kind::file_system:
      case DeviceUse::Kind::partition_table:
      case DeviceUse::Kind::other:
        line = fmt::format("{} is in use and contains a {} filesystem.", leaf.path,
                           use->pool_name.empty() ? "unknown" : use->pool_name);
        break;
    }
    if (!use->force_allowed) {
      if (force) {
        found.lines.push_back(line);
        found.force_helps = false;
      } else {
        overridable.push_back(line);
      }
    } else if (!force) {
      overridable.push_back(line);
    }
  };
  for (const VdevSpec& top : layout.tops)
    visit_leaves(top, [&](const VdevSpec& leaf) { check(leaf, false); });
  for (const VdevSpec& leaf : layout.spares) check(leaf, true);
  for (const VdevSpec& leaf : layout.caches) check(leaf, false);
  found.lines.insert(found.lines.end(), overridable.begin(), overridable.end());
  return found;
}

std::optional<std::string> check_replication(const LayoutSpec& layout, const Json& pool_tops) {
  // Devices of one mirror or RAID-Z group should be of one size: the smallest decides.
  for (const VdevSpec& top : layout.tops) {
    std::set<std::uint64_t> sizes;
    for (const VdevSpec& child : top.children) sizes.insert(leaf_bytes(child));
    if (sizes.size() > 1 && *sizes.rbegin() - *sizes.begin() > (16u << 20))
      return fmt::format("{} contains devices of different sizes", top.type);
  }
  std::optional<Replication> have;
  bool pool_exists = false;
  for (const Json& top : pool_tops) {
    if (top.value("class", "") == "logs") continue;
    const Replication next = replication_of(top);
    // A pool that is mixed already: nothing to be held to.
    if (have && mismatch(*have, next, true)) return std::nullopt;
    have = next;
    pool_exists = true;
  }
  for (const VdevSpec& top : layout.tops) {
    if (top.vdev_class == "log") continue;
    const Replication next = replication_of(top);
    if (have)
      if (std::optional<std::string> text = mismatch(*have, next, pool_exists)) return text;
    if (!have) have = next;
  }
  return std::nullopt;
}

}  // namespace tarn
