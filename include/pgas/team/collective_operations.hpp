// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/collectives/by_exchange.hpp>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/team/carry_out_collective.hpp>
#include <pgas/detail/team/collective_arguments.hpp>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/team/collective_choice.hpp>
#include <pgas/team/collective_request.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <pgas/vocabulary/op.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// The collectives of a team on elements in private memory, in two forms with one source: those of a team
/// return when this rank's part has ended, those of `team.start()` return a request.
///
/// `Self` has `state()`. All ranks pass the same operation, sizes and root. Source and result may be the same
/// memory. Results have the same bits in every run, and on all ranks that get them: elements are folded in
/// rank order, unless an algorithm that needs commutative operations is asked for by name; its order is
/// fixed, too. A team makes memory when the first collective needs it, once for shared areas and once for
/// links. That is as collective as making a window, and the only case in which starting one waits.
template <class Self, class Backend, bool Starts>
class collective_operations : public detail::collective_preconditions<Self, Backend> {
  using base = detail::collective_preconditions<Self, Backend>;

 public:
  using result_type = std::conditional_t<Starts, collective_request<detail::team_state<Backend>>, void>;

  /// Every rank's elements become the root's. Collective. MPI_Bcast.
  template <detail::filled_by_broadcast Values, detail::algorithm_argument Algorithm = collectives::automatic>
  result_type broadcast(Values&& values, rank_t root = 0, Algorithm algorithm = {},
                        detail::caller by = detail::here()) const {
    check_root(root, {"broadcast", by});
    bytes_out const data = detail::out_bytes(values);
    auto const go = [&](auto chosen) {
      return carry_out<fixed<Values>>("broadcast", chosen, data.size(),
                                      [data, root](auto a, auto& m) { return a.broadcast(m, data, root); },
                                      {.root = root});
    };
    return choose(algorithm, go, [&] { return library_choice<>::broadcast(shape(data.size()), go); });
  }

  /// The root gets op over all ranks' elements, place by place; `result` of other ranks may be empty.
  /// Collective. MPI_Reduce.
  template <detail::side_by_side Values, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type reduce(Values const& mine, Result&& result, rank_t root = 0, Op op = {},
                     Algorithm algorithm = {}, detail::caller by = detail::here()) const {
    check_root(root, {"reduce", by});
    bytes_in const in = detail::in_bytes(mine);
    bytes_out const out = detail::out_bytes(result);
    if (root == rank()) check_sizes(in.size(), out.size(), "reduce");
    auto const go = [&](auto chosen) {
      this->template check_fold<element<Values>, Op>(chosen, "reduce");
      return carry_out<fixed<Values>>("reduce", chosen, folded_bytes<element<Values>>(in.size()),
                                      [in, out, root, op](auto a, auto& m) mutable {
                                        return a.reduce(m, in, out, fold_by<element<Values>>(op), root);
                                      },
                                      {.root = root, .folds = folds<Values, Op>});
    };
    return choose_fold<element<Values>, Op>(algorithm, go,
                                            [&](auto with) { return with.reduce(shape(in.size()), go); });
  }

  /// Every rank gets op over all ranks' elements, place by place. Collective. MPI_Allreduce.
  template <detail::side_by_side Values, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type all_reduce(Values const& mine, Result&& result, Op op = {}, Algorithm algorithm = {}) const {
    bytes_in const in = detail::in_bytes(mine);
    bytes_out const out = detail::out_bytes(result);
    check_sizes(in.size(), out.size(), "all_reduce");
    auto const go = [&](auto chosen) {
      this->template check_fold<element<Values>, Op>(chosen, "all_reduce");
      return carry_out<fixed<Values>>("all_reduce", chosen, folded_bytes<element<Values>>(in.size()),
                                      [in, out, op](auto a, auto& m) mutable {
                                        return a.all_reduce(m, in, out, fold_by<element<Values>>(op));
                                      },
                                      {.folds = folds<Values, Op>});
    };
    return choose_fold<element<Values>, Op>(algorithm, go,
                                            [&](auto by) { return by.all_reduce(shape(in.size()), go); });
  }

