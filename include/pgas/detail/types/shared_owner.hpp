// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/types/keeper.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// One of several owners of an object of type T, which the last owner destroys: a keeper that knows the type.
template <class T>
class shared_owner {
 public:
  shared_owner() noexcept = default;
  /// Owns an object of type T, or of a type derived from it, that `new` has made.
  template <class Made>
  explicit shared_owner(Made* made) : keeper_(as_memory(made), destroy<Made>) {}

  [[nodiscard]] T* get() const noexcept { return object_of(keeper_.object()); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  friend bool operator==(shared_owner const& a, shared_owner const& b) noexcept { return a.get() == b.get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }
  /// The same owner without the object's type, for code that only keeps the object alive.
  [[nodiscard]] keeper const& as_keeper() const noexcept { return keeper_; }

 private:
  static void const* as_memory(T const* object) noexcept { return object; }
  static T* object_of(void const* memory) noexcept { return static_cast<T*>(const_cast<void*>(memory)); }
  template <class Made>
  static void destroy(void const* memory) noexcept {
    delete static_cast<Made*>(object_of(memory));
  }

  keeper keeper_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
