// SaRegistry: which attribute has which number in one file system, and the layouts (ordered attribute lists)
// that its objects use (FORMAT.md logical 4.2). Both live in ZAPs below the SA master node and only grow.
//
// Thread safety: everything from any thread. Its mutex is a leaf but for the two ZAPs it guards.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "libdataset/sa/sa_attribute.h"
#include "libpool/base/mutex.h"
#include "libpool/base/result.h"
#include "libpool/object/object_set.h"

namespace tarn {

using SaLayout = std::vector<std::uint16_t>;  // attribute numbers in storage order

class SaRegistry {
 public:
  struct Entry {
    std::uint16_t number = 0;
    std::uint16_t length = 0;
    SaSwap swap = SaSwap::u8_array;
    std::optional<SaAttr> known;
  };

  // `master` = object of SA_ATTRS. Registry and layouts may not exist yet: the first store() creates them.
  static Result<std::unique_ptr<SaRegistry>> open(ObjectSet& objset, std::uint64_t master);
  // Registry and layouts in memory only, with the numbers a new file system gets; for tests of the codec.
  static std::unique_ptr<SaRegistry> standard(const std::map<std::uint16_t, SaLayout>& layouts);

  const Entry* find(std::uint16_t number) const;
  std::optional<std::uint16_t> number(SaAttr attr) const;
  Result<SaLayout> layout(std::uint16_t id) const;

  // Makes sure that `attr` has a number: an older file system gets new attributes appended.
  Result<std::uint16_t> require(const Tx& tx, SaAttr attr);
  // The number of `layout`, added if it is new.
  Result<std::uint16_t> layout_id(const Tx& tx, const SaLayout& layout);

 private:
  SaRegistry(ObjectSet* objset, std::uint64_t master) : objset_(objset), master_(master) {}
  Status load_registry() REQUIRES(mutex_);
  Status load_layouts() REQUIRES(mutex_);
  Status create_registry(const Tx& tx) REQUIRES(mutex_);
  Status add_attribute(const Tx& tx, SaAttr attr, std::uint16_t number) REQUIRES(mutex_);
  void remember(std::uint16_t number, const std::string& name, std::uint64_t packed) REQUIRES(mutex_);

  ObjectSet* const objset_;
  const std::uint64_t master_;
  mutable SharedMutex mutex_;
  std::uint64_t registry_object_ GUARDED_BY(mutex_) = 0;
  std::uint64_t layouts_object_ GUARDED_BY(mutex_) = 0;
  // A map: entries stay where they are, so that find() may hand out pointers.
  std::map<std::uint16_t, Entry> entries_ GUARDED_BY(mutex_);
  std::array<std::optional<std::uint16_t>, kSaAttrCount> numbers_ GUARDED_BY(mutex_){};
  std::map<std::uint16_t, SaLayout> layouts_ GUARDED_BY(mutex_);
  std::map<SaLayout, std::uint16_t> ids_ GUARDED_BY(mutex_);
};

}  // namespace tarn
