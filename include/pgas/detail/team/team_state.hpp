// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <pgas/collectives/slot_collectives.hpp>
#include <pgas/detail/team/collectives_state.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/team/default_protocols.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Work of a rank that `team.progress()` carries on, such as its tasks.
class advanced_by_progress {
 public:
  /// Continues as far as possible without waiting, and returns the number of steps. Does nothing within a
  /// step.
  virtual std::size_t go_on() = 0;

 protected:
  ~advanced_by_progress() = default;
};

/// The state that all teams of one rank share: an error that a destructor met and could not throw. The rank's
/// next call throws it, or the rank's exit does.
class deferred_error {
 public:
  void record(std::exception_ptr e) noexcept {
    if (!error_) error_ = std::move(e);
  }
  void rethrow() {
    if (error_) [[unlikely]]
      rethrow_now();
  }

  /// The work that `team.progress()` carries on. Each leaves the list before it is destroyed.
  plain_list<advanced_by_progress*> by_progress;

  /// A thread of the rank is in a call that opens, synchronizes or closes an epoch: see only_call.
  std::atomic<bool> is_in_call = false;

 private:
  // Not inlined, so that a call of the library compares one word and does nothing else.
  [[noreturn, gnu::cold, gnu::noinline]] void rethrow_now() {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

  std::exception_ptr error_;
};

/// One rank's state of one team. Windows hold it too, so that a team may be destroyed before its windows.
template <class Backend>
struct team_state {
  using control_type = typename Backend::control_type;

  /// `which` is the number of a team that was split from another one.
  team_state(Backend b, control_type c, std::shared_ptr<deferred_error> e, std::uint64_t which = 1)
      : backend(std::move(b)),
        control(std::move(c)),
        collectives(backend, control),
        operations(backend, control, slot_words(control.size())),
        deferred(std::move(e)),
        number(which) {}
  team_state(team_state const&) = delete;
  team_state& operator=(team_state const&) = delete;

  using operations_type = collectives_state<Backend>;

  static constexpr control_words words(rank_t ranks) noexcept {
    return slot_words(ranks) + operations_type::words(ranks);
  }
  static constexpr control_words slot_words(rank_t ranks) noexcept {
    return slot_collectives<Backend, default_fence>::words(ranks);
  }

  Backend backend;
  control_type control;
  slot_collectives<Backend, default_fence> collectives;  ///< on control words alone
  operations_type operations;
  std::shared_ptr<deferred_error> deferred;
  int windows = 0;       ///< the number of the next window, the same on every rank
  int splits = 0;        ///< how often the team was split, the same on every rank
  std::uint64_t number;  ///< the same on every rank, and another one than that of any other team of the job
};

}  // namespace PGAS_NAMESPACE::detail
