// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/machines/bootstrap.hpp>
#include <pgas/detail/machines/simulated/event_queue.hpp>
#include <pgas/detail/machines/simulated/homes.hpp>
#include <pgas/machines/simulated/network.hpp>
#include <pgas/machines/simulated/options.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// The transfers of one rank that a flush must wait for, by target. Memory: O(targets in flight).
class transfers {
 public:
  static constexpr rank_t every = -1;

  /// A transfer towards `target` has started.
  void start(rank_t target, bool is_get) {
    auto& t = to(target);
    ++(is_get ? t.gets : t.puts);
    ++in_flight_;
  }
  /// It has arrived; it will be complete at `done`.
  void arrived(rank_t target, bool is_get, ticks done) {
    auto& t = to(target);
    --(is_get ? t.gets : t.puts);
    --in_flight_;
    finish(t, is_get, done);
  }
  /// A transfer that needs no message is complete at `done`.
  void finished(rank_t target, bool is_get, ticks done) { finish(to(target), is_get, done); }

  /// The number of transfers that have not arrived, of all targets.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// The number of targets that it remembers.
  [[nodiscard]] std::size_t targets() const noexcept { return targets_.size(); }
  /// True if no transfer to the target is under way, or no get if only those count.
  [[nodiscard]] bool has_arrived(rank_t target, bool gets_only) const noexcept {
    return std::all_of(targets_.begin(), targets_.end(), [&](auto const& t) {
      return (target != every && t.rank != target) || (t.gets == 0 && (gets_only || t.puts == 0));
    });
  }
  /// The time at which they are complete.
  [[nodiscard]] ticks complete_at(rank_t target, bool gets_only) const noexcept {
    ticks last = 0;
    for (auto const& t : targets_) {
      if (target == every || t.rank == target)
        last = std::max({last, t.gets_done, gets_only ? ticks{0} : t.puts_done});
    }
    return last;
  }
  /// Forgets targets whose transfers are complete at `now`.
  void forget(ticks now) {
    std::erase_if(targets_, [now](auto const& t) {
      return t.puts == 0 && t.gets == 0 && t.puts_done <= now && t.gets_done <= now;
    });
  }

 private:
  struct towards {
    rank_t rank;
    std::uint32_t puts = 0, gets = 0;  ///< in flight
    ticks puts_done = 0, gets_done = 0;
  };

  towards& to(rank_t rank) {
    auto const found =
        std::find_if(targets_.begin(), targets_.end(), [rank](auto const& t) { return t.rank == rank; });
    return found != targets_.end() ? *found : targets_.emplace_back(towards{.rank = rank});
  }
  static void finish(towards& t, bool is_get, ticks done) noexcept {
    ticks& last = is_get ? t.gets_done : t.puts_done;
    last = std::max(last, done);
  }

  std::vector<towards> targets_;
  std::size_t in_flight_ = 0;
};

using pgas::simulated::distance;

/// A change of a word, a put or a get on its way.
struct message {
  enum class kind : std::uint8_t { store, add, flip, put, get };
  kind what;
  distance d;
  rank_t origin, target;
  word* at;    ///< null: a letter
  word value;  ///< of a transfer: its bytes; of a letter: its number

  /// Changes a word as a message of this kind does.
  static void change(kind what, word& at, word value) noexcept {
    switch (what) {
      case kind::add:
        at += value;
        return;
      case kind::flip:
        at ^= value;
        return;
      default:
        at = value;
    }
  }
};

/// Things under way, each with a number that no other one has meanwhile.
template <class T>
class pool {
 public:
  std::uint32_t put(T one) {
    if (free_.empty()) {
      all_.push_back(std::move(one));
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    std::uint32_t const number = free_.back();
    free_.pop_back();
    all_[number] = std::move(one);
    return number;
  }
  [[nodiscard]] T const& at(std::uint32_t number) const noexcept { return all_[number]; }
  T take(std::uint32_t number) {
    free_.push_back(number);
    return std::move(all_[number]);
  }

 private:
  std::vector<T> all_;
  std::vector<std::uint32_t> free_;
};

class machine;
using service = emulation::service<machine>;

/// The state of one rank in the machine, apart from its fiber: its operations under way, its memory and its
/// services. A service is called when a letter has arrived; work is also called at each change of the rank's
/// words.
class rank_state {
 public:
  pgas::simulated::counters count;
  transfers moves;
  std::size_t stores_in_flight = 0;
  std::vector<std::shared_ptr<home_words>> left;  ///< released words, to which its stores may be under way
  ticks stores_arrive = 0;                        ///< the latest arrival of its stores at a node
  ticks stores_served = 0;  ///< the latest time at which one of those that have arrived takes place
  rank_t flushes = -1;
  bool is_flushing = false, flushes_gets_only = false;
  std::uint64_t dice = 0;

  void begin_service(service& one) {
    services_.push_back(&one);
    has_mail_ = true;  // a letter may have come before
  }
  void end_service(service& one) noexcept { std::erase(services_, &one); }
  void begin_work() noexcept { ++works_; }
  void end_work() noexcept { --works_; }
  [[nodiscard]] bool has_services() const noexcept { return !services_.empty(); }
  [[nodiscard]] bool works() const noexcept { return works_ != 0; }
  /// True if a service has something to do.
  [[nodiscard]] bool has_mail() const noexcept { return has_mail_; }
  void notice_mail() noexcept { has_mail_ = true; }
  /// Calls the services until none has anything to do. A service may add another.
  void serve() {
    while (std::exchange(has_mail_, false)) {
      for (std::size_t i = 0; i < services_.size(); ++i) services_[i]->run();
    }
  }

  /// The rank has reserved memory, or released it.
  void hold(std::uint64_t pgas::simulated::held::*kind, std::size_t bytes) noexcept {
    count.now.*kind += bytes;
    count.most.*kind = std::max(count.most.*kind, count.now.*kind);
  }
  void give_up(std::uint64_t pgas::simulated::held::*kind, std::size_t bytes) noexcept {
    count.now.*kind -= bytes;
  }

 private:
  std::vector<service*> services_;
  std::size_t works_ = 0;
  bool has_mail_ = false;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
