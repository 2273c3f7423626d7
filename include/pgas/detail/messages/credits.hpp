// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <pgas/concepts/predictor.hpp>
#include <pgas/detail/messages/bounded_memory.hpp>
#include <pgas/detail/messages/records.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE {

/// The policy by which a receiver lets messages arrive without a question. Each of them has reserved memory.
///
/// `is_unlimited`: every message leaves at once, and memory is not bounded. `returns`: used credit goes back
/// to its sender. `state_bytes(ranks)` bounds what the policy allocates for itself. `first(free, ranks)` is
/// each sender's initial credit, a multiple of 16. `received(message)` reports a receive that the program has
/// ended. `plan(longest, grant)` calls grant(sender, bytes): the sender should have credit for that much
/// memory. It plans for no message above `longest` bytes.
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

}  // namespace PGAS_NAMESPACE

namespace PGAS_NAMESPACE::detail {

/// Senders have no credit: every message waits for its receiver's answer.
struct no_credits {
  static constexpr std::string_view name = "no_credits";
  static constexpr bool is_unlimited = false;
  static constexpr bool returns = false;

  static std::size_t state_bytes(rank_t) noexcept { return 0; }
  no_credits(bounded_memory&, rank_t) noexcept {}
  static std::size_t first(std::size_t, rank_t) noexcept { return 0; }
  static void received(arrived_message const&) noexcept {}
  template <class Grant>
  static void plan(std::size_t, Grant const&) noexcept {}
};
static_assert(message_credits<no_credits>);

/// Each sender has an equal share of half of the free memory, and gets used credit back.
struct static_credits {
  static constexpr std::string_view name = "static_credits";
  static constexpr bool is_unlimited = false;
  static constexpr bool returns = true;

  static std::size_t state_bytes(rank_t) noexcept { return 0; }
  static_credits(bounded_memory&, rank_t) noexcept {}
  static std::size_t first(std::size_t free, rank_t ranks) noexcept {
    return free / 2 / static_cast<std::size_t>(ranks) / 16 * 16;
  }
  static void received(arrived_message const&) noexcept {}
  template <class Grant>
  static void plan(std::size_t, Grant const&) noexcept {}
};
static_assert(message_credits<static_credits>);

/// Senders have unlimited credit: every message leaves at once. A baseline, whose memory is not bounded.
struct unlimited_credits {
  static constexpr std::string_view name = "unlimited";
  static constexpr bool is_unlimited = true;
  static constexpr bool returns = false;

  static std::size_t state_bytes(rank_t) noexcept { return 0; }
  unlimited_credits(bounded_memory&, rank_t) noexcept {}
  static std::size_t first(std::size_t, rank_t) noexcept { return 0; }
  static void received(arrived_message const&) noexcept {}
  template <class Grant>
  static void plan(std::size_t, Grant const&) noexcept {}
};
static_assert(message_credits<unlimited_credits>);

/// Senders have credit for the messages that their receiver predicts among the next `Ahead` ones.
///
/// The stream is the logical one: the order in which the program ends its receives. After each `Ahead` / 2
/// receives the receiver predicts the next `Ahead` ones, and grants what their senders lack. Senders whose
/// credit nothing predicts any more give it back when memory is short.
/// Source: Ferreras 2008, section 3.3.2, Fig. 3.11. There a credit is one message; here a credit is bytes.
/// Memory    that of the predictor, which is counted.
template <predictor Predictor, std::size_t Ahead = 8>
class predicted_credits {
  static_assert(Ahead >= 2);

 public:
  static constexpr std::string_view name = Predictor::name;
  static constexpr bool is_unlimited = false;
  static constexpr bool returns = false;

  static std::size_t state_bytes(rank_t ranks) noexcept {
    return bounded_memory::rounded(sizeof(Predictor)) +
           bounded_memory::rounded(static_cast<std::size_t>(ranks) * sizeof(std::size_t));
  }
  predicted_credits(bounded_memory& memory, rank_t ranks)
      : predictor_(1, &memory), wanted_(static_cast<std::size_t>(ranks), &memory) {}

  static std::size_t first(std::size_t, rank_t) noexcept { return 0; }
  void received(arrived_message const& m) noexcept {
    predictor_.front().observe({m.from, m.bytes});
    ++since_;
  }
  /// Calls grant(sender, memory of all its expected messages together).
  template <class Grant>
  void plan(std::size_t longest, Grant const& grant) {
    if (since_ < Ahead / 2) return;
    since_ = 0;
    std::fill(wanted_.begin(), wanted_.end(), 0);
    for (std::size_t k = 1; k <= Ahead; ++k) {
      auto const next = predictor_.front().ahead(k);
      if (!next || next->bytes > longest) continue;
      std::size_t& all = wanted_[static_cast<std::size_t>(next->from)];
      grant(next->from, all += messages::record::cost(next->bytes));
    }
  }

 private:
  std::pmr::vector<Predictor> predictor_;  ///< one, in counted memory
  std::pmr::vector<std::size_t> wanted_;   ///< by each sender, in this plan
  std::size_t since_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
