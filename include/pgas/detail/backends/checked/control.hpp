// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/concepts/rooted_control.hpp>
#include <pgas/detail/backends/checked/checker.hpp>
#include <pgas/detail/checking/compared_calls.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::checking {

/// See rooted_control. The root leaves its knowledge beside that of messages, for each rank of the team. A
/// rank may find the knowledge of a later call of the root there. Then it acquires too much, and a race may
/// be missed.
template <class Rules>
class [[nodiscard]] rooted_order {
 public:
  /// `in_job` has the numbers of the team's ranks; `self` and `root` are numbers in the team.
  rooted_order(checker<Rules>& c, std::span<rank_t const> in_job, rank_t self, collective_order order,
               rank_t root)
      : checker_(&c), in_job_(in_job), self_(self), order_(order), root_(root) {
    if (!Rules::roots()) return;
    if (order_ == collective_order::from_root && self_ == root_) {
      for (rank_t r = 0; r < static_cast<rank_t>(in_job_.size()); ++r)
        if (r != root_) checker_->release(clock(root_, r));
    }
    before_ = checker_->begin_collective();
  }
  rooted_order(rooted_order const&) = delete;
  rooted_order& operator=(rooted_order const&) = delete;
  ~rooted_order() {
    bool const learns_all =
        order_ == collective_order::all || (order_ == collective_order::to_root && self_ == root_);
    if (!Rules::roots() || learns_all) return;
    checker_->end_collective(before_);
    // After a failure of the job its locks throw, and nothing is checked any more.
    if (order_ == collective_order::from_root && self_ != root_) checker_->try_acquire(clock(root_, self_));
  }

 private:
  [[nodiscard]] memory::locked_clock clock(rank_t from, rank_t to) const {
    auto const of = [&](rank_t r) { return in_job_[static_cast<std::size_t>(r)]; };
    return checker_->shared().clock_of_mail(of(from), of(to));
  }

  checker<Rules>* checker_;
  std::span<rank_t const> in_job_;
  rank_t self_;
  collective_order order_;
  rank_t root_;
  vector_clock before_{};  ///< what the program may rely on
};

}  // namespace PGAS_NAMESPACE::detail::checking

namespace PGAS_NAMESPACE::detail {

/// A mailbox of another backend. A message also carries what its sender knows.
template <mailbox Inner, class Rules = checking::every_rule>
class checked_mailbox : public Inner {
 public:
  checked_mailbox(Inner inner, std::shared_ptr<checking::checker<Rules>> c, std::vector<rank_t> in_job,
                  rank_t self)
      : Inner(std::move(inner)), checker_(std::move(c)), in_job_(std::move(in_job)), self_(self) {}

  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (Rules::messages()) checker_->release(clock(self_, to));
    return Inner::try_send(to, message);
  }
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    return Inner::poll([&](rank_t from, bytes_in message) {
      if (Rules::messages()) checker_->acquire(clock(from, self_));
      handler(from, message);
    });
  }
  // Words go as other messages do, so that they carry what their sender knows.
  bool try_send_word(rank_t, word) = delete;
  bool try_send_close_word(rank_t, word) = delete;

 private:
  [[nodiscard]] checking::memory::locked_clock clock(rank_t from, rank_t to) const {
    auto const in_job = [&](rank_t r) { return in_job_[static_cast<std::size_t>(r)]; };
    return checker_->shared().clock_of_mail(in_job(from), in_job(to));
  }

  std::shared_ptr<checking::checker<Rules>> checker_;
  std::vector<rank_t> in_job_;
  rank_t self_;
};

/// Control words of another backend. Each access also reports its order to the checker.
///
/// A change of a word and of its history is one step, under the lock of the history.
template <control Inner, class Rules = checking::every_rule>
class checked_control : public Inner {
  using inner_slot = typename Inner::slot_type;
  using inner_cell = typename Inner::cell_type;
  using history = checking::word_history;
  using control_rule = typename Rules::control_rule;
  using word_rule = typename control_rule::word_rule;

