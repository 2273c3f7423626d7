// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// By which operation a collective folds, and elements of which kind and length, in 32 bits that other ranks
/// can read. 0: it folds nothing.
///
/// Functions of the program are one operation here, and so are those of the standard library: their types
/// have no names that all ranks know.
class folded_kind {
 public:
  constexpr folded_kind() noexcept = default;
  /// The kind that another rank wrote.
  constexpr explicit folded_kind(std::uint32_t bits) noexcept : bits_(bits) {}
  template <class T, class Op>
  static constexpr folded_kind of() noexcept {
    std::uint32_t op = is_standard_function<Op> ? of_standard : of_program;
    if constexpr (requires { Op::kind; }) op = static_cast<std::uint32_t>(Op::kind) + 1;
    std::uint32_t const element = std::is_floating_point_v<T> ? 2 : std::is_integral_v<T> ? 1 : 0;
    constexpr std::size_t most = (std::size_t{1} << 24U) - 1;
    return folded_kind(op | element << 4U | static_cast<std::uint32_t>(std::min(sizeof(T), most)) << 8U);
  }

  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  friend constexpr bool operator==(folded_kind, folded_kind) = default;

  /// Such as " by op::sum of integers of 4 bytes"; empty if nothing is folded.
  [[nodiscard]] std::string text() const {
    if (bits_ == 0) return "";
    static constexpr std::array<std::string_view, 9> names{"sum",    "product", "min",     "max",  "bit_and",
                                                           "bit_or", "bit_xor", "replace", "no_op"};
    std::uint32_t const op = bits_ & 15U;
    bool const is_named = op <= names.size();
    std::uint32_t const element = bits_ >> 4U & 15U;
    return text_of({" by ",
                    is_named            ? "op::"
                    : op == of_standard ? "a function of the standard library"
                                        : "a function of the program",
                    is_named ? names[op - 1] : "",
                    element == 2   ? " of floating-point numbers"
                    : element == 1 ? " of integers"
                                   : " of elements",
                    " of ", bits_ >> 8U, " bytes"});
  }

 private:
  static constexpr std::uint32_t of_program = 15;
  static constexpr std::uint32_t of_standard = 14;

  std::uint32_t bits_ = 0;
};

/// Whether ranks compare their calls of collectives, and the lengths of blocks that not all ranks name.
inline constexpr bool compares_calls = assertions >= assertion_level::normal;

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

/// A rank's call of a collective of its team, in three words that other ranks can read.
///
/// `name()` holds the first 12 letters of the operation, 5 bits each, and whether there are more. `shape()`
/// holds the bytes of a value and the root. `facts()` holds what is folded, and the `history()` of the team's
/// calls. `tag()` is a hash of this call: the whole name, the shape, what is folded, and the counts of
/// blocks. Calls that differ have equal tags once in 2^32 pairs. Ranks with equal histories have made the
/// same calls all along.
class collective_call {
 public:
  constexpr collective_call() noexcept = default;
  constexpr explicit collective_call(collective_name operation, std::size_t bytes = 0, rank_t root = no_root,
                                     folded_kind folds = {}, std::uint32_t counts = 0) noexcept
      : name_(operation.letters_),
        shape_(static_cast<word>(bytes) << 32U | static_cast<std::uint32_t>(root)),
        hash_(operation.hash_),
        folds_(folds),
        counts_(counts) {}
  /// The call of another rank, from the words that it wrote.
  constexpr collective_call(word name, word shape, word facts = 0) noexcept
      : name_(name),
        shape_(shape),
        folds_(static_cast<std::uint32_t>(facts >> 32U)),
        history_(static_cast<std::uint32_t>(facts)) {}

  [[nodiscard]] constexpr std::uint32_t tag() const noexcept {
    return shortened(mixed(mixed(hash_, shape_), static_cast<word>(folds_.bits()) << 32U | counts_));
  }
  [[nodiscard]] constexpr std::uint32_t history() const noexcept { return history_; }
  /// This call, after calls with that history.
  [[nodiscard]] constexpr collective_call after(std::uint32_t before) const noexcept {
    collective_call next = *this;
    next.history_ = shortened(mixed(before + 1, tag()));
    return next;
  }

  [[nodiscard]] constexpr word name() const noexcept { return name_; }
  [[nodiscard]] constexpr word shape() const noexcept { return shape_; }
  [[nodiscard]] constexpr word facts() const noexcept {
    return static_cast<word>(folds_.bits()) << 32U | history_;
  }
  /// Returns whether two calls look the same in messages.
  [[nodiscard]] constexpr bool looks_like(collective_call const& other) const noexcept {
    return name_ == other.name_ && shape_ == other.shape_ && folds_ == other.folds_;
  }
  friend constexpr bool operator==(collective_call const&, collective_call const&) = default;

  /// The operation; `in_full` with the size of its values, what is folded, and the root if it has one.
  [[nodiscard]] std::string text(bool in_full) const {
    std::string all;
    constexpr std::string_view alphabet = collective_name::alphabet;
    for (std::size_t i = 0; i < collective_name::most_letters; ++i) {
      auto const n = static_cast<std::size_t>(name_ >> collective_name::bits * i & (alphabet.size() - 1));
      if (n != 0) all += alphabet[n];
    }
    if ((name_ & collective_name::has_more) != 0) all += "...";
    if (!in_full) return all;
    append_text(all, {" of ", shape_ >> 32U, " bytes", folds_.text()});
    auto const root = static_cast<rank_t>(static_cast<std::uint32_t>(shape_));
    if (root != no_root) append_text(all, {" with root ", root});
    return all;
  }

 private:
  static constexpr rank_t no_root = -1;

  /// Each bit of both words changes about half of the upper bits, and those come down.
  static constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
    std::uint64_t const product = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return product ^ product >> 32U;
  }
  static constexpr std::uint32_t shortened(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>((hash * 0x9e3779b97f4a7c15U) >> 32U);
  }

  word name_ = 0;
  word shape_ = 0;
  std::uint64_t hash_ = 0;  ///< of the name
  folded_kind folds_;
  std::uint32_t counts_ = 0;   ///< a hash of the counts of blocks
  std::uint32_t history_ = 0;  ///< a hash of this call and those before
};

/// The control of a team whose checker compares the ranks' calls of collectives at their beginning.
///
/// `compare_call(call, label)` says that this rank begins a collective; `label` names the window of a fence.
/// It throws errc::mismatch, with both lines, if another rank's call of the same number differs. It waits for
/// no rank.
template <class C>
concept comparing_control = control<C> && requires(C const& c, collective_call const& call,
                                                   std::string_view label) { c.compare_call(call, label); };

/// Tells the checker of a collective that begins. Free if the control has no checker.
template <class C>
[[gnu::always_inline]] inline void compare_call([[maybe_unused]] C const& of,
                                                [[maybe_unused]] collective_call const& call,
                                                [[maybe_unused]] std::string_view label = {}) {
  if constexpr (comparing_control<C>) of.compare_call(call, label);
}

}  // namespace PGAS_NAMESPACE::detail