  /// Rank r gets op over the elements of ranks 0 to r, place by place. Collective. MPI_Scan.
  template <detail::side_by_side Values, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type inclusive_scan(Values const& mine, Result&& result, Op op = {},
                             Algorithm algorithm = {}) const {
    return scan_elements(mine, result, op, algorithm, false, "inclusive_scan");
  }
  /// Rank r gets op over the elements of ranks 0 to r - 1, place by place; the result of rank 0 stays as it
  /// is. Collective. MPI_Exscan.
  template <detail::side_by_side Values, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type exclusive_scan(Values const& mine, Result&& result, Op op = {},
                             Algorithm algorithm = {}) const {
    return scan_elements(mine, result, op, algorithm, true, "exclusive_scan");
  }

  /// The root gets all ranks' elements, in rank order; `all` of other ranks may be empty. Collective.
  /// MPI_Gather.
  template <detail::side_by_side Values, detail::fillable All,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type gather(Values const& mine, All&& all, rank_t root = 0, Algorithm algorithm = {},
                     detail::caller by = detail::here()) const {
    check_root(root, {"gather", by});
    if (root == rank())
      check_sizes(detail::in_bytes(mine).size() * ranks(), detail::out_bytes(all).size(), "gather");
    return gather_blocks(mine, all, detail::block_sizes(detail::in_bytes(mine).size()), true, root,
                         algorithm);
  }
  /// The same with counts[r] elements of rank r, which the root names. MPI_Gatherv.
  template <detail::side_by_side Values, detail::fillable All,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type gather(Values const& mine, All&& all, std::span<std::size_t const> counts, rank_t root = 0,
                     Algorithm algorithm = {}, detail::caller by = detail::here()) const {
    check_root(root, {"gather", by});
    detail::block_sizes sizes;
    if (root == rank()) {
      sizes = sizes_of(counts, sizeof(element<All>), "gather");
      check_sizes(sizes.first(size()), detail::out_bytes(all).size(), "gather");
      check_sizes(sizes.size(root), detail::in_bytes(mine).size(), "gather");
    }
    return gather_blocks(mine, all, std::move(sizes), false, root, algorithm);
  }

  /// Every rank gets all ranks' elements, in rank order. Collective. MPI_Allgather.
  template <detail::side_by_side Values, detail::fillable All,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type all_gather(Values const& mine, All&& all, Algorithm algorithm = {}) const {
    check_sizes(detail::in_bytes(mine).size() * ranks(), detail::out_bytes(all).size(), "all_gather");
    return all_gather_blocks(mine, all, detail::block_sizes(detail::in_bytes(mine).size()), true, algorithm);
  }
  /// The same with counts[r] elements of rank r, which all ranks name. MPI_Allgatherv.
  template <detail::side_by_side Values, detail::fillable All,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type all_gather(Values const& mine, All&& all, std::span<std::size_t const> counts,
                         Algorithm algorithm = {}) const {
    detail::block_sizes sizes = sizes_of(counts, sizeof(element<All>), "all_gather");
    check_sizes(sizes.first(size()), detail::out_bytes(all).size(), "all_gather");
    check_sizes(sizes.size(rank()), detail::in_bytes(mine).size(), "all_gather");
    return all_gather_blocks(mine, all, std::move(sizes), false, algorithm);
  }

  /// Rank r gets block r of the root's elements; `all` of other ranks may be empty. Collective. MPI_Scatter.
  template <detail::side_by_side All, detail::fillable Result,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type scatter(All const& all, Result&& mine, rank_t root = 0, Algorithm algorithm = {},
                      detail::caller by = detail::here()) const {
    check_root(root, {"scatter", by});
    if (root == rank())
      check_sizes(detail::out_bytes(mine).size() * ranks(), detail::in_bytes(all).size(), "scatter");
    return scatter_blocks(all, mine, detail::block_sizes(detail::out_bytes(mine).size()), true, root,
                          algorithm);
  }
  /// The same with counts[r] elements for rank r, which the root names. MPI_Scatterv.
  template <detail::side_by_side All, detail::fillable Result,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type scatter(All const& all, std::span<std::size_t const> counts, Result&& mine, rank_t root = 0,
                      Algorithm algorithm = {}, detail::caller by = detail::here()) const {
    check_root(root, {"scatter", by});
    detail::block_sizes sizes;
    if (root == rank()) {
      sizes = sizes_of(counts, sizeof(element<All>), "scatter");
      check_sizes(sizes.first(size()), detail::in_bytes(all).size(), "scatter");
      check_sizes(sizes.size(root), detail::out_bytes(mine).size(), "scatter");
    }
    return scatter_blocks(all, mine, std::move(sizes), false, root, algorithm);
  }

