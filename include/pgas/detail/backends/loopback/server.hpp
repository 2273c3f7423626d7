// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <optional>
#include <pgas/detail/backends/loopback/memory.hpp>
#include <pgas/detail/backends/loopback/message.hpp>
#include <pgas/vocabulary/error.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// Carries out other ranks' requests on one rank's memory. Only the rank's agent calls it. It passes each
/// sender's messages in the order of their sending.
///
/// No message makes the server fail. It refuses a request that names no memory or reaches past its end. The
/// refusal is in the answer or, for a one-way message, in the answer to the sender's next flush of that
/// memory.
class server {
 public:
  explicit server(directory& memory) : memory_(&memory) {}

  /// Carries out a message and returns its answer, if it has one.
  [[nodiscard]] std::optional<packet> serve(rank_t from, message const& m, bytes_in body) {
    switch (m.kind) {
      case message_kind::put:
        if (outcome const result = put(m, body); result != outcome::done) refused_[{from, m.memory}] = result;
        return std::nullopt;
      case message_kind::get:
        return get(m);
      case message_kind::part_size: {
        auto const found = memory_->find<part>(m.memory);
        return found ? answer(m, outcome::done, found->size()) : answer(m, outcome::unknown_memory);
      }
      case message_kind::flush: {
        auto const refusal = refused_.extract(std::pair(from, m.memory));
        return answer(m, refusal.empty() ? outcome::done : refusal.mapped());
      }
      case message_kind::element_modify:
      case message_kind::element_compare:
      case message_kind::element_load:
      case message_kind::element_store:
        return on_element(m);
      case message_kind::word_load:
      case message_kind::word_store:
      case message_kind::word_fetch_add:
      case message_kind::word_fetch_xor:
      case message_kind::word_exchange:
      case message_kind::word_compare:
        return on_word(m);
      case message_kind::letter:
        if (auto const box = memory_->find<letter_box>(m.memory))
          box->add(static_cast<std::size_t>(m.sender), body);
        return std::nullopt;
      case message_kind::credit:
        if (auto const box = memory_->find<letter_box>(m.memory)) {
          box->add_room(static_cast<std::size_t>(m.sender), m.value);
        }
        return std::nullopt;
      case message_kind::forget:
        memory_->forget(m.memory);
        return std::nullopt;
      case message_kind::release:  // handled by the agent
      case message_kind::answer:
        break;
    }
    return std::nullopt;
  }

 private:
  static element_request request_of(message const& m) noexcept {
    constexpr auto action = [](message_kind kind) {
      switch (kind) {
        case message_kind::element_load:
          return element_action::load;
        case message_kind::element_store:
          return element_action::store;
        case message_kind::element_compare:
          return element_action::compare;
        default:
          return element_action::modify;
      }
    };
    return {action(m.kind), m.element, m.op, m.value, m.expected};
  }

  static message answer_head(message const& question, outcome result, std::uint64_t value = 0) noexcept {
    message a;
    a.kind = message_kind::answer;
    a.ticket = question.ticket;
    a.number = question.number;
    a.result = result;
    a.value = value;
    return a;
  }
  static packet answer(message const& question, outcome result, std::uint64_t value = 0) {
    return pack(answer_head(question, result, value));
  }

  /// True if the rows of a message lie within `size` bytes.
  static bool rows_fit(message const& m, std::size_t size) noexcept {
    if (m.rows == 0 || m.row_bytes == 0) return m.offset <= size;
    if (!fits(m.offset, m.row_bytes, size)) return false;
    std::size_t const left = size - m.offset - m.row_bytes;
    return m.rows == 1 || (m.pitch != 0 ? m.rows - 1 <= left / m.pitch : m.rows <= size / m.row_bytes);
  }

  outcome put(message const& m, bytes_in body) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return outcome::unknown_memory;
    if (!rows_fit(m, found->size()) || m.rows * m.row_bytes != body.size()) return outcome::out_of_range;
    if (body.empty()) return outcome::done;
    std::byte* to = found->data() + m.offset;
    std::byte const* from = body.data();
    for (std::uint64_t row = 0; row < m.rows; ++row, to += m.pitch, from += m.row_bytes) {
      std::memcpy(to, from, m.row_bytes);
    }
    return outcome::done;
  }

  [[nodiscard]] packet get(message const& m) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    if (!rows_fit(m, found->size())) return answer(m, outcome::out_of_range);
    return pack(answer_head(m, outcome::done), found->data() + m.offset, m.pitch, {m.rows, m.row_bytes});
  }

  [[nodiscard]] packet on_element(message const& m) const {
    auto const found = memory_->find<part>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    std::size_t const bytes = element_bytes(m.element);
    if (m.offset % bytes != 0 || !fits(m.offset, bytes, found->size()))
      return answer(m, outcome::out_of_range);
    auto const value = carry_out(request_of(m), found->data() + m.offset);
    return value ? answer(m, outcome::done, *value) : answer(m, outcome::unsupported);
  }

  // seq_cst: no order that the asking rank named is stronger. Pairs with the owner's own accesses to the
  // word.
  [[nodiscard]] packet on_word(message const& m) const {
    auto const found = memory_->find<word_block>(m.memory);
    if (!found) return answer(m, outcome::unknown_memory);
    if (m.offset >= found->size()) return answer(m, outcome::out_of_range);
    std::atomic<word>& w = found->at(m.offset);
    switch (m.kind) {
      case message_kind::word_load:
        return answer(m, outcome::done, w.load());
      case message_kind::word_store:
        w.store(m.value);
        return answer(m, outcome::done);
      case message_kind::word_fetch_add:
        return answer(m, outcome::done, w.fetch_add(m.value));
      case message_kind::word_fetch_xor:
        return answer(m, outcome::done, w.fetch_xor(m.value));
      case message_kind::word_exchange:
        return answer(m, outcome::done, w.exchange(m.value));
      default: {  // word_compare
        word found_there = m.expected;
        w.compare_exchange_strong(found_there, m.value);
        return answer(m, outcome::done, found_there);
      }
    }
  }

  directory* memory_;
  std::map<std::pair<rank_t, memory_id>, outcome>
      refused_;  ///< refused puts, until their sender's next flush
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
