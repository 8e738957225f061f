// A new file system's objects (FORMAT.md logical 10.2): master node, SA master, delete queue, root directory.
#include <fmt/format.h>

#include "libdataset/files/nfs4_acl.h"
#include "libdataset/files/old_znode.h"
#include "libdataset/files/posix_file_system.h"

namespace tarn {
namespace {

constexpr std::uint64_t kRootMode = S_IFDIR | 0755;

ZnodeAttributes root_attributes(std::uint64_t number, std::uint64_t txg, const Caller& owner, TimeSpec now) {
  ZnodeAttributes a;
  a.mode = kRootMode;
  a.uid = owner.uid;
  a.gid = owner.gid;
  a.size = a.links = 2;
  a.gen = txg;
  a.parent = number;
  a.atime = a.mtime = a.ctime = a.crtime = now;
  a.flags = zpl::kFlagArchive | zpl::kFlagAvModified | zpl::kFlagAclTrivial | zpl::kFlagAclAutoInherit |
            zpl::kFlagNoExecsDenied;
  return a;
}

// File systems before version 5 keep the same in a fixed struct.
Bytes old_root_znode(const ZnodeAttributes& a, std::uint64_t zpl_version) {
  Bytes out(kOldZnodeBytes);
  ByteWriter writer(out, kHostOrder);
  for (const TimeSpec& time : {a.atime, a.mtime, a.ctime, a.crtime}) {
    writer.u64(static_cast<std::uint64_t>(time.seconds));
    writer.u64(time.nanoseconds);
  }
  for (const std::uint64_t value : {a.gen, a.mode, a.size, a.parent, a.links, std::uint64_t{0},
                                    std::uint64_t{0}, a.flags, a.uid, a.gid}) {
    writer.u64(value);
  }
  writer.seek(176);
  const Bytes aces = trivial_acl(static_cast<std::uint32_t>(a.mode));
  const auto count = static_cast<std::uint16_t>(count_aces(aces));
  writer.u64(0);  // inline
  if (zpl_version >= 3) {
    writer.u32(static_cast<std::uint32_t>(aces.size()));
    writer.u16(1);
    writer.u16(count);
    writer.bytes(aces);
    return out;
  }
  // Version 0 entries are wider and in another order.
  writer.u32(count);
  writer.u16(0);
  writer.u16(0);
  ByteReader reader(aces, kHostOrder);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint16_t type = reader.u16(), flags = reader.u16();
    const std::uint32_t mask = reader.u32();
    writer.u32(UINT32_MAX);  // who: told by the flags
    writer.u32(mask);
    writer.u16(flags);
    writer.u16(type);
  }
  return out;
}

}  // namespace

Status FileSystem::format(ObjectSet& objset, const Tx& tx,
                          const std::map<std::string, std::uint64_t>& zpl_properties, const Caller& owner,
                          TimeSpec now) {
  const auto property = [&](const char* name, std::uint64_t if_absent) {
    const auto found = zpl_properties.find(name);
    return found == zpl_properties.end() ? if_absent : found->second;
  };
  const std::uint64_t version = property("version", zpl::kVersion);
  if (version < 1 || version > zpl::kVersion)
    return Error(Errc::invalid_argument, fmt::format("no file system version {}", version));
  const std::uint64_t normalization = property("normalization", 0);
  const std::uint64_t sensitivity = property("casesensitivity", 0);
  const std::uint64_t utf8_only = normalization != 0 ? 1 : property("utf8only", 0);
  const std::uint64_t norm_flags = normalization | (sensitivity != 0 ? zpl::kNormUpper : 0);

  // The master node has a fixed number; it is claimed before the others get theirs.
  ObjectRef master_object = TRY(objset.claim_object(tx, zpl::kMasterNode, {.type = DmuType::master_node}));
  Zap master = TRY(Zap::format(master_object, tx));
  if (version >= 3) {
    TRY(master.add(tx, "normalization", normalization));
    TRY(master.add(tx, "utf8only", utf8_only));
    TRY(master.add(tx, "casesensitivity", sensitivity));
  }
  TRY(master.add(tx, "VERSION", version));
  std::uint64_t sa_master = 0;
  if (version >= 5) {
    sa_master = TRY(Zap::create(objset, tx, DmuType::sa_master_node)).number();
    TRY(master.add(tx, "SA_ATTRS", sa_master));
  }
  Zap queue = TRY(Zap::create(objset, tx, DmuType::unlinked_set));
  TRY(master.add(tx, "DELETE_QUEUE", queue.number()));

  const bool old = version < 5;
  Zap root = TRY(Zap::create(objset, tx, DmuType::directory, {.norm_flags = norm_flags},
                             old ? DmuType::znode : DmuType::sa, old ? kOldZnodeBytes : 0));
  ZnodeAttributes a = root_attributes(root.number(), tx.txg(), owner, now);
  if (version < 3) a.flags = 0;
  if (old) {
    TRY(root.object()->set_bonus(tx, old_root_znode(a, version)));
  } else {
    if (objset.flags() & 4) {
      a.flags |= zpl::kFlagProjid;
      a.projid = 0;
    }
    const std::unique_ptr<SaRegistry> sa = TRY(SaRegistry::open(objset, sa_master));
    Bytes aces = trivial_acl(kRootMode);
    Bytes count(8);
    store<std::uint64_t>(count.data(), count_aces(aces), kHostOrder);
    TRY(Znode::create(*sa, tx, root.object(), a, {{SaAttr::dacl_count, count}, {SaAttr::dacl_aces, aces}}));
  }
  return master.add(tx, "ROOT", root.number());
}

}  // namespace tarn
