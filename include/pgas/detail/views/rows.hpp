// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <pgas/array/part_box.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <range/v3/range/concepts.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/interface.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The rows of a box in memory: the place of the first row, and the way from each row to the next.
template <class T, std::size_t N>
struct rows_of_memory {
  T* first = nullptr;
  std::array<std::ptrdiff_t, N> pitches{};
  /// The number of rows in the dimensions before the last, and the cells of a row.
  std::array<std::size_t, N> counts{};
};

/// A view of memory with the interface of std::mdspan, whose last dimension is contiguous.
template <class View, std::size_t N>
concept memory_view = requires(View const& v) {
  requires std::remove_cvref_t<View>::rank() == N;
  { v.data_handle() } -> std::same_as<typename View::element_type*>;
  { v.stride(0) } -> std::convertible_to<std::ptrdiff_t>;
};

/// The rows of a box of a view, counted from the view's first cell.
template <std::size_t N, memory_view<N> View>
rows_of_memory<typename View::element_type, N> rows_of_box(View const& v, part_box<N> const& box) noexcept {
  if (box.empty()) return {};
  rows_of_memory<typename View::element_type, N> rows{v.data_handle(), {}, box.counts()};
  for (std::size_t d = 0; d < N; ++d) {
    rows.pitches[d] = static_cast<std::ptrdiff_t>(v.stride(d));
    rows.first += box.first[d] * rows.pitches[d];
  }
  return rows;
}

/// Walks over the rows of boxes with the same counts in several memories. A step is one addition for each
/// memory; a jump divides by the counts. No loop runs over the dimensions, since g++ would keep the walk in
/// memory.
template <std::size_t N, class... T>
class row_walk {
 public:
  row_walk() = default;
  explicit row_walk(std::array<std::size_t, N> const& counts, rows_of_memory<T, N> const&... boxes) noexcept
      : row_walk(counts, std::make_index_sequence<N - 1>{}, boxes...) {}
  /// The walk behind the last row. Its pointers stay at the first one; advance() counts from there.
  [[nodiscard]] row_walk behind(std::size_t rows) const noexcept {
    auto walk = *this;
    walk.number_ = rows;
    return walk;
  }

  /// The number of this row.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  /// The number of cells of each row.
  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  /// Returns use(pointers to the first cell of this row in each memory).
  template <class Use>
  [[nodiscard, gnu::always_inline]] auto with_row(Use const& use) const noexcept {
    return std::apply([&](auto const&... m) { return use(m.first...); }, memories_);
  }

  /// Goes to the next row.
  void next() noexcept {
    ++number_;
    if constexpr (N > 1) step<N - 2>();
  }
  /// Advances by n rows, or goes back if n is negative.
  void advance(std::ptrdiff_t n) noexcept {
    number_ += static_cast<std::size_t>(n);
    if constexpr (N > 1) place<N - 2>(number_);
  }

 private:
  template <class U>
  struct memory {
    U* first;
    std::array<std::ptrdiff_t, N> pitches;
  };

  template <std::size_t... d>
  row_walk(std::array<std::size_t, N> const& counts, std::index_sequence<d...> /*but the last*/,
           rows_of_memory<T, N> const&... m) noexcept
      : memories_(memory<T>{m.first, m.pitches}...), counts_{divisor(counts[d])...}, length_(counts[N - 1]) {}

  template <std::size_t d>
  void step() noexcept {
    move<d>(1);
    if constexpr (d > 0) {
      if (++at_[d] != counts_[d].value()) return;
      move<d>(-static_cast<std::ptrdiff_t>(at_[d]));
      at_[d] = 0;
      step<d - 1>();
    } else {
      ++at_[d];
    }
  }
  template <std::size_t d>
  void place(std::size_t number) noexcept {
    std::size_t const at = d == 0 ? number : counts_[d].remainder(number);
    move<d>(static_cast<std::ptrdiff_t>(at - at_[d]));
    at_[d] = at;
    if constexpr (d > 0) place<d - 1>(counts_[d].quotient(number));
  }
  template <std::size_t d>
  void move(std::ptrdiff_t by) noexcept {
    std::apply([by](auto&... m) { ((m.first += by * m.pitches[d]), ...); }, memories_);
  }

  std::tuple<memory<T>...> memories_{};
  std::array<divisor, N> counts_{};
  std::array<std::size_t, N> at_{};
  std::size_t number_ = 0;
  std::size_t length_ = 0;
};

/// The way from the first row of a box in memory to a row with some number.
///
/// Row n begins n rows of the last dimension but one behind the first row, plus a gap for each full dimension
/// before it. So each such dimension costs one division and a multiplication. A dimension that is full at
/// each row costs nothing: its gap is part of the distance of rows.
template <std::size_t N>
class row_finder {
 public:
  row_finder() = default;
  template <class T>
  explicit row_finder(rows_of_memory<T, N> const& box) noexcept
      : row_finder(rows_in_each(box.counts), box, before_rows{}) {}

