// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <pgas/detail/containers/container_words.hpp>
#include <pgas/detail/containers/element_store.hpp>
#include <pgas/detail/containers/stealing_ranks.hpp>
#include <span>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// Tasks of a team. Each rank pushes to its own deque and takes from it; a rank without tasks steals from a
/// random other one. Make one with make_work_stealing_queue.
///
/// `while (auto task = queue.next()) run(*task);` on all ranks runs every task once, those included that
/// tasks push, and ends on all ranks when no task is anywhere. A rank runs its newest task first and gives
/// away its oldest ones, half of what it has offered at a time. It offers tasks in `next`, so a rank that
/// runs one long task gives none away meanwhile, unless it calls `offer`.
///
/// Members are one-sided, and no rank serves the others. A rank that gets a stolen task finds what its pusher
/// had flushed before it offered the task. A rank whose `next` returns nothing finds what all ranks have
/// flushed. The object is one rank's handle; it moves. Its destructor is local.
///
/// Costs a push or pop of own tasks touches memory of the rank alone; `next` also loads an own control word.
/// A steal is a load, an atomic operation, a get and an addition at the victim, and an atomic operation at
/// the home. Memory: `cells` elements and four control words a rank; a rank's other tasks are on its heap, as
/// many as it has. Source: detail::split_deque and detail::stealing_ranks. HPX and UPC++ steal within a
/// process; Scioto and SWS on OpenSHMEM are the nearest.
template <transportable T, class Control, class Window>
class work_stealing_queue {
  using ranks_type = detail::stealing_ranks<Control, detail::element_store<Window>>;

 public:
  using value_type = T;

  /// For make_work_stealing_queue.
  work_stealing_queue(Control words, Window memory, std::size_t cells, rank_t home)
      : memory_(std::move(memory)),
        words_(std::make_unique<Control>(std::move(words))),
        ranks_(*words_, detail::element_store<Window>(memory_), cells, home) {}

  /// Adds a task to this rank's deque. Local. Throws errc::wrong_order after the tasks have ended.
  void push(T const& task) {
    PGAS_EXPECTS(
        light, !ranks_.has_ended(),
        detail::throw_error(errc::wrong_order, memory_.state().job_rank(), "push",
                            "the tasks have ended on all ranks; let all of them call restart first"));
    ranks_.deque().push(task);
  }
  /// Adds tasks; the last one is the newest.
  void push(std::span<T const> tasks) {
    for (T const& task : tasks) push(task);
  }

  /// Takes this rank's newest task, or another rank's oldest, and waits while tasks may still come. Returns
  /// nothing when no task is anywhere; then it does so on all ranks. All ranks call it until then.
  [[nodiscard]] std::optional<T> next() {
    T task{};
    if (!ranks_.next(task)) return std::nullopt;
    return task;
  }
  /// Offers half of this rank's tasks to others, if it offers none: for tasks that take long. Local.
  void offer() { ranks_.deque().offer(); }

  /// Returns whether this rank has seen the end: `next` has returned nothing.
  [[nodiscard]] bool all_done() const noexcept { return ranks_.has_ended(); }
  /// The tasks of this rank that it does not offer. Local.
  [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
  /// The number of tasks that this rank has stolen so far. Local.
  [[nodiscard]] std::uint64_t stolen() const noexcept { return ranks_.stolen(); }

  /// Lets ranks push again after `next` has returned nothing on all of them. Collective over the team of the
  /// queue; costs two barriers.
  template <class Team>
  void restart(Team const& team) {
    PGAS_EXPECTS(light, ranks_.has_ended(),
                 detail::throw_error(errc::wrong_order, memory_.state().job_rank(), "restart",
                                     "the tasks have not ended; call next until it returns nothing"));
    team.barrier();
    ranks_.begin();
    team.barrier();
  }

 private:
  Window memory_;
  std::unique_ptr<Control> words_;  ///< at a fixed address, for ranks_
  ranks_type ranks_;
};

/// Makes a queue without tasks. A rank offers at most `cells` tasks at a time, rounded up to a power of two.
/// Collective; all ranks give the same number. Throws on every rank: errc::invalid_argument for no cells or
/// more than 2^30, errc::mismatch, errc::no_space.
template <transportable T, backend_with_cells Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_work_stealing_queue(team<Backend, Coherence, Protocols> const& team,
                                            std::size_t cells = 256) {
  using control_type = typename Backend::control_type;
  constexpr std::size_t most = std::size_t{1} << 30U;
  auto words = detail::make_container_words(
      *team.state(), {.slots = 0, .cells = detail::stealing_ranks<control_type, std::span<T>>::words_each},
      "make_work_stealing_queue", [&](auto& shake) {
        shake.require_same(cells, "as the number of cells");
        if (cells == 0 || cells > most) {
          shake.refuse(errc::invalid_argument,
                       detail::text_of({"a rank would offer ", detail::as_given(cells),
                                        " tasks at a time; take 1 to ", most}));
        }
      });
  std::size_t const each = std::bit_ceil(cells);
  auto memory = make_window<T>(team, each);
  work_stealing_queue<T, control_type, decltype(memory)> made(std::move(words), std::move(memory), each, 0);
  team.barrier();  // the home has set its words
  return made;
}

/// Does not compile: says what the queue needs.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!backend_with_cells<Backend> || !transportable<T>)
auto make_work_stealing_queue(team<Backend, Coherence, Protocols> const&, std::size_t = 256) {
  detail::refuse_type<T>();
  static_assert(
      backend_with_cells<Backend>,
      "make_work_stealing_queue: this backend's control words have no read-modify-write, with which "
      "thieves claim tasks; deal the tasks to ranks beforehand, or take another backend");
}

/// The type of a work stealing queue of T on a team, as make_work_stealing_queue returns it.
template <class Team, transportable T>
using work_stealing_queue_on = decltype(make_work_stealing_queue<T>(std::declval<Team const&>()));

}  // namespace pgas::inline PGAS_ASSERTIONS
