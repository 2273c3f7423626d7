// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <pgas/vocabulary/expects.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The memory of a plain_list and the number of its elements. It is compiled once for all types of elements.
class list_memory {
 public:
  list_memory() noexcept = default;
  list_memory(list_memory&& other) noexcept { take(other); }
  list_memory& operator=(list_memory&& other) noexcept {
    ::operator delete(at_);
    take(other);
    return *this;
  }
  ~list_memory() { ::operator delete(at_); }

  [[nodiscard]] void* at() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void set_size(std::size_t size) noexcept { size_ = size; }
  /// Makes room for `bytes` bytes.
  void reserve(std::size_t bytes) {
    if (bytes > bytes_) grow(bytes);
  }

 private:
  void take(list_memory& other) noexcept {
    at_ = other.at_;
    bytes_ = other.bytes_;
    size_ = other.size_;
    other.at_ = nullptr;
    other.bytes_ = other.size_ = 0;
  }
  void grow(std::size_t bytes) {
    std::size_t const room = bytes > 2 * bytes_ ? bytes : 2 * bytes_;
    void* const larger = ::operator new(room);
    if (bytes_ != 0) std::memcpy(larger, at_, bytes_);
    ::operator delete(at_);
    at_ = larger;
    bytes_ = room;
  }

  void* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t size_ = 0;
};

/// A std::vector of elements that are copied by their bytes, for lists within the library. A std::vector
/// costs the compiler 150 classes and functions for each type of elements.
template <class T>
class plain_list {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  plain_list() noexcept = default;
  /// `count` elements of zero bytes.
  explicit plain_list(std::size_t count) {
    memory_.reserve(count * each);
    memory_.set_size(count);
    if (count != 0) std::memset(memory_.at(), 0, count * each);
  }
  /// `count` elements of any bytes.
  [[nodiscard]] static plain_list for_overwrite(std::size_t count) {
    plain_list made;
    made.memory_.reserve(count * each);
    made.memory_.set_size(count);
    return made;
  }

  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] T* begin() noexcept { return static_cast<T*>(memory_.at()); }
  [[nodiscard]] T* end() noexcept { return begin() + size(); }
  [[nodiscard]] T const* begin() const noexcept { return static_cast<T const*>(memory_.at()); }
  [[nodiscard]] T const* end() const noexcept { return begin() + size(); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return begin()[i]; }
  [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return begin()[i]; }

  void push_back(T const& element) {
    T const copy = element;  // which may be one of the list
    memory_.reserve((size() + 1) * each);
    begin()[size()] = copy;
    memory_.set_size(size() + 1);
  }
  /// Removes the elements from number `count` on. Requires that there are at least as many.
  void resize(std::size_t count) noexcept { memory_.set_size(count); }
  /// Removes an element that is in the list, searching from the back, and moves up those behind it.
  void remove(T const& element) noexcept {
    T* at = end() - 1;
    while (*at != element) --at;
    for (resize(size() - 1); at != end(); ++at) *at = at[1];
  }

 private:
  static constexpr std::size_t each = sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers, too

  list_memory memory_;
};

}  // namespace PGAS_NAMESPACE::detail
