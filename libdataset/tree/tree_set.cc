// Setting and inheriting properties (FORMAT.md logical 3.7, 3.9).

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr std::string_view kHasReceived = "$hasrecvd";

Error too_small() {
  return Error(Errc::invalid_argument, "size is less than current used or reserved space");
}
Error too_large() { return Error(Errc::no_space, "size is greater than available space"); }

std::uint64_t above(std::uint64_t value, std::uint64_t floor) { return value > floor ? value - floor : 0; }
std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b);
}

ZapValue encoded(const StoredProperty& value) {
  if (value.is_text) return ZapValue::of_text(value.text);
  return {.integer_bytes = 8, .integers = {value.number}};
}

StoredProperty to_store(const PreparedSetting& setting) {
  const bool is_text = !setting.info || setting.info->type == PropertyType::text;
  return {.is_text = is_text, .number = setting.value.number, .text = setting.value.text};
}

// Values that readers of older software would not understand are kept beside a default that they do.
bool hidden_from_old_readers(const PreparedSetting& setting) {
  return setting.info->id == Property::redundant_metadata && setting.value.number >= 2;
}

}  // namespace

Result<std::vector<PreparedSetting>> TreeImpl::prepare(const std::vector<PropertySetting>& settings,
                                                       PropertyTarget target, SetOccasion occasion) const {
  std::vector<PreparedSetting> prepared;
  for (const PropertySetting& setting : settings) {
    CheckedSetting checked = TRY(check_setting(setting.name, setting.value, target, occasion));
    std::string name = checked.info ? checked.info->name : setting.name;
    const bool twice = std::any_of(prepared.begin(), prepared.end(),
                                   [&](const PreparedSetting& other) { return other.name == name; });
    if (twice)
      return Error(Errc::invalid_argument,
                   fmt::format("property '{}' specified multiple times", setting.name));
    if (checked.value.number == kAutoReservation && checked.info &&
        checked.info->id == Property::refreservation) {
      return Error(Errc::unsupported, "'refreservation=auto' is not supported yet; give a size");
    }
    prepared.push_back({.name = std::move(name),
                        .info = checked.info,
                        .value = std::move(checked.value),
                        .text = setting.value});
  }
  return prepared;
}

Status TreeImpl::check_setting_fits(const DirNode& dir, const PreparedSetting& setting) {
  if (!setting.info) return {};
  const std::uint64_t value = setting.value.number;
  const DslDirPhys& phys = dir.phys;
  switch (setting.info->id) {
    case Property::quota:
      if (value != 0 && (value < phys.reserved || value < phys.used_bytes)) return too_small();
      break;
    case Property::reservation: {
      const std::int64_t more =
          difference(std::max(phys.used_bytes, value), std::max(phys.used_bytes, phys.reserved));
      if (phys.quota != 0 && value > phys.quota) return too_large();
      if (dir.parent && more > 0 && static_cast<std::uint64_t>(more) > available(*dir.parent, false))
        return too_large();
      break;
    }
    case Property::refquota:
      if (value != 0 && (value < dir.head->phys.referenced_bytes ||
                         value < effective_number(dir, Property::refreservation)))
        return too_small();
      break;
    case Property::refreservation: {
      const std::uint64_t unique = dir.head->phys.unique_bytes;
      const std::int64_t more =
          difference(above(value, unique), above(effective_number(dir, Property::refreservation), unique));
      const std::uint64_t refquota = effective_number(dir, Property::refquota);
      if (refquota != 0 && value > refquota) return too_large();
      if (more > 0 && static_cast<std::uint64_t>(more) > available(dir, false)) return too_large();
      break;
    }
    case Property::version: {
      const HeadDetails* details = TRY(details_of(const_cast<DirNode&>(dir)));
      if (value < details->zpl_version)
        return Error(Errc::invalid_argument,
                     fmt::format("Can not downgrade; already at version {}", details->zpl_version));
      if (value > details->zpl_version)
        return Error(Errc::unsupported,
                     fmt::format("Tarn cannot upgrade file systems yet; this one is at version {}",
                                 details->zpl_version));
      break;
    }
    case Property::volsize:
      return Error(Errc::unsupported, "Tarn cannot resize volumes yet");
    default:
      break;
  }
  return {};
}

