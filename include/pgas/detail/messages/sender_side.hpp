// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/messages/bounded_memory.hpp>
#include <pgas/detail/messages/credits.hpp>
#include <pgas/detail/messages/peer.hpp>
#include <pgas/detail/messages/records.hpp>
#include <pgas/vocabulary/message_options.hpp>
#include <span>
#include <utility>

namespace PGAS_NAMESPACE::detail::messages {

/// What a rank sends with flow control: the letters, and the part of the protocol that moves its own
/// messages. See flow for the whole protocol.
template <mailbox Mailbox, message_credits Credits, message_form Form>
class sender_side {
 protected:
  static constexpr std::size_t longest = Mailbox::max_message_bytes;
  static constexpr std::size_t data_bytes = longest - sizeof(letter_head);
  static constexpr std::size_t first_bytes = data_bytes - sizeof(std::uint64_t);
  static constexpr int most_asked = Form == message_form::control ? 1 : peer::most_asked;

  sender_side(Mailbox mail, rank_t ranks, message_options const& o)
      : mail_(std::move(mail)),
        options_(o),
        memory_(Credits::is_unlimited ? ~std::size_t{0} / 2 : o.budget),
        pool_(memory_, o.requests),
        peers_(static_cast<std::size_t>(ranks), &memory_) {}
  sender_side(sender_side const&) = delete;
  sender_side& operator=(sender_side const&) = delete;
  ~sender_side() = default;

  peer& at(rank_t r) noexcept { return peers_[static_cast<std::size_t>(r)]; }

  bool mail_letter(rank_t to, letter_head head, bytes_in first = {}, bytes_in second = {}) {
    peer& p = at(to);
    head.credit = static_cast<std::uint32_t>(std::min<std::size_t>(p.owed / credit_unit, 0xffffffffU));
    std::array<std::byte, longest> text;
    std::memcpy(text.data(), &head, sizeof head);
    std::size_t size = sizeof head;
    for (bytes_in const piece : {first, second}) {
      if (!piece.empty()) std::memcpy(text.data() + size, piece.data(), piece.size());
      size += piece.size();
    }
    if (!mail_.try_send(to, bytes_in(text).first(size))) return false;
    p.owed -= std::size_t{head.credit} * credit_unit;
    ++counts_.letters;
    return true;
  }

  request& unqueue(peer& p, request& r) noexcept {
    if (r.state != request::asked) return r;
    p.queue.remove(r);
    --p.asked;
    return r;
  }
  void on_clear(peer& p, request& r, word place) noexcept {
    unqueue(p, r);
    r.place = place;
    r.state = place == 0 ? request::done : request::sending;
    if (place != 0) p.streams.append(r);
  }
  [[nodiscard]] bool may_leave(peer const& p, request const& r) const noexcept {
    return Credits::is_unlimited || (r.bytes <= options_.eager_bytes && record::cost(r.bytes) <= p.credit);
  }
  /// Sends questions and bytes up to the first letter for which the mailbox has no room. When there is room
  /// again, the service of this rank is called.
  void carry_on(peer& p, rank_t to) {
    if (p.leaving != nullptr && !stream(*p.leaving, to, {.kind = letter_kind::more})) return;
    p.leaving = nullptr;
    for (request* r = p.queue.first(); r != nullptr;) {
      request* const next = r->after;
      if (r->state == request::asked) {
        if (r->age != p.age_out) break;
      } else if (r == p.queue.first() && may_leave(p, *r)) {
        if (!leave(p, *r, to)) return;
      } else if (r->is_ever_asked && r->age == p.age_out) {
        if (Form == message_form::control) break;
      } else {
        if (p.asked == most_asked) break;
        if (!ask(p, *r, to)) return;
      }
      r = next;
    }
    while (request* const r = p.streams.first()) {
      if (!stream(*r, to, {.kind = letter_kind::data, .argument = r->place})) return;
      p.streams.remove(*r);
    }
  }
  bool ask(peer& p, request& r, rank_t to) {
    std::uint64_t const length = r.bytes;
    bool const is_short = r.bytes <= std::min(first_bytes, options_.short_bytes);
    letter_head const head{.kind = letter_kind::ask,
                           .age = p.age_out,
                           .request = static_cast<std::uint16_t>(pool_.name_of(r).place),
                           .argument = r.tag};
    if (!mail_letter(to, head, std::as_bytes(std::span(&length, 1)), {r.from, is_short ? r.bytes : 0}))
      return false;
    r.state = request::asked;
    r.is_ever_asked = true;
    r.age = p.age_out;
    ++p.asked;
    ++counts_.asked;
    return true;
  }
  /// Sends a message on a credit; returns false if some of its bytes remain.
  bool leave(peer& p, request& r, rank_t to) {
    std::uint64_t const length = r.bytes;
    std::size_t const count = std::min(first_bytes, r.bytes);
    letter_head const head{.kind = letter_kind::eager, .argument = r.tag};
    if (!mail_letter(to, head, std::as_bytes(std::span(&length, 1)), {r.from, count})) return false;
    if (!Credits::is_unlimited) p.credit -= record::cost(r.bytes);
    ++counts_.eager;
    p.queue.remove(r);
    r.state = request::sending;
    r.moved = count;
    p.leaving = &r;
    if (!stream(r, to, {.kind = letter_kind::more})) return false;
    p.leaving = nullptr;
    return true;
  }
  /// Sends the remaining bytes; returns whether all have left.
  bool stream(request& r, rank_t to, letter_head const& head) {
    while (r.moved < r.bytes) {
      std::size_t const count = std::min(data_bytes, r.bytes - r.moved);
      if (!mail_letter(to, head, {r.from + r.moved, count})) return false;
      r.moved += count;
    }
    r.state = request::done;
    ++news_;
    return true;
  }

  Mailbox mail_;
  message_options options_;
  bounded_memory memory_;
  request_pool pool_;
  std::pmr::vector<peer> peers_;
  message_counts counts_;
  std::uint64_t news_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::messages
