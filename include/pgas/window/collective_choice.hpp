// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <functional>
#include <pgas/collectives/binomial.hpp>
#include <pgas/collectives/bruck.hpp>
#include <pgas/collectives/direct.hpp>
#include <pgas/collectives/oc_bcast.hpp>
#include <pgas/collectives/pulled.hpp>
#include <pgas/collectives/rabenseifner.hpp>
#include <pgas/collectives/recursive_doubling.hpp>
#include <pgas/collectives/ring.hpp>
#include <pgas/collectives/scatter_allgather.hpp>
#include <pgas/vocabulary/op.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace collectives {

/// The algorithm that the library chooses, from the operation, its bytes, the number of ranks and the memory.
struct automatic {
  static constexpr std::string_view name = "automatic";
};

}  // namespace collectives

/// An operation whose operands may change places: `commutative([](T a, T b) { ... })`. Some algorithms need
/// one. Those of namespace op and of the standard library are known. MPI: the flag of MPI_Op_create.
template <class Op>
struct commutative : Op {
  explicit commutative(Op op) : Op(std::move(op)) {}
  using Op::operator();
  static constexpr bool commutes = true;  ///< operands may change places
};

namespace detail {

/// True for operations whose operands may change places, as far as the library knows.
template <class Op>
inline constexpr bool commutes = [] {
  if constexpr (requires { Op::commutes; }) {
    return Op::commutes;
  } else if constexpr (requires { Op::kind; }) {
    return Op::kind != op_kind::replace && Op::kind != op_kind::no_op;
  } else {
    return is_standard_function<Op>;
  }
}();
template <class T>
inline constexpr bool commutes<std::plus<T>> = true;

/// What a choice depends on. All ranks give the same values.
struct collective_shape {
  std::size_t bytes = 0;  ///< of a rank's elements, or of a block
  rank_t ranks = 1;
  bool is_equal = true;  ///< all blocks have the same size

  [[nodiscard]] bool is_power_of_two() const noexcept {
    return std::has_single_bit(static_cast<unsigned>(ranks));
  }
};

/// Calls go(algorithm) with the algorithm for an operation that the name begins with: one function for each
/// operation, since not every algorithm has every operation.
///
/// Where ranks read each other's memory in place, that is never behind. Elsewhere few rounds win up to some
/// bytes, and few bytes beyond.
template <bool HasBoards, bool Commutes = false>
struct collective_choice {
  static constexpr std::size_t long_message = std::size_t{32} << 10U;
  static constexpr std::size_t short_block = 256;

  template <class Go>
  static auto broadcast(collective_shape const& s, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return s.ranks > 2 && s.bytes >= long_message ? go(collectives::scatter_allgather{})
                                                    : go(collectives::binomial{});
    }
  }
  template <class Go>
  static auto reduce(collective_shape const&, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return go(collectives::binomial{});
    }
  }
  template <class Go>
  static auto all_reduce(collective_shape const& s, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      if (s.bytes < long_message) return go(collectives::recursive_doubling{});
      if (s.is_power_of_two()) return go(collectives::rabenseifner{});
      if constexpr (Commutes) {
        return go(collectives::ring{});
      } else {
        return go(collectives::binomial{});
      }
    }
  }
  template <class Go>
  static auto scan(collective_shape const&, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return go(collectives::recursive_doubling{});
    }
  }
  template <class Go>
  static auto gather(collective_shape const&, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto all_gather(collective_shape const& s, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return s.is_equal && s.bytes <= short_block ? go(collectives::bruck{}) : go(collectives::ring{});
    }
  }
  template <class Go>
  static auto scatter(collective_shape const&, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto all_to_all(collective_shape const& s, Go&& go) {
    if constexpr (HasBoards) {
      return go(collectives::direct{});
    } else {
      return s.is_equal && s.bytes <= short_block ? go(collectives::bruck{}) : go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto reduce_scatter(collective_shape const& s, Go&& go) {
    if constexpr (HasBoards)
      return go(collectives::direct{});
    else {
      if constexpr (Commutes) {
        if (s.bytes > short_block) return go(collectives::ring{});
      }
      return go(collectives::pulled{});
    }
  }
};

}  // namespace detail

}  // namespace pgas::inline PGAS_ASSERTIONS
