#include "libdataset/files/znode.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "libdataset/files/old_znode.h"
#include "libdataset/files/zpl_constants.h"

namespace tarn {
namespace {

void put_u64(std::byte* at, std::uint64_t value) { store<std::uint64_t>(at, value, kHostOrder); }
std::uint64_t get_u64(const std::byte* at) { return load<std::uint64_t>(at, kHostOrder); }
void put_time(std::byte* at, TimeSpec time) {
  put_u64(at, static_cast<std::uint64_t>(time.seconds));
  put_u64(at + 8, time.nanoseconds);
}
TimeSpec get_time(const std::byte* at) {
  return {.seconds = static_cast<std::int64_t>(get_u64(at)),
          .nanoseconds = static_cast<std::uint32_t>(get_u64(at + 8))};
}

void encode_fixed(const ZnodeAttributes& a, std::byte* out) {
  put_u64(out + kSaModeAt, a.mode);
  put_u64(out + kSaSizeAt, a.size);
  put_u64(out + kSaGenAt, a.gen);
  put_u64(out + kSaUidAt, a.uid);
  put_u64(out + kSaGidAt, a.gid);
  put_u64(out + kSaParentAt, a.parent);
  put_u64(out + kSaFlagsAt, a.flags);
  put_time(out + kSaAtimeAt, a.atime);
  put_time(out + kSaMtimeAt, a.mtime);
  put_time(out + kSaCtimeAt, a.ctime);
  put_time(out + kSaCrtimeAt, a.crtime);
  put_u64(out + kSaLinksAt, a.links);
}

std::size_t fixed_offset(SaAttr attr) {
  std::size_t at = 0;
  for (const SaAttr each : kSaFixedOrder) {
    if (each == attr) return at;
    at += sa_attr_info(each).length;
  }
  return kSaFixedBytes;
}

// The standard attributes as values, replaced where they are, so that any layout keeps its order.
Status merge_fixed(SaRegistry& registry, const Tx& tx, const ZnodeAttributes& a, SaValues& values) {
  std::byte fixed[kSaFixedBytes];
  encode_fixed(a, fixed);
  std::size_t position = 0;
  for (const SaAttr attr : kSaFixedOrder) {
    const std::uint16_t number = TRY(registry.require(tx, attr));
    values.insert(position++, number, ByteView(fixed + fixed_offset(attr), sa_attr_info(attr).length));
  }
  if (a.projid) {
    const std::uint64_t projid = *a.projid;
    values.insert(position, TRY(registry.require(tx, SaAttr::projid)), std::as_bytes(std::span(&projid, 1)));
  }
  return {};
}

bool begins_with_fixed(const SaRegistry& registry, const SaValues& values) {
  std::size_t position = 0;
  for (const SaAttr attr : kSaFixedOrder) {
    if (position >= values.items().size() || values.items()[position++].number != registry.number(attr))
      return false;
  }
  return true;
}

// What a bonus may have when there is no spill block (FORMAT.md logical 1.1; objects with SA have one block
// pointer).
std::size_t full_bonus_bytes(const Object& object) {
  return object.info().dnode_slots * std::size_t{512} - 64 - 128;
}

}  // namespace

bool ZnodeAttributes::is_directory() const { return S_ISDIR(mode); }
bool ZnodeAttributes::is_regular() const { return S_ISREG(mode); }

Result<ZnodeRef> Znode::load(ObjectSet& objset, SaRegistry* registry, std::uint64_t number) {
  const std::string where = fmt::format("object {}", number);
  ObjectRef object = TRY(objset.open_object(number).in(where));
  ZnodeRef znode(new Znode(object));
  MutexLock lock(znode->attributes_mutex_);
  const DmuType bonus_type = object->info().bonus_type;
  if (bonus_type == DmuType::znode) {
    znode->attributes_ = TRY(decode_old_znode(object->bonus()).in(where));
    return znode;
  }
  if (bonus_type != DmuType::sa || !registry) return Error(Errc::not_found, where + ": is no file");
  const SaValues values = TRY(znode->values(*registry).in(where));
  ZnodeAttributes& a = znode->attributes_;
  std::byte fixed[kSaFixedBytes] = {};
  for (const SaAttr attr : kSaFixedOrder) {
    const auto attr_number = registry->number(attr);
    const Bytes* value = attr_number ? values.find(*attr_number) : nullptr;
    if (!value)
      return Error(Errc::corrupt, fmt::format("{}: lacks attribute {}", where, sa_attr_info(attr).name));
    std::memcpy(fixed + fixed_offset(attr), value->data(), sa_attr_info(attr).length);
  }
  a.mode = get_u64(fixed + kSaModeAt);
  a.size = get_u64(fixed + kSaSizeAt);
  a.gen = get_u64(fixed + kSaGenAt);
  a.uid = get_u64(fixed + kSaUidAt);
  a.gid = get_u64(fixed + kSaGidAt);
  a.parent = get_u64(fixed + kSaParentAt);
  a.flags = get_u64(fixed + kSaFlagsAt);
  a.atime = get_time(fixed + kSaAtimeAt);
  a.mtime = get_time(fixed + kSaMtimeAt);
  a.ctime = get_time(fixed + kSaCtimeAt);
  a.crtime = get_time(fixed + kSaCrtimeAt);
  a.links = get_u64(fixed + kSaLinksAt);
  const auto optional_u64 = [&](SaAttr attr) -> std::optional<std::uint64_t> {
    const auto attr_number = registry->number(attr);
    const Bytes* value = attr_number ? values.find(*attr_number) : nullptr;
    if (!value || value->size() != 8) return std::nullopt;
    return get_u64(value->data());
  };
  a.projid = optional_u64(SaAttr::projid);
  a.rdev = optional_u64(SaAttr::rdev).value_or(0);
  a.xattr_directory = optional_u64(SaAttr::xattr).value_or(0);
  const auto dxattr = registry->number(SaAttr::dxattr);
  a.has_sa_xattrs = dxattr && values.find(*dxattr);
  const Bytes bonus = object->bonus();
  if (!bonus.empty()) {
    const SaHeader header = TRY(decode_sa_header(bonus));
    znode->header_bytes_ = header.bytes;
    znode->patchable_ = begins_with_fixed(*registry, values) && header.order == kHostOrder &&
                        bonus.size() - header.bytes >= kSaFixedBytes;
  }
  return znode;
}

Result<ZnodeRef> Znode::create(SaRegistry& registry, const Tx& tx, ObjectRef object,
                               const ZnodeAttributes& attributes,
                               const std::vector<std::pair<SaAttr, Bytes>>& extra) {
  ZnodeRef znode(new Znode(std::move(object)));
  SaValues values;
  for (const SaAttr attr : kSaFixedOrder)
    values.set(TRY(registry.require(tx, attr)), Bytes(sa_attr_info(attr).length));
  if (attributes.projid) values.set_u64(TRY(registry.require(tx, SaAttr::projid)), *attributes.projid);
  for (const auto& [attr, value] : extra) values.set(TRY(registry.require(tx, attr)), value);
  MutexLock lock(znode->attributes_mutex_);
  TRY(znode->write_values(registry, tx, attributes, std::move(values)));
  znode->attributes_ = attributes;
  znode->last_txg = tx.txg();
  return znode;
}

ZnodeAttributes Znode::attributes() const {
  MutexLock lock(attributes_mutex_);
  return attributes_;
}

Result<SaValues> Znode::values(const SaRegistry& registry) const {
  const std::optional<BufferRef> spill = TRY(object_->spill());
  return decode_sa(registry, object_->bonus(),
                   spill ? std::optional<ByteView>((*spill)->view()) : std::nullopt);
}

Status Znode::update(SaRegistry& registry, const Tx& tx,
                     const std::function<void(ZnodeAttributes&)>& change) {
  MutexLock lock(attributes_mutex_);
  ZnodeAttributes changed = attributes_;
  change(changed);
  TRY(store(registry, tx, changed).in(fmt::format("object {}", number())));
  attributes_ = changed;
  return {};
}

Status Znode::store(SaRegistry& registry, const Tx& tx, const ZnodeAttributes& attributes) {
  last_txg.store(tx.txg(), std::memory_order_relaxed);
  atime_pending_ = false;
  if (patchable_ && attributes.projid == attributes_.projid) {
    Bytes bonus = object_->bonus();
    assert(bonus.size() >= header_bytes_ + kSaFixedBytes);
    encode_fixed(attributes, bonus.data() + header_bytes_);
    return object_->set_bonus(tx, bonus);
  }
  SaValues values = TRY(current_values(registry, tx));
  return write_values(registry, tx, attributes, std::move(values));
}

// All attributes as stored, those of an old znode in their present form.
Result<SaValues> Znode::current_values(SaRegistry& registry, const Tx& tx) const {
  if (object_->info().bonus_type == DmuType::znode) return convert_old_znode(registry, tx, *object_);
  return values(registry);
}

Status Znode::write_values(SaRegistry& registry, const Tx& tx, const ZnodeAttributes& attributes,
                           SaValues values) {
  TRY(merge_fixed(registry, tx, attributes, values));
  SaImage image = TRY(encode_sa(registry, tx, values, full_bonus_bytes(*object_)));
  const SaHeader header = TRY(decode_sa_header(image.bonus));
  TRY(store_sa(*object_, tx, std::move(image)));
  header_bytes_ = header.bytes;
  patchable_ = begins_with_fixed(registry, values);
  return {};
}

Status Znode::rebuild(SaRegistry& registry, const Tx& tx,
                      const std::function<Status(ZnodeAttributes&, SaValues&)>& change) {
  MutexLock lock(attributes_mutex_);
  const std::string where = fmt::format("object {}", number());
  ZnodeAttributes changed = attributes_;
  SaValues values = TRY(current_values(registry, tx).in(where));
  TRY(change(changed, values));
  TRY(write_values(registry, tx, changed, std::move(values)).in(where));
  atime_pending_ = false;
  last_txg.store(tx.txg(), std::memory_order_relaxed);
  attributes_ = changed;
  return {};
}

Result<std::optional<Bytes>> Znode::value(const SaRegistry* registry, SaAttr attr) const {
  if (!registry || object_->info().bonus_type != DmuType::sa) return std::optional<Bytes>();
  const auto number = registry->number(attr);
  if (!number) return std::optional<Bytes>();
  MutexLock lock(attributes_mutex_);
  const SaValues all = TRY(values(*registry));
  const Bytes* found = all.find(*number);
  return found ? std::optional<Bytes>(*found) : std::nullopt;
}

Result<std::string> Znode::symlink_target(const SaRegistry* registry) const {
  if (object_->info().bonus_type == DmuType::znode) return old_symlink_target(*object_);
  const std::optional<Bytes> target = TRY(value(registry, SaAttr::symlink));
  if (!target)
    return Error(Errc::corrupt, fmt::format("object {}: symbolic link without a target", number()));
  return std::string(as_text(*target));
}

void Znode::set_atime(TimeSpec time) {
  MutexLock lock(attributes_mutex_);
  attributes_.atime = time;
  atime_pending_ = true;
}

}  // namespace tarn
