// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The number of local_shared_ptr to an object of any type.
struct use_count {
  use_count() = default;
  use_count(use_count const&) = delete;
  use_count& operator=(use_count const&) = delete;
  virtual ~use_count() = default;
  /// Called when the last owner is gone.
  virtual void let_go() noexcept { delete this; }
  std::size_t keepers = 1;
};

/// An object of such a type holds the count itself, so its address suffices to count a use.
template <class T>
concept counts_its_uses = std::derived_from<T, use_count>;

/// A shared pointer whose copies all belong to one thread. A std::shared_ptr would cost two atomic operations
/// for each epoch, as much as a lock. Like std::shared_ptr it converts to a pointer to a base of T.
template <class T>
class local_shared_ptr {
 public:
  local_shared_ptr() = default;
  template <class... Arguments>
  explicit local_shared_ptr(std::in_place_t, Arguments&&... arguments) {
    if constexpr (counts_its_uses<T>) {
      count_ = object_ = new T(std::forward<Arguments>(arguments)...);
    } else {
      auto* const made = new with_count(std::forward<Arguments>(arguments)...);
      count_ = made;
      object_ = &made->object;
    }
  }
  local_shared_ptr(local_shared_ptr const& other) noexcept : count_(other.count_), object_(other.object_) {
    if (count_ != nullptr) ++count_->keepers;
  }
  local_shared_ptr(local_shared_ptr&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)), object_(std::exchange(other.object_, nullptr)) {}
  template <class Derived>
    requires(!std::same_as<Derived, T> && std::derived_from<Derived, T>)
  local_shared_ptr(local_shared_ptr<Derived> other) noexcept
      : count_(std::exchange(other.count_, nullptr)), object_(std::exchange(other.object_, nullptr)) {}
  local_shared_ptr& operator=(local_shared_ptr other) noexcept {
    std::swap(count_, other.count_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~local_shared_ptr() {
    if (count_ != nullptr && --count_->keepers == 0) count_->let_go();
  }

  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }

 private:
  template <class U>
  friend class local_shared_ptr;
  template <class U>
  friend class local_use;

  struct with_count final : use_count {
    template <class... Arguments>
    explicit with_count(Arguments&&... arguments) : object(std::forward<Arguments>(arguments)...) {}

    T object;
  };
  use_count* count_ = nullptr;
  T* object_ = nullptr;
};

/// One use of an object that a local_shared_ptr keeps. A use always has its object, so it tests no pointer.
template <class T>
class local_use {
 public:
  /// Requires that the pointer is not null.
  explicit local_use(local_shared_ptr<T> const& of) noexcept : object_(of.object_) { ++object_->keepers; }
  local_use(local_use const& other) noexcept : object_(other.object_) { ++object_->keepers; }
  local_use& operator=(local_use const&) = delete;
  ~local_use() {
    static_assert(counts_its_uses<T>);
    if (--object_->keepers == 0) [[unlikely]]
      object_->let_go();
  }

  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }

 private:
  T* object_;
};

}  // namespace PGAS_NAMESPACE::detail
