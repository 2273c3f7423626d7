// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/detail/backends/cluster/near_ranks.hpp>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/detail/backends/process_map/control.hpp>
#include <pgas/detail/backends/process_map/mailbox.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/mpi/mailbox.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The mailbox of ranks on several nodes: messages to a rank of the own node lie in shared memory, as on
/// process_map, and packets carry the others.
///
/// Order: all messages between two ranks go one of the two ways. A message to a near rank, too, waits until
/// this rank's changes of words on other nodes have been carried out, since the receiver must find them.
/// Memory: the rings of a node grow with the square of its ranks, all else with the ranks that this one
/// writes to.
class cluster_mailbox {
  using near_mailbox = mapped_mailbox;
  using far_mailbox = mpi::mailbox<cluster::wire>;

 public:
  static constexpr std::size_t max_message_bytes = near_mailbox::max_message_bytes;
  static_assert(max_message_bytes == far_mailbox::max_message_bytes);

  /// The bytes of the messages between so many ranks of a node.
  static std::uint64_t near_bytes(rank_t ranks) noexcept { return near_mailbox::bytes(ranks); }

  /// `near` is that of this node, by the numbers of ranks among `where`; `far` that of all nodes, if there
  /// are several. `w` is null if the job has one node. `kept` outlasts all accesses.
  cluster_mailbox(near_mailbox near, cluster::near_ranks where, std::optional<far_mailbox> far, rank_t self,
                  std::shared_ptr<cluster::wire> w, std::shared_ptr<void const> kept)
      : kept_(std::move(kept)),
        near_(std::move(near)),
        where_(std::move(where)),
        far_(std::move(far)),
        self_(self),
        wire_(std::move(w)) {}

  /// Sends if the receiver has room, and if no change by this rank of a third rank's word is under way.
  /// Throws errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes) throw_too_long(self_, message.size(), max_message_bytes);
    rank_t const index = where_.index_of(to);
    if (index < 0) return far_->try_send(to, message);
    if (!is_settled()) {
      wire_->poll();
      if (!is_settled()) return false;
    }
    return near_.try_send(index, message);
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t const handled =
        near_.poll([&](rank_t from, bytes_in message) { handler(where_[from], message); });
    if (far_) return handled + far_->poll(handler);
    if (wire_) wire_->poll();
    return handled;
  }

  /// Calls `what` while this rank waits. A near message rings its bell; waits poll for far ones anyway.
  void serve(std::function<void()> what) { near_.serve(std::move(what)); }

 private:
  [[nodiscard]] bool is_settled() const {
    constexpr rank_t nobody = -1;
    return !wire_ || wire_->is_settled(nobody);
  }

  std::shared_ptr<void const> kept_;
  near_mailbox near_;
  cluster::near_ranks where_;
  std::optional<far_mailbox> far_;
  rank_t self_;  ///< its number in the job
  std::shared_ptr<cluster::wire> wire_;
};
static_assert(mailbox<cluster_mailbox>);

/// Control words of ranks on several nodes: near words are mapped, as on process_map, and messages reach the
/// others.
///
/// A processor of the owner's node changes every word; for far ranks, the owner does it. So near and far
/// changes are atomic against each other, and a store to a word rings its bell.
class cluster_control : public control_of_locks {
  /// A word: its address if it is near, else its owner and place.
  class any_word {
   public:
    any_word(word* near, cluster::wire* w, rank_t owner, std::uint64_t home, std::size_t at) noexcept
        : near_(near), wire_(w), owner_(owner), home_(home), at_(at) {}

    [[nodiscard]] word load(std::memory_order order) const {
      if (near_ != nullptr) return std::atomic_ref(*near_).load(order);
      return wire_->ask(owner_, {.what = cluster::action::word_load, .home = home_, .offset = at_}, {},
                        "control word");
    }

   protected:
    friend cluster_control;
    using near_cell = mapped_control::cell_type;
    using near_slot = mapped_control::slot_type;

