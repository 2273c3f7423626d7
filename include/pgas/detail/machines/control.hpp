// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/machines/turn_order.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::emulation {

/// A control word, and the cores that wait for its change.
struct shared_word {
  word value = 0;
  rank_t writer = -1;  ///< of a slot, once it has been stored to
  waiters waiting = 0;
};

/// The control words of one team or window.
template <class Word>
struct home_words {
  home_words(rank_t ranks, control_words w)
      : words(w), all(static_cast<std::size_t>(ranks) * (w.slots + w.cells)) {}

  [[nodiscard]] Word& at(rank_t owner, std::size_t i) noexcept {
    return all[static_cast<std::size_t>(owner) * (words.slots + words.cells) + i];
  }

  control_words words;
  std::vector<Word> all;
};

/// One control word, as one rank of a machine accesses it.
template <class Machine, class Word>
class accessed_word {
 public:
  accessed_word(Machine& m, rank_t self, rank_t owner, Word& at) noexcept
      : machine_(&m), self_(self), owner_(owner), at_(&at) {}

  [[nodiscard]] Word& home() const noexcept { return *at_; }

 protected:
  Machine* machine_;
  rank_t self_;  ///< numbers in the job
  rank_t owner_;
  Word* at_;
};

/// A slot of a machine, whose words have put(value, order). It remembers its writer if the machine's words
/// do.
template <class WordAt>
class slot_at : public WordAt {
  static constexpr bool remembers = requires(WordAt const& w) { w.home().writer; };

 public:
  slot_at(WordAt w, rank_t writer) noexcept : WordAt(w), writer_(writer) {}

  void store(word value, std::memory_order order) const {
    rank_t only = writer_;
    if constexpr (remembers) only = this->at_->writer == -1 ? writer_ : this->at_->writer;
    if (this->self_ != writer_ || only != writer_) {
      throw error(errc::wrong_order, this->self_, "store",
                  text_of({"only rank ", only, " may store to this slot of rank ", this->owner_}));
    }
    if constexpr (remembers) this->at_->writer = writer_;
    this->put(value, order);
  }

 private:
  rank_t writer_;
};

/// The control words of a machine, as one rank reaches them. Control has the types of its words, and the
/// waits.
template <class Control, class Machine, class Home>
class control_on : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = true;

  control_on(std::shared_ptr<Machine> m, std::shared_ptr<Home> home, team_ranks ranks, std::string_view label)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)), label_(label) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] auto slot(rank_t owner, std::size_t i, rank_t writer) const {
    check_word(self(), "slot", owner, size(), i, home_->words.slots, label_);
    return typename Control::slot_type(this_control().at(owner, i), ranks_.to_world(writer));
  }
  [[nodiscard]] auto cell(rank_t owner, std::size_t i) const {
    check_word(self(), "cell", owner, size(), i, home_->words.cells, label_);
    return typename Control::cell_type(this_control().at(owner, home_->words.slots + i));
  }

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return machine_->turns().locks_of(self()); }

 protected:
  /// This rank's number in the job.
  [[nodiscard]] rank_t self() const noexcept { return ranks_.to_world(ranks_.self()); }
  /// Word i of a rank, whose slots come before its cells.
  [[nodiscard]] auto at(rank_t owner, std::size_t i) const noexcept {
    return typename Control::word_at(*machine_, self(), ranks_.to_world(owner), home_->at(owner, i));
  }

  std::shared_ptr<Machine> machine_;
  std::shared_ptr<Home> home_;
  team_ranks ranks_;
  std::string label_;

 private:
  [[nodiscard]] Control const& this_control() const noexcept { return static_cast<Control const&>(*this); }
};

}  // namespace PGAS_NAMESPACE::detail::emulation
