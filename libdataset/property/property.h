// The native dataset properties: names, types, defaults, legal values, and how they print (FORMAT.md logical 7).
// One table; everything else (parsing, listings, inheritance) is driven by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpool/base/result.h"

namespace tarn {

// In the order in which `get all` prints them (FORMAT.md logical 7.2, last paragraph).
enum class Property : std::uint8_t {
  type, creation, used, available, referenced, compressratio, mounted, origin, quota, reservation, volsize, volblocksize,
  recordsize, mountpoint, sharenfs, checksum, compression, atime, devices, exec, setuid, readonly, zoned, snapdir, aclmode,
  aclinherit, createtxg, canmount, xattr, copies, version, utf8only, normalization, casesensitivity, vscan, nbmand, sharesmb,
  refquota, refreservation, guid, primarycache, secondarycache, usedbysnapshots, usedbydataset, usedbychildren,
  usedbyrefreservation, defer_destroy, userrefs, logbias, objsetid, dedup, mlslabel, sync, dnodesize, refcompressratio, written,
  clones, logicalused, logicalreferenced, volmode, filesystem_limit, snapshot_limit, filesystem_count, snapshot_count, snapdev,
  acltype, context, fscontext, defcontext, rootcontext, relatime, redundant_metadata, overlay, receive_resume_token, encryption,
  keylocation, keyformat, pbkdf2iters, encryptionroot, keystatus, special_small_blocks, redact_snaps, snapshots_changed, prefetch,
  volthreading, direct, longname, name,
  count_,
};

enum class PropertyType : std::uint8_t { number, index, text };
enum class PropertyAttr : std::uint8_t { settable_not_inherited, inherited, read_only, once_inherited, once };

struct IndexValue { const char* text; std::uint64_t value; };

struct PropertyInfo {
  Property id;
  const char* name;
  const char* short_name;      // "avail", or null
  const char* column;          // heading of `list -o`
  PropertyType type;
  PropertyAttr attr;
  bool for_filesystem, for_volume, for_snapshot, for_bookmark;
  std::uint64_t default_number;
  const char* default_text;    // null for none
  std::span<const IndexValue> index;   // legal words; first with a value is the one printed
  const char* values_help;     // as the usage table prints it, e.g. "on | off"
  bool acted_upon;             // false: `set` refuses, since Tarn does not act on it yet
  bool right_aligned;
};

const PropertyInfo& property_info(Property property);
// By name or short name; case-sensitive.
const PropertyInfo* find_property(std::string_view name);
std::span<const PropertyInfo> all_properties();
bool is_user_property(std::string_view name);   // contains ':'

// A value as `get` reports it.
enum class Source : std::uint8_t { none, defaulted, local, inherited, received, temporary };
struct PropertyValue {
  std::string name;
  PropertyType type = PropertyType::text;
  std::uint64_t number = 0;
  std::string text;             // strings
  bool absent = false;          // does not apply here or has no value: prints "-"
  Source source = Source::none;
  std::string source_dataset;   // inherited: where from
  std::string received;         // value of $recvd, printable; empty if none
};

// As printed: human form, or with -p. "-" for what does not apply.
std::string print_value(const PropertyValue& value, bool parsable);
// What the user typed, checked against the table: number or text to store. The error text is what OpenZFS prints after
// "cannot set property for 'X': " (see the transcripts).
struct ParsedValue { std::uint64_t number = 0; std::string text; };
Result<ParsedValue> parse_value(const PropertyInfo& info, std::string_view text, bool is_volume);
inline constexpr std::uint64_t kAutoReservation = UINT64_MAX;   // what "refreservation=auto" parses to
inline constexpr std::size_t kMaxPropertyTextBytes = 8192;      // with the NUL

// Where a property may be given: `set` on what exists, or -o at creation (then also the create-time ones).
enum class SetOccasion : std::uint8_t { set, create };
enum class PropertyTarget : std::uint8_t { filesystem, volume, snapshot };
// The setting `name=text` checked as a whole: known, settable here, legal value, and acted upon by Tarn. `info` is null
// for user properties.
struct CheckedSetting { const PropertyInfo* info = nullptr; ParsedValue value; };
Result<CheckedSetting> check_setting(std::string_view name, std::string_view text, PropertyTarget target, SetOccasion occasion);
// Whether `info` has a meaning for this kind of dataset.
bool applies_to(const PropertyInfo& info, PropertyTarget target);
// The printable word of an index value; null if the value has none.
const char* index_text(const PropertyInfo& info, std::uint64_t value);

// Sizes: nicenum and its inverse (FORMAT.md logical 7.1); shared with the commands.
std::string nice_number(std::uint64_t value);
std::string nice_bytes(std::uint64_t value);            // with B below 1024
Result<std::uint64_t> parse_size(std::string_view text);  // "1.5G"; error texts as cli.md gives them

}  // namespace tarn
