// PoolService: one imported pool with its datasets and mounts, and the requests that the commands make of it.
//
// Requests that only read may run side by side; those that change run one at a time (change_mutex_), so that
// two commands at once are safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cmd/common/protocol.h"
#include "cmd/poold/mount_table.h"
#include "cmd/poold/server.h"
#include "libdataset/tree/dataset_tree.h"
#include "libpool/txg/pool.h"

namespace tarn {

class PoolService {
 public:
  // Creates or imports what `startup` says; see startup.h.
  static Result<std::unique_ptr<PoolService>> start(const Json& startup);

  Result<Json> handle(const std::string& method, const Json& params, const Peer& peer)
      EXCLUDES(change_mutex_);
  // True once the pool was exported or destroyed: the process may end.
  bool finished() const { return finished_; }
  // SIGTERM: unmounts and exports.
  Status export_pool(bool force) EXCLUDES(change_mutex_);
  const std::string& name() const { return name_; }
  // What could not be mounted at the start.
  const std::vector<std::string>& mount_problems() const { return mount_problems_; }

 private:
  struct Method {
    bool changes;
    Result<Json> (PoolService::*run)(const Json& params);
  };
  static const std::map<std::string, Method>& methods();

  PoolService(std::unique_ptr<Pool> pool, std::unique_ptr<DatasetTree> tree, std::string altroot);
  Status close(PoolState final_state, bool force);

  // pool_requests.cc
  Result<Json> pool_status(const Json& params);
  Result<Json> pool_get(const Json& params);
  Result<Json> pool_set(const Json& params);
  Result<Json> pool_add(const Json& params);
  Result<Json> pool_export(const Json& params);
  Result<Json> pool_destroy(const Json& params);
  Result<Json> pool_sync(const Json& params);
  Result<Json> pool_history(const Json& params);
  Result<Json> pool_log_history(const Json& params);

  // dataset_requests.cc
  Result<Json> dataset_query(const Json& params);
  Result<Json> dataset_create(const Json& params);
  Result<Json> dataset_destroy(const Json& params);
  Result<Json> dataset_rename(const Json& params);
  Result<Json> dataset_set(const Json& params);
  Result<Json> dataset_inherit(const Json& params);
  Result<Json> dataset_snapshot(const Json& params);
  Result<Json> dataset_mount(const Json& params);
  Result<Json> dataset_unmount(const Json& params);
  Result<Json> mount_list(const Json& params);
  Json dataset_row(const DatasetInfo& info, const std::vector<std::string>& properties, bool all);

  std::unique_ptr<Pool> pool_;
  std::unique_ptr<DatasetTree> tree_;
  const std::string name_;
  const std::string altroot_;
  std::unique_ptr<MountTable> mounts_;
  std::vector<std::string> mount_problems_;
  Mutex change_mutex_;
  std::atomic<bool> finished_ = false;
};

}  // namespace tarn
