// Buffer: page-aligned memory for one block, so that devices can be read and written with O_DIRECT.
// Shared as BufferRef (immutable); whoever writes into one owns it alone.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "libpool/base/bytes.h"

namespace tarn {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  Buffer() = default;
  // Uninitialised memory of `size` bytes.
  explicit Buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, round_up(size, kAlignment)));
    if (!data_) throw std::bad_alloc();
  }
  static Buffer zeroed(std::size_t size) {
    Buffer b(size);
    if (size) std::memset(b.data_, 0, size);
    return b;
  }
  static Buffer copy_of(ByteView from) {
    Buffer b(from.size());
    if (!from.empty()) std::memcpy(b.data_, from.data(), from.size());
    return b;
  }
  ~Buffer() { std::free(data_); }
  Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ByteView view() const { return {data_, size_}; }
  MutableByteView span() { return {data_, size_}; }
  operator ByteView() const { return view(); }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

using BufferRef = std::shared_ptr<const Buffer>;
using MutableBufferRef = std::shared_ptr<Buffer>;

}  // namespace tarn
