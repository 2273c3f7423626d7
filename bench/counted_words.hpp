// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <map>
#include <pgas/concepts/protocol.hpp>
#include <vector>

#include "raw.hpp"

namespace bench {

/// The kind of an access to a word.
enum class action { load, store, add, exchange, compare_exchange };

/// One access of a protocol: its kind and its word.
struct access {
  action what;
  std::size_t word;
};

/// Control words of several ranks of which only one acts, and the list of that rank's accesses. A protocol
/// counts its own accesses with it, so no count is written by hand.
class counted_words {
 public:
  static constexpr pgas::rmw read_modify_write = pgas::rmw::native;
  static constexpr bool can_park = false;

  class slot_type {
   public:
    slot_type(counted_words& all, std::size_t at) : all_(&all), at_(at) {}
    [[nodiscard]] pgas::word load(std::memory_order) const { return does(action::load); }
    void store(pgas::word value, std::memory_order order) const {
      // A sequentially consistent store is an exchange on this machine, and costs as much on others.
      does(order == std::memory_order_seq_cst ? action::exchange : action::store) = value;
    }

   protected:
    pgas::word& does(action what) const {
      all_->seen.push_back({what, at_});
      return all_->values_[at_];
    }

   private:
    counted_words* all_;
    std::size_t at_;
  };
  struct cell_type : private slot_type, pgas::detail::refuses_store {
    using pgas::detail::refuses_store::store;
    using slot_type::load;
    using slot_type::slot_type;
    pgas::word fetch_add(pgas::word value, std::memory_order) const {
      pgas::word& here = does(action::add);
      return std::exchange(here, here + value);
    }
    pgas::word fetch_xor(pgas::word value, std::memory_order) const {
      pgas::word& here = does(action::compare_exchange);  // the protocol uses the old value; no processor
                                                          // does the operation in one instruction
      return std::exchange(here, here ^ value);
    }
    pgas::word exchange(pgas::word value, std::memory_order) const {
      return std::exchange(does(action::exchange), value);
    }
    bool compare_exchange(pgas::word& expected, pgas::word desired, std::memory_order) const {
      pgas::word& here = does(action::compare_exchange);
      bool const equal = here == expected;
      expected = std::exchange(here, equal ? desired : here);
      return equal;
    }
    void reset_unshared(pgas::word value, std::memory_order order) const { slot_type::store(value, order); }
  };

  counted_words(pgas::rank_t ranks, pgas::control_words words) : ranks_(ranks), words_(words) {}

  [[nodiscard]] pgas::rank_t rank() const noexcept { return 0; }
  [[nodiscard]] pgas::rank_t size() const noexcept { return ranks_; }
  slot_type slot(pgas::rank_t owner, std::size_t i, pgas::rank_t) { return {*this, at(owner, i)}; }
  cell_type cell(pgas::rank_t owner, std::size_t i) { return {*this, at(owner, words_.slots + i)}; }
  template <class Word, std::predicate<pgas::word> Predicate>
  pgas::word wait_until(Word w, Predicate&&, pgas::waiting_for const&) {
    return w.load(std::memory_order_acquire);  // the awaited value is there, since no other rank acts
  }
  template <class Word, std::predicate<pgas::word> Predicate>
  std::size_t wait_any(std::span<Word>, Predicate&&, pgas::waiting_for const&) {
    return 0;
  }
  void pause(unsigned, pgas::waiting_for const&) {}

  /// A store of eight bytes to a part, between two accesses of the protocol.
  void put() { seen.push_back({action::store, at(ranks_, 0)}); }

  std::vector<access> seen;

 private:
  [[nodiscard]] std::size_t at(pgas::rank_t owner, std::size_t i) const noexcept {
    return static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i;
  }

  pgas::rank_t ranks_;
  pgas::control_words words_;
  std::map<std::size_t, pgas::word> values_;
};
static_assert(pgas::control<counted_words>);

/// The accesses of rank 0 to the words of a protocol of `ranks` ranks, made by use(protocol, boundary,
/// words).
template <pgas::protocol Protocol, class Use>
std::vector<access> counted(pgas::rank_t ranks, Use const& use) {
  counted_words words(ranks, Protocol::words(ranks));
  typename Protocol::template on<counted_words> protocol(words, {});
  pgas::no_boundary nothing;
  use(protocol, nothing, words);
  return words.seen;
}

/// The same accesses by hand, each to a line of its own, in the same order, with nothing between them.
inline auto by_hand(std::vector<access> const& all, raw::lines lines) {
  struct step {
    action what;
    raw::word_ref word;
  };
  std::vector<step> steps;
  for (access const& a : all) steps.push_back({a.what, lines.at(a.word)});
  return [steps] {
    for (auto const& [what, word] : steps) {
      std::uint64_t zero = 0;
      switch (what) {
        case action::load:
          static_cast<void>(word.load(std::memory_order_acquire));
          break;
        case action::store:
          word.store(0, std::memory_order_release);
          break;
        case action::add:
          word.fetch_add(0, std::memory_order_acq_rel);
          break;
        case action::exchange:
          word.exchange(0, std::memory_order_acq_rel);
          break;
        case action::compare_exchange:
          word.compare_exchange_strong(zero, 0, std::memory_order_acq_rel);
          break;
      }
    }
  };
}

}  // namespace bench