  /// The bytes from the first row to row `number`, which is below 2^63.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t offset(std::size_t number) const noexcept {
    auto const n = opaque(number);
    return distance(
        n, [n](reciprocal const& rows) { return rows.quotient(n); }, before_rows{});
  }
  /// The same where difference() to some box is 0. Its result is ready a multiplication earlier.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t estimated_offset(std::size_t number) const noexcept {
    auto const n = opaque(number);
    return distance(
        n, [n](reciprocal const& rows) { return rows.estimate(n); }, before_rows{});
  }
  /// 0 if each row lies as far behind the first one as in the other box, and estimates of quotients are
  /// exact. Without a branch: g++ computes it before a loop over numbers.
  [[nodiscard, gnu::always_inline]] std::size_t difference(row_finder const& other) const noexcept {
    return difference(other, before_rows{});
  }

 private:
  static constexpr std::size_t before = N > 2 ? N - 2 : 0;
  using before_rows = std::make_index_sequence<before>;
  using sizes = std::array<std::size_t, N>;

  template <class T, std::size_t... d>
  row_finder(sizes const& rows, rows_of_memory<T, N> const& box,
             std::index_sequence<d...> /*before the rows*/) noexcept
      : rows_{reciprocal(rows[d])...}, row_(N > 1 ? bytes<T>(box.pitches[N > 1 ? N - 2 : 0]) : 0) {
    std::size_t const all = N > 2 ? rows[0] * box.counts[0] : 0;
    if (!(rows_[d].estimates(all) && ...)) has_more_ = 1;
    auto const add = [&](std::size_t k) {
      auto const gap = box.pitches[k] - static_cast<std::ptrdiff_t>(box.counts[k + 1]) * box.pitches[k + 1];
      (rows[k] == 1 ? row_ : gaps_[k]) += bytes<T>(gap);
    };
    (add(d), ...);
  }

  template <class T>
  static constexpr std::ptrdiff_t bytes(std::ptrdiff_t elements) noexcept {
    return elements * static_cast<std::ptrdiff_t>(sizeof(T));
  }
  /// The number of rows in one step of each dimension.
  static constexpr sizes rows_in_each(sizes const& counts) noexcept {
    sizes rows{};
    rows[N > 2 ? N - 2 : 0] = 1;
    for (std::size_t d = N - 2; N > 2 && d > 0; --d) rows[d - 1] = rows[d] * counts[d];
    return rows;
  }
  /// Hides the number from g++, which would otherwise keep a 128-bit sum in memory in a loop over numbers.
  static constexpr std::size_t opaque(std::size_t number) noexcept {
    if (!std::is_constant_evaluated() && N > 2) asm("" : "+r"(number));
    return number;
  }
  template <class Quotient, std::size_t... d>
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t distance(
      std::size_t number, Quotient const& quotient,
      std::index_sequence<d...> /*before the rows*/) const noexcept {
    return ((static_cast<std::ptrdiff_t>(number) * row_) + ... +
            (static_cast<std::ptrdiff_t>(quotient(rows_[d])) * gaps_[d]));
  }
  template <std::size_t... d>
  [[nodiscard, gnu::always_inline]] std::size_t difference(
      row_finder const& other, std::index_sequence<d...> /*before the rows*/) const noexcept {
    auto const bytes = ((row_ ^ other.row_) | ... | (gaps_[d] ^ other.gaps_[d]));
    auto const rows = (has_more_ | ... | (rows_[d].value() ^ other.rows_[d].value()));
    return static_cast<std::size_t>(bytes) | rows;
  }

  std::array<reciprocal, before> rows_{};      ///< in a step of each dimension
  std::array<std::ptrdiff_t, before> gaps_{};  ///< bytes for each full dimension
  std::ptrdiff_t row_ = 0;                     ///< the bytes from a row to the next
  std::size_t has_more_ = 0;                   ///< 1 if there are rows for which an estimate is no quotient
};

/// Elements of several memories, one of each at a time.
template <class... T>
auto zipped(std::size_t length, T*... first) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, length),
                                  [first...](std::size_t k) { return std::tuple<T&...>(first[k]...); });
}

/// The element that many bytes farther.
template <class T>
[[gnu::always_inline]] inline T* behind(T* p, std::ptrdiff_t bytes) noexcept {
  using byte = std::conditional_t<std::is_const_v<T>, char const, char>;
  return reinterpret_cast<T*>(reinterpret_cast<byte*>(p) + bytes);
}

/// A row of a box in memory that was found by its number. It keeps how it was found, since zip() finds rows
/// of several boxes at once where that is the same.
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

/// The rows of one box in memory as views, or of several boxes as views of tuples of references.
template <std::size_t N, class... T>
class memory_rows : public ranges::view_facade<memory_rows<N, T...>, ranges::finite> {
  friend ranges::range_access;