    /// Call it before a change of the word, see cluster::wire.
    void settle(std::memory_order order) const {
      if (wire_ != nullptr) wire_->settle(order, near_ != nullptr ? -1 : owner_);
    }
    void set(word value, std::memory_order order) const {
      settle(order);
      if (near_ != nullptr) return near_slot(near_).store(value, order);
      tell(cluster::action::word_store, value, order);
    }
    void tell(cluster::action what, word value, std::memory_order order) const {
      wire_->change_word(owner_, {.what = what, .home = home_, .offset = at_, .value = value}, order,
                         is_confirmed_);
    }
    word ask(cluster::action what, word value, bytes_in body = {}) const {
      return wire_->ask(owner_, {.what = what, .home = home_, .offset = at_, .value = value}, body,
                        "control word");
    }

    template <class Word>
    [[nodiscard]] static Word unconfirmed(Word w) noexcept {
      w.is_confirmed_ = false;
      return w;
    }

    word* near_;
    cluster::wire* wire_;  ///< null if all ranks are near
    rank_t owner_;         ///< its number in the job
    std::uint64_t home_;
    std::size_t at_;
    bool is_confirmed_ = true;  ///< before this rank's later releases
  };

 public:
  static constexpr rmw read_modify_write = rmw::mediated;
  static constexpr bool can_park = true;

  class slot_type : public any_word {
   public:
    using any_word::any_word;
    [[nodiscard]] slot_type unconfirmed() const noexcept { return any_word::unconfirmed(*this); }
    /// See roomy_slot. Only a near slot has that room.
    static constexpr std::size_t room_bytes = near_slot::room_bytes;
    [[nodiscard]] std::byte* room() const noexcept { return near_slot(near_).room(); }
    void store(word value, std::memory_order order) const { set(value, order); }
  };
  class cell_type : public refuses_store, public any_word {
   public:
    using any_word::any_word;
    [[nodiscard]] cell_type unconfirmed() const noexcept { return any_word::unconfirmed(*this); }
    word fetch_add(word value, std::memory_order order) const {
      settle(order);
      return near_ != nullptr ? near_cell(near_).fetch_add(value, order)
                              : ask(cluster::action::word_add, value);
    }
    word fetch_xor(word value, std::memory_order order) const {
      settle(order);
      return near_ != nullptr ? near_cell(near_).fetch_xor(value, order)
                              : ask(cluster::action::word_xor, value);
    }
    word exchange(word value, std::memory_order order) const {
      settle(order);
      return near_ != nullptr ? near_cell(near_).exchange(value, order)
                              : ask(cluster::action::word_exchange, value);
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      settle(order);
      if (near_ != nullptr) return near_cell(near_).compare_exchange(expected, desired, order);
      word const before = ask(cluster::action::word_compare, desired, std::as_bytes(std::span(&expected, 1)));
      return std::exchange(expected, before) == before;
    }
    void reset_unshared(word value, std::memory_order order) const { set(value, order); }
    void add(word value, std::memory_order order) const {
      settle(order);
      if (near_ == nullptr) return tell(cluster::action::word_add_only, value, order);
      near_cell(near_).fetch_add(value, order);
    }
    void flip(word value, std::memory_order order) const {
      settle(order);
      if (near_ == nullptr) return tell(cluster::action::word_flip_only, value, order);
      near_cell(near_).fetch_xor(value, order);
    }
  };

