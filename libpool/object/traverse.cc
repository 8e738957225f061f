// Walking every block of an object set as it is on disk, by block pointers alone: for scans and for
// destroying it.
#include <fmt/format.h>

#include "libpool/object/object_set_impl.h"

namespace tarn {

namespace {

class Walker {
 public:
  using Visit = std::function<Status(const BlockPointer&, const Bookmark&)>;
  // `parents_first`: a block is visited before what it points at; else after.
  Walker(ObjectSetImpl& set, std::uint64_t min_birth, bool parents_first, const Visit& visit)
      : set_(set), min_birth_(min_birth), parents_first_(parents_first), visit_(visit) {}

  // A block that cannot be read ends its subtree, not the walk; the first such error is the result.
  Status run(const BlockPointer& root) {
    if (root.is_hole() || root.birth_for_freeing() <= min_birth_) return {};
    const Bookmark bookmark{.objset = set_.id(), .object = 0, .level = -1, .blkid = 0};
    if (parents_first_) TRY(visit_(root, bookmark));
    auto block = read(root, DmuType::objset, bookmark);
    if (!block) return std::move(block).error();
    const ByteView header = (*block)->view();
    constexpr std::array<std::size_t, 4> kDnodesAt{0, 1024, 1536, 2048};
    for (std::size_t i = 0; i < kDnodesAt.size(); ++i) {
      if (kDnodesAt[i] + kDnodeSlotBytes > header.size() || header[kDnodesAt[i]] == std::byte{0}) continue;
      const auto dnode = Dnode::decode(header.subspan(kDnodesAt[i], kDnodeSlotBytes), root.byte_order);
      if (dnode) {
        TRY(walk_dnode(*dnode, 0 - static_cast<std::uint64_t>(i)));
      } else {
        note(dnode.error());
      }
    }
    if (!parents_first_) TRY(visit_(root, bookmark));
    return std::move(first_error_);
  }

 private:
  void note(const Error& error) {
    if (first_error_) first_error_ = error;
  }

  Result<BufferRef> read(const BlockPointer& bp, DmuType type, const Bookmark& bookmark) {
    BufferRef block = TRY(set_.io().read(bp, bookmark, false));
    if (bp.byte_order == kHostOrder) return block;
    auto swapped = std::make_shared<Buffer>(Buffer::copy_of(block->view()));
    if (bookmark.level > 0) {
      swap_u64_array(swapped->span());
    } else {
      TRY(swap_block(swapped->span(), type));
    }
    return BufferRef(std::move(swapped));
  }

  Status walk_dnode(const Dnode& dnode, std::uint64_t object) {
    for (unsigned i = 0; i < dnode.root_count; ++i)
      TRY(walk_block(dnode.roots[i], dnode,
                     {.objset = set_.id(), .object = object, .level = dnode.levels - 1, .blkid = i}));
    if (dnode.spill && !dnode.spill->is_hole() && dnode.spill->birth_for_freeing() > min_birth_)
      TRY(visit_(*dnode.spill, {.objset = set_.id(), .object = object, .level = 0, .blkid = UINT64_MAX - 1}));
    return {};
  }

  Status walk_block(const BlockPointer& bp, const Dnode& dnode, const Bookmark& bookmark) {
    if (bp.is_hole() || bp.birth_for_freeing() <= min_birth_) return {};
    const auto level = static_cast<unsigned>(bookmark.level);
    if (const Status sane = set_.check_pointer(bp, dnode.shape(), level); !sane) {
      note(sane.error());
      return {};
    }
    if (parents_first_) TRY(visit_(bp, bookmark));
    const bool dnodes = level == 0 && dnode.type == DmuType::dnode && bookmark.object == 0;
    if (level > 0 || dnodes) {
      auto block = read(bp, dnode.type, bookmark);
      if (block && (*block)->size() == bp.logical_bytes) {
        TRY(level > 0 ? walk_children((*block)->view(), dnode, bookmark)
                      : walk_dnodes((*block)->view(), bp, bookmark));
      } else {
        note(block ? Error(Errc::corrupt, "block of a wrong size") : block.error());
      }
    }
    if (!parents_first_) TRY(visit_(bp, bookmark));
    return {};
  }

  Status walk_children(ByteView block, const Dnode& dnode, const Bookmark& bookmark) {
    const TreeShape shape = dnode.shape();
    for (std::uint64_t i = 0; i < shape.pointers_per_block(); ++i) {
      const auto bytes = block.subspan(i * kBlockPointerBytes).first<kBlockPointerBytes>();
      Bookmark child = bookmark;
      --child.level;
      child.blkid = (bookmark.blkid << shape.pointers_shift()) + i;
      TRY(walk_block(BlockPointer::decode(bytes, kHostOrder), dnode, child));
    }
    return {};
  }

  Status walk_dnodes(ByteView block, const BlockPointer& bp, const Bookmark& bookmark) {
    for (unsigned slot = 0; slot < kDnodesPerBlock;) {
      const unsigned slots = dnode_slots_at(block, slot);
      const std::uint64_t number = bookmark.blkid * kDnodesPerBlock + slot;
      if (slots) {
        const auto dnode = Dnode::decode(block.subspan(slot * kDnodeSlotBytes), bp.byte_order);
        if (dnode) {
          TRY(walk_dnode(*dnode, number));
        } else {
          note(Error(dnode.error()).in(fmt::format("object {}", number)));
        }
      }
      slot += std::max(slots, 1u);
    }
    return {};
  }

  ObjectSetImpl& set_;
  const std::uint64_t min_birth_;
  const bool parents_first_;
  const Visit& visit_;
  Status first_error_;
};

}  // namespace

Status ObjectSetImpl::traverse(std::uint64_t min_birth,
                               const std::function<Status(const BlockPointer&, const Bookmark&)>& visit) {
  return Walker(*this, min_birth, true, visit).run(root());
}

Status ObjectSetImpl::free_all(std::uint64_t txg) {
  const SyncRun run{.txg = txg, .pass = 1, .batch = nullptr};
  const std::function<Status(const BlockPointer&, const Bookmark&)> free_one =
      [&](const BlockPointer& bp, const Bookmark&) -> Status {
    (void)release(run, bp);
    return {};
  };
  // Children first: a block's content may be gone once it is freed.
  const Status status = Walker(*this, 0, false, free_one).run(root());
  MutexLock lock(lock_);
  root_ = {};
  dirty_.clear();
  // An error says that part could not be read and leaks.
  return status;
}

}  // namespace tarn
