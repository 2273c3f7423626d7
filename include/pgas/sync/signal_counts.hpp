// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/boundary.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE {

/// A rank waits for a signal with this tag from this rank.
struct signal_from {
  rank_t source;        ///< the sender
  std::size_t tag = 0;  ///< 0 to tags() - 1
};

namespace sync {

/// This protocol counts signals: one rank tells another that more is ready, and the other waits or asks.
///
/// Source: notified access, Belli and Hoefler 2015, where a queue holds notifications with their source and
/// tag; OpenSHMEM's put with signal, which has one word for each kind. No signal replaces another, and none
/// is lost.
///
/// Words     slot s * tags + g of rank t, written by s only: the number of signals that s has sent to t with
///           tag g. Its low bits name the slot among t's, so that one predicate can look at several.
/// States    sent - taken is the number of signals that have not been waited for; both only grow.
/// Differs   from notified access: a tag has a word of its own, so no queue fills or must be searched. From
///           put with signal: each pair of ranks has its words, so a signal is a store and needs no
///           read-modify-write.
/// Memory    n * tags slots a rank; 2 n * tags words of private state.
/// Costs     a signal is one store; a wait looks at one slot for each (rank, tag).
template <control Control>
class signal_counts {
 public:
  static constexpr std::string_view name = "signal_counts";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t ranks, std::size_t tags) noexcept {
    return {.slots = static_cast<std::size_t>(ranks) * tags, .cells = 0};
  }
  /// The largest number of slots whose names fit beside a count.
  static constexpr std::size_t most_slots = std::size_t{1} << 24U;

  /// Signals over the words of `control`, with `tags` tags.
  signal_counts(Control& control, std::size_t tags)
      : control_(&control),
        tags_(tags),
        sent_(static_cast<std::size_t>(control.size()) * tags),
        taken_(static_cast<std::size_t>(control.size()) * tags) {}

  /// The number of tags.
  [[nodiscard]] std::size_t tags() const noexcept { return tags_; }

  /// Publishes this rank's accesses to memory, then signals `target`.
  template <boundary Boundary>
  void signal(rank_t target, std::size_t tag, Boundary& b) {
    b.publish(group(&target, 1));
    // release: pairs with the acquire loads of wait, wait_any and pending of `target`; carries the publish
    // above.
    detail::store_now(detail::unconfirmed(slot(target, control_->rank(), tag)),
                      count(++sent_[index(target, tag)]) | index(control_->rank(), tag),
                      std::memory_order_release);
  }

  /// Waits until `how_many` signals have come that were not taken before, and takes them.
  template <boundary Boundary>
  void wait(signal_from from, word how_many, Boundary& b, time_point deadline) {
    word& taken = taken_[index(from)];
    control_->wait_until(
        own(from), [least = count(taken + how_many)](word seen) { return seen >= least; },
        why(group(&from.source, 1), deadline));
    taken += how_many;
    b.refresh(group(&from.source, 1));
  }

  /// The number of signals that have come and were not taken.
  [[nodiscard]] word pending(signal_from from) const {
    // acquire: pairs with the release store in signal of `from.source`.
    return (own(from).load(std::memory_order_acquire) >> name_bits) - taken_[index(from)];
  }

  /// Takes `how_many` signals and returns true, or returns false if fewer have come.
  template <boundary Boundary>
  [[nodiscard]] bool test(signal_from from, word how_many, Boundary& b) {
    if (pending(from) < how_many) return false;
    taken_[index(from)] += how_many;
    b.refresh(group(&from.source, 1));
    return true;
  }

  /// Waits until one of these signals, except those for whose index skipped(index) is true, has come. Takes
  /// it, and returns its index.
  template <class Skipped, boundary Boundary>
  std::size_t wait_any(std::span<signal_from const> all, Skipped const& skipped, Boundary& b,
                       time_point deadline) {
    awaited_.clear();
    indices_.clear();
    sources_.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (skipped(i)) continue;
      signal_from const& from = all[i];
      awaited_.push_back(own(from));
      indices_.push_back(i);
      if (std::find(sources_.begin(), sources_.end(), from.source) == sources_.end())
        sources_.push_back(from.source);
    }
    std::size_t const which = indices_[control_->wait_any(
        std::span(awaited_), [this](word seen) { return (seen >> name_bits) > taken_[seen % most_slots]; },
        why(sources_, deadline))];
    ++taken_[index(all[which])];
    b.refresh(group(&all[which].source, 1));
    return which;
  }

 private:
  static constexpr unsigned name_bits = 24;
  static constexpr word count(word sent) noexcept { return sent << name_bits; }

  using slot_type = decltype(std::declval<Control&>().slot(0, 0, 0));

  [[nodiscard]] static waiting_for why(group awaited, time_point deadline) {
    return {.operation = "wait for a signal", .awaited = awaited, .deadline = deadline};
  }
  [[nodiscard]] std::size_t index(rank_t rank, std::size_t tag) const noexcept {
    return static_cast<std::size_t>(rank) * tags_ + tag;
  }
  [[nodiscard]] std::size_t index(signal_from from) const noexcept { return index(from.source, from.tag); }
  [[nodiscard]] slot_type slot(rank_t target, rank_t source, std::size_t tag) const {
    return control_->slot(target, index(source, tag), source);
  }
  [[nodiscard]] slot_type own(signal_from from) const {
    return slot(control_->rank(), from.source, from.tag);
  }

  Control* control_;
  std::size_t tags_;
  std::vector<word> sent_;   ///< to each rank with each tag
  std::vector<word> taken_;  ///< from each rank with each tag
  std::vector<slot_type> awaited_;
  std::vector<std::size_t> indices_;  ///< of the awaited slots among the caller's entries
  std::vector<rank_t> sources_;
};

}  // namespace sync
}  // namespace PGAS_NAMESPACE
