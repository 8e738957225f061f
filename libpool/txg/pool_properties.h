// Pool properties (FORMAT.md logical 7.3): names, kinds, defaults, legal values; which are stored and where.
// Values pass as text; numbers are plain decimal (human units are the commands' matter).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libpool/base/result.h"

namespace tarn {

enum class PoolPropertyKind : std::uint8_t {
  text,
  size,     // bytes; printed with units unless parsable
  number,   // printed as it is
  percent,  // "7" parsable, "7%" else
  ratio,    // hundredths; "1.00" parsable, "1.00x" else
  on_off,
  choice,  // failmode
  ashift,
  quota,  // bytes, none or auto
  guid,
};

enum class PoolPropertyPlace : std::uint8_t {
  derived,     // a statistic, or kept elsewhere (name, version)
  properties,  // MOS pool_props
  config,      // MOS config and labels
  runtime,     // only while the pool is imported
};

struct PoolPropertyInfo {
  std::string_view name;
  std::string_view header;  // column heading
  std::string_view alias;   // short name that users may type; empty if none
  PoolPropertyKind kind = PoolPropertyKind::text;
  PoolPropertyPlace place = PoolPropertyPlace::derived;
  std::string_view default_text;  // "-" where a value is missing
  bool settable = false;          // by `set` on an open pool
  bool at_creation = false;       // by create -o
  bool at_import = false;         // by import -o
  bool dash_if_zero = false;
};

// In the order of `get all`.
std::span<const PoolPropertyInfo> all_pool_properties();
// By name or alias.
const PoolPropertyInfo* find_pool_property(std::string_view name);
// A user property: lower-case name with a colon, at most 255 bytes, not beginning with a dash.
bool is_user_pool_property(std::string_view name);
inline constexpr std::size_t kMaxUserPropertyBytes = 8192;

// Checks `text` and returns it in canonical form ("on", "4096", ...). feature@NAME, user and native
// properties.
Result<std::string> check_pool_property(std::string_view name, std::string_view text);
// Stored integer of a canonical text (kinds on_off, choice, ashift, quota, number, size) and back.
Result<std::uint64_t> pool_property_to_u64(const PoolPropertyInfo& info, std::string_view text);
std::string pool_property_from_u64(const PoolPropertyInfo& info, std::uint64_t value);

// Letters, digits, - _ . : and blank; begins with a letter; not a reserved word (FORMAT.md logical 3.1).
Status check_pool_name(std::string_view name, bool new_pool = true);

}  // namespace tarn
