// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstring>
#include <functional>
#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/elements/uninterrupted_segment.hpp>
#include <pgas/detail/machines/backend.hpp>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/tile/channel.hpp>
#include <pgas/detail/machines/tile/machine.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Control words in memory that the machine keeps coherent. An access is an instruction of costs::word
/// cycles; a wait sleeps until another core changes its word, and handles messages meanwhile.
class tile_control
    : public emulation::control_on<tile_control, tile_machine::machine, tile_machine::home_words> {
  friend control_on;

  /// The orders need nothing: the cores run one at a time, in order.
  class word_at : public emulation::accessed_word<tile_machine::machine, emulation::shared_word> {
   public:
    using accessed_word::accessed_word;

    [[nodiscard]] word load(std::memory_order) const {
      machine_->access(self_);
      return at_->value;
    }

   protected:
    void put(word value, std::memory_order) const {
      machine_->access(self_);
      set(value);
    }
    void set(word value) const noexcept {
      at_->value = value;
      machine_->turns().wake(std::exchange(at_->waiting, 0));
    }
  };

 public:
  using slot_type = emulation::slot_at<word_at>;
  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const { put(value, order); }
    template <class Change>
    word update(Change const& change, std::memory_order) const {
      machine_->access(self_);
      word const old = at_->value;
      if (word const changed = change(old); changed != old) set(changed);
      return old;
    }
  };

  using control_on::control_on;

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    emulation::waiters* const waiting = &w.home().waiting;
    word seen = w.load(std::memory_order_acquire);
    machine_->wait(
        self(), std::span(&waiting, 1), [&] { return predicate(seen = w.home().value); }, why, label_,
        ranks_);
    return seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    std::vector<emulation::waiters*> waiting;
    for (Word const& w : words) {
      static_cast<void>(w.load(std::memory_order_acquire));
      waiting.push_back(&w.home().waiting);
    }
    std::size_t found = 0;
    auto const look = [&] {
      for (found = 0; found < words.size(); ++found) {
        if (predicate(words[found].home().value)) return true;
      }
      return false;
    };
    machine_->wait(self(), waiting, look, why, label_, ranks_);
    return found;
  }

  void pause(unsigned attempt, waiting_for const& why) const {
    machine_->begin(self());
    machine_->serve(self());
    machine_->turns().pause(attempt, why);
  }
};
static_assert(control<tile_control>);

/// Payload in memory that all cores share and the machine keeps coherent: a put is a memcpy, and takes no
/// virtual time. One core runs at a time and keeps its turn meanwhile, so each access is atomic.
class tile_segment : public uninterrupted_segment<tile_segment> {
 public:
  tile_segment(std::shared_ptr<tile_machine::machine> const& /*m*/,
               std::shared_ptr<tile_machine::home_parts> home, team_ranks ranks)
      : home_(std::move(home)), ranks_(std::move(ranks)) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return home_->bytes_of(rank); }
  [[nodiscard]] std::byte* part(rank_t rank) noexcept {
    return reinterpret_cast<std::byte*>(home_->memory[static_cast<std::size_t>(rank)].data());
  }
  [[nodiscard]] bytes_out local() noexcept { return {part(rank()), part_bytes(rank())}; }

  void put(location at, bytes_in from) noexcept {
    if (!from.empty()) std::memcpy(part(at.rank) + at.offset, from.data(), from.size());
  }
  void get(location at, bytes_out into) noexcept {
    if (!into.empty()) std::memcpy(into.data(), part(at.rank) + at.offset, into.size());
  }

 private:
  std::shared_ptr<tile_machine::home_parts> home_;
  team_ranks ranks_;
};
static_assert(shared_segment<tile_segment>);

/// Letters in memory that the machine keeps coherent, for mailed protocols. A send and a poll take the time
/// of an access to a control word. It uses no hardware queue, so the program has all four.
/// Memory: the letters that have arrived, at most 16 of each sender.
class tile_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  tile_mailbox(std::shared_ptr<tile_machine::machine> m, std::shared_ptr<tile_machine::home_letters> home,
               team_ranks ranks)
      : machine_(std::move(m)),
        home_(std::move(home)),
        ranks_(std::move(ranks)),
        self_(ranks_.to_world(ranks_.self())) {}

  /// Sends if the receiver has room. Throws errc::invalid_argument if the message is too long.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes) throw_too_long(self_, message.size(), max_message_bytes);
    machine_->access(self_);
    std::size_t const number = home_->number(to, ranks_.self());
    auto& letters = home_->all[number];
    home_->room_is_wanted[number] = letters.size() < home_->room ? 0 : 1;
    if (letters.size() >= home_->room) return false;
    letters.emplace_back(message.begin(), message.end());
    machine_->call_services(ranks_.to_world(to));
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    machine_->access(self_);
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      std::size_t const number = home_->number(ranks_.self(), from);
      for (std::size_t left = home_->all[number].size(); left > 0; --left, ++handled) {
        auto const letter = std::move(home_->all[number].front());
        home_->all[number].pop_front();
        if (std::exchange(home_->room_is_wanted[number], 0) != 0)
          machine_->call_services(ranks_.to_world(from));
        handler(from, bytes_in(letter));
      }
    }
    return handled;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what != nullptr)
      service_ =
          std::make_unique<emulation::service<tile_machine::machine>>(machine_, self_, std::move(what));
  }

 private:
  std::shared_ptr<tile_machine::machine> machine_;
  std::shared_ptr<tile_machine::home_letters> home_;
  team_ranks ranks_;
  rank_t self_;  ///< number in the job
  std::unique_ptr<emulation::service<tile_machine::machine>> service_;
};
static_assert(mailbox<tile_mailbox>);

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

