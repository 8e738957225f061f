// Property values with their sources (FORMAT.md logical 3.7): stored ones, looked up towards the root, and
// derived ones.

#include <fmt/format.h>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

bool is_inheritable(const PropertyInfo* info) {
  return !info || info->attr == PropertyAttr::inherited || info->attr == PropertyAttr::once_inherited;
}

const StoredProperty* stored(const PropertyMap& props, std::string_view name, std::string_view suffix) {
  auto found = props.find(std::string(name) + std::string(suffix));
  return found == props.end() ? nullptr : &found->second;
}

std::uint64_t ratio(std::uint64_t uncompressed, std::uint64_t compressed) {
  if (compressed == 0) return 100;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(uncompressed) * 100 / compressed);
}

// Properties that are not (only) in a props ZAP.
bool is_derived(Property id) {
  switch (id) {
    case Property::version:
    case Property::utf8only:
    case Property::normalization:
    case Property::casesensitivity:
    case Property::volsize:
    case Property::volblocksize:
    case Property::encryption:
    case Property::keyformat:
    case Property::pbkdf2iters:
    case Property::name:
      return true;
    default:
      return property_info(id).attr == PropertyAttr::read_only;
  }
}

PropertyValue blank(const PropertyInfo& info) { return {.name = info.name, .type = info.type}; }

}  // namespace

TreeImpl::Found TreeImpl::find_value(const Place& place, const PropertyInfo* info,
                                     std::string_view name) const {
  const bool inheritable = is_inheritable(info);
  const DirNode* start = place.dir;
  if (place.snapshot) {
    const PropertyMap& own = place.snapshot->props;
    if (const StoredProperty* value = stored(own, name, "")) return {value, Source::local, start};
    if (const StoredProperty* value = stored(own, name, "$recvd")) return {value, Source::received, start};
    if (!inheritable) return {};
  }
  for (const DirNode* dir = start; dir; dir = dir->parent) {
    const bool here = dir == start && !place.snapshot;
    const Source plain = here ? Source::local : Source::inherited;
    const StoredProperty* unknown_to_old = stored(dir->props, name, "$iuv");
    if (unknown_to_old && info && index_text(*info, unknown_to_old->number))
      return {unknown_to_old, plain, dir};
    if (const StoredProperty* value = stored(dir->props, name, "")) return {value, plain, dir};
    const StoredProperty* received = stored(dir->props, name, "$recvd");
    if (received && !stored(dir->props, name, "$inherit"))
      return {received, here ? Source::received : Source::inherited, dir};
    if (!inheritable) break;
  }
  return {};
}

std::uint64_t TreeImpl::effective_number(const DirNode& dir, Property property) const {
  const PropertyInfo& info = property_info(property);
  const Found found = find_value({.dir = const_cast<DirNode*>(&dir)}, &info, info.name);
  return found.value && !found.value->is_text ? found.value->number : info.default_number;
}

PropertyValue TreeImpl::mountpoint_value(const Place& place) const {
  const PropertyInfo& info = property_info(Property::mountpoint);
  PropertyValue value = blank(info);
  const Found found = find_value(place, &info, info.name);
  const std::string name = place.dir->full_name();
  value.source = found.source;
  const DirNode* from = found.value ? found.from : nullptr;
  std::string base = found.value ? found.value->text : info.default_text;
  if (found.source == Source::inherited) value.source_dataset = from->full_name();
  if (base == "none" || base == "legacy") {
    value.text = base;
    return value;
  }
  // Below where it was set, the rest of the name is appended; by default the whole name stands below "/".
  const std::string rest = from ? name.substr(from->full_name().size()) : "/" + name;
  if (!rest.empty() && base.ends_with('/')) base.pop_back();
  value.text = base + rest;
  auto altroot = pool_.property("altroot");
  if (altroot && altroot->starts_with('/') && *altroot != "/")
    value.text = value.text == "/" ? *altroot : *altroot + value.text;
  return value;
}