Status TreeImpl::store_property(SyncContext& context, std::uint64_t props_zap, PropertyMap& props,
                                const std::string& key, const StoredProperty& value) {
  TRY(TRY(Zap::open(pool_.mos(), props_zap)).update(context.tx, key, encoded(value)));
  props[key] = value;
  return {};
}

Status TreeImpl::remove_property(SyncContext& context, std::uint64_t props_zap, PropertyMap& props,
                                 const std::string& key) {
  if (!props.contains(key)) return {};
  TRY(TRY(Zap::open(pool_.mos(), props_zap)).remove(context.tx, key));
  props.erase(key);
  return {};
}

Status TreeImpl::set_reservation(SyncContext& context, DirNode& dir, std::uint64_t value) {
  std::int64_t more = 0;
  TRY(update_dir(context, dir, [&](DslDirPhys& phys) {
    more = difference(std::max(phys.used_bytes, value), std::max(phys.used_bytes, phys.reserved));
    phys.reserved = value;
  }));
  if (!dir.parent || more == 0) return {};
  Breakdown breakdown{};
  breakdown[static_cast<std::size_t>(UsedBy::child_reservation)] = more;
  return charge(context, *dir.parent, more, 0, 0, breakdown);
}

Status TreeImpl::set_refreservation(SyncContext& context, DirNode& dir, std::uint64_t old_value,
                                    std::uint64_t value) {
  const std::uint64_t unique = dir.head->phys.unique_bytes;
  const std::int64_t more = difference(above(value, unique), above(old_value, unique));
  if (more == 0) return {};
  Breakdown breakdown{};
  breakdown[static_cast<std::size_t>(UsedBy::refreservation)] = more;
  return charge(context, dir, more, 0, 0, breakdown);
}

// The stored number of a property that is also kept elsewhere has changed from `old_value`.
Status TreeImpl::apply_side_effect(SyncContext& context, DirNode& dir, Property property,
                                   std::uint64_t old_value, std::uint64_t value) {
  switch (property) {
    case Property::quota:
      return update_dir(context, dir, [&](DslDirPhys& phys) { phys.quota = value; });
    case Property::reservation:
      return set_reservation(context, dir, value);
    case Property::refreservation:
      return set_refreservation(context, dir, old_value, value);
    default:
      return {};
  }
}

Status TreeImpl::apply_setting(SyncContext& context, DirNode& dir, const PreparedSetting& setting) {
  const std::uint64_t zap = dir.phys.props_zap;
  if (setting.info) {
    const Property id = setting.info->id;
    // These live in the file system itself (FORMAT.md logical 4.1).
    if (id == Property::version || id == Property::utf8only || id == Property::normalization ||
        id == Property::casesensitivity)
      return {};
    if (setting.info->type == PropertyType::number)
      TRY(apply_side_effect(context, dir, id, effective_number(dir, id), setting.value.number));
    if (hidden_from_old_readers(setting)) {
      TRY(store_property(context, zap, dir.props, setting.name + "$iuv", {.number = setting.value.number}));
      TRY(store_property(context, zap, dir.props, setting.name, {.number = setting.info->default_number}));
      return remove_property(context, zap, dir.props, setting.name + "$inherit");
    }
    TRY(remove_property(context, zap, dir.props, setting.name + "$iuv"));
  }
  TRY(store_property(context, zap, dir.props, setting.name, to_store(setting)));
  return remove_property(context, zap, dir.props, setting.name + "$inherit");
}

Status TreeImpl::set_snapshot_property(SyncContext& context, DatasetNode& node,
                                       const PreparedSetting& setting) {
  if (node.phys.props_zap == 0) {
    const std::uint64_t zap = TRY(Zap::create(pool_.mos(), context.tx, DmuType::dsl_props)).number();
    TRY(update_dataset(context, node, [&](DslDatasetPhys& phys) { phys.props_zap = zap; }));
  }
  return store_property(context, node.phys.props_zap, node.props, setting.name, to_store(setting));
}