  /// Rank r gets block r of each rank's elements, in rank order. Collective. MPI_Alltoall.
  template <detail::side_by_side From, detail::fillable Into,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type all_to_all(From const& from, Into&& into, Algorithm algorithm = {}) const {
    std::size_t const bytes = detail::in_bytes(from).size();
    check_sizes(bytes, detail::out_bytes(into).size(), "all_to_all");
    check(bytes % (ranks() * sizeof(element<From>)) == 0, "all_to_all",
          "elements are no multiple of the ranks; give counts");
    return all_to_all_blocks(from, into, detail::block_sizes(bytes / ranks()),
                             detail::block_sizes(bytes / ranks()), true, algorithm);
  }
  /// The same with out[r] elements for rank r and in[r] elements from rank r. MPI_Alltoallv.
  template <detail::side_by_side From, detail::fillable Into,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type all_to_all(From const& from, std::span<std::size_t const> out, Into&& into,
                         std::span<std::size_t const> in, Algorithm algorithm = {}) const {
    detail::block_sizes out_sizes = sizes_of(out, sizeof(element<From>), "all_to_all");
    detail::block_sizes in_sizes = sizes_of(in, sizeof(element<Into>), "all_to_all");
    check_sizes(out_sizes.first(size()), detail::in_bytes(from).size(), "all_to_all");
    check_sizes(in_sizes.first(size()), detail::out_bytes(into).size(), "all_to_all");
    check_sizes(out_sizes.size(rank()), in_sizes.size(rank()), "all_to_all");
    return all_to_all_blocks(from, into, std::move(out_sizes), std::move(in_sizes), false, algorithm);
  }

  /// Rank r gets op over block r of all ranks' elements, place by place. Collective.
  /// MPI_Reduce_scatter_block.
  template <detail::side_by_side All, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type reduce_scatter(All const& all, Result&& mine, Op op = {}, Algorithm algorithm = {}) const {
    check_sizes(detail::out_bytes(mine).size() * ranks(), detail::in_bytes(all).size(), "reduce_scatter");
    return reduce_scatter_blocks(all, mine, detail::block_sizes(detail::out_bytes(mine).size()), true, op,
                                 algorithm);
  }
  /// The same with counts[r] elements for rank r, which all ranks name. MPI_Reduce_scatter.
  template <detail::side_by_side All, detail::fillable Result, class Op = op::sum,
            detail::algorithm_argument Algorithm = collectives::automatic>
  result_type reduce_scatter(All const& all, std::span<std::size_t const> counts, Result&& mine, Op op = {},
                             Algorithm algorithm = {}) const {
    detail::block_sizes sizes = sizes_of(counts, sizeof(element<All>), "reduce_scatter");
    check_sizes(sizes.first(size()), detail::in_bytes(all).size(), "reduce_scatter");
    check_sizes(sizes.size(rank()), detail::out_bytes(mine).size(), "reduce_scatter");
    return reduce_scatter_blocks(all, mine, std::move(sizes), false, op, algorithm);
  }

