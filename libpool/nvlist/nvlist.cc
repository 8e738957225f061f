#include "libpool/nvlist/nvlist.h"

#include <algorithm>

namespace tarn {

NvList::NvList() = default;
NvList::~NvList() = default;
NvList::NvList(const NvList&) = default;
NvList::NvList(NvList&&) noexcept = default;
NvList& NvList::operator=(const NvList&) = default;
NvList& NvList::operator=(NvList&&) noexcept = default;

NvList& NvList::set(std::string_view name, NvValue value) {
  for (NvPair& pair : pairs_) {
    if (pair.name != name) continue;
    pair.value = std::move(value);
    return *this;
  }
  pairs_.push_back({std::string(name), std::move(value)});
  return *this;
}

NvList& NvList::set_u64(std::string_view name, std::uint64_t value) { return set(name, value); }
NvList& NvList::set_text(std::string_view name, std::string_view value) {
  return set(name, std::string(value));
}
NvList& NvList::set_flag(std::string_view name) { return set(name, NvBoolean{}); }

bool NvList::remove(std::string_view name) {
  return std::erase_if(pairs_, [&](const NvPair& pair) { return pair.name == name; }) > 0;
}

const NvValue* NvList::find(std::string_view name) const {
  for (const NvPair& pair : pairs_)
    if (pair.name == name) return &pair.value;
  return nullptr;
}

std::optional<std::uint64_t> NvList::u64(std::string_view name) const {
  const NvValue* value = find(name);
  const std::uint64_t* number = value ? std::get_if<std::uint64_t>(value) : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<std::string> NvList::text(std::string_view name) const {
  const NvValue* value = find(name);
  const std::string* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? std::optional(*text) : std::nullopt;
}

const NvList* NvList::list(std::string_view name) const {
  const NvValue* value = find(name);
  return value ? std::get_if<NvList>(value) : nullptr;
}

const std::vector<NvList>* NvList::lists(std::string_view name) const {
  const NvValue* value = find(name);
  return value ? std::get_if<std::vector<NvList>>(value) : nullptr;
}

const std::vector<std::uint64_t>* NvList::u64s(std::string_view name) const {
  const NvValue* value = find(name);
  return value ? std::get_if<std::vector<std::uint64_t>>(value) : nullptr;
}

bool NvList::empty() const { return pairs_.empty(); }
bool operator==(const NvList& a, const NvList& b) { return a.pairs_ == b.pairs_; }

}  // namespace tarn
