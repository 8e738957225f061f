#include "libpool/txg/dsl_space.h"

#include <fmt/format.h>

#include "libpool/zap/zap.h"

namespace tarn {
namespace {

// Offsets in dsl_dir_phys (FORMAT.md logical 3.2).
constexpr std::size_t kChildMapOffset = 32;
constexpr std::size_t kUsedOffset = 40;
constexpr std::size_t kCompressedOffset = 48;
constexpr std::size_t kUncompressedOffset = 56;
constexpr std::size_t kFlagsOffset = 96;
constexpr std::size_t kBreakdownOffset = 104;
constexpr std::size_t kDirBytes = 256;
constexpr std::size_t kHead = 0, kChild = 2;  // indices in used_breakdown
constexpr std::uint64_t kUsedBreakdownFlag = 1;

Result<Bytes> dir_bonus(const ObjectRef& dir) {
  if (dir->info().bonus_type != DmuType::dsl_dir)
    return Error(Errc::corrupt, fmt::format("object {} is not a dataset directory", dir->number()));
  Bytes bonus = dir->bonus();
  if (bonus.size() < kDirBytes)
    return Error(Errc::corrupt, fmt::format("dataset directory {} is too short", dir->number()));
  return bonus;
}

void add(Bytes& bonus, std::size_t offset, std::int64_t delta) {
  const std::uint64_t old = load<std::uint64_t>(bonus.data() + offset, kHostOrder);
  store<std::uint64_t>(bonus.data() + offset, old + static_cast<std::uint64_t>(delta), kHostOrder);
}

Status charge_one(const ObjectRef& dir, const Tx& tx, const BlockSpace& delta, std::size_t breakdown) {
  Bytes bonus = TRY(dir_bonus(dir));
  add(bonus, kUsedOffset, delta.used);
  add(bonus, kCompressedOffset, delta.compressed);
  add(bonus, kUncompressedOffset, delta.uncompressed);
  if (load<std::uint64_t>(bonus.data() + kFlagsOffset, kHostOrder) & kUsedBreakdownFlag)
    add(bonus, kBreakdownOffset + 8 * breakdown, delta.used);
  return dir->set_bonus(tx, bonus);
}

}  // namespace

Result<DslSpace> DslSpace::open(ObjectSet& mos, std::uint64_t root_dir) {
  DslSpace space(mos);
  space.root_dir_ = root_dir;
  const Bytes root = TRY(dir_bonus(TRY(mos.open_object(root_dir))));
  const Zap children = TRY(Zap::open(mos, load<std::uint64_t>(root.data() + kChildMapOffset, kHostOrder)));
  space.mos_dir_ = TRY(children.lookup_u64("$MOS").in("root dataset"));
  if (auto free_dir = children.lookup_u64("$FREE")) {
    space.free_dir_ = *free_dir;
  } else if (free_dir.error().code() != Errc::not_found) {
    return std::move(free_dir).error();
  }
  return space;
}

Result<std::uint64_t> DslSpace::freeing_bytes() const {
  if (!free_dir_) return std::uint64_t{0};
  const Bytes bonus = TRY(dir_bonus(TRY(mos_->open_object(free_dir_))));
  return load<std::uint64_t>(bonus.data() + kUsedOffset, kHostOrder);
}

// Neither directory has a reservation, so the parent's change is the child's.
Status DslSpace::charge(const Tx& tx, std::uint64_t dir, const BlockSpace& delta) {
  if (delta.zero()) return {};
  TRY(charge_one(TRY(mos_->open_object(dir)), tx, delta, kHead));
  return charge_one(TRY(mos_->open_object(root_dir_)), tx, delta, kChild);
}

}  // namespace tarn
