// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/backends/mpi/segment.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/mpi/backend.hpp>
#include <pgas/detail/mpi/bootstrap.hpp>
#include <pgas/detail/mpi/mailbox.hpp>
#include <pgas/detail/mpi/rma_window.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Control words in a window of MPI, each on a line of its own.
///
/// A change of a word is an atomic operation of MPI, which is complete at return. A load of a word of this
/// rank is a plain load: the window is unified, so it sees changes by other ranks. So its waits poll plain
/// memory, and let MPI and the mail progress between two polls.
class rma_control : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = false;

 private:
  /// A word, by its place.
  class any_word {
   public:
    any_word(mpi::rma_window const& window, rank_t self, rank_t owner, std::size_t at) noexcept
        : window_(&window),
          own_(owner == self ? reinterpret_cast<word*>(window.own().data() + at) : nullptr),
          owner_(owner),
          at_(at) {}

    /// Pairs with the change by any rank: MPI makes it, and the unified memory shows it, after all that the
    /// changing rank has completed before.
    [[nodiscard]] word load(std::memory_order order) const {
      if (own_ != nullptr) return std::atomic_ref(*own_).load(order);
      return window_->fetch_op<word>(owner_, at_, 0, op_kind::no_op);
    }

   protected:
    mpi::rma_window const* window_;
    word* own_;  ///< null: another rank's
    rank_t owner_;
    std::size_t at_;
  };

 public:
  class slot_type : public any_word {
   public:
    using any_word::any_word;
    /// The fence pairs with the loads of a rank that has seen the value: MPI may store from another core, or
    /// from the network, after this rank's own stores.
    void store(word value, std::memory_order order) const {
      if (order != std::memory_order_relaxed) std::atomic_thread_fence(std::memory_order_seq_cst);
      window_->store<word>(owner_, at_, value);
    }
  };

  class cell_type : public refuses_store, public any_word {
   public:
    using any_word::any_word;
    word fetch_add(word value, std::memory_order order) const { return change(value, op_kind::sum, order); }
    word fetch_xor(word value, std::memory_order order) const {
      return change(value, op_kind::bit_xor, order);
    }
    word exchange(word value, std::memory_order order) const {
      return change(value, op_kind::replace, order);
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      fence(order);
      word const before = window_->compare_exchange<word>(owner_, at_, expected, desired);
      fence(order);
      return std::exchange(expected, before) == before;
    }
    void reset_unshared(word value, std::memory_order order) const {
      fence(order);
      window_->store<word>(owner_, at_, value);
    }

   private:
    /// As in slot_type::store, and for what this rank loads after the operation.
    static void fence(std::memory_order order) noexcept {
      if (order != std::memory_order_relaxed) std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    [[nodiscard]] word change(word value, op_kind how, std::memory_order order) const {
      fence(order);
      word const before = window_->fetch_op<word>(owner_, at_, value, how);
      fence(order);
      return before;
    }
  };

  static std::size_t bytes(control_words words) noexcept { return (words.slots + words.cells) * stride; }

  rma_control(mpi::rma_window window, team_ranks ranks, control_words words, std::string_view label)
      : window_(std::make_unique<mpi::rma_window>(std::move(window))),
        ranks_(std::move(ranks)),
        label_(label),
        first_cell_(words.slots * stride) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t /*writer*/) const noexcept {
    return {*window_, rank(), owner, i * stride};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return {*window_, rank(), owner, first_cell_ + i * stride};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word seen = 0;
    wait([&] { return predicate(seen = w.load(std::memory_order_acquire)); }, why);
    return seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    wait([&] { return look_at_all(words, predicate, found); }, why);
    return found;
  }
  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return window_->owner().of_job().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const {
    back_off(window_->owner().of_job(), attempt, why);
  }

 private:
  static constexpr std::size_t stride = 64;

  template <class Condition>
  void wait(Condition&& condition, waiting_for const& why) const {
    for (int i = 0; i < first_looks; ++i) {
      if (condition()) return;
    }
    auto const prepare = [&](long_wait& patience) { patience.awaits(ranks_, in_window(why)); };
    wait_on(window_->owner().of_job(), condition, why, label_, prepare);
  }

  std::unique_ptr<mpi::rma_window> window_;  ///< words point to it
  team_ranks ranks_;
  std::string label_;
  std::size_t first_cell_;
};
static_assert(control<rma_control>);

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::backends {

/// Ranks are processes of an MPI program, on one node or on many, and MPI carries every access.
///
/// Windows are MPI-3 RMA: each is one window of MPI in a passive epoch for its life, a put is MPI_Put, a
/// flush is MPI_Win_flush, atomic operations and control words are MPI_Fetch_and_op and MPI_Compare_and_swap.
/// A rank carries out accesses to its part in MPI's hardware, or else in each blocking call of the library:
/// the progress is polled. Ranks of one node reach each other as fast as the MPI allows; `cluster` stores
/// straight into their memory.
///
/// `mpirun`, `mpiexec` and `srun` start the ranks. Without a launcher `run` replaces the process by one. The
/// program may have called MPI_Init_thread; then one thread of a rank at a time calls the library, as MPI's
/// level of threads allows. Requires the unified memory model.
/// Source: foMPI, Gerstenberger 2014, maps the same operations to Cray's network.
class mpi : public detail::mpi::mpi_backend<mpi> {
 public:
  using segment_type = detail::rma_segment;
  using control_type = detail::rma_control;
  using mailbox_type = detail::mpi::mailbox<detail::mpi::letters>;
  using default_coherence = coherence::coherent;
  using user_segment_type = detail::rma_segment;
  using user_coherence = coherence::coherent;
  using handle =
      std::uint64_t;  ///< the number of a mailbox; of memory it says nothing: ranks attach together

  static constexpr std::string_view name = "mpi";

  /// Runs main(backend, bootstrap) on the processes of a communicator, which all call it. It works on
  /// duplicates. Returns the bootstrap.
  template <class Main>
  static detail::job launch_on(MPI_Comm ranks, Main const& main) {
    auto const mine = std::make_shared<detail::mpi::member>(ranks);
    detail::job job = mine->of_job();
    {
      detail::service const polls(job.block(), nullptr, [&] { mine->poll(); });
      detail::run_rank(job, [&] {
        detail::mpi::rank_bootstrap boot(mine);
        main(mpi(mine), boot);
      });
      constexpr auto nothing = [] {};
      mine->await_all(nothing);
      mine->leave();
    }
    if (job.failed()) throw error(job.failure_code(), job.failed_rank(), mine->failure_text());
    return job;
  }

  [[nodiscard]] locality locality_of(rank_t rank) const {
    if (rank == this->rank()) return locality::self;
    return member_->is_near(world_rank(rank)) ? locality::node : locality::remote;
  }

  /// Refuses parts for which no node has room. The memory itself is made by all ranks, in attach_segment.
  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::uint64_t const most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    if (std::uint64_t const left = detail::available_memory(most); most > left) {
      throw error(errc::no_space, world_rank(rank()), "reserve",
                  detail::text_of({most, " bytes were asked for on one rank: only ", left,
                                   " are left on this node; take less, or use more nodes"}));
    }
    return 0;
  }
  segment_type attach_segment(handle /*made*/, std::size_t own_bytes) const {
    return {{member_, team_, own_bytes}, ranks(), team_->get()};
  }
  static handle reserve_user_segment(std::span<std::size_t const> /*sizes*/) noexcept { return 0; }
  user_segment_type attach_user_segment(handle /*made*/, bytes_out own) const {
    return {{member_, team_, own}, ranks(), team_->get()};
  }
  static handle reserve_control(control_words /*words*/) noexcept { return 0; }
  control_type attach_control(handle /*made*/, control_words words, std::string_view label) const {
    return {{member_, team_, control_type::bytes(words)}, ranks(), words, label};
  }
  handle reserve_mailbox() const { return member_->of_mailboxes().new_number(member_->of_job().rank()); }
  mailbox_type attach_mailbox(handle made) const {
    return {{member_, &member_->of_mailboxes()}, member_->of_job(), made, ranks()};
  }
  [[nodiscard]] bool spans_nodes() const noexcept { return member_->has_nodes(); }
  mpi sub_team(group members, rank_t rank) const {
    mpi sub = mpi_backend::sub_team(members, rank);
    auto const in_job = ranks().to_world(members);
    sub.team_ = member_->communicator_of({in_job.begin(), in_job.end()});
    return sub;
  }

  /// A communicator of the team's ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() const { return team_->duplicate(); }

  void check(std::string_view operation) const {
    member_->poll();
    member_->of_job().check(operation);
  }

 protected:
  explicit mpi(std::shared_ptr<detail::mpi::member> mine)
      : mpi_backend(mine->of_job()), member_(std::move(mine)), team_(member_->world()) {}

 private:
  std::shared_ptr<detail::mpi::member> member_;
  std::shared_ptr<detail::mpi::communicator> team_;
};
static_assert(mailbox_backend<mpi> && user_memory_backend<mpi> && file_backend<mpi>);

}  // namespace PGAS_NAMESPACE::backends
