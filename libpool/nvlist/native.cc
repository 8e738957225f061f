// Native encoding of name/value lists (FORMAT.md 3.4): host byte order, values as in C memory; an embedded
// list's pairs follow the pair that holds it.
#include <fmt/format.h>

#include "libpool/nvlist/nv_type.h"

namespace tarn {
namespace {

constexpr std::size_t align8(std::size_t n) { return (n + 7) & ~std::size_t{7}; }
constexpr std::size_t kPairHeaderBytes = 16;
constexpr std::size_t kListStructBytes = 24;

// ---- writing

class NativeWriter {
 public:
  void list(const NvList& list) {
    put<std::int32_t>(0);
    put<std::uint32_t>(kNvUniqueName);
    pairs(list);
  }
  Bytes take() { return std::move(out_); }

 private:
  template <typename T>
  void put(T v) {
    out_.resize(out_.size() + sizeof(T));
    std::memcpy(out_.data() + out_.size() - sizeof(T), &v, sizeof(T));
  }
  void raw(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void text(const std::string& v) {
    raw(as_bytes(v));
    out_.push_back(std::byte{0});
  }
  void list_struct() {
    put<std::int32_t>(0);
    put<std::uint32_t>(kNvUniqueName);
    put<std::uint64_t>(0);
    put<std::uint32_t>(0);
    put<std::int32_t>(0);
  }

  void value(const NvBoolean&) {}
  void value(bool v) { put<std::int32_t>(v); }
  void value(NvByte v) { put(v.value); }
  void value(NvTime v) { put(v.nanoseconds); }
  void value(const std::string& v) { text(v); }
  void value(const NvList&) { list_struct(); }
  void value(const Bytes& v) { raw(v); }
  void value(const std::vector<bool>& v) {
    for (const bool b : v) put<std::int32_t>(b);
  }
  void value(const std::vector<std::string>& v) {
    for (std::size_t i = 0; i < v.size(); ++i) put<std::uint64_t>(0);
    for (const std::string& s : v) text(s);
  }
  void value(const std::vector<NvList>& v) {
    for (std::size_t i = 0; i < v.size(); ++i) put<std::uint64_t>(0);
    for (std::size_t i = 0; i < v.size(); ++i) list_struct();
  }
  template <typename T>
  void value(const std::vector<T>& v) {
    for (const T element : v) put(element);
  }
  template <typename T>
  void value(T v) {
    put(v);
  }

  void pairs(const NvList& list) {
    for (const NvPair& pair : list.pairs()) {
      const std::size_t start = out_.size();
      put<std::int32_t>(0);  // size, set below
      put<std::int16_t>(static_cast<std::int16_t>(pair.name.size() + 1));
      put<std::int16_t>(0);
      put<std::int32_t>(static_cast<std::int32_t>(element_count(pair.value)));
      put<std::int32_t>(static_cast<std::int32_t>(type_of(pair.value)));
      text(pair.name);
      out_.resize(start + align8(out_.size() - start));
      std::visit([this](const auto& v) { value(v); }, pair.value);
      out_.resize(start + align8(out_.size() - start));
      const auto size = static_cast<std::int32_t>(out_.size() - start);
      std::memcpy(out_.data() + start, &size, sizeof size);
      if (const auto* nested = std::get_if<NvList>(&pair.value)) pairs(*nested);
      if (const auto* nested = std::get_if<std::vector<NvList>>(&pair.value))
        for (const NvList& element : *nested) pairs(element);
    }
    put<std::int32_t>(0);
  }

  Bytes out_;
};

// ---- reading

class NativeReader {
 public:
  explicit NativeReader(ByteView in) : in_(in) {}

  Result<NvList> list() {
    if (in_.size() < 8) return Error(Errc::corrupt, "nvlist: cut short");
    at_ = 8;
    return pairs(0);
  }

 private:
  template <typename T>
  static T get(const std::byte* from) {
    T v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }

  Result<NvList> pairs(unsigned depth) {
    if (depth > kMaxNvDepth) return Error(Errc::corrupt, "nvlist: nested too deeply");
    NvList out;
    for (;;) {
      if (in_.size() - at_ < 4) return Error(Errc::corrupt, "nvlist: cut short");
      const auto size = get<std::int32_t>(in_.data() + at_);
      if (size == 0) {
        at_ += 4;
        return out;
      }
      if (size < static_cast<std::int32_t>(kPairHeaderBytes) ||
          static_cast<std::size_t>(size) > in_.size() - at_)
        return Error(Errc::corrupt, "nvlist: pair beyond the end");
      const ByteView pair = in_.subspan(at_, static_cast<std::size_t>(size));
      at_ += pair.size();
      const auto name_bytes = get<std::int16_t>(pair.data() + 4);
      const auto count = get<std::int32_t>(pair.data() + 8);
      const auto type = static_cast<NvType>(get<std::int32_t>(pair.data() + 12));
      if (name_bytes < 1 || align8(kPairHeaderBytes + static_cast<std::size_t>(name_bytes)) > pair.size() ||
          count < 0)
        return Error(Errc::corrupt, "nvlist: damaged pair");
      const std::string name(
          as_text(pair.subspan(kPairHeaderBytes, static_cast<std::size_t>(name_bytes) - 1)));
      const ByteView data = pair.subspan(align8(kPairHeaderBytes + static_cast<std::size_t>(name_bytes)));
      out.set(name, TRY(value(type, static_cast<std::uint32_t>(count), data, depth)
                            .in(fmt::format("nvlist: '{}'", name))));
    }
  }

