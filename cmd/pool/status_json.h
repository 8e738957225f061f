// `status -j`: the same facts as the text, in OpenZFS's JSON shape.
#pragma once

#include <vector>

#include "cmd/common/protocol.h"
#include "cmd/pool/vdev_names.h"

namespace tarn {

using OrderedJson = nlohmann::ordered_json;

struct JsonStyle {
  bool integers = false;  // --json-int
  bool flat = false;      // --json-flat-vdevs
  bool key_guid = false;  // --json-pool-key-guid
  bool parsable = false;  // -p
  NameStyle names;
};
OrderedJson status_json(const std::vector<Json>& pools, const JsonStyle& style);
// A number as JSON shows it: true number, or text (human form, plain for `exact`).
OrderedJson json_size(std::uint64_t value, const JsonStyle& style);
OrderedJson json_exact(std::uint64_t value, const JsonStyle& style);
OrderedJson json_version(const char* command);
// The first keys of a pool in `list -j` and `get -j`.
OrderedJson pool_json_head(const Json& status, const JsonStyle& style);

}  // namespace tarn
