// Opening object sets and objects; taking and giving back object numbers. sync() is in object_set_sync.cc.
#include "libpool/object/object_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libpool/object/object_set_impl.h"

namespace tarn {

namespace {

constexpr std::size_t kZilHeaderAt = 512, kZilHeaderBytes = 192, kTypeAt = 704, kFlagsAt = 712;
constexpr std::array<std::size_t, 3> kAccountAt{1024, 1536, 2048};
constexpr std::uint64_t kUserUsedObject = UINT64_MAX;  // then group, project downwards
constexpr unsigned kDatasetMetaLevels = 6;

// Index of an accounting object, or nothing.
std::optional<std::size_t> account_index(std::uint64_t number) {
  const std::uint64_t index = kUserUsedObject - number;
  return index < 3 ? std::optional<std::size_t>(index) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ObjectSet>> ObjectSet::open(const ObjectSetEnv& env, const BlockPointer& root,
                                                   ObjsetType type_if_new) {
  auto set = std::make_unique<ObjectSetImpl>(env, type_if_new);
  TRY(set->load(root).in(fmt::format("object set {}", env.objset_id)));
  return std::unique_ptr<ObjectSet>(std::move(set));
}

ObjectSetImpl::ObjectSetImpl(const ObjectSetEnv& env, ObjsetType type) : env_(env), type_(type) {
  alloc_cursors_.fill(kDnodesPerBlock);
}

ObjectSetImpl::~ObjectSetImpl() {
  MutexLock lock(background_lock_);
  while (background_count_ != 0) background_idle_.wait(background_lock_);
}

Status ObjectSetImpl::load(const BlockPointer& root) {
  MutexLock lock(lock_);
  root_ = root;
  Dnode meta;
  if (root.is_hole()) {
    created_ = true;
    header_ = Buffer::zeroed(env_.new_objset_bytes);
    zil_header_.assign(kZilHeaderBytes, std::byte{0});
    meta.type = DmuType::dnode;
    meta.block_bytes = kDnodeBlockBytes;
    meta.root_count = 3;
    meta.levels = type_ == ObjsetType::meta ? 1 : kDatasetMetaLevels;
    meta_ = std::make_shared<ObjectImpl>(*this, 0, std::move(meta));
    return {};
  }
  TRY(root.check(env_.vdev_count).in("root block pointer"));
  if (root.level != 0 || root.type != DmuType::objset)
    return Error(Errc::corrupt, "root is no object set block");
  const Bookmark bookmark{.objset = env_.objset_id, .object = 0, .level = -1, .blkid = 0};
  const BufferRef block = TRY(env_.io->read(root, bookmark));
  if (block->size() != 1024 && block->size() != 2048 && block->size() != 4096)
    return Error(Errc::corrupt, fmt::format("object set block of {} bytes", block->size()));
  header_ = Buffer::copy_of(block->view());
  if (root.byte_order != kHostOrder) TRY(swap_block(header_.span(), DmuType::objset));

  meta = TRY(Dnode::decode(header_.view().first(kDnodeSlotBytes), root.byte_order).in("meta dnode"));
  if (meta.type != DmuType::dnode || meta.block_bytes != kDnodeBlockBytes)
    return Error(Errc::corrupt, "meta dnode of a wrong type or block size");
  if (meta.max_blkid > kMaxObjectNumber / kDnodesPerBlock)
    return Error(Errc::corrupt, "meta dnode: too many blocks");
  meta_ = std::make_shared<ObjectImpl>(*this, 0, std::move(meta));
  type_ = static_cast<ObjsetType>(tarn::load<std::uint64_t>(header_.data() + kTypeAt, kHostOrder));
  flags_ = tarn::load<std::uint64_t>(header_.data() + kFlagsAt, kHostOrder);
  const ByteView zil = header_.view().subspan(kZilHeaderAt, kZilHeaderBytes);
  zil_header_.assign(zil.begin(), zil.end());
  for (std::size_t i = 0; i < kAccountAt.size(); ++i) {
    if (kAccountAt[i] + kDnodeSlotBytes > header_.size() || header_.data()[kAccountAt[i]] == std::byte{0})
      continue;
    Dnode account = TRY(Dnode::decode(header_.view().subspan(kAccountAt[i], kDnodeSlotBytes), root.byte_order)
                            .in("accounting dnode"));
    accounts_[i] = std::make_shared<ObjectImpl>(*this, kUserUsedObject - i, std::move(account));
  }
  object_count_ = static_cast<std::int64_t>(root.fill_count());
  return {};
}

BlockPointer ObjectSetImpl::root() const {
  MutexLock lock(lock_);
  return root_;
}

std::uint64_t ObjectSetImpl::flags() const {
  MutexLock lock(lock_);
  for (auto it = dirty_.rbegin(); it != dirty_.rend(); ++it)
    if (it->second.flags) return *it->second.flags;
  return flags_;
}

void ObjectSetImpl::set_flags(const Tx& tx, std::uint64_t flags) {
  MutexLock lock(lock_);
  dirty_[tx.txg()].flags = flags;
}

Bytes ObjectSetImpl::zil_header() const {
  MutexLock lock(lock_);
  for (auto it = dirty_.rbegin(); it != dirty_.rend(); ++it)
    if (it->second.zil_header) return *it->second.zil_header;
  return zil_header_;
}

void ObjectSetImpl::set_zil_header(const Tx& tx, ByteView header) {
  assert(header.size() == kZilHeaderBytes);
  MutexLock lock(lock_);
  dirty_[tx.txg()].zil_header = Bytes(header.begin(), header.end());
}

void ObjectSetImpl::set_policy(const StoragePolicy& policy) {
  MutexLock lock(lock_);
  policy_ = policy;
}

Status ObjectSetImpl::check_pointer(const BlockPointer& bp, const TreeShape& shape, unsigned level) const {
  TRY(bp.check(env_.vdev_count));
  if (bp.level != level) return Error(Errc::corrupt, fmt::format("block pointer of level {}", bp.level));
  if (level > 0 && bp.embedded) return Error(Errc::corrupt, "embedded indirect block");
  const bool redacted = bp.embedded && bp.embedded_type != EmbeddedType::data;
  if (!redacted && bp.logical_bytes != shape.bytes_at(level))
    return Error(Errc::corrupt, fmt::format("block pointer to {} bytes, blocks have {}", bp.logical_bytes,
                                            shape.bytes_at(level)));
  return {};
}

void ObjectSetImpl::mark_dirty(std::shared_ptr<ObjectImpl> object, std::uint64_t txg) {
  const std::uint64_t number = object->number();
  if (number == 0 || account_index(number)) return;  // synced with the set itself
  MutexLock lock(lock_);
  dirty_[txg].objects[number] = std::move(object);
}

void ObjectSetImpl::report_dirty(std::uint64_t txg, std::int64_t bytes) {
  if (env_.dirty) env_.dirty->dirtied(txg, bytes);
}

void ObjectSetImpl::run_in_background(std::function<void()> task) {
  {
    MutexLock lock(background_lock_);
    ++background_count_;
  }
  env_.workers->submit([this, task = std::move(task)]() mutable {
    task();
    task = nullptr;  // lets go of its object before the set may be destroyed
    MutexLock lock(background_lock_);
    if (--background_count_ == 0) background_idle_.notify_all();
  });
}

std::shared_ptr<ObjectImpl> ObjectSetImpl::lookup(std::uint64_t number) {
  const auto found = objects_.find(number);
  if (found == objects_.end()) return nullptr;
  std::shared_ptr<ObjectImpl> object = found->second.lock();
  return object && !object->removed() ? object : nullptr;
}

void ObjectSetImpl::remember(const std::shared_ptr<ObjectImpl>& object) {
  if (objects_.size() >= sweep_at_) {
    std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(1024, objects_.size() * 2);
  }
  objects_[object->number()] = object;
}

Result<ObjectSetImpl::SlotMap*> ObjectSetImpl::slot_map(std::uint64_t block) {
  const auto known = slot_maps_.find(block);
  if (known != slot_maps_.end()) return &known->second;
  SlotMap map;
  ReaderLock content(meta_->content_lock());
  const BufferRef dnodes = TRY(meta_->fetch(block));
  for (unsigned slot = 0; dnodes && slot < kDnodesPerBlock;) {
    const unsigned slots = dnode_slots_at(dnodes->view(), slot);
    if (slots) map.starts |= 1u << slot;
    for (unsigned i = 0; i < slots; ++i) map.used |= 1u << (slot + i);
    slot += std::max(slots, 1u);
  }
  if (block == 0) {  // object 0 is the meta dnode
    map.used |= 1;
    map.starts &= ~1u;
  }
  return &(slot_maps_[block] = map);
}

Result<ObjectRef> ObjectSetImpl::open_object(std::uint64_t number) {
  if (const auto account = account_index(number)) {
    MutexLock lock(lock_);
    if (accounts_[*account]) return ObjectRef(accounts_[*account]);
    return Error(Errc::not_found, fmt::format("object set {} keeps no such accounts", id()));
  }
  if (number == 0 || number > kMaxObjectNumber)
    return Error(Errc::not_found, fmt::format("no object {}", number));
  {
    MutexLock lock(lock_);
    if (auto object = lookup(number)) return ObjectRef(std::move(object));
  }
  // Held until the object is in the table, so that each number has one Object.
  MutexLock alloc(alloc_lock_);
  {
    MutexLock lock(lock_);
    if (auto object = lookup(number)) return ObjectRef(std::move(object));
  }
  const std::uint64_t block = number / kDnodesPerBlock;
  const unsigned slot = number % kDnodesPerBlock;
  const SlotMap* map = TRY(slot_map(block));
  if (!(map->starts >> slot & 1))
    return Error(Errc::not_found, fmt::format("object set {}: no object {}", id(), number));
  ByteOrder order = kHostOrder;
  Dnode dnode;
  {
    ReaderLock content(meta_->content_lock());
    const BufferRef dnodes = TRY(meta_->fetch(block, &order));
    if (!dnodes) return Error(Errc::not_found, fmt::format("object set {}: no object {}", id(), number));
    dnode = TRY(Dnode::decode(dnodes->view().subspan(slot * kDnodeSlotBytes), order)
                    .in(fmt::format("object set {}: object {}", id(), number)));
  }
  auto object = std::make_shared<ObjectImpl>(*this, number, std::move(dnode));
  MutexLock lock(lock_);
  remember(object);
  return ObjectRef(std::move(object));
}

Result<std::uint64_t> ObjectSetImpl::allocate_number(unsigned slots) {
  const std::uint32_t wanted = slots == 32 ? UINT32_MAX : (1u << slots) - 1;
  for (std::uint64_t block = alloc_cursors_[slots] / kDnodesPerBlock;
       block <= kMaxObjectNumber / kDnodesPerBlock; ++block) {
    if (!slot_maps_.contains(block)) {
      const ObjectImpl::Found found = TRY(meta_->find_on_disk(block));
      if (found.bp.is_hole()) {
        slot_maps_[block] = {};
      } else if (found.bp.fill_count() >= kDnodesPerBlock) {
        continue;  // full, as its pointer says
      }
    }
    SlotMap* map = TRY(slot_map(block));
    for (unsigned slot = 0; slot + slots <= kDnodesPerBlock; ++slot) {
      if (map->used & (wanted << slot)) continue;
      map->used |= wanted << slot;
      map->starts |= 1u << slot;
      const std::uint64_t number = block * kDnodesPerBlock + slot;
      alloc_cursors_[slots] = number + 1;
      return number;
    }
  }
  return Error(Errc::no_space, "no object number is free");
}

Result<Dnode> ObjectSetImpl::new_dnode(const ObjectSpec& spec) const {
  const std::uint32_t slots = std::max<std::uint32_t>(spec.dnode_slots, 1);
  const std::uint64_t block_bytes = std::max<std::uint64_t>(512, round_up(spec.block_bytes, 512));
  Dnode d;
  const std::size_t most_bonus = slots * kDnodeSlotBytes - kDnodeCoreBytes - kBlockPointerBytes;
  if (slots > kMaxDnodeSlots || block_bytes > kMaxBlockBytes || spec.bonus_bytes > most_bonus ||
      spec.type == DmuType::none)
    return Error(Errc::invalid_argument,
                 fmt::format("object of {} slots, {} bytes per block, bonus of {} bytes", slots, block_bytes,
                             spec.bonus_bytes));
  d.type = spec.type;
  d.bonus_type = spec.bonus_type;
  d.slots = static_cast<std::uint8_t>(slots);
  d.block_bytes = static_cast<std::uint32_t>(block_bytes);
  d.indirect_shift = static_cast<std::uint8_t>(std::clamp(spec.indirect_shift, 12u, 17u));
  d.root_count =
      spec.bonus_type == DmuType::sa
          ? 1
          : static_cast<std::uint8_t>(std::min<std::size_t>(3, 1 + ((most_bonus - spec.bonus_bytes) >> 7)));
  d.bonus.assign(spec.bonus_bytes, std::byte{0});
  return d;
}

Result<ObjectRef> ObjectSetImpl::make_object(const Tx& tx, std::uint64_t number, const ObjectSpec& spec) {
  auto object = std::make_shared<ObjectImpl>(*this, number, TRY(new_dnode(spec)));
  {
    MutexLock lock(lock_);
    remember(object);
  }
  object->mark_created(tx);
  ++object_count_;
  return ObjectRef(std::move(object));
}

Result<ObjectRef> ObjectSetImpl::create_object(const Tx& tx, const ObjectSpec& spec) {
  TRY(new_dnode(spec));
  MutexLock alloc(alloc_lock_);
  const std::uint64_t number = TRY(allocate_number(std::max<std::uint32_t>(spec.dnode_slots, 1)));
  return make_object(tx, number, spec);
}

Result<ObjectRef> ObjectSetImpl::claim_object(const Tx& tx, std::uint64_t number, const ObjectSpec& spec) {
  TRY(new_dnode(spec));
  const unsigned slots = std::max<std::uint32_t>(spec.dnode_slots, 1);
  const unsigned slot = number % kDnodesPerBlock;
  if (number == 0 || number > kMaxObjectNumber || slot + slots > kDnodesPerBlock)
    return Error(Errc::invalid_argument, fmt::format("object {} cannot have {} slots", number, slots));
  MutexLock alloc(alloc_lock_);
  SlotMap* map = TRY(slot_map(number / kDnodesPerBlock));
  const std::uint32_t wanted = (slots == 32 ? UINT32_MAX : (1u << slots) - 1) << slot;
  if (map->used & wanted) return Error(Errc::already_exists, fmt::format("object {} is in use", number));
  map->used |= wanted;
  map->starts |= 1u << slot;
  return make_object(tx, number, spec);
}

Status ObjectSetImpl::free_object(const Tx& tx, std::uint64_t number) {
  const ObjectRef object = TRY(open_object(number));
  if (account_index(number)) return Error(Errc::invalid_argument, "accounting objects cannot be freed");
  MutexLock alloc(alloc_lock_);
  SlotMap* map = TRY(slot_map(number / kDnodesPerBlock));
  const std::uint32_t start = 1u << (number % kDnodesPerBlock);
  if (!(map->starts & start)) return Error(Errc::not_found, fmt::format("no object {}", number));
  map->starts &= ~start;  // `used` stays until the sync
  static_cast<ObjectImpl&>(*object).mark_removed(tx);
  --object_count_;
  return {};
}

Result<std::optional<std::uint64_t>> ObjectSetImpl::next_object(std::uint64_t after) {
  if (after >= kMaxObjectNumber) return std::optional<std::uint64_t>();
  MutexLock alloc(alloc_lock_);
  std::uint64_t highest = meta_->info().max_blkid;
  for (const auto& [block, map] : slot_maps_)
    if (map.starts) highest = std::max(highest, block);
  std::uint64_t number = after + 1;
  while (number / kDnodesPerBlock <= highest) {
    const std::uint64_t block = number / kDnodesPerBlock;
    if (!slot_maps_.contains(block)) {
      // Skip what the tree says is empty, but not past blocks with objects that were not synced yet.
      const std::optional<std::uint64_t> data = TRY(meta_->next_data(block * kDnodeBlockBytes));
      std::uint64_t next_block = data ? *data / kDnodeBlockBytes : highest + 1;
      if (next_block > block) {
        for (const auto& [known, map] : slot_maps_)
          if (known > block && map.starts) next_block = std::min(next_block, known);
        number = next_block * kDnodesPerBlock;
        continue;
      }
    }
    const SlotMap* map = TRY(slot_map(block));
    const std::uint32_t left = map->starts >> (number % kDnodesPerBlock);
    if (left) return std::optional<std::uint64_t>(number + static_cast<unsigned>(std::countr_zero(left)));
    number = (block + 1) * kDnodesPerBlock;
  }
  return std::optional<std::uint64_t>();
}

std::uint64_t ObjectSetImpl::object_count() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, object_count_));
}

bool ObjectSetImpl::is_dirty(std::uint64_t txg) const {
  MutexLock lock(lock_);
  return created_ || dirty_.contains(txg);
}

// A txg's changes are held apart from the start, so nothing is left to do; the call keeps the contract
// explicit.
void ObjectSetImpl::close_txg(std::uint64_t txg) { (void)txg; }

}  // namespace tarn
