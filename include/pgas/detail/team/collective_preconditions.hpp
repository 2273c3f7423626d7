// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/team/collective_choice.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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
    if constexpr (Kind == collective_medium::boards &&
                  !(operations::has_boards || operations::has_near_boards)) {
      return 0;
    } else if constexpr (Kind == collective_medium::links) {
      return medium::piece_bytes;
    } else if constexpr (Kind == collective_medium::nodes) {
      return medium::links_type::piece_bytes;  // shorter than those of boards
    } else {
      return medium::buffer_bytes / shares;
    }
  }
  /// More ranks do not happen with elements that are longer than their share of a piece.
  static constexpr std::size_t most_ranks = 1024;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
