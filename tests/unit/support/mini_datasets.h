// The smallest dataset tree that OpenZFS and zdb accept: $MOS, $FREE, $ORIGIN with its snapshot, and an empty
// root file system (FORMAT.md logical 3, 10.1). For tests of the pool without libdataset.
#pragma once

#include "libpool/txg/pool.h"

namespace tarn::support {

Pool::DatasetMaker mini_datasets();

}  // namespace tarn::support
