// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <pgas/concepts/predictor.hpp>

namespace PGAS_NAMESPACE::prediction {

/// The dynamic periodicity detector: it finds the shortest period of the last messages, and repeats it.
///
/// Source: Ferreras 2008, Equation 3.1: d(m) is 0 if all of N samples equal those m before them. Here
/// `run(m)` counts the last samples that do, so each sample costs one comparison for each m.
/// While predictions hold, a sample costs one comparison: that is his short form, and a wrong prediction
/// starts the search anew.
/// Differs   N is the period itself, at least 4: a period is believed when it has come twice. In the source
///           N is the history, so a stream shorter than that has no period. Between two periods the last one
///           is still repeated, since a loop often goes on after a break.
/// Memory    `History` samples. Costs O(1) a message while it predicts right, O(History) while it searches,
///           and O(History * History) at a wrong prediction.
template <std::size_t History = 256>
class periodicity {
  static_assert(History >= 4);

 public:
  static constexpr std::string_view name = "periodicity";

  void observe(observed_message m) noexcept {
    auto const expected = ahead(1);
    samples_[count_++ % kept] = m;
    if (is_sure_ && expected == m) return;
    if (is_sure_) {
      measure_again();
    } else {
      for (std::size_t p = 1; p <= History; ++p) runs_[p] = equals(p, 0) ? runs_[p] + 1 : 0;
    }
    choose();
  }
  [[nodiscard]] std::optional<observed_message> ahead(std::size_t k) const noexcept {
    if (period_ == 0 || k == 0) return std::nullopt;
    return before(period_ - 1 - (k - 1) % period_);
  }
  /// The last period that it has found, or 0.
  [[nodiscard]] std::size_t period() const noexcept { return period_; }

 private:
  static constexpr std::size_t kept = 2 * History;
  static constexpr std::size_t least_run = 4;

  /// The sample `back` before the last one.
  [[nodiscard]] observed_message const& before(std::size_t back) const noexcept {
    return samples_[(count_ - 1 - back) % kept];
  }
  /// Returns whether the sample `back` before the last one equals that one period earlier.
  [[nodiscard]] bool equals(std::size_t period, std::size_t back) const noexcept {
    return back + period < std::min(count_, kept) && before(back) == before(back + period);
  }
  void measure_again() noexcept {
    for (std::size_t p = 1; p <= History; ++p) {
      runs_[p] = 0;
      while (runs_[p] < History && equals(p, runs_[p])) ++runs_[p];
    }
  }
  void choose() noexcept {
    is_sure_ = false;
    for (std::size_t p = 1; p <= History && !is_sure_; ++p) {
      if (runs_[p] < std::max(p, least_run)) continue;
      period_ = p;
      is_sure_ = true;
    }
  }

  std::array<observed_message, kept> samples_{};
  std::array<std::size_t, History + 1> runs_{};
  std::size_t count_ = 0;
  std::size_t period_ = 0;
  bool is_sure_ = false;  ///< the last samples repeat with this period; else it is the last one that did
};
static_assert(predictor<periodicity<>>);

}  // namespace PGAS_NAMESPACE::prediction
