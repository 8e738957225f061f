// DslSpace: charges the pool's own space, $MOS and $FREE, in the dataset tree (FORMAT.md
// logical 3.2, 3.9, 10.1). All else about datasets is libdataset's; these two directories change with every
// txg, so the pool itself keeps them.
#pragma once

#include <cstdint>
#include <string>

#include "libpool/object/object_set.h"
#include "libpool/txg/bpobj.h"

namespace tarn {

class DslSpace {
 public:
  // Finds the directories below `root_dir`. $FREE (version 26 and up) may be absent.
  static Result<DslSpace> open(ObjectSet& mos, std::uint64_t root_dir);

  Status charge_mos(const Tx& tx, const BlockSpace& delta) { return charge(tx, mos_dir_, delta); }
  Status charge_free(const Tx& tx, const BlockSpace& delta) {
    return free_dir_ ? charge(tx, free_dir_, delta) : Status();
  }
  // used_bytes of $FREE: space that is on its way to be free.
  Result<std::uint64_t> freeing_bytes() const;

 private:
  explicit DslSpace(ObjectSet& mos) : mos_(&mos) {}
  Status charge(const Tx& tx, std::uint64_t dir, const BlockSpace& delta);

  ObjectSet* mos_;
  std::uint64_t root_dir_ = 0, mos_dir_ = 0, free_dir_ = 0;
};

}  // namespace tarn
