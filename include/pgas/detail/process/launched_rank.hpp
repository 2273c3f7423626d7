// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <limits>
#include <optional>
#include <pgas/detail/process/setting.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// What a launcher has passed to a rank of its job, in PGAS_RANK, PGAS_RANKS and PGAS_JOB_FD.
struct launched_rank {
  rank_t rank;
  rank_t ranks;
  int fd;  ///< the descriptor of the job's memory

  /// Returns nothing if no launcher has started this process. Throws errc::invalid_argument if only some of
  /// the variables are there, or one is empty: the program would else run as a job of its own, as many times
  /// as it was started. PGAS_RANKS alone is the user's, and counts as unset if it is empty.
  static std::optional<launched_rank> find() {
    auto const rank = setting::variable("PGAS_RANK");
    auto const ranks = setting::variable("PGAS_RANKS");
    auto const fd = setting::variable("PGAS_JOB_FD");
    launched_rank found{.rank = -1, .ranks = -1, .fd = -1};
    if (rank.given()) found.rank = number(rank.whole("a rank's number", 0, 999'999));
    if (ranks.given()) found.ranks = number(ranks.whole("a number of ranks", 1, 1'000'000));
    if (fd.given()) found.fd = number(fd.whole("a descriptor", 0, std::numeric_limits<int>::max()));
    bool const is_there = rank.given() || rank.is_empty() || fd.given() || fd.is_empty();
    if (!is_there) return std::nullopt;
    for (setting const* const each : {&rank, &ranks, &fd}) {
      if (each->is_empty()) refuse(*each, "is empty");
    }
    for (setting const* const each : {&rank, &ranks, &fd}) {
      if (!each->given()) refuse(*each, "is missing");
    }
    if (found.rank >= found.ranks)
      rank.refuse(text_of({"a rank's number below PGAS_RANKS, which is ", found.ranks}));
    return found;
  }

 private:
  static int number(std::uint64_t value) noexcept { return static_cast<int>(value); }
  [[noreturn]] static void refuse(setting const& which, std::string_view what) {
    constexpr std::string_view advice =
        ", but a launcher sets PGAS_RANK, PGAS_RANKS and PGAS_JOB_FD; start the ranks by pgas-run, or unset "
        "all three";
    throw_error(errc::invalid_argument, -1, {"run: ", which.name(), " ", what, advice});
  }
};

/// Throws errc::unsupported if a launcher has started this process. `why` says which of its ranks cannot be
/// started so.
inline void refuse_launcher(std::string_view why) {
  if (setting::variable("PGAS_JOB_FD").given())
    throw_error(errc::unsupported, -1, {why, ": start the program itself, without pgas-run"});
}

}  // namespace PGAS_NAMESPACE::detail