PropertyValue TreeImpl::native_value(const Place& place, const PropertyInfo& info) {
  PropertyValue value = blank(info);
  const bool applies =
      place.bookmark   ? info.for_bookmark
      : place.snapshot ? applies_to(info, PropertyTarget::snapshot)
                       : applies_to(info, place.dir->type == ObjsetType::volume ? PropertyTarget::volume
                                                                                : PropertyTarget::filesystem);
  // A snapshot of a volume has no properties of file systems, and the other way round.
  const bool fits_head = !place.snapshot || (place.dir->type == ObjsetType::volume
                                                 ? info.for_volume || info.id == Property::volsize
                                                 : info.for_filesystem);
  const bool only_snapshots = info.for_snapshot && !info.for_filesystem && !info.for_volume;
  if (!applies || (!fits_head && !only_snapshots)) {
    value.absent = true;
    return value;
  }
  if (is_derived(info.id)) return derived_value(place, info);
  const StoredProperty* received = place.snapshot ? stored(place.snapshot->props, info.name, "$recvd")
                                                  : stored(place.dir->props, info.name, "$recvd");
  if (received) {
    PropertyValue printable{
        .name = info.name, .type = info.type, .number = received->number, .text = received->text};
    value.received = print_value(printable, false);
  }
  if (info.id == Property::mountpoint) {
    const std::string received_text = value.received;
    value = mountpoint_value(place);
    value.received = received_text;
    return value;
  }
  const Found found = find_value(place, &info, info.name);
  value.source = found.source;
  if (found.source == Source::inherited) value.source_dataset = found.from->full_name();
  value.number = found.value ? found.value->number : info.default_number;
  if (found.value) {
    value.text = found.value->text;
  } else if (info.default_text) {
    value.text = info.default_text;
  }
  return value;
}

