#include "libdataset/tree/dsl_create.h"

#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr std::uint64_t kFsidMask = (std::uint64_t{1} << 56) - 1;

}  // namespace

Result<std::uint64_t> create_dir_object(SyncContext& context, std::uint64_t parent, std::uint64_t origin) {
  ObjectSet& mos = context.pool.mos();
  const ObjectSpec spec{
      .type = DmuType::dsl_dir, .bonus_type = DmuType::dsl_dir, .bonus_bytes = DslDirPhys::kEncodedBytes};
  ObjectRef dir = TRY(mos.create_object(context.tx, spec));
  DslDirPhys phys;
  phys.creation_time = static_cast<std::uint64_t>(context.pool.clock().now().seconds);
  phys.parent = parent;
  phys.origin = origin;
  phys.props_zap = TRY(Zap::create(mos, context.tx, DmuType::dsl_props)).number();
  phys.child_zap = TRY(Zap::create(mos, context.tx, DmuType::dsl_dir_child_map)).number();
  if (context.pool.version() >= kVersionUsedBreakdown) phys.flags = DslDirPhys::kUsedBreakdown;
  TRY(dir->set_bonus(context.tx, phys.encode()));
  return dir->number();
}

Result<std::uint64_t> create_dataset_object(SyncContext& context, const DslDatasetPhys& phys) {
  const ObjectSpec spec{.type = DmuType::dsl_dataset,
                        .bonus_type = DmuType::dsl_dataset,
                        .bonus_bytes = DslDatasetPhys::kEncodedBytes};
  ObjectRef object = TRY(context.pool.mos().create_object(context.tx, spec));
  TRY(object->set_bonus(context.tx, phys.encode()));
  return object->number();
}

DslDatasetPhys new_dataset_phys(SyncContext& context, std::uint64_t dir, std::uint64_t creation_txg) {
  DslDatasetPhys phys;
  phys.dir = dir;
  phys.fsid_guid = random_u64() & kFsidMask;
  phys.guid = random_guid();
  phys.creation_time = static_cast<std::uint64_t>(context.pool.clock().now().seconds);
  phys.creation_txg = creation_txg;
  if (context.pool.version() >= kVersionUniqueAccurate) phys.flags = DslDatasetPhys::kUniqueAccurate;
  return phys;
}

Result<std::uint64_t> add_to_set(SyncContext& context, std::uint64_t zap, DmuType type,
                                 std::uint64_t member) {
  ObjectSet& mos = context.pool.mos();
  Zap set = zap ? TRY(Zap::open(mos, zap)) : TRY(Zap::create(mos, context.tx, type));
  TRY(set.add(context.tx, Zap::int_key(member), member));
  return set.number();
}

Status remove_from_set(SyncContext& context, std::uint64_t zap, std::uint64_t member) {
  Zap set = TRY(Zap::open(context.pool.mos(), zap));
  return set.remove(context.tx, Zap::int_key(member));
}

}  // namespace tarn
