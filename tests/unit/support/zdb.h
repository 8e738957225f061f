// zdb as judge: runs the zdb of the system on a folder of devices.
#pragma once

#include <string>
#include <vector>

namespace tarn::support {

struct ZdbRun {
  int exit_status = -1;
  std::string output;
};
bool zdb_available();
// zdb -e -p FOLDER OPTIONS POOL
ZdbRun run_zdb(const std::string& folder, const std::string& pool, const std::vector<std::string>& options);
// Every checksum right, no leaked and no twice allocated block; else the reason. `zdb -bcc`.
std::string zdb_complaints(const std::string& folder, const std::string& pool);

}  // namespace tarn::support
