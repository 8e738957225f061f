#include "cmd/pool/status_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cmd/common/table.h"
#include "libdataset/property/property.h"
#include "libpool/vdev/vdev_tree.h"

namespace tarn {
namespace {

struct Row {
  std::string name;
  std::string state;
  std::vector<std::string> counters;
  std::string note;
  bool header = false;      // "logs", "cache", "spares": no columns
  bool header_tab = false;  // "logs" is followed by a TAB
};

std::string aux_note(const Json& vdev) {
  switch (static_cast<VdevAux>(vdev.value("aux", 0))) {
    case VdevAux::none:
      return "";
    case VdevAux::open_failed:
      return "cannot open";
    case VdevAux::corrupt_data:
      return "corrupted data";
    case VdevAux::no_replicas:
      return "insufficient replicas";
    case VdevAux::bad_guid_sum:
      return "missing device";
    case VdevAux::too_small:
      return "minimum device size is 64M";
    case VdevAux::bad_label:
      return "invalid label";
    case VdevAux::version_newer:
      return "newer version";
    case VdevAux::unsupported_feature:
      return "unsupported feature(s)";
    case VdevAux::spared:
      return "currently in use";
    case VdevAux::err_exceeded:
      return "too many errors";
    case VdevAux::io_failure:
      return "experienced I/O failures";
    case VdevAux::bad_log:
      return "bad intent log";
    case VdevAux::external:
      return "external device fault";
    case VdevAux::split_pool:
      return "split into new pool";
    case VdevAux::children_offline:
      return "all children offline";
    case VdevAux::bad_ashift:
      return "unsupported minimum blocksize";
    default:
      return "corrupted data";
  }
}

class ConfigTable {
 public:
  ConfigTable(const Json& pool, const StatusStyle& style) : style_(style) {
    Json root{{"name", pool.value("name", "")}, {"state", pool.value("state", "ONLINE")}, {"type", "root"}};
    for (const char* counter : {"read_errors", "write_errors", "checksum_errors"})
      root[counter] = pool.value(counter, std::uint64_t{0});
    add_vdev(root, 0, pool.value("name", ""));
    add_group(pool, "normal", "");
    add_group(pool, "dedup", "dedup");
    add_group(pool, "special", "special");
    add_group(pool, "logs", "logs");
    if (!style_.only_unhealthy) {
      add_devices(pool.value("caches", Json::array()), "cache", true);
      add_devices(pool.value("spares", Json::array()), "spares", false);
    }
  }

  std::string render() const {
    std::size_t width = 0;
    for (const Row& row : rows_)
      if (!row.header) width = std::max(width, display_width(row.name));
    width = std::max<std::size_t>(width, 4);
    std::string out = fmt::format("\t{}  {}", pad_right("NAME", width), "STATE     READ WRITE CKSUM");
    if (style_.slow_column) out += "  SLOW";
    if (style_.direct_column) out += "   DIO";
    out += '\n';
    for (const Row& row : rows_) {
      if (row.header) {
        out += "\t" + row.name + (row.header_tab ? "\t" : "") + "\n";
        continue;
      }
      out += fmt::format("\t{}  {:<8}", pad_right(row.name, width), row.state);
      if (row.counters.empty()) {
        out += "  " + row.note + "\n";
        continue;
      }
      for (const std::string& counter : row.counters) out += " " + pad_left(counter, 5);
      if (!row.note.empty()) out += "  " + row.note;
      out += '\n';
    }
    // Spares end in blanks after their padded state, as the original prints them.
    return out;
  }

 private:
  std::string number(std::uint64_t value) const {
    return style_.parsable ? std::to_string(value) : nice_number(value);
  }

  void add_vdev(const Json& vdev, unsigned depth, const std::string& name) {
    Row row{.name = std::string(depth * 2, ' ') + name, .state = vdev.value("state", "ONLINE")};
    for (const char* counter : {"read_errors", "write_errors", "checksum_errors"})
      row.counters.push_back(number(vdev.value(counter, std::uint64_t{0})));
    const bool leaf = vdev.value("children", Json::array()).empty() && vdev.value("type", "") != "root";
    if (style_.slow_column) row.counters.push_back(leaf ? "0" : "-");
    if (style_.direct_column) row.counters.push_back(leaf ? "0" : "-");
    row.note = aux_note(vdev);
    if (vdev.value("type", "") == "root") row.note.clear();
    if (row.note == "cannot open" && vdev.contains("path") && name != vdev["path"].get<std::string>())
      row.note = "was " + vdev["path"].get<std::string>();
    rows_.push_back(std::move(row));
  }

  static bool unhealthy(const Json& vdev) {
    if (vdev.value("state", "ONLINE") != "ONLINE") return true;
    for (const char* counter : {"read_errors", "write_errors", "checksum_errors"})
      if (vdev.value(counter, std::uint64_t{0})) return true;
    for (const Json& child : vdev.value("children", Json::array()))
      if (unhealthy(child)) return true;
    return false;
  }

  void add_tree(const Json& vdev, unsigned depth) {
    if (style_.only_unhealthy && !unhealthy(vdev)) return;
    add_vdev(vdev, depth, vdev_display_name(vdev, style_.names));
    for (const Json& child : vdev.value("children", Json::array())) add_tree(child, depth + 1);
  }

