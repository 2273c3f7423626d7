// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// An element of a rank's own part on memory with private copies. Reading and assigning go through this
/// rank's cache.
template <class State>
class local_ref {
 public:
  using value_type = typename State::value_type;

  /// A reference to element `index` of the own part.
  local_ref(State& state, std::size_t index) noexcept : state_(&state), index_(index) {}
  local_ref(local_ref const&) noexcept = default;

  /// Loads the element.
  operator value_type() const {  // NOLINT(google-explicit-constructor): it stands for the element
    value_type value;
    State::coherence_type::load(state_->segment, at(), std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Stores to the element.
  local_ref const& operator=(value_type const& value) const {
    State::coherence_type::store(state_->segment, at(), std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): a = a is harmless
  local_ref& operator=(local_ref const& other) {
    return static_cast<void>(std::as_const(*this) = static_cast<value_type>(other)), *this;
  }
  /// Loads the element, adds and stores: two accesses.
  local_ref const& operator+=(value_type const& v) const {
    return *this = static_cast<value_type>(*this) + v;
  }
  /// Loads the element, subtracts and stores: two accesses.
  local_ref const& operator-=(value_type const& v) const {
    return *this = static_cast<value_type>(*this) - v;
  }

  /// Exchanges the two elements.
  friend void swap(local_ref a, local_ref b) {
    value_type const kept = a;
    std::as_const(a) = static_cast<value_type>(b);
    std::as_const(b) = kept;
  }

 private:
  [[nodiscard]] location at() const noexcept { return {state_->segment.rank(), index_ * sizeof(value_type)}; }

  State* state_;
  std::size_t index_;
};

/// A rank's own part if it is not plain memory: a random access range of local_ref.
template <class State>
class local_view {
 public:
  using value_type = typename State::value_type;

  class iterator {
   public:
    using value_type = typename State::value_type;
    using difference_type = std::ptrdiff_t;
    using reference = local_ref<State>;
    using pointer = void;
    using iterator_category = std::random_access_iterator_tag;

    iterator() = default;
    iterator(State& state, std::size_t index) noexcept : state_(&state), index_(index) {}

    reference operator*() const noexcept { return {*state_, index_}; }
    reference operator[](difference_type n) const noexcept { return *(*this + n); }
    iterator& operator+=(difference_type n) noexcept {
      index_ = static_cast<std::size_t>(static_cast<difference_type>(index_) + n);
      return *this;
    }
    iterator& operator-=(difference_type n) noexcept { return *this += -n; }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept {
      auto old = *this;
      ++*this;
      return old;
    }
    iterator operator--(int) noexcept {
      auto old = *this;
      --*this;
      return old;
    }
    friend iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
    friend iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
    friend iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
    friend difference_type operator-(iterator a, iterator b) noexcept {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    friend bool operator==(iterator a, iterator b) noexcept { return a.index_ == b.index_; }
    friend auto operator<=>(iterator a, iterator b) noexcept { return a.index_ <=> b.index_; }

   private:
    State* state_ = nullptr;
    std::size_t index_ = 0;
  };

  /// The view of `size` elements of the own part from `first` on.
  local_view(State& state, std::size_t first, std::size_t size) noexcept
      : state_(&state), first_(first), size_(size) {}

  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns whether the view has no elements.
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// The first element.
  [[nodiscard]] iterator begin() const noexcept { return {*state_, first_}; }
  /// The end of the elements.
  [[nodiscard]] iterator end() const noexcept { return {*state_, first_ + size_}; }
  /// A reference to element i of the view.
  [[nodiscard]] local_ref<State> operator[](std::size_t i) const noexcept { return {*state_, first_ + i}; }
  /// A reference to the first element.
  [[nodiscard]] local_ref<State> front() const noexcept { return (*this)[0]; }
  /// A reference to the last element.
  [[nodiscard]] local_ref<State> back() const noexcept { return (*this)[size_ - 1]; }
  /// The view of `count` elements from element `first` of this view on.
  [[nodiscard]] local_view subspan(std::size_t first, std::size_t count) const noexcept {
    return {*state_, first_ + first, count};
  }

 private:
  State* state_;
  std::size_t first_;
  std::size_t size_;
};

}  // namespace PGAS_NAMESPACE
