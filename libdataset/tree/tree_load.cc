// Reading the dataset tree from the MOS into memory.

#include <fmt/format.h>

#include <algorithm>

#include "libdataset/tree/intent_log_check.h"
#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

constexpr unsigned kMaxTreeDepth = 128;  // deeper than any legal name; stops loops
constexpr std::int64_t kObjsetLevel = -1;
constexpr std::uint64_t kMasterNode = 1, kVolumeData = 1, kVolumeProperties = 2;
constexpr std::size_t kBookmarkWords = 3;       // of a short bookmark
constexpr std::uint64_t kBookmarkHasFreed = 1;  // flags: HAS_FBN

Result<std::uint64_t> lookup_or(const Zap& zap, std::string_view key, std::uint64_t otherwise) {
  auto value = zap.lookup_u64(key);
  if (value) return *value;
  if (value.error().code() == Errc::not_found) return otherwise;
  return std::move(value).error();
}

}  // namespace

Result<std::vector<std::uint64_t>> int_key_set(ObjectSet& mos, std::uint64_t zap) {
  std::vector<std::uint64_t> members;
  if (zap == 0) return members;
  for (const ZapEntry& entry : TRY(TRY(Zap::open(mos, zap)).entries()))
    members.push_back(entry.value.first());
  return members;
}

Result<std::unique_ptr<DatasetTree>> DatasetTree::open(Pool& pool, OwnerFinder find_owner) {
  auto tree = std::make_unique<TreeImpl>(pool, std::move(find_owner));
  TRY(tree->load().in("datasets"));
  if (!pool.read_only()) {
    TRY(tree->check_intent_logs());
    tree->participate();
  }
  return std::unique_ptr<DatasetTree>(std::move(tree));
}

void TreeImpl::participate() {
  pool_.add_participant(this);
  participating_ = true;
}

TreeImpl::~TreeImpl() {
  if (participating_) pool_.remove_participant(this);
}

Status TreeImpl::load() {
  const std::uint64_t root = TRY(pool_.directory().lookup_u64("root_dataset"));
  WriterLock lock(mutex_);
  root_ = TRY(load_dir(root, pool_.name(), nullptr, 0));
  return {};
}

Result<PropertyMap> TreeImpl::load_props(std::uint64_t zap) const {
  PropertyMap props;
  if (zap == 0) return props;
  const Zap opened = TRY(Zap::open(pool_.mos(), zap));
  for (const ZapEntry& entry : TRY(opened.entries())) {
    StoredProperty& value = props[entry.name];
    value.is_text = entry.value.integer_bytes == 1;
    if (value.is_text) {
      value.text = entry.value.text();
    } else {
      value.number = entry.value.first();
    }
  }
  return props;
}

Result<std::unique_ptr<DirNode>> TreeImpl::load_dir(std::uint64_t object, std::string name, DirNode* parent,
                                                    unsigned depth) {
  auto dir = std::make_unique<DirNode>();
  dir->object = object;
  dir->name = std::move(name);
  dir->parent = parent;
  const std::string where = fmt::format("'{}'", dir->full_name());
  if (depth > kMaxTreeDepth || dirs_.contains(object))
    return Error(Errc::corrupt, "the tree of datasets loops").in(where);

  ObjectRef opened = TRY(pool_.mos().open_object(object).in(where));
  if (opened->info().bonus_type != DmuType::dsl_dir)
    return Error(Errc::corrupt, fmt::format("object {} is not a dataset directory", object)).in(where);
  dir->phys = TRY(DslDirPhys::decode(opened->bonus()).in(where));
  dir->props = TRY(load_props(dir->phys.props_zap).in(where));
  dirs_[object] = dir.get();

  if (dir->phys.head_dataset != 0) {
    dir->head = TRY(load_dataset(dir->phys.head_dataset, dir.get(), "").in(where));
    TRY(load_snapshots(*dir).in(where));
    TRY(load_objset_summary(*dir).in(where));
  }
  TRY(load_extensions(*dir).in(where));
  if (dir->phys.child_zap != 0) {
    const Zap children = TRY(Zap::open(pool_.mos(), dir->phys.child_zap).in(where));
    for (const ZapEntry& entry : TRY(children.entries().in(where))) {
      dir->children[entry.name] = TRY(load_dir(entry.value.first(), entry.name, dir.get(), depth + 1));
    }
  }
  return dir;
}

