// Numbers of the POSIX layer on disk: flags of files, names in the master node, entries of directories
// (FORMAT.md logical 4.1, 4.6, 4.7).
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace tarn::zpl {

inline constexpr std::uint64_t kMasterNode = 1;
inline constexpr std::uint64_t kVersion = 5;  // what a new file system gets, and the lowest that is written

inline constexpr std::uint64_t kFlagXattr = 0x1, kFlagAclTrivial = 0x4, kFlagAclAutoInherit = 0x40,
                               kFlagNoExecsDenied = 0x100;
inline constexpr std::uint64_t high_flag(std::uint64_t bit) { return bit << 32; }
inline constexpr std::uint64_t kFlagReadOnly = high_flag(0x1), kFlagArchive = high_flag(0x8),
                               kFlagImmutable = high_flag(0x10), kFlagNoUnlink = high_flag(0x20),
                               kFlagAppendOnly = high_flag(0x40), kFlagNoDump = high_flag(0x80),
                               kFlagAvModified = high_flag(0x400), kFlagProjInherit = high_flag(0x4000),
                               kFlagProjid = high_flag(0x8000);

inline constexpr std::uint64_t kObjectMask = (std::uint64_t{1} << 48) - 1;
inline constexpr std::uint64_t entry_value(std::uint64_t object, std::uint64_t mode) {
  return (object & kObjectMask) | ((mode & S_IFMT) >> 12) << 60;
}
inline constexpr std::uint64_t entry_object(std::uint64_t value) { return value & kObjectMask; }
inline constexpr std::uint32_t entry_type(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 60) << 12;
}

inline constexpr std::uint64_t kNormUpper = 0x02;

// Values of dataset properties (FORMAT.md logical 7.2).
inline constexpr std::uint64_t kXattrOff = 0, kXattrDirectory = 1, kXattrSa = 2;
inline constexpr std::uint64_t kAclPosix = 1;
inline constexpr std::uint64_t kSyncAlways = 1, kSyncDisabled = 2;

}  // namespace tarn::zpl
