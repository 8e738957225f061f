#include "libpool/txg/pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>

#include "libpool/txg/pool_impl.h"
#include "libpool/txg/pool_properties.h"

namespace tarn {
namespace {

constexpr std::uint64_t kSlopDivisor = 32;
constexpr std::uint64_t kMaxSlopBytes = std::uint64_t{128} << 30;
constexpr std::uint64_t kMinSlopBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kEmbeddedLogMinMetaslabs = 64;
constexpr std::uint64_t kMaxDefaultDirtyBytes = std::uint64_t{1} << 30;

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

PoolSettings with_defaults(PoolSettings settings) {
  if (settings.cache_limit_bytes == 0) settings.cache_limit_bytes = memory_bytes() / 4;
  if (settings.dirty_limit_bytes == 0)
    settings.dirty_limit_bytes = std::min(memory_bytes() / 10, kMaxDefaultDirtyBytes);
  if (settings.worker_threads == 0)
    settings.worker_threads = std::max(1u, std::thread::hardware_concurrency()) + 2;
  if (!settings.clock) settings.clock = &Clock::system();
  return settings;
}

}  // namespace

PoolImpl::PoolImpl(const PoolSettings& settings)
    : settings_(with_defaults(settings)),
      clock_(settings_.clock),
      host_(host_identity()),
      workers_(std::make_unique<ThreadPool>("tarn-pool", settings_.worker_threads)),
      load_guid_(random_guid()) {}

PoolImpl::~PoolImpl() {
  engine_.reset();
  allocator_.reset();
  directory_.reset();
  mos_.reset();
  io_.reset();
  vdevs_.reset();
}

Result<std::unique_ptr<Pool>> Pool::create(const PoolCreateSpec& spec, const PoolSettings& settings,
                                           const DatasetMaker& make_datasets) {
  auto pool = std::make_unique<PoolImpl>(settings);
  if (Status built = pool->build(spec, make_datasets); !built)
    return std::move(built).error().in(fmt::format("pool '{}'", spec.name));
  return std::unique_ptr<Pool>(std::move(pool));
}

void PoolImpl::start_engine(std::uint64_t first_txg) {
  loaded_txg_ = first_txg;
  if (read_only_) return;
  engine_ = std::make_unique<TxgEngine>(
      TxgEngine::Settings{.first_txg = first_txg,
                          .timeout_ms = settings_.txg_timeout_ms,
                          .dirty_limit_bytes = settings_.dirty_limit_bytes},
      [this](std::uint64_t txg, Tasks& tasks) {
        return sync(txg, tasks).in(fmt::format("pool '{}': txg {}", config_.name, txg));
      });
  engine_->start();
}

Status PoolImpl::require_writable() const {
  if (read_only_) return Error(Errc::read_only, fmt::format("pool '{}' is read-only", config_.name));
  return {};
}

Status PoolImpl::close(PoolState final_state) {
  if (read_only_ || !engine_) return {};
  assert(participants().empty());
  TRY(engine_->run_task([this, final_state] {
    MutexLock lock(config_mutex_);
    config_.state = final_state;
    config_dirty_ = true;
    return Status();
  }));
  return engine_->stop();
}

Result<Tx> PoolImpl::begin(std::uint64_t bytes, bool may_use_slop) {
  TRY(require_writable());
  if (bytes > 0) {
    // Operations that free space may use half of what is held back, so that a full pool can be emptied.
    const std::uint64_t size = allocator_->deflated_size_bytes();
    const std::uint64_t held_back = may_use_slop ? slop_bytes() / 2 : slop_bytes();
    const std::uint64_t taken = allocator_->deflated_allocated_bytes() + engine_->dirty_bytes();
    if (size < held_back || taken + bytes > size - held_back)
      return Error(Errc::no_space, fmt::format("pool '{}': no space left", config_.name));
  }
  return Tx(this, TRY(engine_->join()));
}

void PoolImpl::release(std::uint64_t txg) { engine_->release(txg); }

void PoolImpl::dirtied(std::uint64_t txg, std::int64_t bytes) {
  if (engine_) engine_->dirtied(txg, bytes);
}

std::uint64_t PoolImpl::open_txg() const { return engine_ ? engine_->open_txg() : loaded_txg_; }
std::uint64_t PoolImpl::synced_txg() const { return engine_ ? engine_->synced_txg() : loaded_txg_ - 1; }
Status PoolImpl::sync_now() { return engine_ ? engine_->sync_now(config_dirty_) : Status(); }
Status PoolImpl::wait_synced(std::uint64_t txg) { return engine_ ? engine_->wait_synced(txg) : Status(); }

Status PoolImpl::run_sync_task(const std::function<Status(SyncContext&)>& task) {
  TRY(require_writable());
  return engine_->run_task([this, &task] { return task(*sync_context_); });
}

void PoolImpl::add_participant(SyncParticipant* participant) {
  MutexLock lock(config_mutex_);
  participants_.push_back(participant);
}

void PoolImpl::remove_participant(SyncParticipant* participant) {
  MutexLock lock(config_mutex_);
  std::erase(participants_, participant);
}

std::vector<SyncParticipant*> PoolImpl::participants() const {
  MutexLock lock(config_mutex_);
  return participants_;
}

VdevConfig PoolImpl::config_tree() const {
  VdevConfig tree = root_;
  tree.children.clear();
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) tree.children.push_back(vdevs_->top_config(i));
  return tree;
}

std::vector<VdevConfig> PoolImpl::spares() const {
  MutexLock lock(config_mutex_);
  return spares_;
}

std::vector<VdevConfig> PoolImpl::caches() const {
  MutexLock lock(config_mutex_);
  return caches_;
}

NvList PoolImpl::config(VdevConfig::For place) const {
  return encode_pool_config(pool_config_for(synced_txg()), config_tree(), place);
}

std::uint64_t PoolImpl::slop_bytes() const {
  const std::uint64_t size = allocator_->deflated_size_bytes();
  std::uint64_t slop = std::min(size / kSlopDivisor, kMaxSlopBytes);
  // A metaslab of each large vdev serves the intent log and counts as held back already.
  std::uint64_t embedded_log = 0;
  for (std::uint32_t i = 0; i < vdevs_->top_count(); ++i) {
    const VdevConfig& top = vdevs_->top_config(i);
    if (top.is_log || top.allocation_bias || top.metaslab_shift == 0 || top.metaslab_shift >= 64) continue;
    if ((top.asize_bytes >> top.metaslab_shift) > kEmbeddedLogMinMetaslabs)
      embedded_log += vdevs_->deflated_size(i, std::uint64_t{1} << top.metaslab_shift);
  }
  slop -= std::min(embedded_log, slop / 2);
  return std::max(slop, std::min(size / 2, kMinSlopBytes));
}

std::uint64_t PoolImpl::usable_bytes() const {
  const std::uint64_t size = allocator_->deflated_size_bytes();
  const std::uint64_t taken = slop_bytes() + allocator_->deflated_allocated_bytes();
  return size > taken ? size - taken : 0;
}

}  // namespace tarn
