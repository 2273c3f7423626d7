// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/detail/messages/bounded_memory.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS {

/// The policy by which a receiver lets messages come without a question. Each of them has reserved memory.
///
/// `is_unlimited`: every message leaves at once, and no memory is bounded. `returns`: what a sender has used
/// goes back to that sender. `state_bytes(ranks)` bounds what the policy allocates for itself. `first(free,
/// ranks)` is each sender's credit from the start, a multiple of 16. `received(message)` tells of a receive
/// that the program has ended. `plan(longest, grant)` calls grant(sender, bytes): the sender should have
/// credit for that much memory. It plans for no message above `longest` bytes.
template <class C>
concept message_credits = std::constructible_from<C, detail::bounded_memory&, rank_t> &&
                          requires(C c, std::size_t bytes, rank_t ranks, arrived_message const& m,
                                   void (*grant)(rank_t, std::size_t)) {
                            { C::name } -> std::convertible_to<std::string_view>;
                            { C::is_unlimited } -> std::convertible_to<bool>;
                            { C::returns } -> std::convertible_to<bool>;
                            { C::state_bytes(ranks) } -> std::same_as<std::size_t>;
                            { c.first(bytes, ranks) } -> std::same_as<std::size_t>;
                            { c.received(m) } noexcept;
                            c.plan(bytes, grant);
                          };

}  // namespace pgas::inline PGAS_ASSERTIONS
