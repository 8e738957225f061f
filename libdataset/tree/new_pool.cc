// The datasets of a new pool (FORMAT.md 13.1 steps 4 and 6, logical 10.1): the internal directories $MOS,
// $FREE and $ORIGIN with its empty snapshot, from which every file system descends, then the root file
// system.

#include "libdataset/tree/dsl_create.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::uint64_t kVersionFreeList = 26;
constexpr std::uint32_t kListBlockBytes = 128u << 10;
constexpr std::uint64_t kFirstCreationTxg = 1;  // what a pool's first datasets say, whatever the first txg is

Result<std::uint64_t> create_internal_dir(SyncContext& context, Zap& children, std::uint64_t root,
                                          std::string_view name) {
  const std::uint64_t dir = TRY(create_dir_object(context, root, 0));
  TRY(children.add(context.tx, name, dir));
  return dir;
}

Result<std::uint64_t> create_snapnames(SyncContext& context) {
  return TRY(Zap::create(context.pool.mos(), context.tx, DmuType::dsl_snap_map,
                         {.norm_flags = kSnapnamesNormFlags}))
      .number();
}

// $ORIGIN: a head that was never written, and a snapshot of it.
Status create_origin(SyncContext& context, std::uint64_t dir) {
  ObjectSet& mos = context.pool.mos();
  DslDatasetPhys head = new_dataset_phys(context, dir, kFirstCreationTxg);
  head.snapnames_zap = TRY(create_snapnames(context));
  DslDatasetPhys snapshot = new_dataset_phys(context, dir, kFirstCreationTxg);
  snapshot.deadlist = TRY(Deadlist::create(context));
  snapshot.num_children = 1;
  head.deadlist = TRY(Deadlist::create(context));
  TRY(TRY(Deadlist::open(context.pool, head.deadlist)).add_key(context, 0));
  head.prev_snap_txg = kFirstCreationTxg;

  const std::uint64_t head_object = TRY(create_dataset_object(context, head));
  snapshot.next_snap = head_object;
  head.prev_snap = TRY(create_dataset_object(context, snapshot));
  TRY(TRY(mos.open_object(head_object))->set_bonus(context.tx, head.encode()));
  TRY(TRY(Zap::open(mos, head.snapnames_zap)).add(context.tx, "$ORIGIN", head.prev_snap));

  ObjectRef object = TRY(mos.open_object(dir));
  DslDirPhys phys = TRY(DslDirPhys::decode(object->bonus()));
  phys.head_dataset = head_object;
  return object->set_bonus(context.tx, phys.encode());
}

Status create_skeleton(SyncContext& context) {
  Pool& pool = context.pool;
  const std::uint64_t root = TRY(create_dir_object(context, 0, 0));
  TRY(pool.directory().add(context.tx, "root_dataset", root));
  const DslDirPhys phys = TRY(DslDirPhys::decode(TRY(pool.mos().open_object(root))->bonus()));
  Zap children = TRY(Zap::open(pool.mos(), phys.child_zap));
  TRY(create_internal_dir(context, children, root, "$MOS"));
  if (pool.version() >= kVersionFreeList) {
    TRY(create_internal_dir(context, children, root, "$FREE"));
    TRY(pool.directory().add(context.tx, "free_bpobj",
                             TRY(Bpobj::create(pool.mos(), context.tx, kListBlockBytes, pool.version()))));
  }
  if (pool.version() >= kVersionOrigin)
    TRY(create_origin(context, TRY(create_internal_dir(context, children, root, "$ORIGIN"))));
  return {};
}

}  // namespace

Pool::DatasetMaker DatasetTree::maker(const CreateDatasetSpec& root, OwnerFinder find_owner) {
  return [root, find_owner](SyncContext& context) -> Status {
    TRY(create_skeleton(context));
    TreeImpl tree(context.pool, find_owner);
    TRY(tree.load());
    return tree.create_root(context, root);
  };
}

Status TreeImpl::create_root(SyncContext& context, const CreateDatasetSpec& spec) {
  const std::vector<PreparedSetting> settings =
      TRY(prepare(spec.properties, PropertyTarget::filesystem, SetOccasion::create));
  const auto zpl = TRY(zpl_properties(nullptr, settings));
  {
    WriterLock lock(mutex_);
    TRY(create_head(context, *root_, ObjsetType::filesystem, kFirstCreationTxg));
    for (const PreparedSetting& setting : settings) TRY(apply_setting(context, *root_, setting));
    TRY(create_objset(context, *root_, spec, zpl));
  }
  return sync_dirty(context);
}

}  // namespace tarn
