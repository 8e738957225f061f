// The -o, -O, -m, -R and -d options of create, sorted into what they set and checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/common/options.h"
#include "cmd/pool/vdev_spec.h"

namespace tarn {

struct PoolOptions {
  std::uint64_t ashift = 0;
  std::uint64_t version = 5000;
  std::map<std::string, bool> features;                              // guid -> wanted
  std::map<std::string, std::string> properties;                     // other pool properties
  std::vector<std::pair<std::string, std::string>> root_properties;  // -O and -m
  std::string altroot;
};

// Errors carry the whole text to print; Errc::usage exits 2.
Result<PoolOptions> collect_pool_options(const Args& args, const std::string& pool);
// The folders of the devices, to say later how to import the pool again.
std::vector<std::string> search_folders(const LayoutSpec& layout);

}  // namespace tarn