Status TreeImpl::set(const std::string& name, const std::vector<PropertySetting>& settings) {
  PropertyTarget target = PropertyTarget::filesystem;
  {
    ReaderLock lock(mutex_);
    const Place place = TRY(find(name));
    if (place.bookmark) return Error(Errc::invalid_argument, "bookmark delimiter '#' is not expected here");
    target = place.snapshot                          ? PropertyTarget::snapshot
             : place.dir->type == ObjsetType::volume ? PropertyTarget::volume
                                                     : PropertyTarget::filesystem;
  }
  const std::vector<PreparedSetting> prepared = TRY(prepare(settings, target, SetOccasion::set));
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    const Place place = TRY(find(name));
    // One after the other: a quota that goes makes room for the reservation after it.
    for (const PreparedSetting& setting : prepared) {
      if (!place.snapshot) TRY(check_setting_fits(*place.dir, setting));
      TRY(place.snapshot ? set_snapshot_property(context, *place.snapshot, setting)
                         : apply_setting(context, *place.dir, setting));
      const std::uint64_t id = place.snapshot ? place.snapshot->object : place.dir->head->object;
      TRY(pool_.log_history_internal(context, "set", fmt::format("{}={}", setting.name, setting.text), name,
                                     id));
    }
    refresh_all_properties();
    return {};
  });
}

Status TreeImpl::inherit(const std::string& name, const std::string& property, bool received) {
  const PropertyInfo* info = find_property(property);
  if (!info && !is_user_property(property))
    return Error(Errc::invalid_argument, fmt::format("invalid property '{}'", property));
  if (info && (info->attr == PropertyAttr::read_only || info->attr == PropertyAttr::once ||
               info->attr == PropertyAttr::once_inherited)) {
    return Error(Errc::invalid_argument, fmt::format("{} property is read-only", info->name));
  }
  const bool inheritable = !info || info->attr == PropertyAttr::inherited;
  if (!inheritable && (!received || info->id == Property::volsize || info->id == Property::version)) {
    return Error(Errc::invalid_argument, fmt::format("'{}' property cannot be inherited", info->name));
  }
  const std::string key = info ? info->name : property;
  return pool_.run_sync_task([&](SyncContext& context) -> Status {
    WriterLock lock(mutex_);
    const Place place = TRY(find(name));
    if (place.bookmark) return Error(Errc::invalid_argument, "bookmark delimiter '#' is not expected here");
    if (place.snapshot) {
      if (info) return Error(Errc::invalid_argument, "property doesn't apply to datasets of this type");
      if (place.snapshot->phys.props_zap == 0) return {};
      return remove_property(context, place.snapshot->phys.props_zap, place.snapshot->props, key);
    }
    DirNode& dir = *place.dir;
    if (info && !applies_to(*info, dir.type == ObjsetType::volume ? PropertyTarget::volume
                                                                  : PropertyTarget::filesystem)) {
      return Error(Errc::invalid_argument, "property doesn't apply to datasets of this type");
    }
    const std::uint64_t zap = dir.phys.props_zap;
    const std::uint64_t old_value = info ? effective_number(dir, info->id) : 0;
    TRY(remove_property(context, zap, dir.props, key));
    TRY(remove_property(context, zap, dir.props, key + "$iuv"));
    TRY(remove_property(context, zap, dir.props, key + "$inherit"));
    if (!received && dir.props.contains(kHasReceived))
      TRY(store_property(context, zap, dir.props, key + "$inherit", {.number = 0}));
    if (info && info->type == PropertyType::number)
      TRY(apply_side_effect(context, dir, info->id, old_value, effective_number(dir, info->id)));
    refresh_all_properties();
    return pool_.log_history_internal(context, "inherit", key, name, dir.head->object);
  });
}

}  // namespace tarn
