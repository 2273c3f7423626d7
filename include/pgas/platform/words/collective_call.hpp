// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The name of a collective, with all that is computed from it: for a name in the source, by the compiler.
class collective_name {
 public:
  /// Implicit, as for std::string_view. A text outlives its name.
  consteval collective_name(char const* text) noexcept : collective_name(std::string_view(text)) {}
  constexpr collective_name(std::string_view text) noexcept : text_(text) {
    for (char const c : text) hash_ = mixed(hash_, static_cast<unsigned char>(c));
    for (std::size_t i = 0; i < std::min(text.size(), most_letters); ++i)
      letters_ |= static_cast<word>(number(text[i])) << bits * i;
    if (text.size() > most_letters) letters_ |= has_more;
  }

  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
  friend class collective_call;
  static constexpr std::size_t bits = 5;
  static constexpr std::size_t most_letters = 12;
  static constexpr word has_more = word{1} << 63U;
  static constexpr std::string_view alphabet = " abcdefghijklmnopqrstuvwxyz_????";

  static constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t byte) noexcept {
    return (hash ^ byte) * 0x100000001b3U;
  }
  static constexpr std::size_t number(char letter) noexcept {
    return std::min(alphabet.find(letter, 1), alphabet.find('?'));
  }

  std::string_view text_;
  word letters_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325U;  // FNV-1a
};

/// What a rank calls when it calls a collective of its team, in two words that other ranks can read.
///
/// `name()` holds the first 12 letters of the operation, 5 bits each, and whether there are more. `shape()`
/// holds the bytes of a value and the root. `tag()` is a hash of the whole name and the shape. Calls that
/// differ have equal tags once in 2^32 pairs.
class collective_call {
 public:
  constexpr collective_call() noexcept = default;
  constexpr explicit collective_call(collective_name operation, std::size_t bytes = 0,
                                     rank_t root = no_root) noexcept
      : name_(operation.letters_),
        shape_(static_cast<word>(bytes) << 32U | static_cast<std::uint32_t>(root)),
        hash_(operation.hash_) {}
  /// The call of another rank, from the words that it wrote.
  constexpr collective_call(word name, word shape) noexcept : name_(name), shape_(shape) {}

  [[nodiscard]] constexpr std::uint32_t tag() const noexcept {
    std::uint64_t hash = hash_;
    for (unsigned byte = 0; byte < 64; byte += 8) hash = collective_name::mixed(hash, shape_ >> byte & 0xffU);
    return static_cast<std::uint32_t>(hash ^ hash >> 32U);
  }
  [[nodiscard]] constexpr word name() const noexcept { return name_; }
  [[nodiscard]] constexpr word shape() const noexcept { return shape_; }
  friend constexpr bool operator==(collective_call const&, collective_call const&) = default;

  /// The operation; `in_full` with the size of its values, and the root if it has one.
  [[nodiscard]] std::string text(bool in_full) const {
    std::string all;
    constexpr std::string_view alphabet = collective_name::alphabet;
    for (std::size_t i = 0; i < collective_name::most_letters; ++i) {
      auto const n = static_cast<std::size_t>(name_ >> collective_name::bits * i & (alphabet.size() - 1));
      if (n != 0) all += alphabet[n];
    }
    if ((name_ & collective_name::has_more) != 0) all += "...";
    if (!in_full) return all;
    all += " of " + std::to_string(shape_ >> 32U) + " bytes";
    auto const root = static_cast<rank_t>(static_cast<std::uint32_t>(shape_));
    return root == no_root ? all : all + " with root " + std::to_string(root);
  }

 private:
  static constexpr rank_t no_root = -1;

  word name_ = 0;
  word shape_ = 0;
  std::uint64_t hash_ = 0;  ///< of the name
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
