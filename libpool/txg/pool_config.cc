#include "libpool/txg/pool_config.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <functional>

namespace tarn {
namespace {

constexpr std::uint32_t kPackedBlockBytes = 16 << 10;
constexpr std::uint64_t kMaxPackedBytes = 64 << 20;
constexpr std::string_view kHasVdevZaps = "com.delphix:has_per_vdev_zaps";

}  // namespace

HostIdentity host_identity() {
  HostIdentity host;
  std::ifstream file("/etc/hostid", std::ios::binary);
  std::array<char, 4> id{};
  if (file.read(id.data(), id.size()))
    host.id = load<std::uint32_t>(reinterpret_cast<const std::byte*>(id.data()), kHostOrder);
  utsname names{};
  if (uname(&names) == 0) host.name = static_cast<const char*>(names.nodename);
  return host;
}

NvList encode_pool_config(const PoolConfig& pool, const VdevConfig& root, VdevConfig::For place) {
  NvList list;
  list.set_u64("version", pool.version);
  list.set_text("name", pool.name);
  list.set_u64("state", static_cast<std::uint64_t>(pool.state));
  list.set_u64("txg", pool.txg);
  list.set_u64("pool_guid", pool.pool_guid);
  list.set_u64("errata", pool.errata);
  if (pool.comment) list.set_text("comment", *pool.comment);
  if (pool.compatibility) list.set_text("compatibility", *pool.compatibility);
  if (pool.hostid) list.set_u64("hostid", pool.hostid);
  list.set_text("hostname", pool.hostname);
  if (!pool.hole_array.empty()) list.set("hole_array", pool.hole_array);
  if (place == VdevConfig::For::mos) list.set_flag(kHasVdevZaps);
  list.set_u64("vdev_children", pool.vdev_children);
  for (const NvPair& pair : pool.other.pairs())
    if (!list.contains(pair.name)) list.set(pair.name, pair.value);
  list.set("vdev_tree", root.encode(place));
  NvList features;
  for (const std::string& guid : pool.features_for_read) features.set_flag(guid);
  list.set("features_for_read", features);
  return list;
}

Result<DecodedPoolConfig> decode_pool_config(const NvList& list) {
  DecodedPoolConfig out;
  PoolConfig& pool = out.pool;
  pool.version = list.u64("version").value_or(1);
  pool.name = list.text("name").value_or("");
  pool.state = static_cast<PoolState>(list.u64("state").value_or(0));
  pool.txg = list.u64("txg").value_or(0);
  pool.pool_guid = list.u64("pool_guid").value_or(0);
  pool.errata = list.u64("errata").value_or(0);
  pool.hostid = list.u64("hostid").value_or(0);
  pool.hostname = list.text("hostname").value_or("");
  pool.comment = list.text("comment");
  pool.compatibility = list.text("compatibility");
  pool.vdev_children = list.u64("vdev_children").value_or(0);
  if (const auto* holes = list.u64s("hole_array")) pool.hole_array = *holes;
  if (const NvList* features = list.list("features_for_read"))
    for (const NvPair& pair : features->pairs()) pool.features_for_read.push_back(pair.name);
  out.has_vdev_zaps = list.contains(kHasVdevZaps);
  const NvList* tree = list.list("vdev_tree");
  if (!tree) return Error(Errc::corrupt, "pool config: no vdev_tree");
  out.root = TRY(VdevConfig::decode(*tree).in("pool config"));
  constexpr std::string_view kInterpreted[] = {
      "version",           "name",          "state",         "txg",
      "pool_guid",         "errata",        "hostid",        "hostname",
      "comment",           "compatibility", "vdev_children", "hole_array",
      "features_for_read", "vdev_tree",     kHasVdevZaps};
  for (const NvPair& pair : list.pairs())
    if (std::find(std::begin(kInterpreted), std::end(kInterpreted), pair.name) == std::end(kInterpreted))
      pool.other.set(pair.name, pair.value);
  return out;
}

Label member_label(const PoolConfig& pool, const VdevConfig& top, const VdevConfig& leaf) {
  Label label;
  label.pool = pool;
  label.guid = leaf.guid;
  label.top_guid = top.guid;
  label.is_spare = leaf.is_spare;
  label.is_log = top.is_log;
  label.top = top;
  return label;
}

NvList aux_label(std::uint64_t version, const VdevConfig& leaf, PoolState state) {
  NvList list;
  list.set_u64("version", version);
  list.set_u64("state", static_cast<std::uint64_t>(state));
  list.set_u64("guid", leaf.guid);
  if (state == PoolState::l2cache) list.set_u64("ashift", leaf.ashift);
  if (!leaf.path.empty()) list.set_text("path", leaf.path);
  if (leaf.devid) list.set_text("devid", *leaf.devid);
  if (leaf.phys_path) list.set_text("phys_path", *leaf.phys_path);
  return list;
}

Result<std::uint64_t> create_packed_nvlist(ObjectSet& mos, const Tx& tx) {
  const ObjectSpec spec{.type = DmuType::packed_nvlist,
                        .block_bytes = kPackedBlockBytes,
                        .bonus_type = DmuType::packed_nvlist_size,
                        .bonus_bytes = 8};
  return TRY(mos.create_object(tx, spec))->number();
}

Status write_packed_nvlist(ObjectSet& mos, const Tx& tx, std::uint64_t number, const NvList& list) {
  ObjectRef object = TRY(mos.open_object(number));
  const Bytes packed = pack(list, NvEncoding::xdr);
  Bytes padded = packed;
  padded.resize(round_up(packed.size(), kPackedBlockBytes));
  TRY(object->write(tx, 0, padded));
  Bytes bonus(8);
  const std::uint64_t old_bytes = load<std::uint64_t>(object->bonus().data(), kHostOrder);
  if (round_up(old_bytes, kPackedBlockBytes) > padded.size())
    TRY(object->free_range(tx, padded.size(), UINT64_MAX));
  store<std::uint64_t>(bonus.data(), packed.size(), kHostOrder);
  return object->set_bonus(tx, bonus);
}

Result<NvList> read_packed_nvlist(ObjectSet& mos, std::uint64_t number) {
  const std::string where = fmt::format("packed nvlist {}", number);
  ObjectRef object = TRY(mos.open_object(number).in(where));
  const Bytes bonus = object->bonus();
  if (bonus.size() < 8) return Error(Errc::corrupt, where + ": no length");
  const std::uint64_t bytes = load<std::uint64_t>(bonus.data(), kHostOrder);
  if (bytes > kMaxPackedBytes) return Error(Errc::corrupt, fmt::format("{}: {} bytes long", where, bytes));
  Bytes packed(bytes);
  TRY(object->read(0, packed).in(where));
  return unpack(packed).in(where);
}

void for_each_leaf(const VdevConfig& vdev, const std::function<void(const VdevConfig&)>& visit) {
  if (is_leaf(vdev.kind)) visit(vdev);
  for (const VdevConfig& child : vdev.children) for_each_leaf(child, visit);
}

void for_each_vdev(VdevConfig& vdev, const std::function<void(VdevConfig&)>& visit) {
  visit(vdev);
  for (VdevConfig& child : vdev.children) for_each_vdev(child, visit);
}

}  // namespace tarn
