// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/coherence_policy.hpp>
#include <pgas/detail/job/job_wide_number.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/team/collective_operations.hpp>
#include <pgas/team/collective_starter.hpp>
#include <pgas/vocabulary/op.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// A function with which each rank can fold values: an operation of namespace op, or any function of two
/// values.
template <class Op, class T>
concept folds = (requires { Op::kind; } && operation_on<Op, T>) ||
                (!requires { Op::kind; } && std::is_invocable_r_v<T, Op&, T const&, T const&>);

}  // namespace detail

/// The ranks that work together: one rank's handle on them.
///
/// `Coherence` and `Protocols` are the default policies of windows that are made on the team. A copy of a
/// handle names the same team. All ranks call the collective functions in the same order, with values of one
/// size and the same root; if not, a rank throws errc::mismatch at level normal, and names two ranks and what
/// they call. The threads of a rank call them one at a time; a second one throws errc::wrong_order at level
/// normal. MPI: a communicator; OpenSHMEM: a team.
template <backend Backend, coherence_policy Coherence = typename Backend::default_coherence,
          protocol_bundle Protocols = default_protocols_on<Backend>>
class team : public collective_operations<team<Backend, Coherence, Protocols>, Backend, false> {
  using operations = collective_operations<team, Backend, false>;

 public:
  using operations::all_gather;
  using operations::all_reduce;
  using operations::broadcast;

  using backend_type = Backend;
  using coherence_type = Coherence;
  using protocols_type = Protocols;

  /// For run and split.
  explicit team(std::shared_ptr<detail::team_state<Backend>> state) noexcept : state_(std::move(state)) {}

  /// This rank's number in the team, 0 to size() - 1.
  [[nodiscard]] rank_t rank() const noexcept { return state_->backend.rank(); }
  /// The number of ranks in the team. MPI_Comm_size.
  [[nodiscard]] rank_t size() const noexcept { return state_->backend.size(); }

  /// The job-wide number of rank `rank` of this team. MPI_Group_translate_ranks.
  [[nodiscard]] rank_t world_rank(rank_t rank, detail::caller by = detail::here()) const {
    check_rank(rank, {"world_rank", by});
    return state_->backend.world_rank(rank);
  }

  /// The distance of a rank: this rank itself, a rank on this node (its memory may be mapped), or a remote
  /// rank.
  [[nodiscard]] locality locality_of(rank_t rank, detail::caller by = detail::here()) const {
    check_rank(rank, {"locality_of", by});
    return state_->backend.locality_of(rank);
  }

  /// Returns when every rank of the team has called it. Collective. Orders memory among the ranks, but makes
  /// no window's copies agree; a fence does both. MPI_Barrier.
  void barrier() const { state_->collectives.barrier(); }

  /// Every rank returns `root`'s value. Collective; O(sizeof(T)) rounds of 64 bytes. With more than 16 ranks,
  /// values go as those of a range do, so no rank serves all others. Elements of a range, or of an array that
  /// has a name, are filled in their place instead. MPI_Bcast.
  template <class T>
    requires(!detail::filled_by_broadcast<T> && transportable<std::remove_cvref_t<T>>)
  [[nodiscard]] std::remove_cvref_t<T> broadcast(T&& value, rank_t root = 0,
                                                 detail::caller by = detail::here()) const {
    check_rank(root, {"broadcast", by});
    std::remove_cvref_t<T> result = std::forward<T>(value);
    if (goes_by_slots()) {
      [[maybe_unused]] auto const promise =
          detail::order_in_collective(state_->control, collective_order::from_root, root);
      state_->collectives.broadcast(result, root, "broadcast");
    } else {
      operations::broadcast(one(result), root);
    }
    return result;
  }

  /// Does not compile: says what cannot be broadcast.
  template <class T>
    requires(!detail::filled_by_broadcast<T> && !transportable<std::remove_cvref_t<T>>)
  auto broadcast(T&&, rank_t = 0) const {
    using value = std::remove_cvref_t<T>;
    static_assert(
        !detail::side_by_side<value> || !std::is_const_v<std::remove_reference_t<T>>,
        "broadcast: elements are filled on each rank; give a vector that has a name and is not const");
    detail::refuse_type<value>();
  }

