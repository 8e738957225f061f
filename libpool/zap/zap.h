// Zap: name/value objects, micro and fat (FORMAT.md logical 2). A view of an Object; cheap to make. Operations
// take the object's content lock (shared for look-ups).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libpool/object/object_set.h"

namespace tarn {

struct ZapValue {
  std::uint8_t integer_bytes = 8;            // 1, 2, 4 or 8
  std::vector<std::uint64_t> integers;       // each zero-extended
  std::uint64_t first() const { return integers.empty() ? 0 : integers[0]; }
  std::string text() const;                  // 1-byte integers up to the NUL
  static ZapValue of_text(std::string_view text);   // with NUL
};

struct ZapEntry {
  std::string name;                          // uint64 keys: 8 big-endian bytes per word
  ZapValue value;
  std::uint64_t cursor;                      // serialized position of this entry; +next in iterate()
};

struct ZapOptions {
  std::uint64_t norm_flags = 0;
  bool fat = false;                          // create as fat ZAP
  std::uint64_t flags = 0;                   // 1 hash64, 2 uint64 keys, 4 pre-hashed
  std::uint32_t fat_block_shift = 14;
};

class Zap {
 public:
  // Opens the ZAP in `object`; checks its header.
  static Result<Zap> open(ObjectRef object);
  static Result<Zap> open(ObjectSet& objset, std::uint64_t number);
  // A new object of `type` with an empty ZAP in it.
  static Result<Zap> create(ObjectSet& objset, const Tx& tx, DmuType type, const ZapOptions& options = {}, DmuType bonus_type = DmuType::none, std::uint32_t bonus_bytes = 0, std::uint32_t dnode_slots = 1);
  // Makes an empty ZAP in an existing, empty object (claimed number, zapified object).
  static Result<Zap> format(ObjectRef object, const Tx& tx, const ZapOptions& options = {});

  std::uint64_t number() const { return object_->number(); }
  const ObjectRef& object() const { return object_; }

  Result<ZapValue> lookup(std::string_view name) const;              // Errc::not_found
  Result<std::uint64_t> lookup_u64(std::string_view name) const;     // first integer
  // With normalisation: the stored spelling too.
  Result<std::pair<std::string, std::uint64_t>> lookup_normalized(std::string_view name, bool match_case) const;
  Status add(const Tx& tx, std::string_view name, const ZapValue& value);          // Errc::already_exists
  Status add(const Tx& tx, std::string_view name, std::uint64_t value);
  Status update(const Tx& tx, std::string_view name, const ZapValue& value);       // add or replace
  Status update(const Tx& tx, std::string_view name, std::uint64_t value);
  Status remove(const Tx& tx, std::string_view name);                              // Errc::not_found
  // Adds a signed delta; removes the entry when the result is 0 (FORMAT.md logical 2.8).
  Status increment(const Tx& tx, std::string_view name, std::int64_t delta);
  Result<std::uint64_t> count() const;

  // Entries in (hash, cd) order from serialized `cursor` (0 = start). `visit` returns false to stop; next_cursor of the
  // last visited entry continues after it. Entries added or removed meanwhile may or may not be seen; others are
  // seen exactly once.
  Status iterate(std::uint64_t cursor, const std::function<bool(const ZapEntry&, std::uint64_t next_cursor)>& visit) const;
  Result<std::vector<ZapEntry>> entries() const;

  // Int-key helpers: name = lower-case hex of the key.
  static std::string int_key(std::uint64_t key);

 private:
  explicit Zap(ObjectRef object) : object_(std::move(object)) {}
  ObjectRef object_;
};

}  // namespace tarn
