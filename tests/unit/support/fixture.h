// Pools made by OpenZFS: tests/fixtures/NAME, or those of the full set in $TARN_FIXTURES.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/support/temp_dir.h"

namespace tarn::support {

class Fixture {
 public:
  explicit Fixture(const std::string& name) {
    const std::string folder = std::string(TARN_SOURCE_DIR) + "/tests/fixtures/" + name;
    std::ifstream in(folder + "/manifest.json");
    manifest = nlohmann::json::parse(in);
    const std::string command = "tar --zstd -xf '" + folder + "/disks.tar.zst' -C '" + folder_.path() + "'";
    unpacked = std::system(command.c_str()) == 0;
  }
  const std::string& folder() const { return folder_.path(); }

  nlohmann::json manifest;
  bool unpacked = false;

 private:
  TempDir folder_;
};

}  // namespace tarn::support
