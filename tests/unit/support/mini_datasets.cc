#include "tests/unit/support/mini_datasets.h"

#include <atomic>

#include "libpool/txg/bpobj.h"

namespace tarn::support {
namespace {

// Sets u64 fields of an object's bonus by byte offset.
Status set_fields(ObjectSet& mos, const Tx& tx, std::uint64_t number,
                  const std::vector<std::pair<std::size_t, std::uint64_t>>& fields) {
  ObjectRef object = TRY(mos.open_object(number));
  Bytes bonus = object->bonus();
  for (const auto& [offset, value] : fields) store<std::uint64_t>(bonus.data() + offset, value, kHostOrder);
  return object->set_bonus(tx, bonus);
}

struct Dir {
  std::uint64_t number, children;
};

Result<Dir> make_dir(ObjectSet& mos, const Tx& tx, std::uint64_t parent) {
  const ObjectSpec spec{.type = DmuType::dsl_dir, .bonus_type = DmuType::dsl_dir, .bonus_bytes = 256};
  const std::uint64_t number = TRY(mos.create_object(tx, spec))->number();
  const std::uint64_t props = TRY(Zap::create(mos, tx, DmuType::dsl_props)).number();
  const std::uint64_t children = TRY(Zap::create(mos, tx, DmuType::dsl_dir_child_map)).number();
  TRY(set_fields(mos, tx, number, {{0, 1}, {16, parent}, {32, children}, {80, props}, {96, 1}}));
  return Dir{number, children};
}

Result<std::uint64_t> make_deadlist(ObjectSet& mos, const Tx& tx, bool with_key, std::uint64_t version) {
  Zap map = TRY(Zap::create(mos, tx, DmuType::deadlist, {}, DmuType::deadlist_header, 320));
  if (with_key) TRY(map.add(tx, "0", TRY(Bpobj::create(mos, tx, 128 << 10, version))));
  return map.number();
}

struct Dataset {
  std::uint64_t dir = 0, previous = 0, previous_txg = 0, next = 0, snapnames = 0, child_count = 0,
                creation_txg = 1, deadlist = 0;
};

Result<std::uint64_t> make_dataset(ObjectSet& mos, const Tx& tx, const Dataset& d) {
  const ObjectSpec spec{.type = DmuType::dsl_dataset, .bonus_type = DmuType::dsl_dataset, .bonus_bytes = 320};
  const std::uint64_t number = TRY(mos.create_object(tx, spec))->number();
  TRY(set_fields(mos, tx, number,
                 {{0, d.dir},
                  {8, d.previous},
                  {16, d.previous_txg},
                  {24, d.next},
                  {32, d.snapnames},
                  {40, d.child_count},
                  {48, 1},
                  {56, d.creation_txg},
                  {64, d.deadlist},
                  {104, random_guid() & 0xffffffffffffff},
                  {112, random_guid()},
                  {120, 4}}));
  return number;
}

// Counts the blocks of the root file system.
struct Counter : BlockOwner {
  explicit Counter(const BlockIo& io) : io(io) {}
  void block_born(const BlockPointer& bp, std::uint64_t) override {
    const BlockSpace s = space_of(bp, io);
    MutexLock lock(mutex);
    space += s;
  }
  void block_freed(const BlockPointer& bp, std::uint64_t) override {
    const BlockSpace s = -space_of(bp, io);
    MutexLock lock(mutex);
    space += s;
  }
  const BlockIo& io;
  Mutex mutex;
  BlockSpace space;
};

Status make(SyncContext& context) {
  ObjectSet& mos = context.pool.mos();
  const Tx& tx = context.tx;
  const std::uint64_t version = context.pool.version();
  const Dir root = TRY(make_dir(mos, tx, 0));
  TRY(context.pool.directory().add(tx, "root_dataset", root.number));
  Zap children = TRY(Zap::open(mos, root.children));
  TRY(children.add(tx, "$MOS", TRY(make_dir(mos, tx, root.number)).number));
  TRY(children.add(tx, "$FREE", TRY(make_dir(mos, tx, root.number)).number));
  TRY(context.pool.directory().add(tx, "free_bpobj", TRY(Bpobj::create(mos, tx, 128 << 10, version))));

  // $ORIGIN@$ORIGIN, which every file system is a clone of.
  const Dir origin = TRY(make_dir(mos, tx, root.number));
  TRY(children.add(tx, "$ORIGIN", origin.number));
  Zap names = TRY(Zap::create(mos, tx, DmuType::dsl_snap_map, {.norm_flags = 2}));
  const std::uint64_t snapshot = TRY(make_dataset(
      mos, tx,
      {.dir = origin.number, .child_count = 2, .deadlist = TRY(make_deadlist(mos, tx, false, version))}));
  const std::uint64_t head = TRY(make_dataset(mos, tx,
                                              {.dir = origin.number,
                                               .previous = snapshot,
                                               .previous_txg = 1,
                                               .snapnames = names.number(),
                                               .deadlist = TRY(make_deadlist(mos, tx, true, version))}));
  TRY(names.add(tx, "$ORIGIN", snapshot));
  TRY(set_fields(mos, tx, snapshot, {{24, head}}));
  TRY(set_fields(mos, tx, origin.number, {{8, head}}));

  // The root file system, empty but for a master node.
  Zap root_names = TRY(Zap::create(mos, tx, DmuType::dsl_snap_map, {.norm_flags = 2}));
  const std::uint64_t dataset = TRY(make_dataset(mos, tx,
                                                 {.dir = root.number,
                                                  .previous = snapshot,
                                                  .previous_txg = 1,
                                                  .snapnames = root_names.number(),
                                                  .deadlist = TRY(make_deadlist(mos, tx, true, version))}));
  Zap clones = TRY(Zap::create(mos, tx, DmuType::next_clones));
  TRY(clones.add(tx, Zap::int_key(dataset), dataset));
  Zap dir_clones = TRY(Zap::create(mos, tx, DmuType::dsl_clones));
  TRY(dir_clones.add(tx, Zap::int_key(dataset), dataset));
  TRY(set_fields(mos, tx, snapshot, {{256, clones.number()}}));
  TRY(set_fields(mos, tx, origin.number, {{144, dir_clones.number()}}));
  TRY(set_fields(mos, tx, root.number, {{8, dataset}, {24, snapshot}}));

  Counter counter(context.pool.io());
  ObjectSetEnv env;
  env.io = &context.pool.io();
  env.workers = &context.pool.workers();
  env.owner = &counter;
  env.objset_id = dataset;
  env.vdev_count = context.pool.vdevs().top_count();
  auto objset = TRY(ObjectSet::open(env, BlockPointer{}, ObjsetType::filesystem));
  StoragePolicy policy;
  policy.metadata_copies = 2;
  objset->set_policy(policy);
  Zap master = TRY(Zap::format(TRY(objset->claim_object(tx, 1, {.type = DmuType::master_node})), tx));
  TRY(master.add(tx, "VERSION", 5));
  objset->close_txg(tx.txg());
  const BlockPointer bp = TRY(objset->sync(tx.txg(), 1, context.batch));
  TRY(context.batch.wait());

  ObjectRef object = TRY(mos.open_object(dataset));
  Bytes bonus = object->bonus();
  bp.encode(std::span<std::byte, kBlockPointerBytes>(bonus.data() + 128, kBlockPointerBytes), kHostOrder);
  TRY(object->set_bonus(tx, bonus));
  const auto used = static_cast<std::uint64_t>(counter.space.used),
             compressed = static_cast<std::uint64_t>(counter.space.compressed),
             uncompressed = static_cast<std::uint64_t>(counter.space.uncompressed);
  TRY(set_fields(mos, tx, dataset, {{72, used}, {80, compressed}, {88, uncompressed}, {96, used}}));
  return set_fields(mos, tx, root.number, {{40, used}, {48, compressed}, {56, uncompressed}, {104, used}});
}

}  // namespace

Pool::DatasetMaker mini_datasets() { return make; }

}  // namespace tarn::support