PropertyValue TreeImpl::derived_value(const Place& place, const PropertyInfo& info) {
  PropertyValue value = blank(info);
  const auto number = [&](std::uint64_t n) {
    value.number = n;
    return value;
  };
  const auto text = [&](std::string words) {
    value.text = std::move(words);
    value.absent = value.text.empty();
    return value;
  };
  const auto absent = [&] {
    value.absent = true;
    return value;
  };
  DirNode& dir = *place.dir;
  const DatasetInfo d = describe(place);
  const bool is_volume = dir.type == ObjsetType::volume;
  switch (info.id) {
    case Property::name:
      return text(d.name);
    case Property::type: {
      constexpr const char* kNames[] = {"filesystem", "volume", "snapshot", "bookmark"};
      return text(kNames[static_cast<std::size_t>(d.kind)]);
    }
    case Property::creation:
      return number(d.creation_time);
    case Property::createtxg:
      return number(d.creation_txg);
    case Property::guid:
      return number(d.guid);
    case Property::objsetid:
      return number(d.object);
    case Property::used:
      return number(d.used);
    case Property::available:
      return number(d.available);
    case Property::referenced:
      return place.bookmark && !place.bookmark->has_totals ? absent() : number(d.referenced);
    case Property::logicalreferenced:
      return place.bookmark && !place.bookmark->has_totals ? absent() : number(d.uncompressed);
    case Property::compressratio:
      if (place.bookmark) return absent();
      return number(place.is_head() ? ratio(d.dir_uncompressed, d.dir_compressed)
                                    : ratio(d.uncompressed, d.compressed));
    case Property::refcompressratio:
      return number(ratio(d.uncompressed, d.compressed));
    case Property::logicalused:
      return number(d.dir_uncompressed);
    case Property::usedbydataset:
      return number(d.used_by_dataset);
    case Property::usedbysnapshots:
      return number(d.used_by_snapshots);
    case Property::usedbychildren:
      return number(d.used_by_children);
    case Property::usedbyrefreservation:
      return number(d.used_by_refreservation);
    case Property::written:
      return number(d.written);
    case Property::origin:
      return text(d.origin);
    case Property::clones:
      return text(fmt::format("{}", fmt::join(d.clones, ",")));
    case Property::userrefs:
      return number(d.userrefs);
    case Property::defer_destroy:
      return number(d.defer_destroy ? 1 : 0);
    case Property::mounted:
      return value;  // filled in without the lock
    case Property::filesystem_count:
    case Property::snapshot_count: {
      const auto& count = info.id == Property::filesystem_count ? dir.filesystem_count : dir.snapshot_count;
      value.source = count ? Source::local : Source::defaulted;
      return number(count.value_or(info.default_number));
    }
    case Property::snapshots_changed:
      return dir.snapshots_changed ? number(dir.snapshots_changed) : absent();
    case Property::volsize:
    case Property::volblocksize: {
      if (!is_volume) return absent();
      std::uint64_t size = 0, block = 0;
      if (place.snapshot) {
        const auto details = read_details(*place.snapshot, dir.type);
        if (!details) return absent();
        size = details->volsize;
        block = details->volblocksize;
      } else {
        const auto details = details_of(dir);
        if (!details) return absent();
        size = (*details)->volsize;
        block = (*details)->volblocksize;
      }
      if (info.id == Property::volsize) {
        value.source = Source::local;
        return number(size);
      }
      value.source = block == info.default_number ? Source::defaulted : Source::none;
      return number(block);
    }
    case Property::version:
    case Property::utf8only:
    case Property::normalization:
    case Property::casesensitivity: {
      const auto details = details_of(dir);
      if (!details) return absent();
      const HeadDetails& head = **details;
      switch (info.id) {
        case Property::version:
          return head.zpl_version ? number(head.zpl_version) : absent();
        case Property::utf8only:
          return number(head.utf8only);
        case Property::normalization:
          return number(head.normalization);
        default:
          return number(head.casesensitivity);
      }
    }
    case Property::encryption:
    case Property::keyformat:
    case Property::pbkdf2iters: {
      if (dir.crypto_key == 0) {
        value.source = Source::defaulted;
        return number(info.default_number);
      }
      const auto key = Zap::open(pool_.mos(), dir.crypto_key);
      if (!key) return absent();
      if (info.id == Property::encryption)
        return number(key->lookup_u64("DSL_CRYPTO_SUITE").value_or(std::uint64_t{info.default_number}));
      number(key->lookup_u64(info.name).value_or(std::uint64_t{info.default_number}));
      if (value.number == info.default_number) value.source = Source::defaulted;
      return value;
    }
    case Property::keystatus:
      if (dir.crypto_key == 0) return absent();
      return number(1);  // no key is ever loaded
    case Property::encryptionroot: {
      if (dir.crypto_key == 0) return absent();
      const auto key = Zap::open(pool_.mos(), dir.crypto_key);
      if (!key) return absent();
      const auto root = dirs_.find(key->lookup_u64("DSL_CRYPTO_ROOT_DDOBJ").value_or(std::uint64_t{0}));
      return root == dirs_.end() ? absent() : text(root->second->full_name());
    }
    default:
      return absent();  // receive_resume_token, redact_snaps: nothing to show
  }
}

PropertyValue TreeImpl::user_value(const Place& place, const std::string& name) const {
  PropertyValue value{.name = name, .type = PropertyType::text};
  const Found found = place.bookmark ? Found{} : find_value(place, nullptr, name);
  if (!found.value) {
    value.absent = true;
    return value;
  }
  value.text = found.value->text;
  value.source = found.source;
  if (found.source == Source::inherited) value.source_dataset = found.from->full_name();
  const PropertyMap& own = place.snapshot ? place.snapshot->props : place.dir->props;
  if (const StoredProperty* received = stored(own, name, "$recvd")) value.received = received->text;
  return value;
}

