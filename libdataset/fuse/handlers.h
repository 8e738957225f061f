// The table of request handlers for libfuse; each gets its FuseSession as user data.
#pragma once

#include "libdataset/fuse/fuse_api.h"

namespace tarn {

fuse_lowlevel_ops fuse_operations();

}  // namespace tarn
