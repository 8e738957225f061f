#include "tests/unit/support/pool_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libpool/checksum/checksum.h"

namespace tarn::support {

namespace fs = std::filesystem;

PoolFolder::PoolFolder() {
  std::string name = (fs::temp_directory_path() / "tarn-pool-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

PoolFolder::~PoolFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string PoolFolder::add_device(std::uint64_t bytes) {
  const std::string device = path_ + "/disk" + std::to_string(devices_++);
  std::ofstream(device).close();
  fs::resize_file(device, bytes);
  return device;
}

VdevConfig PoolFolder::leaf(std::uint64_t bytes) {
  VdevConfig leaf;
  leaf.kind = VdevKind::file;
  leaf.path = add_device(bytes);
  return leaf;
}

VdevConfig PoolFolder::single() {
  VdevConfig root;
  root.kind = VdevKind::root;
  root.children.push_back(leaf());
  return root;
}

VdevConfig PoolFolder::group(VdevKind kind, unsigned parity, unsigned width) {
  VdevConfig top;
  top.kind = kind;
  top.nparity = parity;
  for (unsigned i = 0; i < width; ++i) top.children.push_back(leaf());
  VdevConfig root;
  root.kind = VdevKind::root;
  root.children.push_back(std::move(top));
  return root;
}

PoolSettings PoolFolder::settings() {
  return {.cache_limit_bytes = 32 << 20, .dirty_limit_bytes = 64 << 20, .worker_threads = 2};
}

Result<DiscoveredPool> PoolFolder::discover(const std::string& pool) const {
  for (DiscoveredPool& found : TRY(discover_pools({.folders = {path_}, .include_destroyed = true})))
    if (found.config.name == pool) return std::move(found);
  return Error(Errc::not_found, "no pool '" + pool + "' in " + path_);
}

std::string PoolFolder::unpack_fixture(const std::string& name) {
  const char* folder = std::getenv("TARN_FIXTURES");
  std::string source = std::string(TARN_SOURCE_DIR) + "/tests/fixtures/" + name;
  if (!fs::exists(source + "/disks.tar.zst") && folder) source = std::string(folder) + "/" + name;
  if (!fs::exists(source + "/disks.tar.zst")) return {};
  if (std::system(("tar --zstd -xf '" + source + "/disks.tar.zst' -C '" + path_ + "'").c_str()) != 0)
    return {};
  std::ifstream manifest(source + "/manifest.json");
  return nlohmann::json::parse(manifest).at("pool").at("name").get<std::string>();
}

std::string PoolFolder::fingerprint() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) {
    std::ifstream in(name, std::ios::binary);
    std::vector<char> chunk(1 << 20);
    ChecksumWords sum{};
    while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
      const ChecksumWords part = fletcher4(
          std::as_bytes(std::span(chunk.data(), static_cast<std::size_t>(in.gcount()))), kHostOrder);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] * 31 + part[i];
    }
    for (const std::uint64_t word : sum) out += std::to_string(word) + ".";
  }
  return out;
}

}  // namespace tarn::support
