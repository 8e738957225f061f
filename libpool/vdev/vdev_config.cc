#include "libpool/vdev/vdev_config.h"

#include <fmt/format.h>

#include <array>
#include <initializer_list>

namespace tarn {
namespace {

struct KindName {
  VdevKind kind;
  const char* name;
};
constexpr std::array kKinds{
    KindName{VdevKind::root, "root"},           KindName{VdevKind::mirror, "mirror"},
    KindName{VdevKind::replacing, "replacing"}, KindName{VdevKind::spare, "spare"},
    KindName{VdevKind::raidz, "raidz"},         KindName{VdevKind::draid, "draid"},
    KindName{VdevKind::dspare, "dspare"},       KindName{VdevKind::disk, "disk"},
    KindName{VdevKind::file, "file"},           KindName{VdevKind::missing, "missing"},
    KindName{VdevKind::hole, "hole"},           KindName{VdevKind::indirect, "indirect"}};

// Nesting in any sane pool: root, top, spare, replacing, leaf.
constexpr unsigned kMaxDepth = 8;
constexpr std::size_t kMaxChildren = 4096;

Result<VdevConfig> decode_at(const NvList& in, unsigned depth) {
  if (depth > kMaxDepth) return Error(Errc::corrupt, "vdev tree is nested too deeply");
  VdevConfig out;
  const std::string type = in.text("type").value_or("");
  bool known = false;
  for (const KindName& entry : kKinds) {
    if (type != entry.name) continue;
    out.kind = entry.kind;
    known = true;
  }
  if (!known) return Error(Errc::corrupt, fmt::format("vdev of unknown type '{}'", type));

  const auto number = [&](const char* key) { return in.u64(key).value_or(0); };
  out.id = number("id");
  out.guid = number("guid");
  out.path = in.text("path").value_or("");
  out.devid = in.text("devid");
  out.phys_path = in.text("phys_path");
  out.whole_disk = in.u64("whole_disk");
  out.dtl_object = number("DTL");
  out.offline = number("offline");
  out.faulted = number("faulted");
  out.degraded = number("degraded");
  out.removed = number("removed");
  out.not_present = number("not_present");
  out.is_spare = number("is_spare");
  out.aux_state = in.text("aux_state");
  out.resilver_txg = in.u64("resilver_txg");
  out.zap_leaf = number("com.delphix:vdev_zap_leaf");
  out.metaslab_array = number("metaslab_array");
  out.metaslab_shift = number("metaslab_shift");
  out.ashift = number("ashift");
  out.asize_bytes = number("asize");
  out.is_log = number("is_log");
  out.zap_top = number("com.delphix:vdev_zap_top");
  out.zap_root = number("com.klarasystems:vdev_zap_root");
  out.nparity = number("nparity");
  if (out.kind == VdevKind::raidz && out.nparity == 0) out.nparity = 1;  // pools before version 3
  out.raidz_expanding = in.contains("raidz_expanding");
  if (const auto* txgs = in.u64s("raidz_expand_txgs")) out.raidz_expand_txgs = *txgs;
  out.draid_data = number("draid_ndata");
  out.draid_spares = number("draid_nspares");
  out.draid_groups = number("draid_ngroups");
  out.create_txg = number("create_txg");
  if (const auto* children = in.lists("children")) {
    if (children->size() > kMaxChildren) return Error(Errc::corrupt, "vdev has too many children");
    for (const NvList& child : *children) out.children.push_back(TRY(decode_at(child, depth + 1)));
  }
  if (is_leaf(out.kind) && !out.children.empty())
    return Error(Errc::corrupt, fmt::format("vdev of type '{}' has children", type));
  if (out.ashift > 16) return Error(Errc::corrupt, fmt::format("vdev has ashift {}", out.ashift));
  if (out.nparity > 3) return Error(Errc::corrupt, fmt::format("vdev has parity {}", out.nparity));
  if (out.kind == VdevKind::raidz && out.children.size() <= out.nparity)
    return Error(Errc::corrupt, "raidz vdev has too few children");

  for (const NvPair& pair : in.pairs()) {
    static constexpr std::array kInterpreted{"type",
                                             "id",
                                             "guid",
                                             "path",
                                             "devid",
                                             "phys_path",
                                             "whole_disk",
                                             "DTL",
                                             "offline",
                                             "faulted",
                                             "degraded",
                                             "removed",
                                             "not_present",
                                             "is_spare",
                                             "aux_state",
                                             "resilver_txg",
                                             "com.delphix:vdev_zap_leaf",
                                             "metaslab_array",
                                             "metaslab_shift",
                                             "ashift",
                                             "asize",
                                             "is_log",
                                             "com.delphix:vdev_zap_top",
                                             "com.klarasystems:vdev_zap_root",
                                             "nparity",
                                             "raidz_expanding",
                                             "raidz_expand_txgs",
                                             "draid_ndata",
                                             "draid_nspares",
                                             "draid_ngroups",
                                             "create_txg",
                                             "children"};
    bool interpreted = false;
    for (const char* key : kInterpreted) interpreted |= pair.name == key;
    if (!interpreted) out.other.set(pair.name, pair.value);
  }
  return out;
}

bool is_top_level(const VdevConfig& vdev) {
  return vdev.ashift != 0 || vdev.metaslab_array != 0 || vdev.kind == VdevKind::hole;
}

}  // namespace

const char* name_of(VdevKind kind) {
  for (const KindName& entry : kKinds)
    if (entry.kind == kind) return entry.name;
  return "missing";
}

Result<VdevConfig> VdevConfig::decode(const NvList& in) { return decode_at(in, 0); }

NvList VdevConfig::encode(For place) const {
  NvList out;
  out.set_text("type", name_of(kind)).set_u64("id", id).set_u64("guid", guid);
  const auto flag = [&](const char* key, bool on) {
    if (on) out.set_u64(key, 1);
  };
  const auto nonzero = [&](const char* key, std::uint64_t value) {
    if (value) out.set_u64(key, value);
  };
  if (!path.empty()) out.set_text("path", path);
  if (devid) out.set_text("devid", *devid);
  if (phys_path) out.set_text("phys_path", *phys_path);
  if (whole_disk) out.set_u64("whole_disk", *whole_disk);
  flag("not_present", not_present);
  flag("is_spare", is_spare);
  if (kind == VdevKind::raidz || kind == VdevKind::draid) out.set_u64("nparity", nparity);
  if (kind == VdevKind::draid)
    out.set_u64("draid_ndata", draid_data)
        .set_u64("draid_nspares", draid_spares)
        .set_u64("draid_ngroups", draid_groups);
  if (is_top_level(*this)) {
    out.set_u64("metaslab_array", metaslab_array)
        .set_u64("metaslab_shift", metaslab_shift)
        .set_u64("ashift", ashift);
    out.set_u64("asize", asize_bytes).set_u64("is_log", is_log);
  }
  flag("is_hole", kind == VdevKind::hole);
  nonzero("DTL", dtl_object);
  if (raidz_expanding) out.set_flag("raidz_expanding");
  if (!raidz_expand_txgs.empty()) out.set("raidz_expand_txgs", raidz_expand_txgs);
  nonzero("create_txg", create_txg);
  if (resilver_txg) out.set_u64("resilver_txg", *resilver_txg);
  flag("offline", offline);
  flag("faulted", faulted);
  flag("degraded", degraded);
  flag("removed", removed);
  if (aux_state) out.set_text("aux_state", *aux_state);
  if (place == For::mos) {
    nonzero("com.delphix:vdev_zap_leaf", zap_leaf);
    nonzero("com.delphix:vdev_zap_top", zap_top);
    nonzero("com.klarasystems:vdev_zap_root", zap_root);
  }
  for (const NvPair& pair : other.pairs())
    if (!out.contains(pair.name)) out.set(pair.name, pair.value);
  if (!children.empty()) {
    std::vector<NvList> list;
    for (const VdevConfig& child : children) list.push_back(child.encode(place));
    out.set("children", std::move(list));
  }
  return out;
}

std::uint64_t VdevConfig::guid_sum() const {
  std::uint64_t sum = kind == VdevKind::hole ? 0 : guid;
  for (const VdevConfig& child : children) sum += child.guid_sum();
  return sum;
}

std::string VdevConfig::display_name() const {
  switch (kind) {
    case VdevKind::disk:
    case VdevKind::file:
    case VdevKind::dspare:
      return path.empty() ? std::to_string(guid) : path;
    case VdevKind::raidz:
      return fmt::format("raidz{}-{}", nparity, id);
    case VdevKind::draid:
      return fmt::format("draid{}:{}d:{}c:{}s-{}", nparity, draid_data, children.size(), draid_spares, id);
    default:
      return fmt::format("{}-{}", name_of(kind), id);
  }
}

}  // namespace tarn