  static constexpr bool acquires(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static constexpr bool releases(std::memory_order order) noexcept {
    return order != std::memory_order_relaxed && order != std::memory_order_acquire &&
           order != std::memory_order_consume;
  }

  /// A word, and its history.
  template <class Word>
  class word_at : public Word {
   public:
    word_at(Word w, checking::checker<Rules>* checker, history h, word_rule r) noexcept
        : Word(w), checker_(checker), history_(h), rule_(r) {}

    [[nodiscard]] word load(std::memory_order order) const {
      checker_->pause();
      checking::spin_lock const hold(history_.lock(), checker_->of_job());
      word const now = Word::load(order);
      checker_->loaded(history_, acquires(order) && rule_.orders());
      return now;
    }
    [[nodiscard]] Word const& inner() const noexcept { return *this; }
    /// Returns the value that ended the wait; the wait has seen `seen`.
    template <class Predicate>
    [[nodiscard]] word ended_wait(word seen, Predicate&& predicate) const {
      checking::spin_lock const hold(history_.lock(), checker_->of_job());
      return checker_->ended_wait(history_, seen, rule_.orders(), predicate);
    }

   protected:
    checking::checker<Rules>* checker_;
    history history_;
    [[no_unique_address]] word_rule rule_;
  };

 public:
  class slot_type : public word_at<inner_slot> {
   public:
    using word_at<inner_slot>::word_at;
    void store(word value, std::memory_order order) const {
      this->checker_->pause();
      checking::spin_lock const hold(this->history_.lock(), this->checker_->of_job());
      this->checker_->stored(this->history_, value, releases(order) && this->rule_.orders());
      inner_slot::store(value, order);
    }
  };

  class cell_type : public word_at<inner_cell> {
   public:
    using word_at<inner_cell>::word_at;
    word fetch_add(word value, std::memory_order order) const {
      return change(order, [&] { return std::pair(inner_cell::fetch_add(value, order), value != 0); });
    }
    void without_waking() const = delete;  // the checker sees each change
    word fetch_xor(word value, std::memory_order order) const {
      return change(order, [&] { return std::pair(inner_cell::fetch_xor(value, order), value != 0); });
    }
    word exchange(word value, std::memory_order order) const {
      return change(order, [&] {
        word const before = inner_cell::exchange(value, order);
        return std::pair(before, before != value);
      });
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      bool exchanged = false;
      change(order, [&] {
        exchanged = inner_cell::compare_exchange(expected, desired, order);
        return std::pair(expected, exchanged);
      });
      return exchanged;
    }
    void reset_unshared(word value, std::memory_order order) const {
      checking::spin_lock const hold(this->history_.lock(), this->checker_->of_job());
      this->checker_->stored(this->history_, value, releases(order) && this->rule_.orders());
      inner_cell::reset_unshared(value, order);
    }

   private:
    /// `make()` returns the value before, and whether the word has changed.
    template <class Make>
    word change(std::memory_order order, Make&& make) const {
      this->checker_->pause();
      checking::spin_lock const hold(this->history_.lock(), this->checker_->of_job());
      this->checker_->pass_on(this->history_);
      auto const [before, changed] = make();
      this->checker_->loaded(this->history_, acquires(order) && this->rule_.orders());
      if (changed || releases(order))
        this->checker_->stored(this->history_, inner_cell::load(std::memory_order_relaxed),
                               releases(order) && this->rule_.orders());
      return before;
    }
  };

  checked_control(Inner inner, std::shared_ptr<checking::checker<Rules>> c, control_words words,
                  std::byte* histories, control_rule rule, std::vector<rank_t> in_job)
      : Inner(std::move(inner)),
        checker_(std::move(c)),
        words_(words),
        histories_(histories),
        rule_(rule),
        in_job_(std::move(in_job)) {}

  static std::uint64_t history_bytes(rank_t ranks_of_team, control_words words, std::size_t ranks) noexcept {
    return bytes_of_words(ranks_of_team, words, ranks) + compared_calls::bytes(ranks_of_team);
  }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t writer) const {
    return {Inner::slot(owner, i, writer), checker_.get(), history_of(owner, i), rule_.of_slot(i)};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const {
    return {Inner::cell(owner, i), checker_.get(), history_of(owner, words_.slots + i), rule_.of_cell(i)};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word const seen = [&] {
      hidden_from_sanitizer const hidden;
      return Inner::wait_until(w.inner(), predicate, why);
    }();
    return w.ended_wait(seen, predicate);
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    using inner_word = std::remove_cvref_t<decltype(words[0].inner())>;
    std::vector<inner_word> inner;
    inner.reserve(words.size());
    for (auto const& w : words) inner.push_back(w.inner());
    std::size_t const found = [&] {
      hidden_from_sanitizer const hidden;
      return Inner::wait_any(std::span(inner), predicate, why);
    }();
    static_cast<void>(words[found].ended_wait(0, predicate));
    return found;
  }

  /// See comparing_control. Not inlined, so that the frame is its own.
  [[gnu::noinline]] void compare_call(collective_call const& call, std::string_view label) const {
    if (!Rules::calls()) return;
    std::byte* const calls = histories_ + bytes_of_words(Inner::size(), words_, checker_->shared().ranks());
    checker_->compare_call({calls, Inner::size()}, call, label, Inner::rank(),
                           checker_->number_of_place(__builtin_frame_address(0)));
  }

  /// Gives the acquires and releases of this rank a scope while the result lives.
  [[nodiscard]] auto order_as(order_scope scope) const { return checker_->order_as(scope); }
  /// See rooted_control.
  [[nodiscard]] checking::rooted_order<Rules> order_in_collective(collective_order order, rank_t root) const {
    return {*checker_, in_job_, Inner::rank(), order, root};
  }

 private:
  static std::uint64_t bytes_of_words(rank_t ranks_of_team, control_words words, std::size_t ranks) noexcept {
    return static_cast<std::uint64_t>(ranks_of_team) * (words.slots + words.cells) * history::bytes(ranks);
  }
  [[nodiscard]] history history_of(rank_t owner, std::size_t i) const noexcept {
    std::size_t const ranks = checker_->shared().ranks();
    return {histories_ +
                (static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i) * history::bytes(ranks),
            ranks};
  }

  std::shared_ptr<checking::checker<Rules>> checker_;
  control_words words_;
  std::byte* histories_;
  [[no_unique_address]] control_rule rule_;
  std::vector<rank_t> in_job_;  ///< the numbers of the team's ranks
};

}  // namespace PGAS_NAMESPACE::detail
