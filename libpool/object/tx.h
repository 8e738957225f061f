// Tx: the right to change objects in one transaction group. While it lives the group stays open.
#pragma once

#include <cstdint>
#include <utility>

namespace tarn {

// Who hands out transactions (libpool/txg).
class TxHost {
 public:
  virtual ~TxHost() = default;
  virtual void release(std::uint64_t txg) = 0;
};

class Tx {
 public:
  Tx(TxHost* host, std::uint64_t txg) : host_(host), txg_(txg) {}
  // A transaction inside sync itself: nothing to release.
  static Tx syncing(std::uint64_t txg) { return Tx(nullptr, txg); }
  ~Tx() {
    if (host_) host_->release(txg_);
  }
  Tx(Tx&& o) noexcept : host_(std::exchange(o.host_, nullptr)), txg_(o.txg_) {}
  Tx& operator=(Tx&&) = delete;
  std::uint64_t txg() const { return txg_; }

 private:
  TxHost* host_;
  std::uint64_t txg_;
};

}  // namespace tarn
