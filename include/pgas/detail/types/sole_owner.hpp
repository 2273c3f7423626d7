// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The only owner of an object on the heap, or of none. A std::unique_ptr without a choice of deleters: each
/// type of that costs the compiler 30 functions, and clang++ 70 classes.
template <class T>
class sole_owner {
 public:
  sole_owner() noexcept = default;
  /// Owns an object that `new` has made.
  explicit sole_owner(T* made) noexcept : object_(made) {}
  sole_owner(sole_owner&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  sole_owner& operator=(sole_owner&& other) noexcept {
    T* const taken = other.object_;
    other.object_ = nullptr;  // first, for an owner that is assigned to itself
    reset(taken);
    return *this;
  }
  ~sole_owner() { delete object_; }

  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Destroys the object, and owns another one.
  void reset(T* made = nullptr) noexcept {
    T* const old = object_;
    object_ = made;  // first, for a destructor that looks at its owner
    delete old;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
