// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <pgas/collectives/binomial.hpp>
#include <pgas/collectives/bruck.hpp>
#include <pgas/collectives/direct.hpp>
#include <pgas/collectives/node_first.hpp>
#include <pgas/collectives/pulled.hpp>
#include <pgas/collectives/rabenseifner.hpp>
#include <pgas/collectives/recursive_doubling.hpp>
#include <pgas/collectives/ring.hpp>
#include <pgas/collectives/scatter_allgather.hpp>
#include <pgas/vocabulary/op.hpp>

namespace PGAS_NAMESPACE {

namespace collectives {

/// The algorithm that the library chooses, from the operation, its bytes, the number of ranks and the memory.
struct automatic {
  static constexpr std::string_view name = "automatic";  ///< in predictions and errors
};

}  // namespace collectives

/// An operation whose operands may change places: `commutative([](T a, T b) { ... })`. Some algorithms need
/// one. Those of namespace op and of the standard library are known. MPI: the flag of MPI_Op_create.
template <class Op>
struct commutative : Op {
  /// Takes the operation.
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

/// The facts that a choice depends on. All ranks give the same values.
struct collective_shape {
  std::size_t bytes = 0;  ///< of a rank's elements, or of a block
  rank_t ranks = 1;
  bool is_equal = true;  ///< all blocks have the same size
  // Where a backend knows at run time which ranks share memory:
  bool is_one_node = false;  ///< all of the team do
  bool has_levels = false;   ///< there are several nodes, and some have several ranks of the team

  [[nodiscard]] bool is_power_of_two() const noexcept {
    return std::has_single_bit(static_cast<unsigned>(ranks));
  }
};

/// Calls go(algorithm) with the algorithm for an operation that the name begins with: one function for each
/// operation, since not every algorithm has every operation.
///
/// Reading each other's memory in place is never slower, so it comes first. Elsewhere few rounds win for
/// short data, and few bytes for long data.
template <bool HasSharedAreas, bool Commutes = false>
struct collective_choice {
  static constexpr std::size_t long_message = std::size_t{32} << 10U;
  static constexpr std::size_t short_block = 256;

  template <class Go>
  static auto broadcast(collective_shape const& s, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return s.ranks > 2 && s.bytes >= long_message ? go(collectives::scatter_allgather{})
                                                    : go(collectives::binomial{});
    }
  }
  template <class Go>
  static auto reduce(collective_shape const&, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return go(collectives::binomial{});
    }
  }
  template <class Go>
  static auto all_reduce(collective_shape const& s, Go&& go) {
    if constexpr (HasSharedAreas) {
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
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return go(collectives::recursive_doubling{});
    }
  }
  template <class Go>
  static auto gather(collective_shape const&, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto all_gather(collective_shape const& s, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return s.is_equal && s.bytes <= short_block ? go(collectives::bruck{}) : go(collectives::ring{});
    }
  }
  template <class Go>
  static auto scatter(collective_shape const&, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto all_to_all(collective_shape const& s, Go&& go) {
    if constexpr (HasSharedAreas) {
      return go(collectives::direct{});
    } else {
      return s.is_equal && s.bytes <= short_block ? go(collectives::bruck{}) : go(collectives::pulled{});
    }
  }
  template <class Go>
  static auto reduce_scatter(collective_shape const& s, Go&& go) {
    if constexpr (HasSharedAreas)
      return go(collectives::direct{});
    else {
      if constexpr (Commutes) {
        if (s.bytes > short_block) return go(collectives::ring{});
      }
      return go(collectives::pulled{});
    }
  }
};

/// The choice on links, as an algorithm.
struct best_on_links {
  template <linking_medium M>
  static steps broadcast(M& m, bytes_out data, rank_t root) {
    return on_links<>::broadcast({data.size(), m.size()}, [&](auto a) { return a.broadcast(m, data, root); });
  }
  template <linking_medium M>
  static steps reduce(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
    return collectives::binomial::reduce(m, mine, result, fold, root);
  }
  template <linking_medium M>
  static steps all_reduce(M& m, bytes_in mine, bytes_out result, folding fold) {
    auto const go = [&](auto a) { return a.all_reduce(m, mine, result, fold); };
    collective_shape const shape{mine.size(), m.size()};
    return fold.commutes() ? on_links<true>::all_reduce(shape, go) : on_links<>::all_reduce(shape, go);
  }
  template <linking_medium M>
  static steps scan(M& m, bytes_in mine, bytes_out result, folding fold, bool is_exclusive) {
    return collectives::recursive_doubling::scan(m, mine, result, fold, is_exclusive);
  }
  template <linking_medium M>
  static steps gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes, bool are_equal,
                      rank_t root) {
    return collectives::binomial::gather(m, mine, all, sizes, are_equal, root);
  }
  template <linking_medium M>
  static steps all_gather(M& m, bytes_in mine, bytes_out all, block_sizes const& sizes) {
    collective_shape shape{mine.size(), m.size()};
    for (rank_t r = 0; r < m.size(); ++r) {
      shape.is_equal = shape.is_equal && sizes.size(r) == sizes.size(0);
      shape.bytes = std::max(shape.bytes, sizes.size(r));
    }
    return on_links<>::all_gather(shape, [&](auto a) { return a.all_gather(m, mine, all, sizes); });
  }
  template <linking_medium M>
  static steps scatter(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, bool are_equal,
                       rank_t root) {
    return collectives::binomial::scatter(m, all, sizes, mine, are_equal, root);
  }

