// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/collective.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/team/collective_choice.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The preconditions of a team's collectives. `Self` has `state()`, the team's. Each check throws
/// errc::invalid_argument with the rank and the operation.
template <class Self, class Backend>
class collective_preconditions {
 protected:
  using state_type = team_state<Backend>;

  [[nodiscard]] Self const& self() const noexcept { return static_cast<Self const&>(*this); }
  [[nodiscard]] rank_t rank() const noexcept { return self().state()->backend.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return self().state()->backend.size(); }
  [[nodiscard]] std::size_t ranks() const noexcept { return static_cast<std::size_t>(size()); }

  /// A hash of sizes that all ranks must give alike; 0 if that is not checked.
  [[nodiscard]] std::uint32_t hash_of(block_sizes const& sizes, bool is_equal) const noexcept {
    if (assertions < assertion_level::normal || is_equal) return 0;
    std::uint64_t hash = 1;
    for (rank_t r = 0; r < size(); ++r) hash = (hash ^ sizes.size(r)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::uint32_t>(hash >> 32U);
  }
  void check(bool holds, std::string_view operation, std::string_view sentence) const {
    PGAS_EXPECTS(light, holds, refuse(operation, std::string(sentence)));
  }
  [[noreturn, gnu::cold]] void refuse(std::string_view operation, std::string const& sentence) const {
    throw_error(errc::invalid_argument, self().state()->backend.world_rank(rank()), operation, {sentence});
  }
  void check_root(rank_t root, called operation) const {
    PGAS_EXPECTS(light, root >= 0 && root < size(),
                 throw_bad_rank(self().state()->backend.world_rank(rank()), operation, root, size()));
  }
  void check_sizes(std::size_t expected, std::size_t given, std::string_view operation) const {
    PGAS_EXPECTS(light, expected == given,
                 refuse(operation, text_of({"memory of ", given, " bytes was given where ", expected,
                                            " belong; all blocks lie side by side in rank order"})));
  }
  [[nodiscard]] block_sizes sizes_of(std::span<std::size_t const> counts, std::size_t element_bytes,
                                     std::string_view operation) const {
    PGAS_EXPECTS(light, counts.size() == ranks(),
                 refuse(operation, text_of({"there are ", counts.size(), " counts for ", size(),
                                            " ranks; give one for each rank"})));
    return {counts, element_bytes};
  }
  template <class Algorithm>
  void check_blocks(Algorithm, bool is_equal, std::string_view operation) const {
    if constexpr (requires { Algorithm::needs_equal_blocks; }) {
      check(is_equal, operation, "this algorithm takes blocks of one size; use another one with counts");
    }
  }
  template <class T, class Op, bool InShares = false, class Algorithm>
  void check_fold(Algorithm, std::string_view operation) const {
    static_assert(transportable<T>);
    if constexpr (requires { Algorithm::needs_commutative; }) {
      static_assert(commutes<Op>,
                    "pgas: this algorithm changes the order of operands; wrap an operation that allows it in "
                    "pgas::commutative, or use another algorithm");
    }
    if constexpr (!requires { Algorithm::folds_any_length; }) {
      PGAS_EXPECTS(
          light, sizeof(T) <= longest_element<Algorithm::stands_on>(InShares ? ranks() : 1),
          refuse(operation, text_of({"elements of ", sizeof(T), " bytes are too long for ", Algorithm::name,
                                     " on ", size(), " ranks; name no algorithm, or by_exchange"})));
    }
  }
  /// The most bytes of an element that can be folded on a medium, whose pieces have `shares` for ranks.
  template <collective_medium Kind>
  static constexpr std::size_t longest_element(std::size_t shares) noexcept {
    using medium = std::remove_reference_t<
        decltype(std::declval<typename state_type::operations_type&>().template medium<Kind>())>;
    using operations = state_type::operations_type;
    if constexpr (Kind == collective_medium::shared_areas &&
                  !(operations::has_shared_areas || operations::has_near_areas)) {
      return 0;
    } else if constexpr (Kind == collective_medium::links) {
      return medium::piece_bytes;
    } else if constexpr (Kind == collective_medium::nodes) {
      return medium::links_type::piece_bytes;  // shorter than those of shared areas
    } else {
      return medium::buffer_bytes / shares;
    }
  }
  /// No larger team folds elements that are longer than their share of a piece.
  static constexpr std::size_t most_ranks = 1024;
};

/// Elements that lie side by side in private memory.
template <class R>
concept side_by_side = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;
/// The same, to be filled: not a temporary object that owns them.
template <class R>
concept fillable = side_by_side<R> && std::ranges::borrowed_range<R> &&
                   !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// An argument that may be an algorithm: not counts, ranks or text.
template <class A>
concept algorithm_argument = std::is_class_v<A> && !requires(A& a) { a.begin(); };

template <class T>
inline constexpr bool is_array = std::is_array_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
/// A broadcast fills elements, but not a value of a type that holds them along with something else. An array
/// with a name is filled; a temporary one is a value.
template <class R>
concept filled_by_broadcast =
    fillable<R> && (!transportable<std::remove_cvref_t<R>> || is_array<std::remove_cvref_t<R>>);

/// The bytes of elements whose number is part of the type; 0 if it is not, or if elements need a larger
/// alignment than a slot has.
template <class R>
inline constexpr std::size_t fixed_bytes = 0;
template <class T, std::size_t N>
  requires(N != std::dynamic_extent)
inline constexpr std::size_t fixed_bytes<std::span<T, N>> = alignof(T) > 16 ? 0 : N * sizeof(T);
template <class T, std::size_t N>
inline constexpr std::size_t fixed_bytes<std::array<T, N>> = fixed_bytes<std::span<T, N>>;

/// Such elements as bytes.
template <class R>
bytes_in in_bytes(R const& range) noexcept {
  refuse_type<std::remove_cv_t<std::ranges::range_value_t<R>>>();
  return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <class R>
bytes_out out_bytes(R& range) noexcept {
  refuse_type<std::remove_cv_t<std::ranges::range_value_t<R>>>();
  return std::as_writable_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}

}  // namespace PGAS_NAMESPACE::detail
