// The owner of an object, found in its bonus: what user, group and project accounting charges (FORMAT.md
// logical 1.9).
#pragma once

#include <optional>

#include "libpool/object/object_set.h"

namespace tarn {

// An OwnerFinder. Nothing for objects that belong to nobody.
std::optional<OwnerIds> find_owner(DmuType bonus_type, ByteView bonus, std::uint8_t dnode_flags);

}  // namespace tarn
