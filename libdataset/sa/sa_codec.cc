#include "libdataset/sa/sa_codec.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn {
namespace {

constexpr std::uint32_t kMagic = 0x2F505A;
constexpr std::size_t kHeaderFixedBytes = 6;
constexpr std::size_t kSpillPointerBytes = 128;
constexpr std::size_t kSpillUnit = 512;

std::size_t header_bytes(std::size_t variable_count) {
  return round_up(kHeaderFixedBytes + 2 * std::max<std::size_t>(variable_count, 1), 8);
}

Status decode_part(const SaRegistry& registry, ByteView part, SaValues& out) {
  const SaHeader header = TRY(decode_sa_header(part));
  const SaLayout layout = TRY(registry.layout(header.layout));
  std::size_t at = header.bytes;
  std::size_t variable = 0;
  for (const std::uint16_t number : layout) {
    const SaRegistry::Entry* entry = registry.find(number);
    if (!entry)
      return Error(Errc::corrupt, fmt::format("layout {} has unknown attribute {}", header.layout, number));
    std::size_t length = entry->length;
    if (length == 0) {
      const std::size_t length_at = kHeaderFixedBytes + 2 * variable++;
      if (length_at + 2 > header.bytes) return Error(Errc::corrupt, "attribute header has too few lengths");
      length = load<std::uint16_t>(part.data() + length_at, header.order);
    }
    at = round_up(at, 8);
    if (at > part.size() || length > part.size() - at) {
      return Error(Errc::corrupt,
                   fmt::format("attribute {} reaches beyond its {} bytes", number, part.size()));
    }
    if (out.find(number)) return Error(Errc::corrupt, fmt::format("attribute {} occurs twice", number));
    out.set(number, part.subspan(at, length));
    if (header.order != kHostOrder) {
      swap_sa_value(std::span(const_cast<Bytes&>(out.items().back().value)), entry->swap);
    }
    at += length;
  }
  return {};
}

// Sizes of a run of attributes as one part.
struct PartSize {
  std::size_t data = 0, variable_count = 0;
  void add(std::size_t length, bool variable) {
    data = round_up(data, 8) + length;
    variable_count += variable;
  }
  std::size_t total() const { return header_bytes(variable_count) + data; }
};

bool is_variable(const SaRegistry& registry, std::uint16_t number) {
  const SaRegistry::Entry* entry = registry.find(number);
  return !entry || entry->length == 0;
}

Status encode_part(SaRegistry& registry, const Tx& tx, std::span<const SaValues::Item> items,
                   MutableByteView out) {
  SaLayout layout;
  for (const auto& item : items) layout.push_back(item.number);
  const std::uint16_t id = TRY(registry.layout_id(tx, layout));
  const auto variable_count = static_cast<std::size_t>(
      std::ranges::count_if(items, [&](const auto& item) { return is_variable(registry, item.number); }));
  const std::size_t header = header_bytes(variable_count);
  std::ranges::fill(out, std::byte{0});
  store<std::uint32_t>(out.data(), kMagic, kHostOrder);
  store<std::uint16_t>(out.data() + 4, static_cast<std::uint16_t>(id | header / 8 << 10), kHostOrder);
  std::size_t at = header;
  std::size_t variable = 0;
  for (const auto& item : items) {
    if (is_variable(registry, item.number)) {
      store<std::uint16_t>(out.data() + kHeaderFixedBytes + 2 * variable++,
                           static_cast<std::uint16_t>(item.value.size()), kHostOrder);
    }
    at = round_up(at, 8);
    assert(at + item.value.size() <= out.size());
    std::ranges::copy(item.value, out.begin() + static_cast<std::ptrdiff_t>(at));
    at += item.value.size();
  }
  return {};
}

}  // namespace

const Bytes* SaValues::find(std::uint16_t number) const {
  const auto found = std::ranges::find(items_, number, &Item::number);
  return found == items_.end() ? nullptr : &found->value;
}

void SaValues::set(std::uint16_t number, ByteView value) { insert(items_.size(), number, value); }

void SaValues::set_u64(std::uint16_t number, std::uint64_t value) {
  set(number, std::as_bytes(std::span(&value, 1)));
}

