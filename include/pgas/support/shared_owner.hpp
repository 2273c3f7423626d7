// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// One of several owners of an object, which the last owner destroys. A std::shared_ptr<T> but for its type:
/// all objects share one type of std::shared_ptr. Each further type would cost the compiler 25 functions.
template <class T>
class shared_owner {
 public:
  shared_owner() noexcept = default;
  /// Owns an object of type T, or of a type derived from it, that `new` has made.
  template <class Made>
  explicit shared_owner(Made* made) : object_(as_memory(made), destroy<Made>) {}

  [[nodiscard]] T* get() const noexcept { return object_of(object_.get()); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  friend bool operator==(shared_owner const& a, shared_owner const& b) noexcept {
    return a.object_ == b.object_;
  }
  explicit operator bool() const noexcept { return object_.get() != nullptr; }
  /// The same owner without the object's type, for code that only keeps the object alive.
  [[nodiscard]] std::shared_ptr<void const> const& keeper() const noexcept { return object_; }

 private:
  static void const* as_memory(T const* object) noexcept { return object; }
  static T* object_of(void const* memory) noexcept { return static_cast<T*>(const_cast<void*>(memory)); }
  template <class Made>
  static void destroy(void const* memory) noexcept {
    delete static_cast<Made*>(object_of(memory));
  }

  std::shared_ptr<void const> object_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
