// Does an intent log hold anything (FORMAT.md logical 5.2, 5.5)? Until logs are replayed, a pool with one
// that does must not be opened for writing.
#pragma once

#include <cstdint>

#include "libpool/io/block_io.h"

namespace tarn {

// Follows the chain from its first block; true at the first block that verifies and has records. The first
// block of an idle log was never written and does not verify: that is the end of the chain, not an error.
Result<bool> intent_log_has_records(BlockIo& io, const BlockPointer& first, std::uint64_t objset);

}  // namespace tarn