  template <typename T>
  static Result<NvValue> scalar(ByteView data) {
    if (data.size() < sizeof(T)) return Error(Errc::corrupt, "cut short");
    return NvValue(get<T>(data.data()));
  }
  template <typename T>
  static Result<NvValue> array(ByteView data, std::uint32_t count) {
    if (count > data.size() / sizeof(T)) return Error(Errc::corrupt, "array beyond the end");
    std::vector<T> out(count);
    if (count) std::memcpy(out.data(), data.data(), count * sizeof(T));
    return NvValue(std::move(out));
  }
  static Result<std::string> text(ByteView data) {
    const std::string_view all = as_text(data);
    const std::size_t end = all.find('\0');
    if (end == std::string_view::npos) return Error(Errc::corrupt, "text without its end");
    return std::string(all.substr(0, end));
  }

  Result<NvValue> value(NvType type, std::uint32_t count, ByteView data, unsigned depth) {
    switch (type) {
      case NvType::boolean:
        return NvValue(NvBoolean{});
      case NvType::boolean_value:
        if (data.size() < 4) return Error(Errc::corrupt, "cut short");
        return NvValue(get<std::int32_t>(data.data()) != 0);
      case NvType::byte:
        if (data.empty()) return Error(Errc::corrupt, "cut short");
        return NvValue(NvByte{get<std::uint8_t>(data.data())});
      case NvType::int8:
        return scalar<std::int8_t>(data);
      case NvType::uint8:
        return scalar<std::uint8_t>(data);
      case NvType::int16:
        return scalar<std::int16_t>(data);
      case NvType::uint16:
        return scalar<std::uint16_t>(data);
      case NvType::int32:
        return scalar<std::int32_t>(data);
      case NvType::uint32:
        return scalar<std::uint32_t>(data);
      case NvType::int64:
        return scalar<std::int64_t>(data);
      case NvType::uint64:
        return scalar<std::uint64_t>(data);
      case NvType::double_value:
        return scalar<double>(data);
      case NvType::hrtime:
        if (data.size() < 8) return Error(Errc::corrupt, "cut short");
        return NvValue(NvTime{get<std::int64_t>(data.data())});
      case NvType::string:
        return NvValue(TRY(text(data)));
      case NvType::byte_array:
        if (count > data.size()) return Error(Errc::corrupt, "array beyond the end");
        return NvValue(Bytes(data.begin(), data.begin() + count));
      case NvType::int8_array:
        return array<std::int8_t>(data, count);
      case NvType::uint8_array:
        return array<std::uint8_t>(data, count);
      case NvType::int16_array:
        return array<std::int16_t>(data, count);
      case NvType::uint16_array:
        return array<std::uint16_t>(data, count);
      case NvType::int32_array:
        return array<std::int32_t>(data, count);
      case NvType::uint32_array:
        return array<std::uint32_t>(data, count);
      case NvType::int64_array:
        return array<std::int64_t>(data, count);
      case NvType::uint64_array:
        return array<std::uint64_t>(data, count);
      case NvType::boolean_array: {
        if (count > data.size() / 4) return Error(Errc::corrupt, "array beyond the end");
        std::vector<bool> out;
        for (std::uint32_t i = 0; i < count; ++i)
          out.push_back(get<std::int32_t>(data.data() + 4 * std::size_t{i}) != 0);
        return NvValue(std::move(out));
      }
      case NvType::string_array: {
        if (count > data.size() / 9) return Error(Errc::corrupt, "array beyond the end");
        std::vector<std::string> out;
        ByteView rest = data.subspan(8 * std::size_t{count});
        for (std::uint32_t i = 0; i < count; ++i) {
          out.push_back(TRY(text(rest)));
          rest = rest.subspan(out.back().size() + 1);
        }
        return NvValue(std::move(out));
      }
      case NvType::nvlist:
        return NvValue(TRY(pairs(depth + 1)));
      case NvType::nvlist_array: {
        if (count > data.size() / (8 + kListStructBytes)) return Error(Errc::corrupt, "array beyond the end");
        std::vector<NvList> out;
        for (std::uint32_t i = 0; i < count; ++i) out.push_back(TRY(pairs(depth + 1)));
        return NvValue(std::move(out));
      }
    }
    return Error(Errc::corrupt, fmt::format("unknown type {}", static_cast<std::uint32_t>(type)));
  }

  ByteView in_;
  std::size_t at_ = 0;
};

}  // namespace

Bytes pack_native(const NvList& list) {
  NativeWriter writer;
  writer.list(list);
  return writer.take();
}

Result<NvList> unpack_native(ByteView body) { return NativeReader(body).list(); }

}  // namespace tarn
