// SPDX-License-Identifier: BSL-1.0
#pragma once

// Random accesses to an array by lists of cells and by masks, with requests and without: a part of the random
// programs. Every value read and all cells at the end equal those of a serial run on every model.
#include <algorithm>
#include <array>
#include <numeric>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/global_array.hpp>
#include <string>
#include <vector>

#include "../support/ranks.hpp"

namespace pgas_test::random_programs {

struct array_action {
  enum class kind { put, get, accumulate, get_accumulate } what;
  bool is_masked;
  bool is_requested;
  pgas::box<2> at{};                               // for masks
  std::vector<bool> mask{};                        // of the box
  std::vector<std::array<std::size_t, 2>> list{};  // without a mask
  std::vector<std::int64_t> values{};              // values that it takes along
  std::vector<std::int64_t> expected{};            // values that it must return
};

/// The accesses of all ranks to one array, made together with their serial run. Accumulates add, and
/// get_accumulates form the maximum.
class array_program {
 public:
  array_program(std::uint64_t seed, rank_t ranks)
      : rng_(seed), ranks_(ranks), extents_{1 + rng_.below(9), 1 + rng_.below(11)}, cells_(size()) {
    for (auto& cell : cells_) cell = value();
    before_ = cells_;
    for (std::size_t epochs = 1 + rng_.below(4); epochs > 0; --epochs) add_epoch();
  }

  [[nodiscard]] std::array<std::size_t, 2> extents() const { return extents_; }
  [[nodiscard]] std::vector<std::int64_t> const& before() const { return before_; }
  [[nodiscard]] std::vector<std::int64_t> const& after() const { return cells_; }
  [[nodiscard]] std::size_t epochs() const { return epochs_.size(); }
  [[nodiscard]] std::vector<array_action> const& actions(std::size_t epoch, rank_t rank) const {
    return epochs_[epoch][static_cast<std::size_t>(rank)];
  }

 private:
  using kind = array_action::kind;

  /// The only kind of access to a cell in one epoch, so that the result does not depend on the order of
  /// ranks. `origin` puts to it, at most once, or is the only one that calls get_accumulate.
  struct use {
    kind how;
    rank_t origin;
    bool is_done = false;
  };

  [[nodiscard]] std::size_t size() const { return extents_[0] * extents_[1]; }
  std::int64_t value() { return static_cast<std::int64_t>(rng_.below(4001)) - 2000; }

  void add_epoch() {
    std::vector<use> uses;
    for (std::size_t k = 0; k < size(); ++k)
      uses.push_back({.how = static_cast<kind>(rng_.below(4)), .origin = rng_.rank_below(ranks_)});
    epochs_.emplace_back(static_cast<std::size_t>(ranks_));
    for (rank_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t n = rng_.below(6); n > 0; --n)
        epochs_.back()[static_cast<std::size_t>(rank)].push_back(make_action(rank, uses));
    }
  }

  array_action make_action(rank_t rank, std::vector<use>& uses) {
    array_action a{.what = static_cast<kind>(rng_.below(4)),
                   .is_masked = rng_.one_in(2),
                   .is_requested = rng_.one_in(2)};
    auto const takes = [&](std::size_t k) {
      use const& u = uses[k];
      bool const may = u.how == a.what && !u.is_done;
      bool const of_one = a.what == kind::put || a.what == kind::get_accumulate;
      return may && (!of_one || u.origin == rank) && rng_.one_in(2);
    };
    std::vector<std::size_t> chosen;
    if (a.is_masked) {
      for (std::size_t d = 0; d < 2; ++d) {
        a.at.first[d] = rng_.below(extents_[d]);
        a.at.count[d] = rng_.below(extents_[d] - a.at.first[d] + 1);
      }
      for (std::size_t i = 0; i < a.at.count[0]; ++i) {
        for (std::size_t j = 0; j < a.at.count[1]; ++j) {
          std::size_t const k = (a.at.first[0] + i) * extents_[1] + a.at.first[1] + j;
          a.mask.push_back(takes(k));
          if (a.mask.back()) chosen.push_back(k);
        }
      }
    } else {
      for (std::size_t k = 0; k < size(); ++k) {
        if (takes(k)) chosen.push_back(k);
      }
      for (std::size_t k = chosen.size(); k > 1; --k) std::swap(chosen[k - 1], chosen[rng_.below(k)]);
      bool const may_repeat = a.what == kind::get || a.what == kind::accumulate;
      if (may_repeat && !chosen.empty()) chosen.push_back(chosen[rng_.below(chosen.size())]);
      for (std::size_t k : chosen) a.list.push_back({k / extents_[1], k % extents_[1]});
    }
    for (std::size_t k : chosen) {
      if (a.what == kind::get || a.what == kind::get_accumulate) a.expected.push_back(cells_[k]);
      if (a.what == kind::get) continue;
      a.values.push_back(value());
      if (a.what == kind::put) {
        cells_[k] = a.values.back();
        uses[k].is_done = true;
      } else if (a.what == kind::accumulate) {
        cells_[k] += a.values.back();
      } else {
        cells_[k] = std::max(cells_[k], a.values.back());
      }
    }
    return a;
  }

