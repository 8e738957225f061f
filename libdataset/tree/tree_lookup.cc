// Finding datasets by name, and opening their object sets.

#include <fmt/format.h>

#include "libdataset/tree/tree_impl.h"

namespace tarn {
namespace {

Error missing() { return Error(Errc::not_found, "dataset does not exist"); }

}  // namespace

DirNode* TreeImpl::find_dir(std::string_view name) const {
  DirNode* dir = root_.get();
  std::size_t slash = name.find('/');
  if (name.substr(0, slash) != dir->name) return nullptr;
  while (slash != std::string_view::npos) {
    name = name.substr(slash + 1);
    slash = name.find('/');
    auto child = dir->children.find(name.substr(0, slash));
    if (child == dir->children.end()) return nullptr;
    dir = child->second.get();
  }
  return dir;
}

DirNode* TreeImpl::special_dir(std::string_view name) const {
  auto child = root_->children.find(name);
  return child == root_->children.end() ? nullptr : child->second.get();
}

DatasetNode* TreeImpl::dataset(std::uint64_t object) const {
  auto found = datasets_.find(object);
  return found == datasets_.end() ? nullptr : found->second;
}

Result<TreeImpl::Place> TreeImpl::find(const std::string& name) const {
  const DatasetName parsed = TRY(parse_dataset_name(name));
  Place place{.dir = find_dir(parsed.dir)};
  if (!place.dir || !place.dir->head) return missing();
  if (parsed.kind == NameKind::snapshot) {
    for (const auto& snapshot : place.dir->snapshots)
      if (snapshot->name == parsed.tail) place.snapshot = snapshot.get();
    if (!place.snapshot) return missing();
  } else if (parsed.kind == NameKind::bookmark) {
    for (BookmarkNode& mark : place.dir->bookmarks)
      if (mark.name == parsed.tail) place.bookmark = &mark;
    if (!place.bookmark) return missing();
  }
  return place;
}

std::string TreeImpl::name_of_node(const DatasetNode& node) const {
  ReaderLock lock(mutex_);
  return full_name(node);
}

std::shared_ptr<OpenDataset> TreeImpl::opened(std::uint64_t object) const {
  auto found = open_.find(object);
  return found == open_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<OpenDataset>> TreeImpl::open_node(DatasetNode& node) {
  if (auto already = opened(node.object)) return already;
  if (node.dir->crypto_key != 0)
    return Error(Errc::unsupported, "the dataset is encrypted, which Tarn cannot read yet");
  if (node.phys.flags & DslDatasetPhys::kInconsistent)
    return Error(Errc::corrupt, "the dataset is inconsistent: only partly received or destroyed");
  auto open = std::make_shared<OpenDataset>(*this, node);
  TRY(open->open_objset(node.phys.root, node.dir->type, node.dir->objset_flags));
  refresh_properties(*open);
  open_[node.object] = open;
  return open;
}

Result<DatasetRef> TreeImpl::open_dataset(const std::string& name) {
  WriterLock lock(mutex_);
  const Place place = TRY(find(name));
  if (place.bookmark) return Error(Errc::invalid_argument, "bookmark delimiter '#' is not expected here");
  return DatasetRef(TRY(open_node(place.snapshot ? *place.snapshot : *place.dir->head)));
}

// The caller holds mutex_ exclusively; nothing of the dataset may be dirty.
Status TreeImpl::close_idle(DatasetNode& node) {
  auto found = open_.find(node.object);
  if (found == open_.end()) return {};
  if (found->second.use_count() > 1) return Error(Errc::busy, "dataset is busy");
  open_.erase(found);
  return {};
}

}  // namespace tarn
