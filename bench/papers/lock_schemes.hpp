// SPDX-License-Identifier: BSL-1.0
// The locks of Christgau and Schnor 2019 as far as they differ from ours, and the work of their library
// around each read-modify-write of any lock.
#pragma once

#include <pgas/sync/mcs_wp.hpp>
#include <pgas/sync/two_level.hpp>
#include <span>
#include <utility>

#include "chip.hpp"

namespace papers {

using pgas::word;

/// The behaviour of a core that finds the register of the central word taken: the first cell of a protocol,
/// on rank 0.
enum class at_master {
  spins,              // reads it again at once, as at all other registers
  backs_off,          ///< waits for 1 us, then twice as long each time, without bound
  backs_off_bounded,  ///< the same, but never for more than 64 us: the paper names no bound
};

/// Control words behind a library: it works before each read-modify-write, and may poll rank 0's register
/// less.
template <pgas::control Control, at_master Master>
class library_words {
 public:
  static constexpr pgas::rmw read_modify_write = Control::read_modify_write;
  static constexpr bool can_park = Control::can_park;

  class cell_type : public pgas::detail::refuses_store {
    using inner = decltype(std::declval<Control&>().cell(0, 0));

   public:
    /// `dice`: none for a cell whose register it spins at.
    cell_type(inner cell, pgas::rank_t self, pgas::scc::dice* dice) noexcept
        : cell_(std::move(cell)), self_(self), dice_(dice) {}

    [[nodiscard]] word load(std::memory_order order) const { return cell_.load(order); }
    void reset_unshared(word value, std::memory_order order) const { cell_.reset_unshared(value, order); }
    word fetch_add(word value, std::memory_order order) const {
      before();
      if (dice_ == nullptr) return cell_.fetch_add(value, order);
      auto const master = machine::of(self_).team().state()->backend.test_and_set(0);
      // A twentieth more or less: these cores run in step, unlike the chip's, and would meet again and again.
      constexpr double most = Master == at_master::backs_off_bounded ? 64 : 1e9;
      for (double pause = 1; !master.read(); pause = std::min(2 * pause, most))
        machine::of(self_).work(pause * (0.95 + 0.001 * static_cast<double>(dice_->below(101))));
      word const old = cell_.load(std::memory_order_acquire);
      cell_.reset_unshared(old + value,
                           std::memory_order_release);  // no other core: the register is this core's
      master.write();
      return old;
    }
    word fetch_xor(word value, std::memory_order order) const {
      return before(), cell_.fetch_xor(value, order);
    }
    word exchange(word value, std::memory_order order) const {
      return before(), cell_.exchange(value, order);
    }
    template <class Change>
      requires pgas::changing_cell<inner>
    word update(Change&& change, std::memory_order order) const {
      return before(), cell_.update(std::forward<Change>(change), order);
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      return before(), cell_.compare_exchange(expected, desired, order);
    }

   private:
    friend library_words;
    void before() const { machine::of(self_).work(library::passive().call); }

    inner cell_;
    pgas::rank_t self_;
    pgas::scc::dice* dice_;
  };

  library_words(Control& control, pgas::control_words first) noexcept
      : control_(&control), central_(first.cells), dice_(static_cast<std::uint64_t>(control.rank())) {}

  [[nodiscard]] pgas::rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] pgas::rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] auto slot(pgas::rank_t owner, std::size_t i, pgas::rank_t writer) {
    return control_->slot(owner, i, writer);
  }
  [[nodiscard]] cell_type cell(pgas::rank_t owner, std::size_t i) {
    bool const backs_off = Master != at_master::spins && owner == 0 && i == central_;
    return {control_->cell(owner, i), rank(), backs_off ? &dice_ : nullptr};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word const& w, Predicate&& until, pgas::waiting_for const& why) {
    if constexpr (std::same_as<Word, cell_type>) {
      return control_->wait_until(w.cell_, std::forward<Predicate>(until), why);
    } else {
      return control_->wait_until(w, std::forward<Predicate>(until), why);
    }
  }
  template <class Slot, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Slot> slots, Predicate&& until, pgas::waiting_for const& why) {
    return control_->wait_any(slots, std::forward<Predicate>(until), why);
  }
  void pause(unsigned attempt, pgas::waiting_for const& why) { control_->pause(attempt, why); }

 private:
  Control* control_;
  std::size_t central_;
  pgas::scc::dice dice_;
};

