#include "libpool/nvlist/nv_type.h"

#include <algorithm>
#include <array>

namespace tarn {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

constexpr std::size_t kHeaderBytes = 4;

}  // namespace

NvType type_of(const NvValue& value) {
  // In the order of NvValue's alternatives.
  static constexpr std::array kTypes{
      NvType::boolean,       NvType::boolean_value, NvType::byte,         NvType::int8,
      NvType::uint8,         NvType::int16,         NvType::uint16,       NvType::int32,
      NvType::uint32,        NvType::int64,         NvType::uint64,       NvType::double_value,
      NvType::hrtime,        NvType::string,        NvType::nvlist,       NvType::byte_array,
      NvType::boolean_array, NvType::int8_array,    NvType::uint8_array,  NvType::int16_array,
      NvType::uint16_array,  NvType::int32_array,   NvType::uint32_array, NvType::int64_array,
      NvType::uint64_array,  NvType::string_array,  NvType::nvlist_array};
  static_assert(kTypes.size() == std::variant_size_v<NvValue>);
  return kTypes[value.index()];
}

std::uint32_t element_count(const NvValue& value) {
  return std::visit(
      Overloaded{[](const NvBoolean&) { return std::uint32_t{0}; },
                 [](const Bytes& v) { return static_cast<std::uint32_t>(v.size()); },
                 []<typename T>(const std::vector<T>& v) { return static_cast<std::uint32_t>(v.size()); },
                 [](const auto&) { return std::uint32_t{1}; }},
      value);
}

Bytes pack(const NvList& list, NvEncoding encoding) {
  const Bytes body = encoding == NvEncoding::xdr ? pack_xdr(list) : pack_native(list);
  Bytes out(kHeaderBytes + body.size());
  out[0] = static_cast<std::byte>(encoding);
  out[1] = std::byte{kHostOrder == ByteOrder::little};
  std::copy(body.begin(), body.end(), out.begin() + kHeaderBytes);
  return out;
}

Result<NvList> unpack(ByteView in) {
  if (in.size() < kHeaderBytes) return Error(Errc::corrupt, "nvlist: too short");
  const ByteView body = in.subspan(kHeaderBytes);
  if (in[0] == static_cast<std::byte>(NvEncoding::xdr)) return unpack_xdr(body);
  if (in[0] != static_cast<std::byte>(NvEncoding::native))
    return Error(Errc::corrupt, "nvlist: unknown encoding");
  if (in[1] != std::byte{kHostOrder == ByteOrder::little})
    return Error(Errc::unsupported, "nvlist: native encoding of the other byte order");
  return unpack_native(body);
}

}  // namespace tarn
