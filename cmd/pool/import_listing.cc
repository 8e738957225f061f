#include "cmd/pool/import_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cmd/common/command.h"
#include "cmd/common/table.h"

namespace tarn {
namespace {

ImportableState judge_vdev(const VdevConfig& vdev, const std::set<std::uint64_t>& present) {
  ImportableState out{.state = "ONLINE"};
  if (vdev.kind == VdevKind::hole || vdev.kind == VdevKind::indirect) return out;
  if (vdev.kind == VdevKind::missing) return {.state = "UNAVAIL", .note = "missing device"};
  if (is_leaf(vdev.kind)) {
    if (vdev.offline) return {.state = "OFFLINE"};
    if (vdev.faulted)
      return {
          .state = "FAULTED",
          .note = vdev.aux_state.value_or("") == "external" ? "external device fault" : "too many errors"};
    if (vdev.removed) return {.state = "REMOVED"};
    if (!present.contains(vdev.guid)) return {.state = "UNAVAIL", .note = "cannot open"};
    if (vdev.degraded) return {.state = "DEGRADED"};
    return out;
  }
  std::size_t unusable = 0;
  bool impaired = false;
  for (const VdevConfig& child : vdev.children) {
    out.children.push_back(judge_vdev(child, present));
    const std::string& state = out.children.back().state;
    if (state != "ONLINE") impaired = true;
    if (state != "ONLINE" && state != "DEGRADED") ++unusable;
  }
  std::size_t tolerated = vdev.children.empty() ? 0 : vdev.children.size() - 1;  // mirror, spare, replacing
  if (vdev.kind == VdevKind::raidz || vdev.kind == VdevKind::draid)
    tolerated = vdev.nparity ? vdev.nparity : 1;
  if (vdev.kind == VdevKind::root) tolerated = 0;
  if (unusable > tolerated) {
    out.state = "UNAVAIL";
    out.note = "insufficient replicas";
  } else if (impaired) {
    out.state = "DEGRADED";
  }
  return out;
}

class Listing {
 public:
  Listing(const DiscoveredPool& pool, const NameStyle& style) : pool_(pool), style_(style) {}

  std::string render(const ImportableState& state) {
    add(pool_.config.name, 0, state);
    add_tops(state, false);
    logs_at_ = rows_.size();
    add_tops(state, true);
    std::size_t width = 0;
    for (const Row& row : rows_) width = std::max(width, display_width(row.name));
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == logs_at_) out += "\tlogs\t\n";
      const Row& row = rows_[i];
      out += fmt::format("\t{}  {}", pad_right(row.name, width),
                         row.note.empty() ? row.state : fmt::format("{:<8}  {}", row.state, row.note));
      out += '\n';
    }
    return out;
  }

 private:
  struct Row {
    std::string name, state, note;
  };

  void add(const std::string& name, unsigned depth, const ImportableState& state) {
    rows_.push_back({std::string(depth * 2, ' ') + name, state.state, state.note});
  }

  void add_tree(const VdevConfig& vdev, const ImportableState& state, unsigned depth) {
    Json json{{"name", vdev.display_name()},
              {"type", name_of(vdev.kind)},
              {"guid", vdev.guid},
              {"state", state.state}};
    if (!vdev.path.empty()) json["path"] = vdev.path;
    if (vdev.whole_disk) json["whole_disk"] = *vdev.whole_disk;
    add(vdev_display_name(json, style_), depth, state);
    for (std::size_t i = 0; i < vdev.children.size(); ++i)
      add_tree(vdev.children[i], state.children[i], depth + 1);
  }

  void add_tops(const ImportableState& state, bool logs) {
    for (std::size_t i = 0; i < pool_.root.children.size(); ++i) {
      const VdevConfig& top = pool_.root.children[i];
      if (top.kind == VdevKind::hole || top.kind == VdevKind::indirect || top.is_log != logs) continue;
      add_tree(top, state.children[i], 1);
    }
  }

  const DiscoveredPool& pool_;
  const NameStyle& style_;
  std::vector<Row> rows_;
  std::size_t logs_at_ = 0;
};

}  // namespace

ImportableState judge(const DiscoveredPool& pool) {
  std::set<std::uint64_t> present;
  for (const DiscoveredDevice& device : pool.devices) present.insert(device.guid);
  return judge_vdev(pool.root, present);
}

std::string render_importable(const DiscoveredPool& pool, const NameStyle& style) {
  const ImportableState state = judge(pool);
  const bool destroyed = pool.config.state == PoolState::destroyed;
  // With a comment the keys are one place wider.
  const bool wide = pool.config.comment.has_value();
  const int width = wide ? 7 : 6;
  std::string out;
  const auto key = [&](const char* name, const std::string& text) {
    out += fmt::format("{:>{}}: {}\n", name, width, text);
  };
  key("pool", pool.config.name);
  key("id", std::to_string(pool.config.pool_guid));
  key("state", state.state + (destroyed ? " (DESTROYED)" : ""));
  const std::string indent = wide ? "\t " : "\t";
  if (state.state == "UNAVAIL") {
    key("status", "One or more devices are missing from the system.");
    key("action", "The pool cannot be imported. Attach the missing\n" + indent + "devices and try again.");
    key("see", "https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-3C");
  } else if (state.state == "DEGRADED") {
    key("status", "One or more devices are missing from the system.");
    key("action", "The pool can be imported despite missing or damaged devices.  The\n" + indent +
                      "fault tolerance of the pool may be compromised if imported.");
    key("see", "https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-2Q");
  } else if (destroyed) {
    key("status", "The pool was destroyed, but can be imported using the '-Df' flags.");
    key("action", "The pool can be imported using its name or numeric identifier.");
  } else {
    key("action", "The pool can be imported using its name or numeric identifier.");
  }
  if (pool.config.comment) key("comment", *pool.config.comment);
  out += fmt::format("{:>{}}:\n\n", "config", width);
  out += Listing(pool, style).render(state);
  return out;
}

}  // namespace tarn
