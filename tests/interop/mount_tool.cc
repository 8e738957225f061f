// mount_tool create|import FOLDER POOL DATASET MOUNTPOINT [PROPERTY=VALUE...]: makes (from the files in
// FOLDER) or imports a pool, mounts one dataset, prints "mounted", and unmounts and exports when its standard
// input ends. For tests of mounts.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "libdataset/files/file_system.h"
#include "libdataset/fuse/mount.h"
#include "libdataset/sa/owner_ids.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/label/label.h"
#include "libpool/txg/pool.h"

namespace tarn {
namespace {

CreateDatasetSpec file_system_spec(const std::string& name, std::vector<PropertySetting> properties) {
  return {.name = name,
          .properties = std::move(properties),
          .format = [](ObjectSet& objset, const Tx& tx,
                       const std::map<std::string, std::uint64_t>& zpl_properties) {
            return FileSystem::format(objset, tx, zpl_properties, {}, Clock::system().now());
          }};
}

Result<std::unique_ptr<Pool>> make_pool(const std::string& folder, const std::string& name,
                                        std::vector<PropertySetting> properties) {
  PoolCreateSpec spec{.name = name};
  spec.root.kind = VdevKind::root;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    VdevConfig leaf;
    leaf.kind = VdevKind::file;
    leaf.path = file.path();
    spec.root.children.push_back(std::move(leaf));
  }
  spec.history_command = "mount_tool create";
  return Pool::create(spec, {},
                      DatasetTree::maker(file_system_spec(name, std::move(properties)), find_owner));
}

Result<std::unique_ptr<Pool>> import_pool(const std::string& folder, const std::string& name) {
  for (DiscoveredPool& found : TRY(discover_pools({.folders = {folder}}))) {
    if (found.config.name == name) return Pool::open({.found = std::move(found), .force = true}, {});
  }
  return Error(Errc::not_found, fmt::format("no pool '{}' in '{}'", name, folder));
}

Status run(const std::vector<std::string>& arguments) {
  const std::string &command = arguments[0], &folder = arguments[1], &pool_name = arguments[2],
                    &dataset_name = arguments[3];
  std::vector<PropertySetting> properties;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    properties.push_back({arguments[i].substr(0, equals), arguments[i].substr(equals + 1)});
  }
  std::unique_ptr<Pool> pool = command == "create" ? TRY(make_pool(folder, pool_name, properties))
                                                   : TRY(import_pool(folder, pool_name));
  std::unique_ptr<DatasetTree> tree = TRY(DatasetTree::open(*pool, find_owner));
  const std::string head = dataset_name.substr(0, dataset_name.find('@'));
  if (command == "create" && dataset_name != pool_name) TRY(tree->create(file_system_spec(dataset_name, {})));
  if (command == "import" && !properties.empty()) TRY(tree->set(head, properties));

  MountOptions options{.mountpoint = arguments[4], .source = dataset_name};
  options.open_snapshot = [&](const std::string& snapshot) -> Result<std::shared_ptr<FileSystem>> {
    return FileSystem::open(TRY(tree->open_dataset(head + "@" + snapshot)));
  };
  options.list_snapshots = [&] {
    std::vector<std::string> names;
    if (auto list = tree->list(head, 1, true)) {
      for (const DatasetInfo& info : *list) {
        if (info.kind == DatasetKind::snapshot) names.push_back(info.name.substr(info.name.find('@') + 1));
      }
    }
    return names;
  };
  {
    std::unique_ptr<Mount> mount =
        TRY(Mount::create(TRY(FileSystem::open(TRY(tree->open_dataset(dataset_name)))), options));
    fmt::print("mounted\n");
    std::fflush(stdout);
    // Each line on the standard input names a snapshot to take; its end unmounts.
    std::string line;
    for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      if (Status taken = tree->snapshot({head + "@" + line}, {}); !taken)
        fmt::print("snapshot: {}\n", taken.error().text());
      fmt::print("snapshot {}\n", line);
      std::fflush(stdout);
      line.clear();
    }
    TRY(mount->unmount(false));
  }
  TRY(pool->sync_now());
  tree.reset();
  return pool->close(PoolState::exported);
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr,
               "usage: mount_tool create|import FOLDER POOL DATASET MOUNTPOINT [PROPERTY=VALUE...]\n");
    return 2;
  }
  const tarn::Status status = tarn::run(std::vector<std::string>(argv + 1, argv + argc));
  if (status) return 0;
  fmt::print(stderr, "{}\n", status.error().text());
  return 1;
}
