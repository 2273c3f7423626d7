// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/necessary_order.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <pgas/histories/table.hpp>
#include <pgas/histories/verdict.hpp>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::histories::detail {

/// Which orders of a history's operations may explain their results.
enum class order_of {
  programs,   ///< each rank's operations stay in program order
  real_time,  ///< and an operation that ended before another one began stays before it
};

/// Looks for one order of all operations in which the results are those of a sequential object.
///
/// A state of the search is how far each rank is, which pending operations have taken effect, and the state
/// of the object. The search goes deeper by one operation, and never twice into one state. After an operation
/// that fits and only observes, it needs no other branch: such an operation can come first in any order.
/// An operation waits for all that precede it in every order, if the object tells the search: see
/// necessary_order.hpp.
/// Source: Wing and Gong 1993; Lowe 2017, for the states seen.
template <sequential_object S>
class order_search {
 public:
  order_search(std::span<record_of<S> const> records, order_of kind, std::size_t most_states)
      : records_(records), kind_(kind), most_states_(most_states) {
    std::map<int, std::size_t> lane_of;
    for (std::size_t i = 0; i < records.size(); ++i) {
      auto const [rank, is_new] = lane_of.try_emplace(records[i].rank, lanes_.size());
      if (is_new) lanes_.emplace_back();
      if (!records[i].pending()) {
        lanes_[rank->second].push_back(i);
        ++completed_;
      } else if (!observes<S>(records[i])) {  // nobody knows whether a pending lookup took place
        pending_.push_back({i, rank->second, lanes_[rank->second].size()});
      }
    }
    // In a long history the search alone takes less time.
    if (records.size() <= most_for_necessary_order) {
      if constexpr (object_of_registers<S>) {
        if (kind == order_of::programs) take_necessary_order(register_order<S>(records));
      } else if constexpr (object_in_order<S>) {
        take_necessary_order(fifo_order<S>(records, kind == order_of::real_time));
      }
    }
    now_.places.resize(lanes_.size());
    now_.taken.resize((pending_.size() + 63) / 64);
  }

  /// At worst, the search takes time that grows exponentially with the number of overlapping operations.
  finding run() {
    if (is_impossible_) return finding::wrong;
    std::size_t depth = 0;  // the number of completed operations in the order so far
    open_node();
    while (depth < completed_) {
      if (seen_.size() > most_states_) return finding::undecided;
      node& top = nodes_.back();
      if (top.next == top.last) {  // no candidate is left
        candidates_.resize(top.first);
        nodes_.pop_back();
        if (nodes_.empty()) return finding::wrong;
        leave(nodes_.back(), depth);
        continue;
      }
      candidate const one = candidates_[top.next++];
      typename S::state after = now_.object;
      if (!S::apply(after, records_[one.record])) continue;
      if (observes<S>(records_[one.record])) top.next = top.last;  // needs no branch
      top.before = std::exchange(now_.object, std::move(after));
      top.taken = one;
      move(one, 1);
      depth += counts(one) ? 1 : 0;
      if (seen_.insert(now_).second) {
        open_node();
      } else {
        leave(top, depth);
      }
    }
    return finding::right;
  }

  [[nodiscard]] std::size_t states() const noexcept { return seen_.size(); }

 private:
  struct pending_operation {
    std::size_t record;
    std::size_t lane;
    std::size_t place;  ///< the number of the lane's operations that precede it
  };
  struct candidate {
    std::size_t record;
    std::size_t at;  ///< its lane, or its index among the pending operations
    bool is_pending;
  };
  /// A point of the search: its candidates are candidates_[first, last).
  struct node {
    std::size_t first = 0;
    std::size_t next = 0;
    std::size_t last = 0;
    candidate taken{};
    typename S::state before{};  ///< the object without the operation that was taken
  };
  struct position {
    std::vector<std::uint32_t> places;  ///< of each lane
    std::vector<std::uint64_t> taken;   ///< a bit for each pending operation
    typename S::state object{};

    friend bool operator==(position const&, position const&) = default;
  };
  struct hash_of_position {
    std::size_t operator()(position const& p) const {
      std::size_t all = hash_of_state<S>(p.object);
      for (std::uint32_t place : p.places) all = hash_with(all, place);
      for (std::uint64_t bits : p.taken) all = hash_with(all, bits);
      return all;
    }
  };

  /// A pending operation need not take effect.
  static bool counts(candidate const& one) { return !one.is_pending; }
  [[nodiscard]] bool is_taken(std::size_t pending) const {
    return (now_.taken[pending / 64] >> (pending % 64) & 1U) != 0;
  }