  random_source rng_;
  rank_t ranks_;
  std::array<std::size_t, 2> extents_;
  std::vector<std::int64_t> cells_;
  std::vector<std::int64_t> before_{};
  std::vector<std::vector<std::vector<array_action>>> epochs_{};  // [epoch][rank]
};

/// Performs one access; `cells` is a list, or a box and a mask.
template <class Epoch, class... Cells>
void act_on_cells(Epoch& epoch, array_action const& a, std::vector<std::int64_t>& seen,
                  Cells const&... cells) {
  using kind = array_action::kind;
  switch (a.what) {
    case kind::put:
      if (a.is_requested) return epoch.rput(cells..., a.values).wait();
      return epoch.put(cells..., a.values);
    case kind::get:
      if (a.is_requested) return epoch.rget(cells..., seen).wait();
      epoch.get(cells..., seen);
      return epoch.flush_local_all();
    case kind::accumulate:
      if (a.is_requested) return epoch.raccumulate(cells..., a.values).wait();
      return epoch.accumulate(cells..., a.values);
    case kind::get_accumulate:
      if (a.is_requested) return epoch.rget_accumulate(cells..., a.values, seen, pgas::op::max{}).wait();
      return epoch.get_accumulate(cells..., a.values, seen, pgas::op::max{});
  }
}

/// One rank's run of the accesses to an array.
template <class Team>
void play_array(Team& team, std::uint64_t seed) {
  array_program const p(seed, team.size());
  random_source rng(seed * 37 + static_cast<std::uint64_t>(team.rank()));
  std::string const where = "seed " + std::to_string(seed) + ", array";
  auto const a =
      pgas::make_array<std::int64_t>(team, p.extents(), pgas::tiled{pgas::block{}, pgas::block_cyclic<2>{}});
  pgas::box<2> const whole{{}, p.extents()};
  std::vector<rank_t> everyone(static_cast<std::size_t>(team.size()));
  std::iota(everyone.begin(), everyone.end(), rank_t{0});
  if (team.rank() == 0) {
    pgas::lock_all epoch{a};
    epoch.put(whole, p.before());
  }
  team.barrier();
  for (std::size_t number = 0; number < p.epochs(); ++number) {
    auto const act = [&](auto& epoch) {
      for (array_action const& action : p.actions(number, team.rank())) {
        std::vector<std::int64_t> seen(action.expected.size());
        if (action.is_masked) {
          act_on_cells(epoch, action, seen, action.at, action.mask);
        } else {
          act_on_cells(epoch, action, seen, action.list);
        }
        require(seen == action.expected, where + ", epoch " + std::to_string(number) +
                                             ": values of cells by a " +
                                             (action.is_masked ? "mask" : "list"));
        dawdle(rng);
      }
    };
    if ((seed + number) % 2 == 0) {
      pgas::exposure exposed{a, everyone};
      pgas::access epoch{a, everyone};
      act(epoch);
      epoch.complete();
      exposed.wait();
      team.barrier();  // orders this epoch before those of lock_all
    } else {
      pgas::lock_all epoch{a};
      act(epoch);
      epoch.close();
      team.barrier();
    }
  }
  std::vector<std::int64_t> all(p.after().size());
  {
    pgas::lock_all epoch{a};
    epoch.get(whole, all);
  }
  require(all == p.after(), where + ": all cells at the end");
  team.barrier();  // over user memory, a part ends with its rank's array
}

}  // namespace pgas_test::random_programs
