// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/detail/array/row_finder.hpp>
#include <range/v3/range/concepts.hpp>
#include <range/v3/view/interface.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>
#include <tuple>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Elements of several memories, one of each at a time.
template <class... T>
auto zipped(std::size_t length, T*... first) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, length),
                                  [first...](std::size_t k) { return std::tuple<T&...>(first[k]...); });
}

/// The element so many bytes farther.
template <class T>
[[gnu::always_inline]] inline T* behind(T* p, std::ptrdiff_t bytes) noexcept {
  using byte = std::conditional_t<std::is_const_v<T>, char const, char>;
  return reinterpret_cast<T*>(reinterpret_cast<byte*>(p) + bytes);
}

/// A row of a box in memory that was found by its number. It keeps the way to it, since zip() finds rows of
/// several boxes at once where their ways are one.
template <std::size_t N, class T>
class found_row : public ranges::view_interface<found_row<N, T>, ranges::finite> {
 public:
  found_row() = default;
  [[gnu::always_inline]] found_row(T* first, row_finder<N> const& finder, std::size_t number,
                                   std::size_t length) noexcept
      : data_(behind(first, finder.offset(number))),
        length_(length),
        first_(first),
        number_(number),
        finder_(finder) {}

  [[nodiscard]] T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() const noexcept { return data_ + length_; }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return length_; }

  /// The first row of the box.
  [[nodiscard]] T* first() const noexcept { return first_; }
  /// The bytes from the first row of the box to this one. Requires that difference() to some row is 0.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t offset() const noexcept {
    return finder_.estimated_offset(number_);
  }
  /// 0 if this row lies as far behind the first one of its box as the other row, and offset() is exact.
  template <class U>
  [[nodiscard, gnu::always_inline]] std::size_t difference(found_row<N, U> const& other) const noexcept {
    return (number_ ^ other.number_) | finder_.difference(other.finder_);
  }

 private:
  template <std::size_t, class>
  friend class found_row;  // T const beside T

  T* data_ = nullptr;
  std::size_t length_ = 0;
  T* first_ = nullptr;
  std::size_t number_ = 0;
  row_finder<N> finder_{};
};

/// Elements of rows of one length, one of each at a time.
template <std::size_t N, class First, class... More>
[[gnu::always_inline]] inline auto zip_found(found_row<N, First> const& first,
                                             found_row<N, More> const&... more) noexcept {
  if ((first.difference(first) | ... | first.difference(more)) == 0) {
    auto const offset = first.offset();
    return zipped(first.size(), behind(first.first(), offset), behind(more.first(), offset)...);
  }
  return zipped(first.size(), first.data(), more.data()...);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