  /// Does not compile: says how broadcast is called.
  template <class None = void>
  auto broadcast(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
                 detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "broadcast: write `value = team.broadcast(value, root)`, or `team.broadcast(elements, "
                  "root)`; elements and results are ranges side by side in memory, such as std::vector, of "
                  "one type; results have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how reduce is called.
  template <class None = void>
  auto reduce(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
              detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "reduce: write `team.reduce(elements, results, root, pgas::op::max{})`; for single values "
                  "there is `team.all_reduce(value)`; elements and results are ranges side by side in "
                  "memory, such as std::vector, of one type; results have a name and are not const, and "
                  "std::vector<bool> is no such range");
  }
  /// Does not compile: says how all_reduce is called.
  template <class None = void>
  auto all_reduce(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
                  detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "all_reduce: write `team.all_reduce(value)` or `team.all_reduce(elements, results)`, "
                  "perhaps with an operation behind it that the type has, such as `pgas::op::max{}`; "
                  "elements and results are ranges side by side in memory, such as std::vector, of one type; "
                  "results have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how inclusive_scan is called.
  template <class None = void>
  auto inclusive_scan(detail::anything = {}, detail::anything = {}, detail::anything = {},
                      detail::anything = {}, detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "inclusive_scan: write `team.inclusive_scan(elements, results, pgas::op::sum{})`; elements "
                  "and results are ranges side by side in memory, such as std::vector, of one type; results "
                  "have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how exclusive_scan is called.
  template <class None = void>
  auto exclusive_scan(detail::anything = {}, detail::anything = {}, detail::anything = {},
                      detail::anything = {}, detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "exclusive_scan: write `team.exclusive_scan(elements, results, pgas::op::sum{})`; elements "
                  "and results are ranges side by side in memory, such as std::vector, of one type; results "
                  "have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how gather is called.
  template <class None = void>
  auto gather(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
              detail::anything = {}, detail::anything = {}) const {
    static_assert(
        detail::always_false<None>,
        "gather: write `team.gather(elements, all, root)` or `team.gather(elements, all, counts, root)`; for "
        "single values there is `team.all_gather(value)`; counts are std::size_t, one for each rank; "
        "elements and results are ranges side by side in memory, such as std::vector, of one type; results "
        "have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how all_gather is called.
  template <class None = void>
  auto all_gather(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
                  detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "all_gather: write `team.all_gather(value)`, `team.all_gather(elements, all)` or "
                  "`team.all_gather(elements, all, counts)`; counts are std::size_t, one for each rank; "
                  "elements and results are ranges side by side in memory, such as std::vector, of one type; "
                  "results have a name and are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how scatter is called.
  template <class None = void>
  auto scatter(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
               detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "scatter: write `team.scatter(all, elements, root)` or `team.scatter(all, counts, "
                  "elements, root)`; counts are std::size_t, one for each rank; elements and results are "
                  "ranges side by side in memory, such as std::vector, of one type; results have a name and "
                  "are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how all_to_all is called.
  template <class None = void>
  auto all_to_all(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
                  detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "all_to_all: write `team.all_to_all(from, into)` or `team.all_to_all(from, counts_out, "
                  "into, counts_in)`; counts are std::size_t, one for each rank; elements and results are "
                  "ranges side by side in memory, such as std::vector, of one type; results have a name and "
                  "are not const, and std::vector<bool> is no such range");
  }
  /// Does not compile: says how reduce_scatter is called.
  template <class None = void>
  auto reduce_scatter(detail::anything = {}, detail::anything = {}, detail::anything = {},
                      detail::anything = {}, detail::anything = {}, detail::anything = {}) const {
    static_assert(detail::always_false<None>,
                  "reduce_scatter: write `team.reduce_scatter(all, results)` or `team.reduce_scatter(all, "
                  "counts, results)`; counts are std::size_t, one for each rank; elements and results are "
                  "ranges side by side in memory, such as std::vector, of one type; results have a name and "
                  "are not const, and std::vector<bool> is no such range");
  }

 private:
  using base::check;
  using base::check_blocks;
  using base::check_root;
  using base::check_sizes;
  using base::hash_of;
  using base::rank;
  using base::ranks;
  using base::self;
  using base::size;
  using base::sizes_of;
  using typename base::state_type;
  template <collective_medium Kind>
  static constexpr std::size_t longest_element(std::size_t shares) noexcept {
    return base::template longest_element<Kind>(shares);
  }
  template <class Op = op::replace>
  using library_choice = std::conditional_t<
      state_type::operations_type::has_near_areas, detail::collective_choice_by_nodes<detail::commutes<Op>>,
      detail::collective_choice<state_type::operations_type::has_shared_areas, detail::commutes<Op>>>;
  template <class R>
  using element = std::remove_cv_t<std::ranges::range_value_t<R>>;

  // Operations with the sizes of all blocks.
  template <class Values, class Result, class Op, class Algorithm>
  result_type scan_elements(Values const& mine, Result& result, Op op, Algorithm algorithm, bool is_exclusive,
                            detail::collective_name operation) const {
    bytes_in const in = detail::in_bytes(mine);
    bytes_out const out = detail::out_bytes(result);
    check_sizes(in.size(), out.size(), operation.text());
    auto const go = [&](auto chosen) {
      this->template check_fold<element<Values>, Op>(chosen, operation.text());
      return carry_out<fixed<Values>>(operation, chosen, folded_bytes<element<Values>>(in.size()),
                                      [in, out, op, is_exclusive](auto a, auto& m) mutable {
                                        return a.scan(m, in, out, fold_by<element<Values>>(op), is_exclusive);
                                      },
                                      {.folds = folds<Values, Op>});
    };
    return choose_fold<element<Values>, Op>(algorithm, go,
                                            [&](auto by) { return by.scan(shape(in.size()), go); });
  }

  template <class Values, class All, class Algorithm>
  result_type gather_blocks(Values const& mine, All& all, detail::block_sizes sizes, bool is_equal,
                            rank_t root, Algorithm algorithm) const {
    bytes_in const in = detail::in_bytes(mine);
    bytes_out const out = detail::out_bytes(all);
    auto const go = [&](auto chosen) {
      check_blocks(chosen, is_equal, "gather");
      return carry_out("gather", chosen, is_equal ? in.size() : detail::unknown_bytes,
                       [in, out, sizes, is_equal, root](auto a, auto& m) {
                         return a.gather(m, in, out, sizes, is_equal, root);
                       },
                       {.root = root, .linked = detail::unknown_bytes});
    };
    return choose(algorithm, go, [&] { return library_choice<>::gather(shape(in.size(), is_equal), go); });
  }

  template <class Values, class All, class Algorithm>
  result_type all_gather_blocks(Values const& mine, All& all, detail::block_sizes sizes, bool is_equal,
                                Algorithm algorithm) const {
    bytes_in const in = detail::in_bytes(mine);
    bytes_out const out = detail::out_bytes(all);
    auto const go = [&](auto chosen) {
      check_blocks(chosen, is_equal, "all_gather");
      return carry_out("all_gather", chosen, is_equal ? in.size() : detail::unknown_bytes,
                       [in, out, sizes](auto a, auto& m) { return a.all_gather(m, in, out, sizes); },
                       {.linked = out.size(), .total = out.size(), .counts = hash_of(sizes, is_equal)});
    };
    return choose(algorithm, go,
                  [&] { return library_choice<>::all_gather(shape(in.size(), is_equal), go); });
  }

  template <class All, class Result, class Algorithm>
  result_type scatter_blocks(All const& all, Result& mine, detail::block_sizes sizes, bool is_equal,
                             rank_t root, Algorithm algorithm) const {
    bytes_in const in = detail::in_bytes(all);
    bytes_out const out = detail::out_bytes(mine);
    auto const go = [&](auto chosen) {
      check_blocks(chosen, is_equal, "scatter");
      return carry_out("scatter", chosen, is_equal ? out.size() * ranks() : detail::unknown_bytes,
                       [in, out, sizes, is_equal, root](auto a, auto& m) {
                         return a.scatter(m, in, sizes, out, is_equal, root);
                       },
                       {.root = root, .linked = detail::unknown_bytes});
    };
    return choose(algorithm, go, [&] { return library_choice<>::scatter(shape(out.size(), is_equal), go); });
  }

  template <class From, class Into, class Algorithm>
  result_type all_to_all_blocks(From const& from, Into& into, detail::block_sizes out_sizes,
                                detail::block_sizes in_sizes, bool is_equal, Algorithm algorithm) const {
    bytes_in const in = detail::in_bytes(from);
    bytes_out const out = detail::out_bytes(into);
    auto const go = [&](auto chosen) {
      check_blocks(chosen, is_equal, "all_to_all");
      return carry_out("all_to_all", chosen, is_equal ? in.size() : detail::unknown_bytes,
                       [in, out, out_sizes, in_sizes, is_equal](auto a, auto& m) {
                         return a.all_to_all(m, in, out_sizes, out, in_sizes, is_equal);
                       });
    };
    return choose(algorithm, go, [&] {
      return library_choice<>::all_to_all(shape(is_equal ? in.size() / ranks() : 0, is_equal), go);
    });
  }

  template <class All, class Result, class Op, class Algorithm>
  result_type reduce_scatter_blocks(All const& all, Result& mine, detail::block_sizes sizes, bool is_equal,
                                    Op op, Algorithm algorithm) const {
    bytes_in const in = detail::in_bytes(all);
    bytes_out const out = detail::out_bytes(mine);
    auto const go = [&](auto chosen) {
      check_blocks(chosen, is_equal, "reduce_scatter");
      this->template check_fold<element<All>, Op, true>(chosen, "reduce_scatter");
      return carry_out("reduce_scatter", chosen,
                       is_equal ? folded_bytes<element<All>>(in.size()) : detail::unknown_bytes,
                       [in, out, sizes, op](auto a, auto& m) mutable {
                         return a.reduce_scatter(m, in, sizes, out, fold_by<element<All>>(op));
                       },
                       {.total = in.size(), .folds = folds<All, Op>, .counts = hash_of(sizes, is_equal)});
    };
    auto const by_name = [&](auto by) { return by.reduce_scatter(shape(in.size() / ranks(), is_equal), go); };
    return choose_fold<element<All>, Op, true>(algorithm, go, by_name);
  }

  // Parts that they share.
  /// Elements that must be aligned better than a slot's room are in memory.
  template <class T>
  static constexpr std::size_t folded_bytes(std::size_t bytes) noexcept {
    return alignof(T) > 16 ? detail::unknown_bytes : bytes;
  }
  template <class Values>
  static constexpr std::size_t fixed = detail::fixed_bytes<std::remove_cvref_t<Values>>;
  template <class T, class Op>
  static detail::folding fold_by(Op& op) {
    return detail::folding::of<T>(op, detail::commutes<Op>);
  }
  [[nodiscard]] detail::collective_shape shape(std::size_t bytes, bool is_equal = true) const {
    auto& operations = self().state()->operations;
    return {bytes, size(), is_equal, operations.is_one_node(), operations.has_levels()};
  }

  template <class Algorithm, class Go, class Automatic>
  static auto choose(Algorithm algorithm, Go const& go, Automatic const& automatic) {
    if constexpr (std::is_same_v<Algorithm, collectives::automatic>) {
      return automatic();
    } else {
      static_assert(collective_algorithm<Algorithm>,
                    "pgas: name an algorithm of namespace pgas::collectives, such as collectives::ring{}");
      return go(algorithm);
    }
  }

  /// The same for an operation that folds elements; `InShares`: a share of them for each rank. The library's
  /// choice accepts elements of any length.
  template <class T, class Op, bool InShares = false, class Algorithm, class Go, class Automatic>
  auto choose_fold(Algorithm algorithm, Go const& go, Automatic const& automatic) const {
    return choose(algorithm, go, [&] {
      constexpr bool has_shared_areas = state_type::operations_type::has_shared_areas;
      auto const longest = [](std::size_t shares) {
        using enum collective_medium;
        return has_shared_areas
                   ? longest_element<shared_areas>(shares)
                   : std::min(longest_element<links>(shares), longest_element<pull_areas>(shares));
      };
      if constexpr (sizeof(T) > longest(InShares ? base::most_ranks : 1)) {
        using exchange = std::conditional_t<has_shared_areas, collectives::direct, collectives::pulled>;
        if (sizeof(T) > longest(InShares ? ranks() : 1)) return go(collectives::by_exchange<exchange>{});
      }
      return automatic(library_choice<Op>{});
    });
  }

  template <class Values, class Op>
  static constexpr auto folds = detail::folded_kind::of<element<Values>, Op>();

  template <std::size_t FixedBytes = 0, class Algorithm, class Begin>
  result_type carry_out(detail::collective_name operation, Algorithm algorithm, std::size_t bytes,
                        Begin begin, detail::call_facts const& facts = {}) const {
    return detail::carry_out_collective<result_type, FixedBytes>(self().state(), operation, algorithm, bytes,
                                                                 std::move(begin), facts);
  }
};

}  // namespace PGAS_NAMESPACE
