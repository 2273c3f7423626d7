// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// A rank's call of a collective of its team, with its place in the program.
struct placed_call {
  std::uint64_t number = 0;  ///< among the calls of the rank on the team, from 1 on
  word name = 0;
  word shape = 0;
  word facts = 0;
  std::uint32_t tag = 0;    ///< a hash of all that must agree
  std::uint32_t where = 0;  ///< the number of its place
  rank_t in_job = 0;        ///< the rank that calls
  rank_t in_team = 0;
  std::array<char, 24> label{};  ///< the window of a fence

  placed_call() = default;
  placed_call(collective_call const& call, std::string_view of, rank_t job_rank, rank_t team_rank,
              std::uint32_t place)
      : name(call.name()),
        shape(call.shape()),
        facts(call.facts()),
        tag(call.tag() ^ hash_of(of)),
        where(place),
        in_job(job_rank),
        in_team(team_rank) {
    std::copy_n(of.data(), std::min(of.size(), label.size() - 1), label.data());
  }

  /// The operation, and how it differs from a call of the same name.
  [[nodiscard]] std::string text() const {
    collective_call const call(name, shape, facts);
    if (label[0] != '\0') return call.text(false) + " on " + label.data();
    bool const is_bare = shape == collective_call("barrier").shape();
    return call.text(!is_bare);
  }

 private:
  static std::uint32_t hash_of(std::string_view text) noexcept {
    std::uint32_t hash = 0;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
    return hash;
  }
};

/// The latest calls of collectives on one team, in zeroed memory that its ranks share.
///
/// Each rank counts its calls, and calls with the same number must agree. The first rank that arrives at a
/// number enters its call; each other rank compares its own. A rank may be ahead of others by any number of
/// calls, and then overwrites old entries; a late rank that finds a newer entry compares nothing. The caller
/// holds lock(), or is alone. Source: the call records of MUST (Hilbrich et al. 2012); ours need no messages.
class compared_calls {
 public:
  compared_calls(std::byte* memory, rank_t ranks) noexcept
      : shared_(reinterpret_cast<head*>(memory)),
        counts_(reinterpret_cast<std::uint64_t*>(memory + sizeof(head))),
        ranks_(ranks) {}

  static constexpr std::size_t bytes(rank_t ranks) noexcept {
    return sizeof(head) + static_cast<std::size_t>(ranks) * sizeof(std::uint64_t);
  }
  [[nodiscard]] std::uint32_t& lock() const noexcept { return shared_->lock; }

  /// Enters or compares the next call of this rank. Returns the call of another rank that differs.
  std::optional<placed_call> enter(placed_call mine) const {
    if (mine.in_team < 0 || mine.in_team >= ranks_) return std::nullopt;
    mine.number = ++counts_[mine.in_team];
    placed_call& first = shared_->latest[mine.number % kept];
    if (first.number < mine.number) {
      first = mine;
    } else if (first.number == mine.number && first.tag != mine.tag) {
      return first;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kept = 32;
  struct head {
    std::uint32_t lock;
    std::array<placed_call, kept> latest;
  };
  static_assert(std::is_trivially_copyable_v<placed_call> && sizeof(head) % sizeof(std::uint64_t) == 0);

  head* shared_;
  std::uint64_t* counts_;
  rank_t ranks_;
};

/// The sentence for two calls that differ. `line_of(number)` is the program's line at a place.
template <class Line>
std::string report_of(placed_call const& mine, placed_call const& other, Line const& line_of) {
  auto const says = [&](placed_call const& c) {
    std::string rank = text_of({"rank ", c.in_job});
    if (c.in_team != c.in_job) rank += text_of({" (rank ", c.in_team, " of the team)"});
    return text_of({rank, " calls ", c.text(), " at ", line_of(c.where)});
  };
  bool const folds_alone = mine.name == other.name && mine.text() == other.text();
  return text_of({says(mine), " while ", says(other),
                  folds_alone ? "; all ranks of a team must fold in the same way, and count blocks alike"
                  : mine.name == other.name
                      ? "; all ranks of a team must give values of one size and name the same root"
                      : "; all ranks of a team must call the same collectives in the same order"});
}

}  // namespace PGAS_NAMESPACE::detail
