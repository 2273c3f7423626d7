// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pgas/detail/checking/line_of_calls.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The latest error of each rank, with the calls that led to it.
///
/// Each rank records its own. The launcher reads the log when all ranks have ended, and adds lines to the
/// job's error: that of the call which was refused, or those of all waits in a deadlock.
class error_log {
 public:
  /// The error of one rank. All bytes zero: there is none.
  struct entry {
    std::uint64_t hash;  ///< of its description
    call_chain calls;
  };

  /// A log in this memory, which has an entry for each rank of the job.
  explicit error_log(std::span<entry> all) noexcept : all_(all) {}

  /// Records an error that a rank of the job has made.
  void note(error const& made) const noexcept {
    if (has(made.rank())) of(made.rank()) = {hash(made.description()), call_chains::found_here()};
  }

  /// Runs `launch()`. If it throws an error that a rank has recorded, lines are appended to it.
  template <class Launch>
  auto with_lines(Launch&& launch) const {
    try {
      return launch();
    } catch (error const& failure) {
      std::string const lines = lines_of(failure);
      if (lines.empty()) throw;
      throw error(static_cast<errc>(failure.code().value()), failure.rank(),
                  text_of({failure.description(), "; see ", lines}));
    }
  }

 private:
  static std::uint64_t hash(std::string_view text) noexcept {
    return std::hash<std::string_view>{}(text) | 1U;
  }
  [[nodiscard]] bool has(rank_t rank) const noexcept {
    return rank >= 0 && static_cast<std::size_t>(rank) < all_.size();
  }
  [[nodiscard]] entry& of(rank_t rank) const noexcept { return all_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] std::string lines_of(error const& failure) const {
    if (failure.code() == errc::deadlock) return lines_of_waits();
    if (!has(failure.rank()) || of(failure.rank()).hash != hash(failure.description())) return {};
    return program_line_of_calls(of(failure.rank()).calls);
  }

  /// Names each line once, with the first rank that is there. A rank at no known line of the program is left
  /// out, for example if its function has returned.
  [[nodiscard]] std::string lines_of_waits() const {
    struct place {
      std::string line;
      rank_t first;
      std::size_t ranks;
    };
    std::vector<place> places;
    for (rank_t rank = 0; has(rank); ++rank) {
      if (of(rank).hash == 0) continue;
      std::string line = program_line_of_calls(of(rank).calls);
      if (line.empty()) continue;
      auto const known =
          std::find_if(places.begin(), places.end(), [&](place const& p) { return p.line == line; });
      if (known != places.end()) {
        ++known->ranks;
      } else {
        places.push_back({std::move(line), rank, 1});
      }
    }
    std::string text;
    for (place const& p : places) {
      if (!text.empty()) text += &p == &places.back() ? " and " : ", ";
      text += text_of({"rank ", p.first});
      if (p.ranks > 1) text += text_of({" and ", p.ranks - 1, p.ranks == 2 ? " other" : " others"});
      text += " at " + p.line;
    }
    return text;
  }

  std::span<entry> all_;
};

/// While it lives, records the errors of the ranks that run on this thread.
class error_recorder final : public error_listener {
 public:
  explicit error_recorder(error_log log) noexcept
      : log_(log), before_(std::exchange(listens_to_errors(), this)) {}
  error_recorder(error_recorder const&) = delete;
  error_recorder& operator=(error_recorder const&) = delete;
  ~error_recorder() { listens_to_errors() = before_; }

  void hear(error const& made) noexcept override { log_.note(made); }

 private:
  error_log log_;
  error_listener* before_;
};

}  // namespace PGAS_NAMESPACE::detail
