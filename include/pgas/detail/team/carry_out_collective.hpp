// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/concepts/rooted_control.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/team/collectives_state.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Further facts of a call, the same on all ranks.
struct call_facts {
  rank_t root = -1;
  std::size_t linked = 0;  ///< a message on a link may have as many bytes, or no more than those of a rank
  std::size_t total = 0;   ///< bytes of all blocks, if each rank knows the sizes of all
  folded_kind folds{};
  std::uint32_t counts = 0;  ///< a hash of the sizes of blocks, if each rank knows all
};

/// A started collective together with what it refers to.
template <class Algorithm, class Medium, class Begin>
struct kept_collective : started_collective {
  kept_collective(Algorithm a, Medium& m, Begin b) : algorithm(a), medium(&m), begin_in(std::move(b)) {}
  Algorithm algorithm;
  Medium* medium;
  Begin begin_in;
};

/// Keeps a started collective of this type until its last owner is destroyed.
template <class Kept, class Algorithm, class Medium, class Begin>
std::shared_ptr<started_collective> keep_collective(Algorithm algorithm, Medium& medium, Begin&& begin) {
  return std::make_shared<Kept>(algorithm, medium, std::forward<Begin>(begin));
}

/// Makes the memory of the media. Collective.
template <class State>
void make_collective_memory(State& state, collective_medium kind) {
  using handle_type = typename decltype(State::backend)::handle;
  handshake shake(state, "collectives");
  rank_t const ranks = state.backend.size();
  std::size_t const bytes = state.operations.bytes(kind, ranks);
  auto made = shake.attach(
      [&] {
        return state.backend.reserve_segment(
            std::vector<std::size_t>(static_cast<std::size_t>(ranks), bytes));
      },
      [&](handle_type handle) { return state.backend.attach_segment(handle, bytes); });
  if (kind == collective_medium::buffers) {
    control_words const words = State::operations_type::buffer_words();
    auto flags = shake.attach(
        [&] { return state.backend.reserve_control(words); },
        [&](handle_type handle) { return state.backend.attach_control(handle, words, "team's buffers"); });
    shake.conclude();
    return state.operations.lie_on(std::move(made), std::move(flags));
  }
  shake.conclude();
  state.operations.lie_on(kind, std::move(made));
  state.operations.find_reach(kind, state.collectives, "collectives");
}

/// Carries out a collective that may need the memory of its medium, and makes that memory.
template <class Result, class State, class Algorithm, class Begin>
Result carry_out_in_memory(std::shared_ptr<State> const& state, collective_name operation,
                           Algorithm algorithm, std::size_t bytes, Begin begin, call_facts const& facts,
                           collective_call const& call) {
  constexpr collective_medium kind = Algorithm::stands_on;
  auto& operations = state->operations;
  bool const goes_by_links = kind == collective_medium::links || kind == collective_medium::nodes;
  std::size_t const longest = goes_by_links ? std::max(bytes, facts.linked) : bytes;
  // It exchanges blocks of sizes that not all ranks know, which needs memory.
  constexpr bool has_long_pieces = requires { Algorithm::folds_any_length; };
  if (!operations.has_memory(kind) && (has_long_pieces || operations.needs_memory(kind, longest)))
    make_collective_memory(*state, kind);
  auto& medium = operations.template medium<kind>();
  bool is_eager = false;
  if constexpr (requires { typename Algorithm::eager_form; })
    is_eager = bytes != 0 && bytes <= medium.short_bytes;
  if constexpr (!std::is_void_v<Result>) {
    using kept_type = kept_collective<Algorithm, std::remove_reference_t<decltype(medium)>, Begin>;
    if constexpr (requires { typename Algorithm::eager_form; }) {
      if (is_eager && operations.may_begin_eagerly(medium)) {
        if (operations.start_eagerly(operation.text(), call, [&](auto how) { return begin(how, medium); }))
          return Result({}, {});
        auto written = keep_collective<kept_type>(algorithm, medium, std::move(begin));
        written->read = [](started_collective& base, typename Algorithm::eager_form how) {
          auto& kept = static_cast<kept_type&>(base);
          return kept.begin_in(how, *kept.medium);
        };
        operations.queue(written);
        return Result(state, std::move(written));
      }
    }
    auto asked = keep_collective<kept_type>(algorithm, medium, std::move(begin));
    asked->operation = operation.text();
    asked->call = call;
    asked->begin = [](started_collective& base) {
      auto& kept = static_cast<kept_type&>(base);
      return kept.begin_in(kept.algorithm, *kept.medium);
    };
    operations.start(asked);
    return Result(state, std::move(asked));
  } else {
    if constexpr (requires { typename Algorithm::eager_form; }) {
      if (is_eager)
        return operations.run_at_once(operation.text(), call,
                                      [&] { begin(typename Algorithm::eager_form{}, medium); });
    }
    operations.run(operation.text(), call, [&] { return begin(algorithm, medium); });
  }
}

/// True if every such collective is eager, so that its medium needs no memory.
template <class Result, class Algorithm, class Medium, std::size_t FixedBytes>
inline constexpr bool is_always_eager = [] {
  if constexpr (std::is_void_v<Result> && FixedBytes != 0 && requires { typename Algorithm::eager_form; })
    return FixedBytes <= Medium::short_bytes;
  return false;
}();

/// Carries out a collective of a team by this algorithm. `begin(algorithm, medium)` returns its steps. Where
/// `Result` is a request, the collective is only started.
///
/// `bytes` are those of this rank's elements as far as all ranks know them. `FixedBytes` are the same if the
/// compiler knows them too, else 0: for a short value it then compiles the eager form and no steps.
template <class Result, std::size_t FixedBytes, class State, class Algorithm, class Begin>
Result carry_out_collective(std::shared_ptr<State> const& state, collective_name operation,
                            Algorithm algorithm, std::size_t bytes, Begin begin, call_facts const& facts) {
  constexpr collective_medium kind = Algorithm::stands_on;
  using medium_type = std::remove_reference_t<decltype(state->operations.template medium<kind>())>;
  collective_call const call(operation, bytes == unknown_bytes ? facts.total : bytes, facts.root, facts.folds,
                             facts.counts);
  compare_call(state->control, call);
  // A started collective does not end here, so its ranks may acquire all that its words carry.
  bool const has_root = facts.root >= 0 && std::is_void_v<Result>;
  [[maybe_unused]] auto const promise =
      order_in_collective(state->control, order_of_collective(operation.text(), has_root), facts.root);
  if constexpr (is_always_eager<Result, Algorithm, medium_type, FixedBytes>) {
    auto& medium = state->operations.template medium<kind>();
    state->operations.run_at_once(operation.text(), call,
                                  [&] { begin(typename Algorithm::eager_form{}, medium); });
  } else {
    return carry_out_in_memory<Result>(state, operation, algorithm, bytes, std::move(begin), facts, call);
  }
}

}  // namespace PGAS_NAMESPACE::detail
