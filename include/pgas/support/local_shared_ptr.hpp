// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/support/expects.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// An object that lives as long as one of its keepers, all of which belong to one thread: a std::shared_ptr would pay
/// for two atomic operations whenever an epoch opens and closes, as much as a lock does.
template <class T>
class local_shared_ptr {
 public:
  local_shared_ptr() = default;
  template <class... Arguments>
  explicit local_shared_ptr(std::in_place_t, Arguments&&... arguments)
      : held_(new counted(std::forward<Arguments>(arguments)...)) {}
  local_shared_ptr(local_shared_ptr const& other) noexcept : held_(other.held_) {
    if (held_ != nullptr) ++held_->keepers;
  }
  local_shared_ptr(local_shared_ptr&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  local_shared_ptr& operator=(local_shared_ptr other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~local_shared_ptr() {
    if (held_ != nullptr && --held_->keepers == 0) delete held_;
  }

  [[nodiscard]] T& operator*() const noexcept { return held_->object; }
  [[nodiscard]] T* operator->() const noexcept { return &held_->object; }

 private:
  struct counted {
    template <class... Arguments>
    explicit counted(Arguments&&... arguments) : object(std::forward<Arguments>(arguments)...) {}

    T object;
    std::size_t keepers = 1;
  };

  counted* held_ = nullptr;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