Result<std::unique_ptr<DatasetNode>> TreeImpl::load_dataset(std::uint64_t object, DirNode* dir,
                                                            std::string name) {
  auto node = std::make_unique<DatasetNode>();
  node->object = object;
  node->dir = dir;
  node->name = std::move(name);
  ObjectRef opened = TRY(pool_.mos().open_object(object));
  if (opened->info().bonus_type != DmuType::dsl_dataset)
    return Error(Errc::corrupt, fmt::format("object {} is not a dataset", object));
  node->phys = TRY(DslDatasetPhys::decode(opened->bonus()));
  if (node->is_snapshot()) {
    node->props = TRY(load_props(node->phys.props_zap));
    if (node->phys.userrefs_zap != 0)
      node->userrefs = TRY(TRY(Zap::open(pool_.mos(), node->phys.userrefs_zap)).count());
  }
  datasets_[object] = node.get();
  return node;
}

Status TreeImpl::load_snapshots(DirNode& dir) {
  if (dir.head->phys.snapnames_zap == 0) return {};
  const Zap names = TRY(Zap::open(pool_.mos(), dir.head->phys.snapnames_zap));
  for (const ZapEntry& entry : TRY(names.entries())) {
    if (entry.name.empty()) return Error(Errc::corrupt, "snapshot without a name");
    dir.snapshots.push_back(TRY(load_dataset(entry.value.first(), &dir, entry.name)));
  }
  std::sort(dir.snapshots.begin(), dir.snapshots.end(), [](const auto& a, const auto& b) {
    return std::tie(a->phys.creation_txg, a->name) < std::tie(b->phys.creation_txg, b->name);
  });
  return {};
}

Status TreeImpl::load_extensions(DirNode& dir) {
  if (const std::optional<Zap> zap = TRY(open_extension(pool_.mos(), dir.object))) {
    for (const ZapEntry& entry : TRY(zap->entries())) {
      if (entry.name == "com.joyent:filesystem_count") dir.filesystem_count = entry.value.first();
      if (entry.name == "com.joyent:snapshot_count") dir.snapshot_count = entry.value.first();
      if (entry.name == "com.ixsystems:snapshots_changed") dir.snapshots_changed = entry.value.first();
      if (entry.name == "com.datto:crypto_key_obj") dir.crypto_key = entry.value.first();
      if (entry.name == "com.delphix:livelist") dir.livelist = entry.value.first();
    }
  }
  if (!dir.head) return {};
  if (const std::optional<Zap> zap = TRY(open_extension(pool_.mos(), dir.head->object))) {
    for (const ZapEntry& entry : TRY(zap->entries())) {
      if (entry.name == "com.delphix:bookmarks")
        TRY(load_bookmarks(dir, entry.value.first()).in("bookmarks"));
      if (entry.name == "com.delphix:resume_toguid") dir.resumable = true;
    }
  }
  return {};
}

