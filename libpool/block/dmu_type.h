// DMU object types: what a block or an object holds, and how its content is byte-swapped
// (FORMAT.md 13.2, 13.3).
#pragma once

#include <cstdint>

#include "libpool/base/bytes.h"

namespace tarn {

// The numbers are on disk. Values of 0x80 and up are new-style types; any u8 may come from a device.
enum class DmuType : std::uint8_t {
  none = 0, object_directory = 1, object_array = 2, packed_nvlist = 3, packed_nvlist_size = 4, bpobj = 5,
  bpobj_header = 6, space_map_header = 7, space_map = 8, intent_log = 9, dnode = 10, objset = 11, dsl_dir = 12,
  dsl_dir_child_map = 13, dsl_snap_map = 14, dsl_props = 15, dsl_dataset = 16, znode = 17, old_acl = 18,
  plain_file = 19, directory = 20, master_node = 21, unlinked_set = 22, zvol = 23, zvol_prop = 24,
  other_u8 = 25, other_u64 = 26, other_zap = 27, error_log = 28, history = 29, history_offsets = 30,
  pool_props = 31, dsl_permissions = 32, acl = 33, sysacl = 34, fuid_table = 35, fuid_size = 36,
  next_clones = 37, scan_queue = 38, user_used = 39, user_quota = 40, userrefs = 41, ddt_zap = 42,
  ddt_stats = 43, sa = 44, sa_master_node = 45, sa_registration = 46, sa_layouts = 47, scan_translations = 48,
  dedup = 49, deadlist = 50, deadlist_header = 51, dsl_clones = 52, bpobj_subobj = 53,
  otn_u8_data = 0x80, otn_u64_data = 0x83, otn_zap_data = 0x84,
  otn_u8_metadata = 0xc0, otn_u32_metadata = 0xc2, otn_u64_metadata = 0xc3, otn_zap_metadata = 0xc4,
};

enum class SwapClass : std::uint8_t { u8, u16, u32, u64, zap, dnode, objset, znode, old_acl, acl };

bool is_valid(DmuType type);
bool is_metadata(DmuType type);       // column M: gets an extra copy, metadata checksum and compression
bool is_encrypted_type(DmuType type);  // column E
SwapClass swap_class(DmuType type);
// The name that zdb and error texts use, e.g. "DSL directory".
const char* name_of(DmuType type);

}  // namespace tarn
