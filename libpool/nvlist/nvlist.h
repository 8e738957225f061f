// Name/value lists in memory, and their XDR and native encodings (FORMAT.md 3). Order of pairs is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libpool/base/bytes.h"
#include "libpool/base/result.h"

namespace tarn {

class NvList;
struct NvBoolean {  // type 1: presence is the value
  friend bool operator==(const NvBoolean&, const NvBoolean&) = default;
};
struct NvByte { std::uint8_t value; friend bool operator==(const NvByte&, const NvByte&) = default; };
struct NvTime { std::int64_t nanoseconds; friend bool operator==(const NvTime&, const NvTime&) = default; };

using NvValue = std::variant<NvBoolean, bool, NvByte, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                             std::uint32_t, std::int64_t, std::uint64_t, double, NvTime, std::string, NvList, Bytes /* byte array */,
                             std::vector<bool>, std::vector<std::int8_t>, std::vector<std::uint8_t>, std::vector<std::int16_t>,
                             std::vector<std::uint16_t>, std::vector<std::int32_t>, std::vector<std::uint32_t>,
                             std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<std::string>, std::vector<NvList>>;

struct NvPair;

class NvList {
 public:
  NvList();
  ~NvList();
  NvList(const NvList&);
  NvList(NvList&&) noexcept;
  NvList& operator=(const NvList&);
  NvList& operator=(NvList&&) noexcept;

  // Replaces a pair of the same name, else appends.
  NvList& set(std::string_view name, NvValue value);
  NvList& set_u64(std::string_view name, std::uint64_t value);
  NvList& set_text(std::string_view name, std::string_view value);
  NvList& set_flag(std::string_view name);  // NvBoolean
  bool remove(std::string_view name);

  const NvValue* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Typed look-ups: nothing when absent or of another type.
  std::optional<std::uint64_t> u64(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  const NvList* list(std::string_view name) const;
  const std::vector<NvList>* lists(std::string_view name) const;
  const std::vector<std::uint64_t>* u64s(std::string_view name) const;

  const std::vector<NvPair>& pairs() const { return pairs_; }
  bool empty() const;
  friend bool operator==(const NvList&, const NvList&);

 private:
  std::vector<NvPair> pairs_;
};

struct NvPair {
  std::string name;
  NvValue value;
  friend bool operator==(const NvPair&, const NvPair&) = default;
};

enum class NvEncoding : std::uint8_t { native = 0, xdr = 1 };

// Packed with its 4-byte header. Native is written in host order.
Bytes pack(const NvList& list, NvEncoding encoding);
// Accepts trailing bytes; never allocates more than a small multiple of in.size(); nesting is limited to 64.
Result<NvList> unpack(ByteView in);

}  // namespace tarn
