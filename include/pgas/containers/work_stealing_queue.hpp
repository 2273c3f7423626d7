// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <pgas/detail/containers/container_words.hpp>
#include <pgas/detail/containers/split_deque.hpp>
#include <span>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Ranks that take tasks from their deques or from each other's, until no task is anywhere.
///
/// Words     `active` of the home: the number of ranks that may have tasks. `done` of each rank: not 0 when
///           no task is anywhere.
/// States    A rank is active, or rests. It rests only when its deque, the offered part included, is empty
///           and it runs no task. A thief becomes active before it claims tasks, and rests again if it got
///           none. So a rank that has tasks, or has claimed them, is active. Only a rank with tasks makes new
///           ones.
///
///             rest    active - 1 (acquire, release); the rank that makes it 0 adds to `done` of each rank
///                     (release)
///             steal   a look at a victim; if it offers tasks, active + 1, then the claim
///
/// Never early: `active` = 0 means that no rank has tasks, and then none can get any. Never late: ranks
/// without
///           tasks rest after each failed steal, so the last one makes it 0. A thief that looked too late
///           makes it 1 for a moment, fails, and makes it 0 again.
/// Source    a count of active ranks, as in the detectors of Mattern 1987, "Algorithms for distributed
///           termination detection"; ours is one word, since ranks reach it without help, and is touched only
///           when a rank runs out of tasks.
/// Costs     a rank that rests looks at its own `done` and at a random victim in turn, and pauses longer and
///           longer. The end costs an addition at each rank.
template <class Control, class Memory>
class stealing_ranks {
 public:
  using deque_type = split_deque<Control, Memory>;
  using value_type = typename Memory::value_type;
  static constexpr std::size_t words_each = deque_type::words_each + 2;

  stealing_ranks(Control& words, Memory memory, std::size_t cells, rank_t home)
      : words_(&words),
        deque_(words, std::move(memory), cells),
        home_(home),
        choice_(static_cast<std::uint64_t>(words.rank()) + 1) {
    begin();
  }

  /// Makes all ranks active. Call it before a barrier of all ranks, and after one if they have had tasks.
  void begin() {
    // relaxed: the barriers order it.
    if (words_->rank() == home_)
      active().reset_unshared(static_cast<word>(words_->size()), std::memory_order_relaxed);
    done_of(words_->rank()).reset_unshared(0, std::memory_order_relaxed);
    has_ended_ = false;
  }

  [[nodiscard]] deque_type& deque() noexcept { return deque_; }
  /// The tasks of this rank that it does not offer.
  [[nodiscard]] std::size_t size() const noexcept { return deque_.size(); }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// The tasks that this rank has taken from others.
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }

  /// Gets the next task: this rank's newest, or another rank's oldest. Returns false when none is anywhere.
  bool next(value_type& task) {
    if (has_ended_) return false;
    if (deque_.pop(task)) {
      deque_.offer();
      return true;
    }
    rest();
    for (unsigned attempt = 0;; ++attempt) {
      // acquire: pairs with the release in rest() of the rank that rested last, and so with all that rested.
      if (done_of(words_->rank()).load(std::memory_order_acquire) != 0) {
        has_ended_ = true;
        return false;
      }
      if (rank_t const victim = random_other(); deque_.may_have(victim)) {
        become_active();
        stolen_ += deque_.steal(victim);
        if (deque_.pop(task)) {
          deque_.offer();
          return true;
        }
        rest();
      }
      words_->pause(std::min(attempt, most_patience), {.operation = "next"});
    }
  }

 private:
  static constexpr unsigned most_patience = 10;

  [[nodiscard]] auto done_of(rank_t rank) { return words_->cell(rank, deque_type::words_each); }
  [[nodiscard]] auto active() { return words_->cell(home_, deque_type::words_each + 1); }

  void become_active() {
    // relaxed: the claim that follows has release order, and the victim acquires it before it rests. So the
    // victim's subtraction comes after this addition.
    active().fetch_add(1, std::memory_order_relaxed);
  }
  void rest() {
    // release: what this rank has done comes before the end. acquire: the rank that rests last passes on what
    // all others have done.
    if (active().fetch_add(~word{0}, std::memory_order_acq_rel) != 1) return;
    for (rank_t rank = 0; rank < words_->size(); ++rank)
      detail::add(done_of(rank), 1, std::memory_order_release);  // release: pairs with the acquire in next()
  }
  /// A random rank, but this one if it is not alone (splitmix64).
  [[nodiscard]] rank_t random_other() noexcept {
    auto const others = static_cast<std::uint64_t>(words_->size() - 1);
    if (others == 0) return words_->rank();
    std::uint64_t z = (choice_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    auto const other = static_cast<rank_t>((z ^ (z >> 31U)) % others);
    return other + (other >= words_->rank() ? 1 : 0);
  }

  Control* words_;
  deque_type deque_;
  rank_t home_;
  std::uint64_t choice_;
  std::uint64_t stolen_ = 0;
  bool has_ended_ = false;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// Tasks of a team. Each rank pushes to its own deque and takes from it; a rank without tasks steals from a
/// random other one. Make one with make_work_stealing_queue.
///
/// `while (auto task = queue.next()) run(*task);` on all ranks runs every task once, including those that
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

}  // namespace PGAS_NAMESPACE
