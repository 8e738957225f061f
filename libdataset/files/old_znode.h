// The znode bonus of file systems before ZPL version 5 (FORMAT.md logical 4.4): fixed fields and a small ACL.
#pragma once

#include "libdataset/files/znode.h"

namespace tarn {

inline constexpr std::size_t kOldZnodeBytes = 264;

// `bonus` in host order.
Result<ZnodeAttributes> decode_old_znode(ByteView bonus);
// The same as attributes of the present form, in their storage order; what a change to such an object stores
// instead.
Result<SaValues> convert_old_znode(SaRegistry& registry, const Tx& tx, Object& object);
// Target of a symbolic link: behind the znode if it fits there, else the object's data.
Result<std::string> old_symlink_target(Object& object);

}  // namespace tarn