Status TreeImpl::load_bookmarks(DirNode& dir, std::uint64_t zap) {
  for (const ZapEntry& entry : TRY(TRY(Zap::open(pool_.mos(), zap)).entries())) {
    std::vector<std::uint64_t> words = entry.value.integers;
    if (words.size() < kBookmarkWords)
      return Error(Errc::corrupt, fmt::format("bookmark '{}' is too short", entry.name));
    BookmarkNode mark{
        .name = entry.name, .guid = words[0], .creation_txg = words[1], .creation_time = words[2]};
    if (words.size() > kBookmarkWords) {
      words.resize(12);
      mark.has_totals = (words[4] & kBookmarkHasFreed) != 0;
      mark.referenced = words[5];
      mark.compressed = words[6];
      mark.uncompressed = words[7];
      mark.freed_before_next = words[8];
    }
    dir.bookmarks.push_back(std::move(mark));
  }
  std::sort(dir.bookmarks.begin(), dir.bookmarks.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return {};
}

// The head's type decides what it is called in listings. An object set that cannot be read (damaged, or
// encrypted by a suite that we lack) is listed as a file system; opening it will say what is wrong.
Status TreeImpl::load_objset_summary(DirNode& dir) {
  dir.type = ObjsetType::filesystem;
  const BlockPointer& root = dir.head->phys.root;
  if (root.is_hole()) return {};
  const Bookmark bookmark{.objset = dir.head->object, .object = 0, .level = kObjsetLevel, .blkid = 0};
  auto block = pool_.io().read(root, bookmark);
  if (!block) return {};
  const ObjsetSummary summary = TRY(ObjsetSummary::decode(**block, root.byte_order));
  if (summary.type == static_cast<std::uint64_t>(ObjsetType::volume)) dir.type = ObjsetType::volume;
  dir.objset_flags = summary.flags;
  return {};
}

Status TreeImpl::check_intent_logs() {
  ReaderLock lock(mutex_);
  for (const auto& [object, dir] : dirs_)
    if (dir->head) TRY(check_intent_log(*dir).in(fmt::format("'{}'", dir->full_name())));
  return {};
}

Status TreeImpl::check_intent_log(const DirNode& dir) {
  const BlockPointer& root = dir.head->phys.root;
  if (root.is_hole()) return {};
  auto block =
      pool_.io().read(root, {.objset = dir.head->object, .object = 0, .level = kObjsetLevel, .blkid = 0});
  if (!block) return {};  // opening it fails too, and says why
  const ObjsetSummary summary = TRY(ObjsetSummary::decode(**block, root.byte_order));
  if (!summary.replay_needed &&
      !TRY(intent_log_has_records(pool_.io(), summary.log, dir.head->object).in("intent log")))
    return {};
  return Error(Errc::unsupported,
               "the intent log holds changes that have to be replayed, which Tarn cannot do yet; "
               "import the pool read-only");
}

Result<std::unique_ptr<ObjectSet>> TreeImpl::open_read_only(const DatasetNode& node, ObjsetType type) {
  ObjectSetEnv env;
  env.io = &pool_.io();
  env.workers = &pool_.workers();
  env.objset_id = node.object;
  env.vdev_count = pool_.vdevs().top_count();
  return ObjectSet::open(env, node.phys.root, type);
}

Result<HeadDetails> TreeImpl::read_details(const DatasetNode& node, ObjsetType type) {
  HeadDetails details;
  if (node.phys.root.is_hole()) return details;
  const std::unique_ptr<ObjectSet> objset = TRY(open_read_only(node, type));
  if (type == ObjsetType::volume) {
    details.volblocksize = TRY(objset->open_object(kVolumeData))->info().block_bytes;
    details.volsize = TRY(TRY(Zap::open(*objset, kVolumeProperties)).lookup_u64("size"));
    return details;
  }
  const Zap master = TRY(Zap::open(*objset, kMasterNode));
  details.zpl_version = TRY(lookup_or(master, "VERSION", 0));
  details.utf8only = TRY(lookup_or(master, "utf8only", 0));
  details.normalization = TRY(lookup_or(master, "normalization", 0));
  details.casesensitivity = TRY(lookup_or(master, "casesensitivity", 0));
  return details;
}

Result<const HeadDetails*> TreeImpl::details_of(DirNode& dir) {
  if (!dir.details) dir.details = TRY(read_details(*dir.head, dir.type));
  return &*dir.details;
}

}  // namespace tarn