  static auto as_row(std::size_t length) noexcept {
    return [length](auto*... first) __attribute__((always_inline)) {
      if constexpr (sizeof...(T) == 1) {
        return ranges::make_subrange(first..., (first + length)...);
      } else {
        return zipped(length, first...);
      }
    };
  }

  class cursor {
   public:
    cursor() = default;
    explicit cursor(row_walk<N, T...> const& walk) noexcept : walk_(walk) {}

    [[nodiscard]] auto read() const noexcept { return walk_.with_row(as_row(walk_.length())); }
    [[nodiscard]] bool equal(cursor const& other) const noexcept {
      return walk_.number() == other.walk_.number();
    }
    void next() noexcept { walk_.next(); }
    void prev() noexcept { walk_.advance(-1); }
    void advance(std::ptrdiff_t n) noexcept { walk_.advance(n); }
    [[nodiscard]] std::ptrdiff_t distance_to(cursor const& other) const noexcept {
      return static_cast<std::ptrdiff_t>(other.walk_.number() - walk_.number());
    }

   private:
    row_walk<N, T...> walk_{};
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return cursor(first_); }
  [[nodiscard]] cursor end_cursor() const noexcept { return cursor(first_.behind(size())); }

  template <std::size_t... box>
  [[nodiscard, gnu::always_inline]] auto row(std::size_t number, std::index_sequence<box...>) const noexcept {
    auto const found = [&]<std::size_t b>(std::integral_constant<std::size_t, b>)
        __attribute__((always_inline)) {
      return found_row(std::get<b>(boxes_).first, finders_[b], number, first_.length());
    };
    if constexpr (sizeof...(T) == 1) {
      return found(std::integral_constant<std::size_t, box>{}...);
    } else {
      return zip_found(found(std::integral_constant<std::size_t, box>{})...);
    }
  }

  std::tuple<rows_of_memory<T, N>...> boxes_{};
  row_walk<N, T...> first_{};  ///< made once, since the division of row numbers needs constants
  std::array<row_finder<N>, sizeof...(T)> finders_{};

 public:
  memory_rows() = default;
  /// Views boxes of the same counts.
  explicit memory_rows(rows_of_memory<T, N> const&... boxes) noexcept
      : boxes_(boxes...), first_(counts(), boxes...), finders_{row_finder<N>(boxes)...} {}

  /// Row `number`. A loop over all rows divides by no counts.
  [[nodiscard, gnu::always_inline]] auto operator[](std::ptrdiff_t number) const noexcept {
    return row(static_cast<std::size_t>(number), std::index_sequence_for<T...>{});
  }
  /// The number of rows.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t rows = counts()[N - 1] == 0 ? 0 : 1;
    for (std::size_t d = 0; d + 1 < N; ++d) rows *= counts()[d];
    return rows;
  }
  /// The number of rows in each dimension but the last, and the length of a row.
  [[nodiscard]] std::array<std::size_t, N> const& counts() const noexcept {
    return std::get<0>(boxes_).counts;
  }
  /// The boxes.
  [[nodiscard]] auto const& boxes() const noexcept { return boxes_; }
};

/// The rows of a box in one memory.
template <class Rows>
inline constexpr bool is_rows_of_memory = false;
template <std::size_t N, class T>
inline constexpr bool is_rows_of_memory<memory_rows<N, T>> = true;

template <std::size_t N, class... T>
auto zipped_rows(memory_rows<N, T> const&... rows) noexcept {
  return memory_rows<N, T...>(std::get<0>(rows.boxes())...);
}

/// The rows of a box by their numbers, as range-v3 views: pairs of iterators through this rank's cache.
template <class View, std::size_t N>
class numbered_rows {
 public:
  numbered_rows(View const& v, part_box<N> const& box) noexcept : view_(v), box_(box) {
    for (std::size_t d = 1; d + 1 < N; ++d) counts_[d] = divisor(count(d));
  }

  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t rows = box_.empty() ? 0 : 1;
    for (std::size_t d = 0; d + 1 < N; ++d) rows *= count(d);
    return rows;
  }
  [[nodiscard]] auto operator()(std::size_t number) const noexcept {
    auto at = box_.first;
    if constexpr (N > 1) {
      for (std::size_t d = N - 2; d > 0; --d) {
        at[d] += static_cast<std::ptrdiff_t>(counts_[d].remainder(number));
        number = counts_[d].quotient(number);
      }
      at[0] += static_cast<std::ptrdiff_t>(number);
    }
    auto const row = std::apply([this](auto... i) { return view_.piece_of_row(count(N - 1), i...); }, at);
    return ranges::make_subrange(row.begin(), row.end());
  }

 private:
  [[nodiscard]] std::size_t count(std::size_t d) const noexcept {
    return static_cast<std::size_t>(box_.end[d] - box_.first[d]);
  }

  View view_;
  part_box<N> box_;
  std::array<divisor, N> counts_{};  ///< of the dimensions between the first and the last
};

}  // namespace PGAS_NAMESPACE::detail