  /// Every rank returns all ranks' values, in rank order. Collective. With more than 16 ranks, a rank sends a
  /// message for each doubling of the ranks, and reads no other rank's values. MPI_Allgather.
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(T const& mine) const {
    static_assert(
        transportable<T> || !detail::side_by_side<T>,
        "all_gather: write `team.all_gather(elements, all)` with room for the elements of all ranks, "
        "or give one value");
    detail::refuse_type<T>();
    return all_values(mine, goes_by_slots(), "all_gather");
  }

  /// Every rank returns op over all ranks' values, folded in rank order: the same bits on every rank, in
  /// every call. With more than 16 ranks, neighbours are folded first, so no rank reads all others' values.
  /// Collective. `op` is any associative function of two values: op::max, std::plus, a lambda. MPI_Allreduce.
  template <transportable T, detail::folds<T> Op = op::sum>
  [[nodiscard]] T all_reduce(T const& mine, Op op = {}) const {
    T result{};
    if (goes_by_slots()) {
      state_->collectives.all_gather(
          mine, "all_reduce",
          [&](rank_t rank, T const& value) {
            result = rank == 0 ? value : static_cast<T>(op(result, value));
          },
          detail::folded_kind::of<T, Op>());
    } else {
      operations::all_reduce(one(mine), one(result), std::move(op));
    }
    return result;
  }

  /// Carries on started collectives, calls, messages and other ranks' requests, as each wait does. Also
  /// resumes the tasks of the rank's schedulers, which no wait does.
  ///
  /// Local; any team of the rank will do. Never waits for another rank, but a task may. Returns the number of
  /// steps of tasks. Throws what a spawned task has thrown, and errc::rank_failed if a rank has failed. Costs
  /// a look at each mailbox. UPC++: progress; MPI: any call.
  std::size_t progress() const {
    state_->control.pause(0, {.operation = "progress"});
    if constexpr (!working_backend<Backend>) state_->operations.advance();
    std::size_t steps = 0;
    auto const& all = state_->deferred->by_progress;
    for (std::size_t i = 0; i < all.size(); ++i) steps += all[i]->go_on();
    return steps;
  }

  /// Starts collectives: `team.start().all_reduce(mine, result)` returns a request. MPI_Iallreduce.
  [[nodiscard]] collective_starter<Backend> start() const { return collective_starter<Backend>(state_); }

  /// The sub-team of the ranks that give the same color, ordered by key, then by rank in this team.
  /// Collective. Throws errc::no_space on every rank if there is too little memory for one of the sub-teams.
  /// MPI_Comm_split.
  [[nodiscard]] team split(int color, int key = 0) const { return *split_into(color, key); }
  /// The same for a rank that may stay out: without a color it returns no team. A rank with a color may call
  /// the form above. MPI_Comm_split with MPI_UNDEFINED.
  [[nodiscard]] std::optional<team> split(std::optional<int> color, int key = 0) const {
    return split_into(color, key);
  }

  /// The team of this rank alone. Collective, like any split.
  [[nodiscard]] team self() const { return split(rank()); }

  /// The same ranks with other default policies for windows. Local.
  template <coherence_policy OtherCoherence, protocol_bundle OtherProtocols = Protocols>
  [[nodiscard]] auto with() const {
    return team<Backend, OtherCoherence, OtherProtocols>(state_);
  }

  /// The rank's clock: wall time, or an emulator's.
  [[nodiscard]] time_point now() const { return state_->backend.now(); }
  /// Adds `cycles` of computation to the rank's clock. Only emulated clocks count; on others it does nothing.
  void charge(std::uint64_t cycles) const { state_->backend.charge(cycles); }

  /// For windows and containers.
  [[nodiscard]] std::shared_ptr<detail::team_state<Backend>> const& state() const noexcept { return state_; }

