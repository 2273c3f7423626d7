// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstring>
#include <pgas/concepts/mailbox.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The messages of one window's protocols, in one mailbox. A message is the number of its line, and a word.
///
/// The office polls while this rank waits. A receiver sends its answer at once, or, if there is no room,
/// keeps it for the next poll: a rank that answers must not wait, since the room may hang on a rank that
/// waits for this one. Memory: the mailbox's, and the messages that found no room.
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
    lines_.push_back(receiver);
    return lines_.size() - 1;
  }
  void close(std::size_t line) noexcept { lines_[line] = {}; }

  [[nodiscard]] bool try_send(rank_t to, std::size_t line, word message) {
    if (!kept_.empty()) send_kept();
    letter const one{line, message};
    return !waits_for(to, kept_.size()) && mailbox_.try_send(to, std::as_bytes(std::span(&one, 1)));
  }
  void send_later(rank_t to, std::size_t line, word message) {
    if (!try_send(to, line, message)) kept_.push_back({to, {line, message}});
  }

  void poll() {
    if (polls_) return;  // a receiver has called what polls
    struct polling {
      bool& now;
      ~polling() { now = false; }
    } const ends{polls_ = true};
    send_kept();
    mailbox_.poll([this](rank_t from, bytes_in bytes) {
      letter one;
      std::memcpy(&one, bytes.data(), sizeof one);
      auto const to = one.line < lines_.size() ? lines_[one.line] : message_receiver{};
      if (to.receive != nullptr) to.receive(to.state, from, one.message);
    });
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

  /// Returns whether one of the first `count` kept messages is for `to`, so that later ones must stay behind.
  [[nodiscard]] bool waits_for(rank_t to, std::size_t count) const noexcept {
    return std::any_of(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count),
                       [to](kept_letter const& k) { return k.to == to; });
  }
  void send_kept() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_letter const one = kept_[i];
      if (waits_for(one.to, left) || !mailbox_.try_send(one.to, std::as_bytes(std::span(&one.what, 1))))
        kept_[left++] = one;
    }
    kept_.resize(left);
  }

  Mailbox mailbox_;
  std::vector<message_receiver> lines_;
  std::vector<kept_letter> kept_;
  bool polls_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