void SaValues::insert(std::size_t index, std::uint16_t number, ByteView value) {
  Bytes copy(value.begin(), value.end());
  const auto found = std::ranges::find(items_, number, &Item::number);
  if (found != items_.end()) {
    found->value = std::move(copy);
    return;
  }
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(std::min(index, items_.size())),
                {number, std::move(copy)});
}

bool SaValues::remove(std::uint16_t number) {
  return std::erase_if(items_, [&](const Item& item) { return item.number == number; }) > 0;
}

Result<SaHeader> decode_sa_header(ByteView part) {
  if (part.size() < 8) return Error(Errc::corrupt, fmt::format("attributes have only {} bytes", part.size()));
  SaHeader header;
  const auto magic = load<std::uint32_t>(part.data(), kHostOrder);
  if (magic == byte_swap(kMagic)) {
    header.order = kHostOrder == ByteOrder::little ? ByteOrder::big : ByteOrder::little;
  } else if (magic != kMagic) {
    return Error(Errc::corrupt,
                 fmt::format("attributes begin with {:#x} instead of their magic number", magic));
  }
  const auto info = load<std::uint16_t>(part.data() + 4, header.order);
  header.layout = info & 0x3ff;
  header.bytes = std::size_t{8} * (info >> 10);
  if (header.bytes < 8 || header.bytes > part.size()) {
    return Error(Errc::corrupt, fmt::format("attribute header of {} bytes in {}", header.bytes, part.size()));
  }
  return header;
}

Result<SaValues> decode_sa(const SaRegistry& registry, ByteView bonus, std::optional<ByteView> spill) {
  SaValues values;
  if (!bonus.empty()) TRY(decode_part(registry, bonus, values).in("bonus"));
  if (spill) TRY(decode_part(registry, *spill, values).in("spill block"));
  return values;
}

Result<SaImage> encode_sa(SaRegistry& registry, const Tx& tx, const SaValues& values,
                          std::size_t bonus_capacity_bytes) {
  const std::span<const SaValues::Item> items(values.items());
  PartSize whole;
  for (const auto& item : items) {
    if (item.value.size() > kMaxSaValueBytes)
      return Error(Errc::too_large, "attribute is larger than 65535 bytes");
    whole.add(item.value.size(), is_variable(registry, item.number));
  }
  SaImage image;
  if (whole.total() <= bonus_capacity_bytes) {
    image.bonus.resize(whole.total());
    TRY(encode_part(registry, tx, items, image.bonus));
    return image;
  }
  // The longest run from the start that leaves room for the spill block pointer stays in the bonus.
  PartSize kept;
  std::size_t count = 0;
  for (; count < items.size(); ++count) {
    PartSize next = kept;
    next.add(items[count].value.size(), is_variable(registry, items[count].number));
    if (next.total() > bonus_capacity_bytes - kSpillPointerBytes) break;
    kept = next;
  }
  PartSize spilled;
  for (const auto& item : items.subspan(count))
    spilled.add(item.value.size(), is_variable(registry, item.number));
  if (spilled.total() + kept.data > kMaxSaBytes) {
    return Error(Errc::too_large,
                 fmt::format("attributes of {} bytes exceed {}", whole.total(), kMaxSaBytes));
  }
  image.bonus.resize(kept.total());
  TRY(encode_part(registry, tx, items.first(count), image.bonus));
  image.spill = Buffer::zeroed(round_up(spilled.total(), kSpillUnit));
  TRY(encode_part(registry, tx, items.subspan(count), image.spill->span()));
  return image;
}

Status store_sa(Object& object, const Tx& tx, SaImage image) {
  if (object.info().bonus_type != DmuType::sa) TRY(object.set_bonus_type(tx, DmuType::sa));
  if (image.spill) {
    TRY(object.set_bonus(tx, image.bonus));  // first: it makes room for the spill block pointer
    return object.set_spill(tx, std::move(image.spill));
  }
  if (TRY(object.spill())) TRY(object.set_spill(tx, std::nullopt));
  return object.set_bonus(tx, image.bonus);
}

}  // namespace tarn
