// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// Letters from agent to agent, at most 16 under way from each sender to each receiver. A receiver that
/// removes a letter returns room for one to its sender. Memory: a queue and a number for each rank, and the
/// letters that have arrived.
class message_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  message_mailbox(std::shared_ptr<loopback::agent> a, loopback::memory_id id, team_ranks const& ranks)
      : message_mailbox(std::move(a), id,
                        std::make_shared<loopback::letter_box>(static_cast<std::size_t>(ranks.size())),
                        ranks) {}

  /// Sends if the receiver has room. Throws errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    loopback::agent& mine = held_.owner();
    if (message.size() > max_message_bytes) throw_too_long(mine.rank(), message.size(), max_message_bytes);
    mine.settle("try_send",
                ranks_.to_world(to));  // the receiver of the letter finds this rank's earlier stores
    if (!box_->take_room(static_cast<std::size_t>(to))) return false;
    if (to == ranks_.self()) {
      box_->add(static_cast<std::size_t>(to), message);
    } else {
      mine.notify(ranks_.to_world(to), head(loopback::message_kind::letter), message);
    }
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      auto const sender = static_cast<std::size_t>(from);
      for (std::size_t left = box_->count(sender); left > 0; --left, ++handled) {
        auto const letter = box_->take(sender);
        if (from == ranks_.self()) {
          box_->add_room(sender, 1);
        } else {
          auto m = head(loopback::message_kind::credit);
          m.value = 1;
          held_.owner().notify(ranks_.to_world(from), m);
        }
        handler(from, bytes_in(letter));
      }
    }
    return handled;
  }

  /// Calls `what` while this rank waits. The arrival of a letter wakes a rank that sleeps.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what == nullptr) return;
    service_ = std::make_unique<service>(held_.owner().of_job().block(), held_.owner().bells().front(),
                                         std::move(what));
  }

 private:
  message_mailbox(std::shared_ptr<loopback::agent> a, loopback::memory_id id,
                  std::shared_ptr<loopback::letter_box> box, team_ranks const& ranks)
      : held_(std::move(a), id, box), ranks_(ranks), box_(std::move(box)) {}

  [[nodiscard]] loopback::message head(loopback::message_kind kind) const noexcept {
    loopback::message m;
    m.kind = kind;
    m.memory = held_.id();
    m.sender = ranks_.self();
    return m;
  }

  loopback::held_memory held_;
  team_ranks ranks_;
  std::shared_ptr<loopback::letter_box> box_;
  std::unique_ptr<service> service_;
};
static_assert(mailbox<message_mailbox>);

/// Control words that only their owner reaches. The owner accesses them as atomics; its agent does so for
/// other ranks.
///
/// A store to another rank's word returns at once; every other access waits for an answer. Memory: 64 bytes a
/// word.
class message_control : public control_of_locks {
  using kind = loopback::message_kind;

  /// One word: its address if this rank owns it, else the rank to ask.
  class word_at {
   public:
    word_at(std::atomic<word>* own, loopback::agent* a, rank_t owner, loopback::memory_id memory,
            std::size_t i) noexcept
        : own_(own), agent_(a), owner_(owner), memory_(memory), i_(i) {}

    [[nodiscard]] bool is_own() const noexcept { return own_ != nullptr; }

    // Accesses by the owner pair with those of its agent, which are seq_cst (see server.hpp).
    [[nodiscard]] word load(std::memory_order order) const {
      return own_ != nullptr ? own_->load(order) : ask(kind::word_load, "load");
    }

   protected:
    void write(word value, std::memory_order order) const {
      settle(order);
      if (own_ != nullptr) return own_->store(value, order);
      agent_->tell(owner_, message_for(kind::word_store, value));
      // Two ranks may each store and then load the other's word. At least one of them must see the other's
      // store.
      if (order == std::memory_order_seq_cst) agent_->settle("store");
    }
    word fetch_add(word value, std::memory_order order) const {
      settle(order);
      return own_ != nullptr ? own_->fetch_add(value, order) : ask(kind::word_fetch_add, "fetch_add", value);
    }
    word fetch_xor(word value, std::memory_order order) const {
      settle(order);
      return own_ != nullptr ? own_->fetch_xor(value, order) : ask(kind::word_fetch_xor, "fetch_xor", value);
    }
    word exchange(word value, std::memory_order order) const {
      settle(order);
      return own_ != nullptr ? own_->exchange(value, order) : ask(kind::word_exchange, "exchange", value);
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      settle(order);
      if (own_ != nullptr) return own_->compare_exchange_strong(expected, desired, order);
      word const found = ask(kind::word_compare, "compare_exchange", desired, expected);
      bool const is_equal = found == expected;
      expected = found;
      return is_equal;
    }
    [[nodiscard]] rank_t self() const noexcept { return agent_->rank(); }