// written@SNAPSHOT, written#BOOKMARK.
Result<PropertyValue> TreeImpl::written_value(const Place& place, const std::string& name) {
  PropertyValue value{.name = name, .type = PropertyType::number, .absent = true};
  if (place.bookmark) return value;
  const DatasetNode& node = place.snapshot ? *place.snapshot : *place.dir->head;
  const std::string since = place.dir->full_name() + name.substr(std::string_view("written").size());
  auto from = find(since);
  if (!from || from->is_head()) return value;
  const std::uint64_t txg = from->snapshot ? from->snapshot->phys.creation_txg : from->bookmark->creation_txg;
  if (txg > node.phys.creation_txg && place.snapshot) return value;
  if (from->bookmark && !from->bookmark->has_totals) return value;
  value.number =
      from->snapshot
          ? TRY(written_since(node, txg, from->snapshot->phys.referenced_bytes, std::nullopt))
          : TRY(written_since(node, txg, from->bookmark->referenced, from->bookmark->freed_before_next));
  value.absent = false;
  value.source = Source::local;
  return value;
}

Result<PropertyValue> TreeImpl::get(const std::string& name, const std::string& property) {
  PropertyValue value;
  std::function<bool(const std::string&)> query;
  {
    WriterLock lock(mutex_);
    const Place place = TRY(find(name));
    const PropertyInfo* info = find_property(property);
    if (info) {
      value = native_value(place, *info);
    } else if (property.starts_with("written@") || property.starts_with("written#")) {
      value = TRY(written_value(place, property));
    } else if (is_user_property(property)) {
      value = user_value(place, property);
    } else if (property.find('@') != std::string::npos) {
      value = {.name = property, .type = PropertyType::number, .absent = true};
    } else {
      return Error(Errc::invalid_argument, fmt::format("invalid property '{}'", property));
    }
    query = mounted_query_;
  }
  if (value.name == "mounted" && !value.absent && query) value.number = query(name) ? 1 : 0;
  return value;
}

Result<std::vector<PropertyValue>> TreeImpl::get_all(const std::string& name) {
  std::vector<PropertyValue> values;
  std::function<bool(const std::string&)> query;
  {
    WriterLock lock(mutex_);
    const Place place = TRY(find(name));
    for (const PropertyInfo& info : all_properties()) {
      if (info.id == Property::name) continue;
      PropertyValue value = native_value(place, info);
      if (!value.absent) values.push_back(std::move(value));
    }
    // User properties: every name that is visible from here, in order.
    std::map<std::string, bool> names;
    const auto note = [&](const PropertyMap& props) {
      for (const auto& [key, stored_value] : props)
        if (is_user_property(key)) names[key.substr(0, key.find('$'))] = true;
    };
    if (!place.bookmark) {
      if (place.snapshot) note(place.snapshot->props);
      for (const DirNode* dir = place.dir; dir; dir = dir->parent) note(dir->props);
    }
    for (const auto& [user, seen] : names) {
      PropertyValue value = user_value(place, user);
      if (!value.absent) values.push_back(std::move(value));
    }
    query = mounted_query_;
  }
  if (query)
    for (PropertyValue& value : values)
      if (value.name == "mounted") value.number = query(name) ? 1 : 0;
  return values;
}

void TreeImpl::set_mounted_query(std::function<bool(const std::string& dataset)> query) {
  WriterLock lock(mutex_);
  mounted_query_ = std::move(query);
}

void TreeImpl::refresh_properties(OpenDataset& open) const {
  DatasetNode& node = open.node();
  const Place place{.dir = node.dir, .snapshot = node.is_snapshot() ? &node : nullptr};
  for (const PropertyInfo& info : all_properties()) {
    if (info.type == PropertyType::text || is_derived(info.id)) continue;
    const Found found = find_value(place, &info, info.name);
    open.set_property_cache(info.id,
                            found.value && !found.value->is_text ? found.value->number : info.default_number);
  }
}

void TreeImpl::refresh_all_properties() {
  for (auto& [object, open] : open_) refresh_properties(*open);
}

}  // namespace tarn