 private:
  template <bool Commutes = false>
  using on_links = collective_choice<false, Commutes>;
};

}  // namespace detail

namespace collectives {

/// Collectives on two levels: ranks of a node first. Where these share memory, they use `direct` there, and
/// between nodes what the library chooses on links.
using by_nodes = node_first<direct, detail::best_on_links>;

}  // namespace collectives

namespace detail {

/// The choice where a backend knows the nodes of a team: `direct` on one node, on several the ranks of each
/// node first.
template <bool Commutes>
struct collective_choice_by_nodes {
  template <class Go>
  static auto broadcast(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::broadcast(s, go); });
  }
  template <class Go>
  static auto reduce(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::reduce(s, go); });
  }
  template <class Go>
  static auto all_reduce(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::all_reduce(s, go); });
  }
  template <class Go>
  static auto scan(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::scan(s, go); });
  }
  template <class Go>
  static auto gather(collective_shape const& s, Go&& go) {
    auto const by_pull_areas = [&] { return flat::gather(s, go); };
    // A leader would copy long blocks once more; from pull areas the root fetches them straight.
    if (s.has_levels && s.is_equal && s.bytes > long_block) return by_pull_areas();
    return near_or_by_nodes(s, go, by_pull_areas);
  }
  template <class Go>
  static auto all_gather(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::all_gather(s, go); });
  }
  template <class Go>
  static auto scatter(collective_shape const& s, Go&& go) {
    return near_or_by_nodes(s, go, [&] { return flat::scatter(s, go); });
  }
  template <class Go>
  static auto all_to_all(collective_shape const& s, Go&& go) {
    return s.is_one_node ? go(collectives::direct{}) : flat::all_to_all(s, go);
  }
  template <class Go>
  static auto reduce_scatter(collective_shape const& s, Go&& go) {
    return s.is_one_node ? go(collectives::direct{}) : flat::reduce_scatter(s, go);
  }

 private:
  using flat = collective_choice<false, Commutes>;
  static constexpr std::size_t long_block = std::size_t{64} << 10U;

  template <class Go, class Else>
  static auto near_or_by_nodes(collective_shape const& s, Go&& go, Else&& otherwise) {
    if (s.is_one_node) return go(collectives::direct{});
    return s.has_levels ? go(collectives::by_nodes{}) : otherwise();
  }
};

}  // namespace detail

}  // namespace PGAS_NAMESPACE
