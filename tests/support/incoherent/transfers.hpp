// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <deque>

#include "memory.hpp"

namespace pgas_test::incoherent {

/// One rank's puts and gets that are under way. They pass all copies, are exact to the byte, and complete as
/// late as allowed.
///
/// A put reaches memory at flush, and the bytes of a get reach their destination at flush_local; both may
/// happen earlier. Puts to one target keep their order. A put that is never flushed is lost. Only the rank's
/// thread uses this.
class transfers {
 public:
  using ticket = std::uint64_t;

  transfers(home_memory& home, adversary const& a, dice& d, counters& c)
      : home_(&home),
        against_(&a),
        dice_(&d),
        counters_(&c),
        targets_(static_cast<std::size_t>(home.size())) {}

  void put(location at, bytes_in from) {
    ++counters_->puts;
    to(at.rank).puts.push_back({++last_, at, {from.begin(), from.end()}, {}});
    misbehave();
  }
  void get(location at, bytes_out into) {
    ++counters_->gets;
    to(at.rank).gets.push_back({++last_, at, into});
    if (dice_->one_in(against_->delay)) {
      std::fill(into.begin(), into.end(), poison);
    } else {
      finish(at.rank, last_);
    }
    misbehave();
  }

  /// Starts a put that has not yet read its source.
  ticket start_put(location at, bytes_in from) {
    ++counters_->puts;
    to(at.rank).puts.push_back({++last_, at, {}, from});
    misbehave();
    return last_;
  }
  ticket start_get(location at, bytes_out into) {
    ++counters_->gets;
    std::fill(into.begin(), into.end(), poison);
    to(at.rank).gets.push_back({++last_, at, into});
    misbehave();
    return last_;
  }

  /// Returns whether a transfer is done. It may answer "not yet" at random, but never again after "done".
  [[nodiscard]] bool test(rank_t target, ticket t) {
    if (!is_done(target, t) && dice_->one_in(against_->delay)) return false;
    finish(target, t);
    return true;
  }

  /// Completes one transfer locally.
  void finish(rank_t target, ticket t) {
    for (auto& put : to(target).puts) {
      if (put.number == t) put.take();
    }
    auto& gets = to(target).gets;
    auto const found =
        std::find_if(gets.begin(), gets.end(), [&](auto const& get) { return get.number == t; });
    if (found == gets.end()) return;
    deliver(target);  // a get sees this rank's earlier puts
    home_->read(found->at, found->into);
    gets.erase(found);
  }
  void flush_local(rank_t target) {
    for (auto& put : to(target).puts) put.take();
    while (!to(target).gets.empty()) finish(target, to(target).gets.front().number);
  }
  void flush(rank_t target) {
    flush_local(target);
    deliver(target);
  }

 private:
  static constexpr std::byte poison{0xa5};  ///< the contents of a destination until its get is done

  struct put_under_way {
    ticket number;
    location at;
    std::vector<std::byte> bytes;
    bytes_in source;  ///< empty once its bytes have been read

    void take() {
      if (!source.empty()) bytes.assign(source.begin(), source.end());
      source = {};
    }
  };
  struct get_under_way {
    ticket number;
    location at;
    bytes_out into;
  };
  struct queues {
    std::deque<put_under_way> puts;
    std::deque<get_under_way> gets;
  };

  [[nodiscard]] bool is_done(rank_t target, ticket t) {
    queues& q = to(target);
    return std::none_of(q.puts.begin(), q.puts.end(),
                        [&](auto const& put) { return put.number == t && !put.source.empty(); }) &&
           std::none_of(q.gets.begin(), q.gets.end(), [&](auto const& get) { return get.number == t; });
  }
  [[nodiscard]] queues& to(rank_t rank) { return targets_[static_cast<std::size_t>(rank)]; }

  void deliver_first(queues& t) {
    t.puts.front().take();
    home_->write(t.puts.front().at, t.puts.front().bytes);
    t.puts.pop_front();
  }
  void deliver(rank_t rank) {
    while (!to(rank).puts.empty()) deliver_first(to(rank));
  }

  void misbehave() {
    if (!dice_->one_in(against_->deliver)) return;
    queues& t = targets_[dice_->below(targets_.size())];
    if (!t.puts.empty()) deliver_first(t);
  }

  home_memory* home_;
  adversary const* against_;
  dice* dice_;
  counters* counters_;
  std::vector<queues> targets_;
  ticket last_ = 0;
};

/// The request of an rput or rget.
class pending {
 public:
  pending(transfers& of, rank_t target, transfers::ticket t) noexcept
      : of_(&of), target_(target), ticket_(t) {}

  [[nodiscard]] bool test() { return of_->test(target_, ticket_); }
  void wait() { of_->finish(target_, ticket_); }

 private:
  transfers* of_;
  rank_t target_;
  transfers::ticket ticket_;
};
static_assert(pgas::request<pending>);

}  // namespace pgas_test::incoherent
