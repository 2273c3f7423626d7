// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The messages of one window's protocols, in one mailbox. A message is the number of its line, and a word.
///
/// The office polls while this rank waits. A receiver sends its answer at once, or, if there is no room,
/// keeps it for the next poll: a rank that answers must not wait, since the room may hang on a rank that
/// waits for this one. A small message of one of the first lines is one word of the mailbox, where that has
/// words. Memory: the mailbox's, and the messages that found no room.
template <mailbox Mailbox>
class mail_office {
 public:
  explicit mail_office(Mailbox m) : mailbox_(std::move(m)) {
    mailbox_.serve([this] { poll(); });
  }
  mail_office(mail_office const&) = delete;
  mail_office& operator=(mail_office const&) = delete;
  ~mail_office() = default;

  [[nodiscard]] std::size_t open(message_receiver receiver) {
    lines_.add(receiver);
    return lines_.size() - 1;
  }
  void close(std::size_t line) noexcept { lines_[line] = {}; }

  [[nodiscard]] bool try_send(rank_t to, std::size_t line, word message) {
    if (kept_.empty()) return try_mail(to, {line, message});
    send_kept();
    return !waits_for(to, kept_.size()) && try_mail(to, {line, message});
  }
  void send_later(rank_t to, std::size_t line, word message) {
    if (!try_send(to, line, message)) kept_.add({to, {line, message}});
  }

  void poll() {
    if (polls_) return;  // a receiver has called what polls
    polling const now(polls_);
    if (!kept_.empty()) send_kept();
    mailbox_.poll(sorting{*this});
  }

  bool expect([[maybe_unused]] rank_t from, [[maybe_unused]] int looks) {
    if constexpr (mailbox_of_words<Mailbox>) {
      if (polls_) return false;
      polling const now(polls_);
      return mailbox_.poll_from(from, looks, sorting{*this});
    }
    return false;
  }
  void will_send([[maybe_unused]] rank_t to) noexcept {
    if constexpr (mailbox_of_words<Mailbox>) mailbox_.will_send(to);
  }

 private:
  struct letter {
    std::uint64_t line;
    word message;
  };
  struct kept_letter {
    rank_t to;
    letter what;
  };

  class polling {
   public:
    explicit polling(bool& is) noexcept : is_(is) { is_ = true; }
    polling(polling const&) = delete;
    polling& operator=(polling const&) = delete;
    ~polling() { is_ = false; }

   private:
    bool& is_;
  };

  /// Gives each message to the receiver of its line.
  struct sorting {
    mail_office& office;

    void operator()(rank_t from, bytes_in bytes) const {
      letter one;
      std::memcpy(&one, bytes.data(), sizeof one);
      office.give(from, one);
    }
    void operator()(rank_t from, word text) const {
      office.give(from, {text & (lines_in_words - 1), text >> line_bits});
    }
  };
  void give(rank_t from, letter one) {
    auto const to = one.line < lines_.size() ? lines_[one.line] : message_receiver{};
    if (to.receive != nullptr) to.receive(to.state, from, one.message);
  }

  // A letter in a word: its message, and then the number of its line.
  static constexpr unsigned line_bits = 8;
  static constexpr word lines_in_words = word{1} << line_bits;

  [[nodiscard]] bool try_mail(rank_t to, letter one) {
    if constexpr (mailbox_of_words<Mailbox>) {
      if (one.line < lines_in_words && one.message <= Mailbox::most_word >> line_bits) {
        word const text = one.message << line_bits | one.line;
        return lines_[one.line].is_close ? mailbox_.try_send_close_word(to, text)
                                         : mailbox_.try_send_word(to, text);
      }
    }
    return mailbox_.try_send(to, std::as_bytes(std::span(&one, 1)));
  }

  /// Returns whether one of the first `count` kept messages is for `to`, so that later ones must stay behind.
  [[nodiscard]] bool waits_for(rank_t to, std::size_t count) const noexcept {
    return std::any_of(kept_.begin(), kept_.begin() + count,
                       [to](kept_letter const& k) { return k.to == to; });
  }
  void send_kept() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_letter const one = kept_[i];
      if (waits_for(one.to, left) || !try_mail(one.to, one.what)) kept_[left++] = one;
    }
    kept_.cut(left);
  }

  Mailbox mailbox_;
  plain_list<message_receiver> lines_;
  plain_list<kept_letter> kept_;
  bool polls_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
