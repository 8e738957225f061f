// XDR encoding of name/value lists (FORMAT.md 3.3): big-endian, everything aligned to 4 bytes.
#include <fmt/format.h>

#include "libpool/nvlist/nv_type.h"

namespace tarn {
namespace {

constexpr std::size_t align4(std::size_t n) { return (n + 3) & ~std::size_t{3}; }
constexpr std::size_t align8(std::size_t n) { return (n + 7) & ~std::size_t{7}; }

// ---- writing

// Bytes of a value in the native layout.
struct Sizes {
  std::size_t operator()(const NvBoolean&) const { return 0; }
  std::size_t operator()(bool) const { return 4; }
  std::size_t operator()(const std::string& v) const { return v.size() + 1; }
  std::size_t operator()(const NvList&) const { return 24; }
  std::size_t operator()(const Bytes& v) const { return v.size(); }
  std::size_t operator()(const std::vector<bool>& v) const { return v.size() * 4; }
  std::size_t operator()(const std::vector<std::string>& v) const {
    std::size_t sum = 8 * v.size();
    for (const std::string& s : v) sum += s.size() + 1;
    return sum;
  }
  std::size_t operator()(const std::vector<NvList>& v) const { return v.size() * 32; }
  template <typename T>
  std::size_t operator()(const std::vector<T>& v) const {
    return v.size() * sizeof(T);
  }
  template <typename T>
  std::size_t operator()(const T&) const {
    return sizeof(T);
  }
};

class XdrWriter {
 public:
  void list(const NvList& list) {
    u32(0);  // version
    u32(kNvUniqueName);
    for (const NvPair& pair : list.pairs()) this->pair(pair);
    u32(0);
    u32(0);
  }
  Bytes take() { return std::move(out_); }

 private:
  void u32(std::uint32_t v) {
    out_.resize(out_.size() + 4);
    store<std::uint32_t>(out_.data() + out_.size() - 4, v, ByteOrder::big);
  }
  void u64(std::uint64_t v) {
    out_.resize(out_.size() + 8);
    store<std::uint64_t>(out_.data() + out_.size() - 8, v, ByteOrder::big);
  }
  void padded(ByteView bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.resize(align4(out_.size()));
  }
  void text(const std::string& v) {
    u32(static_cast<std::uint32_t>(v.size()));
    padded(as_bytes(v));
  }

  void value(const NvBoolean&) {}
  void value(bool v) { u32(v); }
  void value(NvByte v) { value(static_cast<std::int8_t>(v.value)); }
  void value(std::int8_t v) { u32(static_cast<std::uint32_t>(static_cast<std::int32_t>(v))); }
  void value(std::uint8_t v) { value(static_cast<std::int8_t>(v)); }
  void value(std::int16_t v) { u32(static_cast<std::uint32_t>(static_cast<std::int32_t>(v))); }
  void value(std::uint16_t v) { u32(v); }
  void value(std::int32_t v) { u32(static_cast<std::uint32_t>(v)); }
  void value(std::uint32_t v) { u32(v); }
  void value(std::int64_t v) { u64(static_cast<std::uint64_t>(v)); }
  void value(std::uint64_t v) { u64(v); }
  void value(double v) { u64(std::bit_cast<std::uint64_t>(v)); }
  void value(NvTime v) { u64(static_cast<std::uint64_t>(v.nanoseconds)); }
  void value(const std::string& v) { text(v); }
  void value(const NvList& v) { list(v); }
  void value(const Bytes& v) { padded(v); }
  void value(const std::vector<std::string>& v) {
    for (const std::string& s : v) text(s);
  }
  void value(const std::vector<NvList>& v) {
    for (const NvList& l : v) list(l);
  }
  template <typename T>
  void value(const std::vector<T>& v) {
    u32(static_cast<std::uint32_t>(v.size()));
    for (const T element : v) value(element);
  }

  // What the pair takes in the native layout: readers size their memory by it.
  static std::size_t decoded_bytes(const NvPair& pair) {
    return align8(16 + pair.name.size() + 1) + align8(std::visit(Sizes{}, pair.value));
  }

  void pair(const NvPair& pair) {
    const std::size_t start = out_.size();
    u32(0);  // encoded size, set below
    u32(static_cast<std::uint32_t>(decoded_bytes(pair)));
    text(pair.name);
    u32(static_cast<std::uint32_t>(type_of(pair.value)));
    u32(element_count(pair.value));
    std::visit([this](const auto& v) { value(v); }, pair.value);
    store<std::uint32_t>(out_.data() + start, static_cast<std::uint32_t>(out_.size() - start),
                         ByteOrder::big);
  }

  Bytes out_;
};

// ---- reading

class XdrReader {
 public:
  explicit XdrReader(ByteView in) : in_(in, ByteOrder::big) {}