namespace backends {

/// An emulator of Tilera's TILE-Gx, whose cores send messages of words into each other's hardware queues.
///
/// Ranks are fibers of one thread, in virtual time: the earliest event is first, and the same program gives
/// the same run. make_channel(team) gives the machine's channel, whose operations take the times of a table
/// of the thesis; tile_machine::options choose the table. team.now() and tile_machine::cycles_of(team) are
/// the core's clock, and team.charge the time of a computation, in which interrupts strike. Payload and
/// control words lie in memory that the machine keeps coherent: payload costs nothing, an access to a control
/// word one cycle.
///
/// Without a clock, a schedule or a search decides the order of the cores' steps and the arrival of each
/// message. A rank keeps its turn until a call of the library, so it may wait only through the library.
/// Source: Shahmirzadi 2014, sections 3.2 and 3.5, tables 3.1 and 3.2.
class tile : public detail::emulation::machine_backend<tile, detail::tile_machine::machine> {
  friend machine_backend;

 public:
  using segment_type = detail::tile_segment;
  using control_type = detail::tile_control;
  using channel_type = detail::tile_channel;
  using mailbox_type = detail::tile_mailbox;
  using default_coherence = coherence::coherent;

  static constexpr std::string_view name = "tile";
  static constexpr rank_t max_ranks = pgas::tile_machine::most_cores;

  /// Runs main(backend, bootstrap) on a fiber for each rank; returns the job. Throws errc::invalid_argument
  /// if the machine has fewer cores.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    detail::refuse_launcher("run: the cores of the emulated machine are fibers of one process");
    auto const how = pgas::tile_machine::with_options::chosen();
    if (rank_t const cores = how.is_timed() ? how.clock->cores : max_ranks; ranks > cores) {
      throw error(errc::invalid_argument, detail::job::supervisor,
                  "run: the machine " + (how.is_timed() ? std::string(how.clock->name) : std::string(name)) +
                      " has " + std::to_string(cores) + " cores, and " + std::to_string(ranks) +
                      " ranks were asked for: ask for fewer, or choose another by PGAS_TILE");
    }
    auto job = detail::job::create(ranks, false);
    auto const machine = std::make_shared<detail::tile_machine::machine>(job, how);
    run(machine, main);
    last_counters().clear();
    for (rank_t r = 0; r < ranks; ++r) last_counters().push_back(machine->count(r));
    detail::throw_failure(job);
    return job;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    for (std::size_t const size : sizes) {
      if (size > most_bytes) {
        throw error(errc::no_space, self_, "reserve",
                    std::to_string(size) + " bytes were asked for, and a part of the emulated machine has " +
                        std::to_string(most_bytes) + " at most: ask for fewer");
      }
    }
    return machine_->parts.add(std::make_shared<detail::tile_machine::home_parts>(sizes), sizes.size());
  }
  handle reserve_control(control_words words) const {
    return machine_->words.add(std::make_shared<detail::tile_machine::home_words>(size(), words),
                               static_cast<std::size_t>(size()));
  }
  handle reserve_mailbox() const {
    return machine_->mailboxes.add(std::make_shared<detail::tile_machine::home_letters>(size()),
                                   static_cast<std::size_t>(size()));
  }
  handle reserve_channel() const {
    return machine_->queues.add(
        std::make_shared<detail::tile_machine::home_queues>(detail::world_ranks_of(*this)),
        static_cast<std::size_t>(size()));
  }
  channel_type attach_channel(handle which, std::string_view label) const {
    return {machine_, machine_->queues.attach(which, self_), ranks(), label};
  }
  void charge(std::uint64_t cycles) const { machine_->compute(self_, cycles); }
  /// The virtual time of this rank's core since the launch, in cycles; 0 without a clock.
  [[nodiscard]] pgas::tile_machine::cycles virtual_time() const { return machine_->now(self_); }
  /// The times of the machine; null without a clock.
  [[nodiscard]] pgas::tile_machine::costs const* clock() const { return machine_->how().clock; }

  /// The counters of each core in this thread's last launch.
  static std::vector<pgas::tile_machine::counters>& last_counters() {
    return detail::one_per_thread<last_launch>().counters;
  }

 private:
  struct last_launch {
    static constexpr std::string_view shared_name = "last launch of tile";
    std::vector<pgas::tile_machine::counters> counters;
  };

  static constexpr std::size_t most_bytes = std::size_t{1} << 32U;

  tile(std::shared_ptr<detail::tile_machine::machine> m, rank_t self) : machine_backend(std::move(m), self) {}
};
static_assert(channel_backend<tile> && mailbox_backend<tile>);

}  // namespace backends

namespace tile_machine {

/// The virtual time of the calling rank's core since the launch, in cycles; 0 without a clock. One-sided,
/// free.
template <class Team>
[[nodiscard]] cycles cycles_of(Team const& team) {
  return team.state()->backend.virtual_time();
}

}  // namespace tile_machine

}  // namespace PGAS_NAMESPACE
