#include "cmd/poold/pool_service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "cmd/poold/startup.h"
#include "libdataset/files/file_system.h"
#include "libdataset/sa/owner_ids.h"

namespace tarn {
namespace {

// $POOL_CACHE_BYTES and $POOL_DIRTY_BYTES set the limits of the block cache and of unsynced data (e.g.
// "512M").
Result<PoolSettings> settings_from_environment() {
  PoolSettings settings;
  if (const char* text = std::getenv("POOL_CACHE_BYTES"))
    settings.cache_limit_bytes = TRY(parse_size(text).in("POOL_CACHE_BYTES"));
  if (const char* text = std::getenv("POOL_DIRTY_BYTES"))
    settings.dirty_limit_bytes = TRY(parse_size(text).in("POOL_DIRTY_BYTES"));
  return settings;
}

CreateDatasetSpec root_dataset_spec(const Json& startup) {
  CreateDatasetSpec root;
  root.name = startup.value("name", "");
  root.properties = settings_from_json(startup.value("root_properties", Json::array()));
  root.format = [](ObjectSet& objset, const Tx& tx, const std::map<std::string, std::uint64_t>& zpl) {
    return FileSystem::format(objset, tx, zpl, {.uid = ::geteuid(), .gid = ::getegid()},
                              Clock::system().now());
  };
  return root;
}

}  // namespace

PoolService::PoolService(std::unique_ptr<Pool> pool, std::unique_ptr<DatasetTree> tree, std::string altroot)
    : pool_(std::move(pool)),
      tree_(std::move(tree)),
      name_(pool_->name()),
      altroot_(std::move(altroot)),
      mounts_(std::make_unique<MountTable>(*tree_, altroot_)) {}

Result<std::unique_ptr<PoolService>> PoolService::start(const Json& startup) {
  const PoolSettings settings = TRY(settings_from_environment());
  const std::string action = startup.value("action", "");
  std::unique_ptr<Pool> pool;
  if (action == "create") {
    pool = TRY(Pool::create(TRY(create_spec_from_json(startup)), settings,
                            DatasetTree::maker(root_dataset_spec(startup), find_owner)));
  } else if (action == "import") {
    pool = TRY(Pool::open(TRY(open_spec_from_json(startup)), settings));
  } else {
    return Error(Errc::invalid_argument, "unknown startup action");
  }
  std::unique_ptr<DatasetTree> tree = TRY(DatasetTree::open(*pool, find_owner));
  std::unique_ptr<PoolService> service(
      new PoolService(std::move(pool), std::move(tree), startup.value("altroot", "")));
  if (action == "import")
    for (const auto& [name, value] : startup.value("properties", std::map<std::string, std::string>{}))
      TRY(service->pool_->set_property(name, value));
  if (startup.value("mount", true)) service->mount_problems_ = service->mounts_->mount_all();
  return service;
}

const std::map<std::string, PoolService::Method>& PoolService::methods() {
  static const std::map<std::string, Method> table{
      {"pool.status", {false, &PoolService::pool_status}},
      {"pool.get", {false, &PoolService::pool_get}},
      {"pool.history", {false, &PoolService::pool_history}},
      {"pool.set", {true, &PoolService::pool_set}},
      {"pool.add", {true, &PoolService::pool_add}},
      {"pool.export", {true, &PoolService::pool_export}},
      {"pool.destroy", {true, &PoolService::pool_destroy}},
      {"pool.sync", {true, &PoolService::pool_sync}},
      {"pool.log_history", {true, &PoolService::pool_log_history}},
      {"dataset.query", {false, &PoolService::dataset_query}},
      {"dataset.create", {true, &PoolService::dataset_create}},
      {"dataset.destroy", {true, &PoolService::dataset_destroy}},
      {"dataset.rename", {true, &PoolService::dataset_rename}},
      {"dataset.set", {true, &PoolService::dataset_set}},
      {"dataset.inherit", {true, &PoolService::dataset_inherit}},
      {"dataset.snapshot", {true, &PoolService::dataset_snapshot}},
      {"dataset.mount", {true, &PoolService::dataset_mount}},
      {"dataset.unmount", {true, &PoolService::dataset_unmount}},
      {"mount.list", {false, &PoolService::mount_list}},
  };
  return table;
}

Result<Json> PoolService::handle(const std::string& method, const Json& params, const Peer& peer) {
  const auto found = methods().find(method);
  if (found == methods().end()) return Error(Errc::unsupported, fmt::format("unknown request '{}'", method));
  if (!found->second.changes) {
    if (finished_) return Error(Errc::not_found, "no such pool");
    return (this->*found->second.run)(params);
  }
  if (!peer.may_change) return Error(Errc::permission, "permission denied");
  MutexLock lock(change_mutex_);
  if (finished_) return Error(Errc::not_found, "no such pool");
  Result<Json> result = (this->*found->second.run)(params);
  // The command line goes into the history once what it asked for is done.
  if (const std::string command = params.value("command", "");
      result && !finished_ && !command.empty() && !pool_->read_only())
    (void)pool_->log_history(command);
  return result;
}

Status PoolService::export_pool(bool force) {
  MutexLock lock(change_mutex_);
  if (finished_) return {};
  return close(PoolState::exported, force);
}

Status PoolService::close(PoolState final_state, bool force) {
  TRY(mounts_->unmount_tree(name_, force));
  // From here nobody can reach a dataset; the tree lets go of them before the pool closes.
  finished_ = true;
  mounts_.reset();
  tree_.reset();
  const Status closed = pool_->close(final_state);
  pool_.reset();  // its devices are free when the command returns
  return closed;
}

}  // namespace tarn