  /// `near` has the words of this node, by the owners' numbers among `where`; `home` is the number of the
  /// words in all ranks' `homes`. `kept` outlasts all accesses.
  cluster_control(std::shared_ptr<mapped_control const> near, cluster::near_ranks where, team_ranks ranks,
                  std::shared_ptr<std::vector<rank_t> const> leaders, control_words words,
                  std::string_view label, std::shared_ptr<cluster::wire> w, std::uint64_t home,
                  std::shared_ptr<void const> kept)
      : near_(std::move(near)),
        where_(std::move(where)),
        ranks_(std::move(ranks)),
        leaders_(std::move(leaders)),
        words_(words),
        label_(label),
        wire_(std::move(w)),
        home_(home),
        kept_(std::move(kept)) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t near_count() const noexcept { return where_.count(); }
  [[nodiscard]] rank_t near_rank(rank_t i) const noexcept { return where_[i]; }
  [[nodiscard]] group leaders() const noexcept { return *leaders_; }
  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t writer) const noexcept {
    rank_t const index = where_.index_of(owner);
    return {index < 0 ? nullptr : near_->slot(index, i, writer).address(), wire_.get(),
            ranks_.to_world(owner), home_, i * mapped_control::stride};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    rank_t const index = where_.index_of(owner);
    return {index < 0 ? nullptr : near_->cell(index, i).address(), wire_.get(), ranks_.to_world(owner), home_,
            (words_.slots + i) * mapped_control::stride};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    if (w.near_ != nullptr) {
      for (int i = 0; i < first_looks; ++i) {
        // acquire: pairs with the release of the rank that changes the word, or of its owner for it.
        word const seen = std::atomic_ref(*w.near_).load(std::memory_order_acquire);
        if (predicate(seen)) return seen;
      }
      return wait_near(w.near_, predicate, why);
    }
    word seen = 0;
    auto const condition = [&] { return predicate(seen = w.load(std::memory_order_acquire)); };
    wait_far(condition, why);
    return seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    auto const condition = [&] { return look_at_all(words, predicate, found); };
    bool const all_near =
        std::all_of(words.begin(), words.end(), [](Word const& w) { return w.near_ != nullptr; });
    if (!all_near) return wait_far(condition, why), found;
    std::vector<std::uint32_t*> bells;
    for (Word const& w : words) bells.push_back(mapped_control::beside(w.near_));
    wait_long(condition, why, bells);
    return found;
  }
  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return near_->owner().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const { near_->pause(attempt, why); }

 private:
  word wait_near(word* at, function_ref<bool(word)> predicate, waiting_for const& why) const {
    word seen = 0;
    auto const condition = [&] {
      return predicate(seen = std::atomic_ref(*at).load(std::memory_order_acquire));
    };
    std::uint32_t* const bell = mapped_control::beside(at);
    wait_long(condition, why, {&bell, 1});
    return seen;
  }
  /// Publishing a wait promises that no change by this rank is under way that could end another rank's wait.
  void wait_long(function_ref<bool()> condition, waiting_for const& why,
                 std::span<std::uint32_t* const> bells) const {
    std::optional<cluster::wire::serving> here;
    if (wire_) here.emplace(*wire_);
    auto const prepare = [&](long_wait& patience) {
      if (wire_) wire_->settle_unless(condition);
      patience.awaits(ranks_, in_window(why));
      patience.sleeps_on(bells);
    };
    wait_on(near_->owner(), condition, why, label_, prepare);
  }
  /// Each poll of a far word is a message, so such a wait backs off from the beginning.
  void wait_far(function_ref<bool()> condition, waiting_for const& why) const {
    if (condition()) return;
    cluster::wire::serving const here(*wire_);
    wire_->settle_unless([] { return false; });
    long_wait patience(near_->owner(), why, label_);
    patience.awaits(ranks_, in_window(why));
    while (!condition()) patience.pause();
  }

  std::shared_ptr<mapped_control const> near_;
  cluster::near_ranks where_;
  team_ranks ranks_;
  std::shared_ptr<std::vector<rank_t> const> leaders_;
  control_words words_;
  std::string label_;
  std::shared_ptr<cluster::wire> wire_;
  std::uint64_t home_;
  std::shared_ptr<void const> kept_;
};
static_assert(control_of_nodes<cluster_control> && one_way_cell<cluster_control::cell_type> &&
              confirmed_word<cluster_control::cell_type> && confirmed_word<cluster_control::slot_type> &&
              roomy_slot<cluster_control::slot_type>);

}  // namespace PGAS_NAMESPACE::detail
