// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <optional>
#include <pgas/lock_all.hpp>
#include <pgas/stage.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/window.hpp>
#include <string_view>

#include "problem.hpp"
#include "wide_barrier.hpp"

namespace example::dsde {

/// Exchanges by puts into a cell that each rank has in the inbox of each other, and one barrier. Nobody
/// counts, asks for a slot or acknowledges: a cell has the number of its round and of its items.
///
/// An inbox has two halves, which rounds use in turn. A rank that puts in round r + 2 has passed the barrier
/// of round r + 1, which the owner enters when it has read the cells of round r.
///
/// Costs one put for each delivery, a flush of all, and the barrier. Memory: two lines for each rank, and
/// more if items need more. A rank looks at the first word of each cell, as `alltoall` looks at each count,
/// but no message is sent for it.
template <class Team>
class inbox {
  // No rank locks a part for itself, so the epoch that stays open excludes nobody.
  using protocols = pgas::protocols<typename Team::protocols_type::fence, typename Team::protocols_type::post,
                                    pgas::sync::shared_only>;
  using quiet_team = pgas::team<typename Team::backend_type, typename Team::coherence_type, protocols>;
  using window_type = pgas::window_on<quiet_team, item>;

 public:
  static constexpr std::string_view name = "inbox";

  inbox(Team const& team, problem const& p)
      : self_(static_cast<std::size_t>(team.rank())),
        ranks_(static_cast<std::size_t>(team.size())),
        cell_((p.items + line) / line * line),
        message_(p.items + 1),
        window_(pgas::make_window<item>(quiet_team(team.state()), 2 * ranks_ * cell_)),
        barrier_(window_) {
    {
      auto const cells = pgas::stage(window_, pgas::write_only);
      std::fill(cells.begin(), cells.end(), 0U);
    }
    epoch_.emplace(window_);
    epoch_->sync();
    team.barrier();  // all cells are empty
    barrier_.tune(team, *epoch_);
  }

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective. Each delivery has at most
  /// the problem's items.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    ++round_;
    std::size_t const half = round_ % 2 * ranks_ * cell_;
    for (delivery const& d : out) {
      message_[0] = round_ << count_bits | d.items.size();
      std::copy(d.items.begin(), d.items.end(), message_.begin() + 1);
      epoch_->put(d.to, half + self_ * cell_, std::span<item const>(message_).first(d.items.size() + 1));
      epoch_->flush_local(d.to);
    }
    epoch_->flush_all();
    barrier_.pass(*epoch_);
    epoch_->sync();
    auto const cells = pgas::stage(window_, half, ranks_ * cell_, pgas::read_only);
    for (auto cell = cells.begin(); cell != cells.end(); cell += cell_) {
      if (*cell >> count_bits != round_) continue;
      in.insert(in.end(), cell + 1, cell + 1 + (*cell & ((1U << count_bits) - 1)));
    }
  }

 private:
  static constexpr std::size_t line = 8;      ///< words: no two senders share a line
  static constexpr unsigned count_bits = 16;  ///< of a cell's first word; the round has the others

  std::size_t self_;
  std::size_t ranks_;
  std::size_t cell_;  ///< the words of a cell
  std::vector<item> message_;
  window_type window_;
  wide_barrier<window_type> barrier_;
  std::optional<pgas::lock_all<typename window_type::state_type>> epoch_;
  item round_ = 0;
};

}  // namespace example::dsde
