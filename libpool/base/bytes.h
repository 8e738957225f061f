// Decoding and encoding of on-disk integers in either byte order, bounds-checked. A reader that runs
// past its end yields zeros and reports failed(); decoders check that once, after the last field.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;

enum class ByteOrder : std::uint8_t { little, big };
inline constexpr ByteOrder kHostOrder = std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;

inline std::uint8_t byte_swap(std::uint8_t v) { return v; }
inline std::uint16_t byte_swap(std::uint16_t v) { return __builtin_bswap16(v); }
inline std::uint32_t byte_swap(std::uint32_t v) { return __builtin_bswap32(v); }
inline std::uint64_t byte_swap(std::uint64_t v) { return __builtin_bswap64(v); }

// Load and store at an unaligned place; the caller has checked the bounds.
template <typename T>
T load(const std::byte* from, ByteOrder order) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return order == kHostOrder ? value : byte_swap(value);
}
template <typename T>
void store(std::byte* to, T value, ByteOrder order) {
  if (order != kHostOrder) value = byte_swap(value);
  std::memcpy(to, &value, sizeof value);
}

class ByteReader {
 public:
  ByteReader(ByteView data, ByteOrder order) : data_(data), order_(order) {}
  std::uint8_t u8() { return take<std::uint8_t>(); }
  std::uint16_t u16() { return take<std::uint16_t>(); }
  std::uint32_t u32() { return take<std::uint32_t>(); }
  std::uint64_t u64() { return take<std::uint64_t>(); }
  // The next `count` bytes, or an empty view (and failed()) if fewer are left.
  ByteView bytes(std::size_t count) {
    if (count > remaining()) { failed_ = true; position_ = data_.size(); return {}; }
    ByteView out = data_.subspan(position_, count);
    position_ += count;
    return out;
  }
  void skip(std::size_t count) { (void)bytes(count); }
  void seek(std::size_t position) {
    if (position > data_.size()) { failed_ = true; position = data_.size(); }
    position_ = position;
  }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return data_.size() - position_; }
  bool failed() const { return failed_; }
  ByteOrder order() const { return order_; }

 private:
  template <typename T>
  T take() {
    if (sizeof(T) > remaining()) { failed_ = true; position_ = data_.size(); return 0; }
    T value = load<T>(data_.data() + position_, order_);
    position_ += sizeof(T);
    return value;
  }
  ByteView data_;
  ByteOrder order_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

// Writes into a fixed region that the caller sized; overrunning it is a programmer error.
class ByteWriter {
 public:
  ByteWriter(MutableByteView out, ByteOrder order) : out_(out), order_(order) {}
  void u8(std::uint8_t v) { put(v); }
  void u16(std::uint16_t v) { put(v); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  void bytes(ByteView v) {
    assert(v.size() <= out_.size() - position_);
    if (!v.empty()) std::memcpy(out_.data() + position_, v.data(), v.size());
    position_ += v.size();
  }
  void zeros(std::size_t count) {
    assert(count <= out_.size() - position_);
    std::memset(out_.data() + position_, 0, count);
    position_ += count;
  }
  void seek(std::size_t position) { assert(position <= out_.size()); position_ = position; }
  std::size_t position() const { return position_; }

 private:
  template <typename T>
  void put(T v) {
    assert(sizeof(T) <= out_.size() - position_);
    store<T>(out_.data() + position_, v, order_);
    position_ += sizeof(T);
  }
  MutableByteView out_;
  ByteOrder order_;
  std::size_t position_ = 0;
};

inline ByteView as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
// Swaps every u64 of `data` in place; a tail shorter than 8 bytes stays.
void swap_u64_array(MutableByteView data);
bool all_zero(ByteView data);

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t multiple) { return value / multiple * multiple; }
constexpr std::uint64_t div_ceil(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }
// 1-based number of the most significant set bit; 0 for 0.
constexpr int highbit(std::uint64_t value) { return 64 - std::countl_zero(value); }

}  // namespace tarn