  /// Finds for each operation how far each rank must be before it.
  template <class Order>
  void take_necessary_order(Order const& found) {
    is_impossible_ = found.is_impossible();
    if (is_impossible_) return;
    least_places_.assign(records_.size() * lanes_.size(), 0);
    for (std::size_t i = 0; i < records_.size(); ++i)
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        for (std::size_t place = lanes_[lane].size(); place != 0; --place)
          if (found.order().precedes(lanes_[lane][place - 1], i)) {
            least_places_[i * lanes_.size() + lane] = static_cast<std::uint32_t>(place);
            break;
          }
  }
  [[nodiscard]] bool must_wait(std::size_t record) const {
    for (std::size_t lane = 0; lane < lanes_.size() && !least_places_.empty(); ++lane)
      if (now_.places[lane] < least_places_[record * lanes_.size() + lane]) return true;
    return false;
  }

  void move(candidate const& one, int by) {
    if (one.is_pending) {
      now_.taken[one.at / 64] ^= std::uint64_t{1} << (one.at % 64);
    } else {
      now_.places[one.at] += static_cast<std::uint32_t>(by);
    }
  }
  void leave(node& top, std::size_t& depth) {
    move(top.taken, -1);
    depth -= counts(top.taken) ? 1 : 0;
    now_.object = std::move(top.before);
  }

  /// Lists the operations that may come next: of those that observe and fit only the first.
  void open_node() {
    std::size_t const first = candidates_.size();
    moment first_end = never;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      if (now_.places[lane] < lanes_[lane].size())
        first_end = std::min(first_end, records_[lanes_[lane][now_.places[lane]]].end);
    auto const is_in_time = [&](record_of<S> const& r) {
      return kind_ == order_of::programs || r.begin <= first_end;
    };
    auto const may_be_next = [&](std::size_t record) {
      return is_in_time(records_[record]) && !must_wait(record);
    };
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (now_.places[lane] == lanes_[lane].size()) continue;
      std::size_t const record = lanes_[lane][now_.places[lane]];
      if (may_be_next(record)) candidates_.push_back({record, lane, false});
    }
    // An order close to that of the returns is likely right, and more so without pending operations that take
    // effect only by chance.
    std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
              [&](candidate const& a, candidate const& b) {
                return records_[a.record].end < records_[b.record].end;
              });
    for (std::size_t i = first; i < candidates_.size(); ++i) {
      auto const& r = records_[candidates_[i].record];
      if (!observes<S>(r)) continue;
      typename S::state same = now_.object;
      if (!S::apply(same, r)) continue;
      std::swap(candidates_[first], candidates_[i]);
      break;
    }
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (!is_taken(i) && now_.places[pending_[i].lane] >= pending_[i].place &&
          may_be_next(pending_[i].record))
        candidates_.push_back({pending_[i].record, i, true});
    nodes_.push_back({first, first, candidates_.size(), {}, {}});
  }

  static constexpr std::size_t most_for_necessary_order = 2000;  // it takes the cube of the operations

  std::span<record_of<S> const> records_;
  order_of kind_;
  std::size_t most_states_;
  std::vector<std::vector<std::size_t>> lanes_;  ///< the completed operations of each rank
  std::vector<pending_operation> pending_;
  std::size_t completed_ = 0;
  bool is_impossible_ = false;
  std::vector<std::uint32_t>
      least_places_;  ///< of each operation and lane, or empty: see take_necessary_order
  position now_;
  std::vector<node> nodes_;
  std::vector<candidate> candidates_;  ///< of all nodes
  std::unordered_set<position, hash_of_position> seen_;
};

/// Searches a history and says what the search has found, in words: `promise` is an adjective.
template <sequential_object S, class Shorten>
[[nodiscard]] verdict<S> searched(history<S> const& whole, order_of kind, std::string_view promise,
                                  effort const& within, Shorten const& shorten) {
  order_search<S> search(whole.records(), kind, within.most_states);
  verdict<S> v;
  v.found = search.run();
  v.states = search.states();
  v.right = v.found == finding::right;
  if (v.right) {
    v.text = pgas::detail::text_of({promise, ": ", whole.size(), " operations, ", v.states, " states"});
  } else if (v.found == finding::undecided) {
    v.text = pgas::detail::text_of({"undecided after ", v.states, " states whether ", whole.size(),
                                    " operations are ", promise,
                                    "; raise effort::most_states, or record fewer operations that overlap"});
  } else {
    // A part is not harder to search than the whole; if it is nevertheless, the search ends.
    std::size_t const most_states = std::min(within.most_states, 2 * v.states + 1000);
    auto const is_wrong = [&](history<S> const& part) {
      return order_search<S>(part.records(), kind, most_states).run() == finding::wrong;
    };
    v.shortest = within.most_checks == 0 ? whole : shorten(whole, is_wrong);
    v.text = pgas::detail::text_of({"not ", promise, ": no order explains the results of these ",
                                    v.shortest.size(), " of ", whole.size(), " operations\n"}) +
             table(v.shortest);
  }
  return v;
}

}  // namespace PGAS_NAMESPACE::histories::detail
