// Result<T>: a value or an Error. Bad checksums, missing disks and full pools are everyday outcomes,
// so they are values that each layer enriches with the one fact it knows.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tarn {

// What a caller can act on. A code is added when a caller would act differently on it.
enum class Errc {
  invalid_argument,   // the caller asked for something meaningless (EINVAL)
  not_found,          // no such object, name, device, property (ENOENT)
  already_exists,     // (EEXIST)
  busy,               // in use now (EBUSY)
  permission,         // not allowed for this user (EACCES)
  not_permitted,      // not allowed for anybody, e.g. immutable (EPERM)
  no_space,           // pool or quota full (ENOSPC)
  quota,              // (EDQUOT)
  read_only,          // pool or dataset opened read-only (EROFS)
  io,                 // device failed or no copy left (EIO)
  checksum,           // data read, but no copy verified (EIO)
  corrupt,            // structure on disk makes no sense (EIO)
  unsupported,        // feature, version or operation that we lack (ENOTSUP)
  not_a_directory,    // (ENOTDIR)
  is_a_directory,     // (EISDIR)
  not_empty,          // (ENOTEMPTY)
  name_too_long,      // (ENAMETOOLONG)
  too_many_links,     // (EMLINK)
  too_large,          // file, value or range beyond its limit (EFBIG)
  no_data,            // no such xattr; past the last data (ENODATA / ENXIO)
  out_of_range,       // buffer too small for the answer (ERANGE)
  cross_device,       // (EXDEV)
  would_block,        // (EAGAIN)
  suspended,          // pool suspended after I/O failure
  cancelled,          // (ECANCELED)
  in_use_elsewhere,   // pool or device belongs to another host or pool
  usage,              // misuse of a command: exit code 2
};

// errno value that stands for `code` at a system-call boundary (FUSE).
int to_errno(Errc code);
// Code for an errno value that the operating system returned.
Errc from_errno(int error_number);

class [[nodiscard]] Error {
 public:
  Error(Errc code, std::string text) : code_(code), text_(std::move(text)) {}
  // An error of the operating system: `what` and the system's own words for `error_number`.
  static Error system(int error_number, const std::string& what);

  Errc code() const { return code_; }
  const std::string& text() const { return text_; }
  // The same error seen from one layer further out: "where: text".
  Error in(const std::string& where) && { return Error(code_, where + ": " + text_); }

 private:
  Errc code_;
  std::string text_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  T& value() & { assert(ok()); return std::get<0>(state_); }
  const T& value() const& { assert(ok()); return std::get<0>(state_); }
  T&& value() && { assert(ok()); return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { assert(!ok()); return std::get<1>(state_); }
  const Error& error() const& { assert(!ok()); return std::get<1>(state_); }
  Error&& error() && { assert(!ok()); return std::get<1>(std::move(state_)); }
  T value_or(T other) && { return ok() ? std::get<0>(std::move(state_)) : std::move(other); }
  Result in(const std::string& where) && {
    if (ok()) return std::move(*this);
    return std::move(*this).error().in(where);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using Value = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  void value() const { assert(ok()); }
  Error& error() & { assert(!ok()); return *error_; }
  const Error& error() const& { assert(!ok()); return *error_; }
  Error&& error() && { assert(!ok()); return std::move(*error_); }
  Result in(const std::string& where) && {
    if (ok()) return {};
    return std::move(*error_).in(where);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// The value of `expression`, or return its error from the enclosing function.
#define TRY(expression)                                        \
  ({                                                           \
    auto try_result_ = (expression);                           \
    if (!try_result_) return std::move(try_result_).error();   \
    std::move(try_result_).value();                            \
  })

}  // namespace tarn
