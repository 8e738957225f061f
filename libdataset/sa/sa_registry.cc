#include "libdataset/sa/sa_registry.h"

#include <fmt/format.h>

#include <charconv>

#include "libpool/zap/zap.h"

namespace tarn {
namespace {

constexpr const char* kRegistryKey = "REGISTRY";
constexpr const char* kLayoutsKey = "LAYOUTS";
// 0 and 1 are reserved: the old znode's order and a dummy.
constexpr std::uint16_t kFirstLayout = 2;
constexpr std::uint16_t kMaxLayout = 1023;  // ten bits in the header
constexpr std::size_t kMaxAttributes = 1024;

std::uint64_t pack_entry(SaAttr attr, std::uint16_t number) {
  const SaAttrInfo& info = sa_attr_info(attr);
  return number | std::uint64_t{static_cast<std::uint8_t>(info.swap)} << 16 |
         std::uint64_t{info.length} << 24;
}

}  // namespace

Result<std::unique_ptr<SaRegistry>> SaRegistry::open(ObjectSet& objset, std::uint64_t master) {
  std::unique_ptr<SaRegistry> registry(new SaRegistry(&objset, master));
  WriterLock lock(registry->mutex_);
  Zap zap = TRY(Zap::open(objset, master).in("SA master node"));
  const auto optional_object = [&](const char* key) -> Result<std::uint64_t> {
    auto value = zap.lookup_u64(key);
    if (!value && value.error().code() == Errc::not_found) return std::uint64_t{0};
    return value;
  };
  registry->registry_object_ = TRY(optional_object(kRegistryKey));
  registry->layouts_object_ = TRY(optional_object(kLayoutsKey));
  if (registry->registry_object_ != 0) TRY(registry->load_registry().in("SA registry"));
  if (registry->layouts_object_ != 0) TRY(registry->load_layouts().in("SA layouts"));
  return registry;
}

std::unique_ptr<SaRegistry> SaRegistry::standard(const std::map<std::uint16_t, SaLayout>& layouts) {
  std::unique_ptr<SaRegistry> registry(new SaRegistry(nullptr, 0));
  WriterLock lock(registry->mutex_);
  for (std::uint16_t i = 0; i < kSaAttrCount; ++i) {
    registry->remember(i, sa_attr_info(static_cast<SaAttr>(i)).name, pack_entry(static_cast<SaAttr>(i), i));
  }
  registry->layouts_ = layouts;
  for (const auto& [id, layout] : layouts) registry->ids_.emplace(layout, id);
  return registry;
}

void SaRegistry::remember(std::uint16_t number, const std::string& name, std::uint64_t packed) {
  const unsigned swap = packed >> 16 & 0xff;
  Entry entry{.number = number,
              .length = static_cast<std::uint16_t>(packed >> 24 & 0xffff),
              .swap = swap <= 4 ? static_cast<SaSwap>(swap) : SaSwap::u8_array,
              .known = find_sa_attr(name)};
  // A known name of another size than ours would make us read past values: treat it as a stranger.
  if (entry.known && sa_attr_info(*entry.known).length != entry.length) entry.known.reset();
  if (entry.known) numbers_[static_cast<std::size_t>(*entry.known)] = number;
  entries_.emplace(number, entry);
}

Status SaRegistry::load_registry() {
  Zap zap = TRY(Zap::open(*objset_, registry_object_));
  for (const ZapEntry& entry : TRY(zap.entries())) {
    const std::uint64_t packed = entry.value.first();
    const auto number = static_cast<std::uint16_t>(packed & 0xffff);
    if (entries_.contains(number) || entries_.size() >= kMaxAttributes) {
      return Error(Errc::corrupt,
                   fmt::format("attribute '{}' has number {} a second time", entry.name, number));
    }
    remember(number, entry.name, packed);
  }
  return {};
}

Status SaRegistry::load_layouts() {
  Zap zap = TRY(Zap::open(*objset_, layouts_object_));
  for (const ZapEntry& entry : TRY(zap.entries())) {
    unsigned id = 0;
    const char* end = entry.name.data() + entry.name.size();
    if (auto [at, error] = std::from_chars(entry.name.data(), end, id);
        error != std::errc() || at != end || id > kMaxLayout) {
      return Error(Errc::corrupt, fmt::format("layout has the name '{}'", entry.name));
    }
    SaLayout layout(entry.value.integers.begin(), entry.value.integers.end());
    for (const std::uint16_t number : layout) {
      if (!entries_.contains(number)) {
        return Error(Errc::corrupt,
                     fmt::format("layout {} has attribute {} which is not registered", id, number));
      }
    }
    ids_.emplace(layout, id);
    layouts_.emplace(id, std::move(layout));
  }
  return {};
}

const SaRegistry::Entry* SaRegistry::find(std::uint16_t number) const {
  ReaderLock lock(mutex_);
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<std::uint16_t> SaRegistry::number(SaAttr attr) const {
  ReaderLock lock(mutex_);
  return numbers_[static_cast<std::size_t>(attr)];
}

Result<SaLayout> SaRegistry::layout(std::uint16_t id) const {
  ReaderLock lock(mutex_);
  const auto found = layouts_.find(id);
  if (found == layouts_.end()) return Error(Errc::corrupt, fmt::format("unknown attribute layout {}", id));
  return found->second;
}

Status SaRegistry::add_attribute(const Tx& tx, SaAttr attr, std::uint16_t number) {
  Zap zap = TRY(Zap::open(*objset_, registry_object_));
  const std::uint64_t packed = pack_entry(attr, number);
  TRY(zap.add(tx, sa_attr_info(attr).name, packed).in("SA registry"));
  remember(number, sa_attr_info(attr).name, packed);
  return {};
}

Status SaRegistry::create_registry(const Tx& tx) {
  Zap master = TRY(Zap::open(*objset_, master_));
  Zap zap = TRY(Zap::create(*objset_, tx, DmuType::sa_registration));
  TRY(master.add(tx, kRegistryKey, zap.number()));
  registry_object_ = zap.number();
  std::uint16_t next = 0;
  for (std::size_t i = 0; i < kSaAttrCount; ++i) {
    const auto attr = static_cast<SaAttr>(i);
    if (sa_attr_info(attr).registered) TRY(add_attribute(tx, attr, next++));
  }
  return {};
}

Result<std::uint16_t> SaRegistry::require(const Tx& tx, SaAttr attr) {
  if (auto known = number(attr)) return *known;
  WriterLock lock(mutex_);
  auto& slot = numbers_[static_cast<std::size_t>(attr)];
  if (!slot && registry_object_ == 0) TRY(create_registry(tx));
  if (!slot) {
    const std::size_t next = entries_.empty() ? 0 : entries_.rbegin()->first + 1u;
    if (next > 0xffff) return Error(Errc::corrupt, "SA registry is full");
    TRY(add_attribute(tx, attr, static_cast<std::uint16_t>(next)));
  }
  if (!slot)
    return Error(Errc::corrupt,
                 fmt::format("attribute {} is registered with another size", sa_attr_info(attr).name));
  return *slot;
}

Result<std::uint16_t> SaRegistry::layout_id(const Tx& tx, const SaLayout& layout) {
  {
    ReaderLock lock(mutex_);
    if (auto found = ids_.find(layout); found != ids_.end()) return found->second;
  }
  WriterLock lock(mutex_);
  if (auto found = ids_.find(layout); found != ids_.end()) return found->second;
  const std::uint16_t id =
      std::max<std::uint16_t>(kFirstLayout, layouts_.empty() ? 0 : layouts_.rbegin()->first + 1);
  if (id > kMaxLayout)
    return Error(Errc::no_space, "no attribute layout numbers are left in this file system");
  if (objset_) {
    if (layouts_object_ == 0) {
      Zap master = TRY(Zap::open(*objset_, master_));
      Zap created = TRY(Zap::create(*objset_, tx, DmuType::sa_layouts, {.fat = true}));
      TRY(master.add(tx, kLayoutsKey, created.number()));
      layouts_object_ = created.number();
    }
    Zap zap = TRY(Zap::open(*objset_, layouts_object_));
    ZapValue value{.integer_bytes = 2, .integers = {layout.begin(), layout.end()}};
    TRY(zap.add(tx, fmt::format("{}", id), value).in("SA layouts"));
  }
  layouts_.emplace(id, layout);
  ids_.emplace(layout, id);
  return id;
}

}  // namespace tarn
