// The text of `pool status` for one pool (the grammar scripts read: header lines, config table, errors line).
#pragma once

#include <string>

#include "cmd/common/protocol.h"
#include "cmd/pool/vdev_names.h"

namespace tarn {

struct StatusStyle {
  NameStyle names;
  bool parsable = false;        // -p
  bool only_unhealthy = false;  // -e
  bool slow_column = false;     // -s
  bool direct_column = false;   // -d
};

// `status` and `action` sentences for a pool in this state; empty when nothing is wrong or worth knowing.
struct Diagnosis {
  std::string status, action, see, message_id;
};
Diagnosis diagnose(const Json& pool);
// Nothing to say about it: what -x looks for.
bool is_healthy(const Json& pool);

std::string render_status(const Json& pool, const StatusStyle& style);

}  // namespace tarn