  Result<NvList> list(unsigned depth) {
    if (depth > kMaxNvDepth) return Error(Errc::corrupt, "nvlist: nested too deeply");
    if (in_.u32() != 0) return Error(Errc::corrupt, "nvlist: unknown version");
    in_.u32();  // flags
    NvList out;
    for (;;) {
      const std::size_t start = in_.position();
      const std::uint32_t encoded = in_.u32(), decoded = in_.u32();
      if (in_.failed()) return Error(Errc::corrupt, "nvlist: cut short");
      if (encoded == 0 && decoded == 0) return out;
      const std::string name = TRY(text());
      const auto type = static_cast<NvType>(in_.u32());
      const std::uint32_t count = in_.u32();
      NvValue value = TRY(this->value(type, count, depth).in(fmt::format("nvlist: '{}'", name)));
      if (in_.failed()) return Error(Errc::corrupt, fmt::format("nvlist: '{}' is cut short", name));
      if (encoded != in_.position() - start)
        return Error(Errc::corrupt, fmt::format("nvlist: '{}' has a wrong size", name));
      out.set(name, std::move(value));
    }
  }

 private:
  Result<std::string> text() {
    const std::uint32_t length = in_.u32();
    if (length > in_.remaining()) return Error(Errc::corrupt, "nvlist: text beyond the end");
    const std::string out(as_text(in_.bytes(length)));
    in_.skip(align4(length) - length);
    if (in_.failed()) return Error(Errc::corrupt, "nvlist: text cut short");
    return out;
  }

  template <typename T>
  T scalar() {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(in_.u64());
    else
      return static_cast<T>(in_.u32());
  }

  // Integer arrays repeat their count; each element takes at least 4 bytes, which bounds what we allocate.
  template <typename T>
  Result<NvValue> array(std::uint32_t count) {
    if (in_.u32() != count) return Error(Errc::corrupt, "array count mismatch");
    if (count > in_.remaining() / (sizeof(T) == 8 ? 8 : 4))
      return Error(Errc::corrupt, "array beyond the end");
    std::vector<T> out;
    out.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(scalar<T>());
    return NvValue(std::move(out));
  }

  Result<NvValue> value(NvType type, std::uint32_t count, unsigned depth) {
    switch (type) {
      case NvType::boolean:
        return NvValue(NvBoolean{});
      case NvType::boolean_value:
        return NvValue(in_.u32() != 0);
      case NvType::byte:
        return NvValue(NvByte{static_cast<std::uint8_t>(in_.u32())});
      case NvType::int8:
        return NvValue(scalar<std::int8_t>());
      case NvType::uint8:
        return NvValue(scalar<std::uint8_t>());
      case NvType::int16:
        return NvValue(scalar<std::int16_t>());
      case NvType::uint16:
        return NvValue(scalar<std::uint16_t>());
      case NvType::int32:
        return NvValue(scalar<std::int32_t>());
      case NvType::uint32:
        return NvValue(scalar<std::uint32_t>());
      case NvType::int64:
        return NvValue(scalar<std::int64_t>());
      case NvType::uint64:
        return NvValue(scalar<std::uint64_t>());
      case NvType::double_value:
        return NvValue(scalar<double>());
      case NvType::hrtime:
        return NvValue(NvTime{scalar<std::int64_t>()});
      case NvType::string:
        return NvValue(TRY(text()));
      case NvType::nvlist:
        return NvValue(TRY(list(depth + 1)));
      case NvType::byte_array: {
        const ByteView bytes = in_.bytes(count);
        in_.skip(align4(count) - count);
        return NvValue(Bytes(bytes.begin(), bytes.end()));
      }
      case NvType::int8_array:
        return array<std::int8_t>(count);
      case NvType::uint8_array:
        return array<std::uint8_t>(count);
      case NvType::int16_array:
        return array<std::int16_t>(count);
      case NvType::uint16_array:
        return array<std::uint16_t>(count);
      case NvType::int32_array:
        return array<std::int32_t>(count);
      case NvType::uint32_array:
        return array<std::uint32_t>(count);
      case NvType::int64_array:
        return array<std::int64_t>(count);
      case NvType::uint64_array:
        return array<std::uint64_t>(count);
      case NvType::boolean_array:
        return array<bool>(count);
      case NvType::string_array: {
        std::vector<std::string> out;
        for (std::uint32_t i = 0; i < count; ++i) out.push_back(TRY(text()));
        return NvValue(std::move(out));
      }
      case NvType::nvlist_array: {
        std::vector<NvList> out;
        for (std::uint32_t i = 0; i < count; ++i) out.push_back(TRY(list(depth + 1)));
        return NvValue(std::move(out));
      }
    }
    return Error(Errc::corrupt, fmt::format("unknown type {}", static_cast<std::uint32_t>(type)));
  }

  ByteReader in_;
};

}  // namespace

Bytes pack_xdr(const NvList& list) {
  XdrWriter writer;
  writer.list(list);
  return writer.take();
}

Result<NvList> unpack_xdr(ByteView body) { return XdrReader(body).list(0); }

}  // namespace tarn