  void add_group(const Json& pool, const std::string& vdev_class, const std::string& heading) {
    bool first = !heading.empty();
    for (const Json& top : pool.value("vdevs", Json::array())) {
      if (top.value("class", "normal") != vdev_class) continue;
      if (style_.only_unhealthy && !unhealthy(top)) continue;
      if (first) rows_.push_back({.name = heading, .header = true, .header_tab = true});
      first = false;
      add_tree(top, 1);
    }
  }

  void add_devices(const Json& devices, const std::string& heading, bool counters) {
    if (devices.empty()) return;
    rows_.push_back({.name = heading, .header = true});
    for (const Json& device : devices) {
      const std::string name = vdev_display_name(device, style_.names);
      if (counters) {
        add_vdev(device, 1, name);
      } else {
        rows_.push_back(
            {.name = "  " + name, .state = device.value("state", "AVAIL"), .note = device.value("note", "")});
      }
    }
  }

  const StatusStyle& style_;
  std::vector<Row> rows_;
};

// Sentences are wrapped as the original wraps them: the texts carry their line breaks, here they get their
// TABs.
std::string indent_lines(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += '\t';
  }
  return out;
}

bool any_leaf(const Json& vdevs, const std::function<bool(const Json&)>& test) {
  for (const Json& vdev : vdevs) {
    const Json children = vdev.value("children", Json::array());
    if (children.empty() ? test(vdev) : any_leaf(children, test)) return true;
  }
  return false;
}

}  // namespace

Diagnosis diagnose(const Json& pool) {
  const Json vdevs = pool.value("vdevs", Json::array());
  const auto state_is = [](const char* state) {
    return [state](const Json& v) { return v.value("state", "") == state; };
  };
  if (any_leaf(vdevs, [](const Json& v) { return v.value("state", "") == "UNAVAIL"; }))
    return {
        "One or more devices could not be opened.  Sufficient replicas exist for\nthe pool to continue "
        "functioning in a degraded state.",
        "Attach the missing device and online it using 'zpool online'.",
        "https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-2Q", "ZFS-8000-2Q"};
  if (any_leaf(vdevs, state_is("FAULTED")))
    return {
        "One or more devices are faulted in response to persistent errors.\nSufficient replicas exist for "
        "the pool to continue functioning in a\ndegraded state.",
        "Replace the faulted device, or use 'zpool clear' to mark the device\nrepaired.", "", "ZFS-8000-K4"};
  if (any_leaf(vdevs, state_is("OFFLINE")))
    return {
        "One or more devices has been taken offline by the administrator.\nSufficient replicas exist for the "
        "pool to continue functioning in a\ndegraded state.",
        "Online the device using 'zpool online' or replace the device with\n'zpool replace'.", "",
        "ZFS-8000-HC"};
  if (any_leaf(vdevs, [](const Json& v) {
        return v.value("read_errors", std::uint64_t{0}) || v.value("write_errors", std::uint64_t{0}) ||
               v.value("checksum_errors", std::uint64_t{0});
      }))
    return {
        "One or more devices has experienced an unrecoverable error.  An\nattempt was made to correct the "
        "error.  Applications are unaffected.",
        "Determine if the device needs to be replaced, and clear the errors\nusing 'zpool clear' or replace "
        "the device with 'zpool replace'.",
        "https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-9P", "ZFS-8000-9P"};
  if (pool.value("version", std::uint64_t{5000}) < 5000)
    return {
        "The pool is formatted using a legacy on-disk format.  The pool can\nstill be used, but some "
        "features are unavailable.",
        "Upgrade the pool using 'zpool upgrade'.  Once this is done, the\npool will no longer be accessible "
        "on software that does not support\nfeature flags.",
        "", ""};
  if (pool.value("features_missing", false))
    return {
        "Some supported and requested features are not enabled on the pool.\nThe pool can still be used, but "
        "some features are unavailable.",
        "Enable all features using 'zpool upgrade'. Once this is done,\nthe pool may no longer be accessible "
        "by software that does not support\nthe features. See zpool-features(7) for details.",
        "", ""};
  return {};
}

bool is_healthy(const Json& pool) {
  const Diagnosis diagnosis = diagnose(pool);
  // Old formats and disabled features are worth knowing, but not ill.
  return pool.value("state", "ONLINE") == "ONLINE" &&
         (diagnosis.status.empty() || (diagnosis.message_id.empty() && diagnosis.see.empty()));
}

std::string render_status(const Json& pool, const StatusStyle& style) {
  std::string out =
      fmt::format("  pool: {}\n state: {}\n", pool.value("name", ""), pool.value("state", "ONLINE"));
  const Diagnosis diagnosis = diagnose(pool);
  if (!diagnosis.status.empty()) out += fmt::format("status: {}\n", indent_lines(diagnosis.status));
  if (!diagnosis.action.empty()) out += fmt::format("action: {}\n", indent_lines(diagnosis.action));
  if (!diagnosis.see.empty()) out += fmt::format("   see: {}\n", diagnosis.see);
  if (const std::string scan = pool.value("scan_text", ""); !scan.empty())
    out += fmt::format("  scan: {}\n", indent_lines(scan));
  out += "config:\n\n" + ConfigTable(pool, style).render();
  const auto errors = pool.value("error_count", std::uint64_t{0});
  out += errors == 0 ? "\nerrors: No known data errors\n"
                     : fmt::format("\nerrors: {} data errors, use '-v' for a list\n", errors);
  return out;
}

}  // namespace tarn
