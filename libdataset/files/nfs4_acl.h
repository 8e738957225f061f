// The NFSv4 ACL that every file carries (FORMAT.md logical 4.11). Linux enforces permission bits and POSIX
// ACLs, so it is only kept in step with the mode.
#pragma once

#include "libpool/base/bytes.h"

namespace tarn {

// The ACL that says exactly what `mode` says.
Bytes trivial_acl(std::uint32_t mode);
// Entries of others than owner@, group@ and everyone@ (and inherit-only ones) stay, the rest is computed from
// `mode`.
Bytes chmod_acl(ByteView aces, std::uint32_t mode);
// Number of entries; stops at the first that does not fit.
std::uint64_t count_aces(ByteView aces);

}  // namespace tarn