   private:
    /// A release also covers this rank's stores on ranks other than the word's owner.
    void settle(std::memory_order order) const {
      if (order == std::memory_order_release || order == std::memory_order_acq_rel ||
          order == std::memory_order_seq_cst) {
        agent_->settle("control word", owner_);
      }
    }
    [[nodiscard]] loopback::message message_for(kind what, word value = 0, word expected = 0) const noexcept {
      loopback::message m;
      m.kind = what;
      m.memory = memory_;
      m.offset = i_;
      m.value = value;
      m.expected = expected;
      return m;
    }
    word ask(kind what, std::string_view operation, word value = 0, word expected = 0) const {
      return agent_->ask_now(owner_, message_for(what, value, expected), operation).value;
    }

    std::atomic<word>* own_;
    loopback::agent* agent_;
    rank_t owner_;
    loopback::memory_id memory_;
    std::size_t i_;
  };

 public:
  static constexpr rmw read_modify_write = rmw::mediated;
  static constexpr bool can_park = true;

  class slot_type : public word_at {
   public:
    slot_type(word_at w, rank_t writer) noexcept : word_at(w), writer_(writer) {}
    void store(word value, std::memory_order order) const {
      PGAS_EXPECTS(heavy, writer_ == self(),
                   throw error(errc::wrong_order, self(), "store",
                               "only rank " + std::to_string(writer_) + " may store to this slot"));
      write(value, order);
    }

   private:
    rank_t writer_;  ///< as a number of the job
  };

  class cell_type : public word_at, public refuses_store {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}
    using word_at::compare_exchange;
    using word_at::exchange;
    using word_at::fetch_add;
    using word_at::fetch_xor;
    void reset_unshared(word value, std::memory_order order) const { write(value, order); }
  };

  message_control(std::shared_ptr<loopback::agent> a, loopback::memory_id id, control_words words,
                  team_ranks ranks, std::string_view label)
      : message_control(std::move(a), id, std::make_shared<loopback::word_block>(words.slots + words.cells),
                        words, std::move(ranks), label) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t writer) const noexcept {
    return {at(owner, i), ranks_.to_world(writer)};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return cell_type(at(owner, words_.slots + i));
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word seen = 0;
    // acquire: pairs with the store of the word's writer, through the agent of the word's owner.
    wait([&] { return predicate(seen = w.load(std::memory_order_acquire)); }, why, w.is_own());
    return seen;
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    bool const all_own = std::all_of(words.begin(), words.end(), [](Word const& w) { return w.is_own(); });
    wait([&] { return look_at_all(words, predicate, found); }, why, all_own);
    return found;
  }

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return held_.owner().of_job().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const {
    back_off(held_.owner().of_job(), attempt, why);
  }

 private:
  message_control(std::shared_ptr<loopback::agent> a, loopback::memory_id id,
                  std::shared_ptr<loopback::word_block> own, control_words words, team_ranks ranks,
                  std::string_view label)
      : held_(std::move(a), id, own),
        ranks_(std::move(ranks)),
        own_(std::move(own)),
        words_(words),
        label_(label) {}

  [[nodiscard]] word_at at(rank_t owner, std::size_t i) const noexcept {
    auto* const own = owner == ranks_.self() ? &own_->at(i) : nullptr;
    return {own, &held_.owner(), ranks_.to_world(owner), held_.id(), i};
  }

  /// Waits for a condition. Each poll of another rank's word is a message, so that wait backs off from the
  /// beginning.
  template <class Condition>
  void wait(Condition&& condition, waiting_for const& why, bool is_cheap) const {
    loopback::agent& mine = held_.owner();
    auto const served = [&] {
      service::run_all(mine.of_job().block());
      return condition();
    };
    for (int i = 0, looks = is_cheap ? eager_yields : 1; i < looks; ++i) {
      if (served()) return;
      give_up_core();
    }
    // Publishing a wait promises that this rank has no message under way that could end another rank's wait.
    mine.settle(why.operation);
    long_wait patience(mine.of_job(), why, label_);
    patience.awaits(ranks_, in_window(why));
    if (is_cheap) patience.sleeps_on(mine.bells());
    while (!served()) is_cheap ? patience.pause(served) : patience.pause();
  }

  loopback::held_memory held_;
  team_ranks ranks_;
  std::shared_ptr<loopback::word_block> own_;
  control_words words_;
  std::string label_;
};
static_assert(control<message_control>);

}  // namespace PGAS_NAMESPACE::detail
