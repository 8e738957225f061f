// Label and PoolConfig as nvlists (FORMAT.md 4.1, 2.7).
#include "libpool/label/label.h"

#include <array>

namespace tarn {
namespace {

constexpr std::array kPoolKeys{
    "version",  "name",    "state",         "txg",        "pool_guid",     "errata",           "hostid",
    "hostname", "comment", "compatibility", "hole_array", "vdev_children", "features_for_read"};
constexpr std::array kLabelKeys{"guid", "top_guid", "is_spare", "is_log", "create_txg", "vdev_tree"};

template <std::size_t N>
bool is_one_of(const std::string& name, const std::array<const char*, N>& keys) {
  for (const char* key : keys)
    if (name == key) return true;
  return false;
}

}  // namespace

Result<PoolConfig> PoolConfig::decode(const NvList& in) {
  PoolConfig out;
  out.version = in.u64("version").value_or(1);
  out.name = in.text("name").value_or("");
  out.state = static_cast<PoolState>(in.u64("state").value_or(0));
  out.txg = in.u64("txg").value_or(0);
  out.pool_guid = in.u64("pool_guid").value_or(0);
  out.errata = in.u64("errata").value_or(0);
  out.hostid = in.u64("hostid").value_or(0);
  out.hostname = in.text("hostname").value_or("");
  out.comment = in.text("comment");
  out.compatibility = in.text("compatibility");
  out.vdev_children = in.u64("vdev_children").value_or(0);
  if (const auto* holes = in.u64s("hole_array")) out.hole_array = *holes;
  if (const NvList* features = in.list("features_for_read"))
    for (const NvPair& feature : features->pairs()) out.features_for_read.push_back(feature.name);
  for (const NvPair& pair : in.pairs())
    if (!is_one_of(pair.name, kPoolKeys) && !is_one_of(pair.name, kLabelKeys))
      out.other.set(pair.name, pair.value);
  return out;
}

void PoolConfig::encode_into(NvList& out) const {
  out.set_u64("version", version).set_text("name", name).set_u64("state", static_cast<std::uint64_t>(state));
  out.set_u64("txg", txg).set_u64("pool_guid", pool_guid).set_u64("errata", errata);
  if (hostid) out.set_u64("hostid", hostid);
  out.set_text("hostname", hostname);
  if (comment) out.set_text("comment", *comment);
  if (compatibility) out.set_text("compatibility", *compatibility);
  out.set_u64("vdev_children", vdev_children);
  if (!hole_array.empty()) out.set("hole_array", hole_array);
  NvList features;
  for (const std::string& feature : features_for_read) features.set_flag(feature);
  out.set("features_for_read", std::move(features));
  for (const NvPair& pair : other.pairs())
    if (!out.contains(pair.name)) out.set(pair.name, pair.value);
}

Result<Label> Label::decode(const NvList& in) {
  Label out;
  out.pool = TRY(PoolConfig::decode(in));
  out.guid = in.u64("guid").value_or(0);
  out.top_guid = in.u64("top_guid").value_or(0);
  out.is_spare = in.u64("is_spare").value_or(0);
  out.is_log = in.u64("is_log").value_or(0);
  out.create_txg = in.u64("create_txg");
  if (out.guid == 0) return Error(Errc::corrupt, "label without a device guid");
  if (out.pool.state == PoolState::spare || out.pool.state == PoolState::l2cache) return out;
  const NvList* tree = in.list("vdev_tree");
  if (!tree) return Error(Errc::corrupt, "label without a vdev tree");
  if (out.pool.pool_guid == 0) return Error(Errc::corrupt, "label without a pool guid");
  out.top = TRY(VdevConfig::decode(*tree));
  return out;
}

NvList Label::encode() const {
  NvList out;
  if (pool.state == PoolState::spare || pool.state == PoolState::l2cache) {
    out.set_u64("version", pool.version)
        .set_u64("state", static_cast<std::uint64_t>(pool.state))
        .set_u64("guid", guid);
    for (const NvPair& pair : pool.other.pairs()) out.set(pair.name, pair.value);
    return out;
  }
  pool.encode_into(out);
  out.set_u64("top_guid", top_guid).set_u64("guid", guid);
  if (is_spare) out.set_u64("is_spare", 1);
  if (is_log) out.set_u64("is_log", 1);
  if (create_txg) out.set_u64("create_txg", *create_txg);
  out.set("vdev_tree", top.encode(VdevConfig::For::label));
  return out;
}

const Label* LabelSet::best(std::uint64_t txg) const {
  const Label* best = nullptr;
  for (const std::optional<Label>& label : labels) {
    if (!label) continue;
    // A label that is being written first (txg 0), or of a spare or cache, is taken as it is when there is no
    // other.
    if (label->pool.txg > txg) continue;
    if (!best || label->pool.txg > best->pool.txg) best = &*label;
  }
  return best;
}

}  // namespace tarn