/// Any locks, with the costs that they had in the paper's library.
template <pgas::target_lock_protocol Locks, at_master Master = at_master::spins>
struct in_library {
  static constexpr std::string_view name = Locks::name;
  static constexpr pgas::rmw needs = Locks::needs;
  static constexpr pgas::control_words words(pgas::rank_t ranks) noexcept { return Locks::words(ranks); }

  template <pgas::control Control>
  class on : library_words<Control, Master>, public Locks::template on<library_words<Control, Master>> {
    using words = library_words<Control, Master>;

   public:
    on(Control& control, pgas::control_words first)
        : words(control, first), Locks::template on<words>(static_cast<words&>(*this), first) {}
    on(on const&) = delete;  // the locks know where their words are
    on& operator=(on const&) = delete;
  };
};

/// The behaviour of a reader that meets a writer. The paper says that it takes its count back, pauses and
/// tries again. The paper also says that readers hammer the counter at the writer. Its times fit readers that
/// stay and poll, as the scheme's own authors have it.
enum class waiting_readers { poll, retry };

/// The count that an exclusive unlock gives back first. The scheme's authors free the part and then uncount
/// at the master. Christgau and Schnor do not state an order.
enum class unlock_order { part_first, master_first };

/// Two-level counters where a refused rank does not wait until the way is free, but tries again. `BackOff`: 1
/// us after the first failed attempt, then twice as long each time, without bound.
template <bool BackOff, waiting_readers Waiting = waiting_readers::poll,
          unlock_order Order = unlock_order::part_first>
struct retrying_gbh : pgas::sync::two_level<> {
  static constexpr std::string_view name = BackOff ? "paper_gbh_backoff" : "paper_gbh";

  template <pgas::control Control>
  class on : public pgas::sync::two_level<>::on<Control> {
    using base = pgas::sync::two_level<>::on<Control>;

   public:
    on(Control& control, pgas::control_words first) : base(control, first), self_(control.rank()) {}

    template <pgas::boundary Boundary>
    void lock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      if (Waiting == waiting_readers::poll && kind == pgas::lock_kind::shared)
        return base::lock(target, kind, b);
      for (double pause = 1; !base::try_lock(target, kind, b); pause *= 2) {
        if constexpr (BackOff) machine::of(self_).work(pause);
      }
    }
    template <pgas::boundary Boundary>
    void unlock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      if (Order == unlock_order::part_first || kind == pgas::lock_kind::shared)
        return base::unlock(target, kind, b);
      b.publish(pgas::group(&target, 1));
      base::uncount_exclusive();
      base::free_part(target);
    }

   private:
    pgas::rank_t self_;
  };
};

/// By the paper's text, a process backs off after a failed attempt. Here at most one in ten attempts fails,
/// so those pauses help little, and most of the time goes by at the register of the central word. The paper's
/// text also says that the central word needs a limited rate. So this process backs off there, too, and
/// reproduces the times of both tables.
template <bool BackOff, waiting_readers Waiting = waiting_readers::poll,
          unlock_order Order = unlock_order::part_first>
using paper_gbh =
    in_library<retrying_gbh<BackOff, Waiting, Order>, BackOff ? at_master::backs_off : at_master::spins>;
static_assert(pgas::target_lock_protocol<paper_gbh<true>>);

/// The queue lock with writer preference, as Mellor-Crummey and Scott have it. A reader joins the list with
/// or without a writer, and takes 4 read-modify-writes to enter without conflict.
struct listing_mcs_wp : pgas::sync::mcs_wp {
  static constexpr std::string_view name = "paper_mcs_wp";

  template <pgas::control Control>
  class on : public pgas::sync::mcs_wp::on<Control> {
    using base = pgas::sync::mcs_wp::on<Control>;

   public:
    using base::base;

    template <pgas::boundary Boundary>
    void lock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      if (kind == pgas::lock_kind::exclusive) return base::lock(target, kind, b);
      base::join_readers(target, "lock");
      b.refresh(pgas::group(&target, 1));
    }
  };
};
using paper_mcs_wp = in_library<listing_mcs_wp>;
static_assert(pgas::target_lock_protocol<paper_mcs_wp>);

}  // namespace papers
