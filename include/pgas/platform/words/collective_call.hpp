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

/// What a rank calls when it calls a collective of its team, in two words that other ranks can read.
///
/// `name()` holds the first 12 letters of the operation, 5 bits each, and whether there are more. `shape()`
/// holds the bytes of a value and the root. `tag()` is a hash of the whole name and the shape. Calls that
/// differ have equal tags once in 2^32 pairs.
class collective_call {
 public:
  constexpr collective_call() noexcept = default;
  constexpr explicit collective_call(std::string_view operation, std::size_t bytes = 0,
                                     rank_t root = no_root) noexcept
      : shape_(static_cast<word>(bytes) << 32U | static_cast<std::uint32_t>(root)) {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (char const c : operation) hash = mixed(hash, static_cast<unsigned char>(c));
    for (unsigned byte = 0; byte < 64; byte += 8) hash = mixed(hash, shape_ >> byte & 0xffU);
    tag_ = static_cast<std::uint32_t>(hash ^ hash >> 32U);
    for (std::size_t i = 0; i < std::min(operation.size(), most_letters); ++i)
      name_ |= static_cast<word>(number(operation[i])) << bits * i;
    if (operation.size() > most_letters) name_ |= has_more;
  }
  /// The call of another rank, from the words that it wrote.
  constexpr collective_call(word name, word shape) noexcept : name_(name), shape_(shape) {}

  [[nodiscard]] constexpr std::uint32_t tag() const noexcept { return tag_; }
  [[nodiscard]] constexpr word name() const noexcept { return name_; }
  [[nodiscard]] constexpr word shape() const noexcept { return shape_; }
  friend constexpr bool operator==(collective_call const&, collective_call const&) = default;

  /// The operation; `in_full` with the size of its values, and the root if it has one.
  [[nodiscard]] std::string text(bool in_full) const {
    std::string all;
    for (std::size_t i = 0; i < most_letters; ++i) {
      auto const n = static_cast<std::size_t>(name_ >> bits * i & (alphabet.size() - 1));
      if (n != 0) all += alphabet[n];
    }
    if ((name_ & has_more) != 0) all += "...";
    if (!in_full) return all;
    all += " of " + std::to_string(shape_ >> 32U) + " bytes";
    auto const root = static_cast<rank_t>(static_cast<std::uint32_t>(shape_));
    return root == no_root ? all : all + " with root " + std::to_string(root);
  }

 private:
  static constexpr rank_t no_root = -1;
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

  word name_ = 0;
  word shape_ = 0;
  std::uint32_t tag_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