 private:
  std::optional<team> split_into(std::optional<int> color, int key) const {
    struct choice {
      int color;
      int key;
      bool is_in;
    };
    detail::handshake shake(*state_, "split");
    detail::plain_list<word> chosen;  // the key and the rank of each member, as one number
    choice const mine{color.value_or(0), key, color.has_value()};
    auto const all = all_values(mine, is_small(), "split");
    for (rank_t rank = 0; rank < size(); ++rank) {
      choice const& c = all[static_cast<std::size_t>(rank)];
      if (c.is_in && mine.is_in && c.color == mine.color) chosen.push_back(in_order(c.key, rank));
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<rank_t> members;
    rank_t self = 0;
    for (word const each : chosen) {
      auto const member = static_cast<rank_t>(static_cast<std::uint32_t>(each));
      if (member == rank()) self = static_cast<rank_t>(members.size());
      members.push_back(member);
    }
    // A rank without a team takes part in the steps of the others.
    std::optional<Backend> sub;
    if (mine.is_in) sub = state_->backend.sub_team(members, self);
    auto const words = detail::team_state<Backend>::words(sub ? sub->size() : 1);
    auto control = shake.attach_by_leader(
        mine.is_in ? members.front() : rank_t{-1}, [&] { return sub->reserve_control(words); },
        [&](typename Backend::handle made) { return sub->attach_control(made, words, "team"); },
        [&](auto const& made, rank_t whose) {
          if (is_small()) return state_->collectives.pick(made, whose, "split");
          return all_values(made, false, "split")[static_cast<std::size_t>(whose)];
        });
    shake.conclude();
    std::uint64_t const split_number = detail::number_of_pair(state_->number, state_->splits++);
    if (!sub) return std::nullopt;
    using state = detail::team_state<Backend>;
    return team(std::make_shared<state>(std::move(*sub), std::move(*control), state_->deferred,
                                        detail::number_of_pair(split_number, members.front())));
  }

  /// A value as a range whose type says that it has one element.
  template <class T>
  static std::span<T, 1> one(T& value) noexcept {
    return std::span<T, 1>(&value, 1);
  }
  /// A number for a rank with a key: smaller for a smaller key, and for a smaller rank among equal keys. A
  /// program compiles a sort of numbers in half the time of a sort of pairs.
  static constexpr word in_order(int key, rank_t rank) noexcept {
    constexpr std::int64_t least = std::numeric_limits<int>::min();
    return static_cast<word>(key - least) << 32U | static_cast<std::uint32_t>(rank);
  }
  [[nodiscard]] bool is_small() const noexcept {
    return size() <= decltype(detail::team_state<Backend>::collectives)::few_ranks;
  }
  /// In a small team each rank reads the slots of all others, which takes neither memory nor a second round.
  /// If these are on other nodes, each read is a message there and back: the ranks of a node then go first.
  [[nodiscard]] bool goes_by_slots() const { return is_small() && !state_->operations.has_levels(); }
  template <class T>
  [[nodiscard]] std::vector<T> all_values(T const& mine, bool by_slots, std::string_view operation) const {
    if constexpr (std::is_same_v<T, bool>) {  // whose vector has no elements in memory
      auto const all = all_values(static_cast<unsigned char>(mine), by_slots, operation);
      return {all.begin(), all.end()};
    } else {
      std::vector<T> all(static_cast<std::size_t>(size()));
      if (by_slots) {
        state_->collectives.all_gather(mine, operation, [&](rank_t rank, T const& value) {
          all[static_cast<std::size_t>(rank)] = value;
        });
      } else {
        operations::all_gather(std::span(&mine, 1), all);
      }
      return all;
    }
  }
  void check_rank(rank_t rank, detail::called operation) const {
    PGAS_EXPECTS(light, rank >= 0 && rank < size(),
                 detail::throw_bad_rank(state_->backend.world_rank(this->rank()), operation, rank, size()));
  }

  std::shared_ptr<detail::team_state<Backend>> state_;
};

}  // namespace PGAS_NAMESPACE
