// SPDX-License-Identifier: BSL-1.0
// The most that a map reaches with any number of servers, emulated and by the model, and curves of it.
#pragma once

#include <map>
#include <tuple>

#include "map_runs.hpp"

namespace papers::maps {

using enum map_kind;
using placed = pgas::placement;

/// The most that a map reaches on some cores, and the number of servers for it.
struct most {
  double operations = 0;  // a second
  rank_t servers = 0;
};

/// Numbers of servers among which the best one is: powers of two, and all numbers that a model may prefer.
inline std::vector<rank_t> candidates(map_kind kind, rank_t cores, placed where) {
  if (kind == rep_2pc) return {0};
  if (kind == rep_sc) return {1};
  std::vector<rank_t> all;
  for (rank_t s = 1; where == placed::colocated ? s <= cores : s < cores; ++s) all.push_back(s);
  return all;
}

/// The best number of servers by the model.
inline most best_modelled(platform const& on, model::workload const& load, map_kind kind, rank_t cores,
                          placed where = placed::dedicated) {
  most best;
  for (rank_t const s : candidates(kind, cores, where)) {
    double const got = modelled(on, load, {kind, cores, s, where});
    if (got > best.operations) best = {got, s};
  }
  return best;
}

/// Emulates points once, and keeps them.
class emulator {
 public:
  explicit emulator(effort how) : each_(how == effort::whole ? 2000 : how == effort::quick ? 300 : 12) {}

  [[nodiscard]] double each() const noexcept { return each_; }

  /// The best number of servers among powers of two and the model's best.
  most best(platform const& on, model::workload const& load, map_kind kind, rank_t cores,
            placed where = placed::dedicated) {
    auto const key =
        std::make_tuple(on.name, load.lookups, load.prepare, load.access,
                        load.cached_access.value_or(load.access), load.key_clients, kind, cores, where);
    if (auto const found = known_.find(key); found != known_.end()) return found->second;
    most const by_model = best_modelled(on, load, kind, cores, where);
    std::vector<std::pair<double, rank_t>> tried;
    for (rank_t const s : candidates(kind, cores, where)) {
      bool const is_likely = s == by_model.servers || (s & (s - 1)) == 0;
      if (is_likely) tried.emplace_back(modelled(on, load, {kind, cores, s, where}), s);
    }
    std::sort(tried.begin(), tried.end(), [](auto const& a, auto const& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    most best;
    for (auto const& [expected, s] : tried) {
      // The model leaves out what costs time, so few points reach more than it says.
      if (expected < best.operations) continue;
      double const got = emulated(on, load, {kind, cores, s, where}, each_);
      if (got > best.operations) best = {got, s};
    }
    return known_[key] = best;
  }

 private:
  using point_key =
      std::tuple<std::string_view, double, double, double, double, int, map_kind, rank_t, placed>;

  double each_;
  std::map<point_key, most> known_;
};

/// Prints one figure: emulated values, and those of the model beside them.
class panel {
 public:
  panel(emulator& by, std::string_view figure, std::string_view parameters)
      : by_(&by), tell_(figure, parameters) {}

  /// A curve for each of some maps. Beyond the emulator's cores there is the model alone.
  void curves(std::string_view quantity, platform const& on, model::workload const& load,
              std::vector<map_kind> const& kinds, std::vector<rank_t> const& cores) const {
    for (map_kind const kind : kinds)
      for (rank_t const n : cores) one(quantity, on, load, kind, n, name_of(kind));
  }
  /// One point of a series.
  void one(std::string_view quantity, platform const& on, model::workload const& load, map_kind kind,
           rank_t cores, std::string const& series, placed where = placed::dedicated) const {
    tell_(series + ", model", cores, quantity, best_modelled(on, load, kind, cores, where).operations / 1e6,
          unit);
    if (cores > most_cores) return;
    tell_(series, cores, quantity, by_->best(on, load, kind, cores, where).operations / 1e6, unit);
  }
  void value(std::string_view series, rank_t x, std::string_view quantity, double value,
             std::string_view of = unit) const {
    tell_(series, x, quantity, value, of);
  }

  static std::string name_of(map_kind kind) {
    return std::string(model::map_names[static_cast<std::size_t>(kind)]);
  }

 private:
  static constexpr std::string_view unit = "Mops/s";

  emulator* by_;
  teller tell_;
};

}  // namespace papers::maps
