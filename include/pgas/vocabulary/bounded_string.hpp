// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pgas/vocabulary/transportable.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// A text of at most N bytes that holds its characters itself, so that ranks can send it and store it in
/// windows: a std::string holds an address.
///
/// Two texts are equal if their characters are, and std::hash hashes the characters. Bytes behind the text
/// are zero.
template <std::size_t N>
class bounded_string {
  static_assert(N > 0 && N <= 65535, "bounded_string: a text has 1 to 65535 bytes of room");

 public:
  /// An empty text.
  constexpr bounded_string() noexcept = default;
  /// A copy of `text`. Throws std::length_error if it is longer than N; see `beginning_of`.
  constexpr bounded_string(std::string_view text) {
    if (text.size() > N) {
      throw std::length_error("bounded_string: " + std::to_string(text.size()) + " bytes do not fit into " +
                              std::to_string(N) + "; take a larger bound, or beginning_of the text");
    }
    assign(text);
  }
  constexpr bounded_string(char const* text) : bounded_string(std::string_view(text)) {}

  /// The first N bytes of `text`, or all of a shorter one.
  [[nodiscard]] static constexpr bounded_string beginning_of(std::string_view text) noexcept {
    bounded_string result;
    result.assign(text.substr(0, N));
    return result;
  }

  /// The characters. The view is valid as long as this object.
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters_.data(), size_}; }
  constexpr operator std::string_view() const noexcept { return view(); }
  /// The number of characters, in bytes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// True if there are no characters.
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  /// The largest size, N.
  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return N; }

  friend constexpr bool operator==(bounded_string const& a, bounded_string const& b) noexcept {
    return a.view() == b.view();
  }
  friend constexpr std::strong_ordering operator<=>(bounded_string const& a,
                                                    bounded_string const& b) noexcept {
    return a.view() <=> b.view();
  }

 private:
  constexpr void assign(std::string_view text) noexcept {
    size_ = static_cast<size_type>(text.size());
    std::copy(text.begin(), text.end(), characters_.begin());
  }

  using size_type = std::conditional_t<N <= 255, std::uint8_t, std::uint16_t>;

  size_type size_ = 0;
  std::array<char, N> characters_{};
};
static_assert(transportable<bounded_string<1>> && transportable<bounded_string<300>>);

}  // namespace PGAS_NAMESPACE

/// Hashes the characters.
template <std::size_t N>
struct std::hash<pgas::bounded_string<N>> {
  [[nodiscard]] std::size_t operator()(pgas::bounded_string<N> const& text) const noexcept {
    return std::hash<std::string_view>{}(text.view());
  }
};
