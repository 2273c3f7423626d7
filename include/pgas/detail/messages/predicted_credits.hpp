// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/predictor.hpp>
#include <pgas/detail/messages/credit_policy.hpp>
#include <pgas/detail/messages/records.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A sender has credit for the messages that its receiver predicts, which it expects among the next `Ahead`.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
