// A temporary folder with file devices for a pool.
#pragma once

#include <string>

#include "libpool/label/label.h"
#include "libpool/txg/pool.h"

namespace tarn::support {

class PoolFolder {
 public:
  PoolFolder();
  ~PoolFolder();
  PoolFolder(const PoolFolder&) = delete;
  PoolFolder& operator=(const PoolFolder&) = delete;

  const std::string& path() const { return path_; }
  // Path of a new, empty device.
  std::string add_device(std::uint64_t bytes = 128u << 20);
  VdevConfig leaf(std::uint64_t bytes = 128u << 20);
  // Trees for PoolCreateSpec on new devices.
  VdevConfig single();
  VdevConfig group(VdevKind kind, unsigned parity, unsigned width);
  // Small cache, two workers.
  static PoolSettings settings();
  Result<DiscoveredPool> discover(const std::string& pool) const;
  // Unpacks tests/fixtures/NAME or the folder that TARN_FIXTURES names; returns the pool's name, empty if
  // absent.
  std::string unpack_fixture(const std::string& name);
  // SHA-256 of all devices.
  std::string fingerprint() const;

 private:
  std::string path_;
  unsigned devices_ = 0;
};

}  // namespace tarn::support
