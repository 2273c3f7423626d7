// SPDX-License-Identifier: BSL-1.0
// The performance model of this machine: its fitted costs, what it expects of other sizes beside what they
// take, and the way that a program chooses by it beside both ways.
#include <pgas/performance_model.hpp>
#include <pgas/pgas.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

template <class Team>
class model_rows {
 public:
  model_rows(Team& team, bench::meter& m)
      : m_(m),
        window_(pgas::make_window<std::byte>(team, 64 * bench::kib)),
        fenced_(pgas::make_window<std::byte>(team, 64)),
        before_((team.rank() + team.size() - 1) % team.size()),
        after_((team.rank() + 1) % team.size()) {
    for (int i = 0; i < fits; ++i) fitted_.push_back(pgas::measure_model(team));
  }

  void all() {
    costs();
    sizes();
    choice();
  }

 private:
  static constexpr int fits = 3;
  /// Sizes between those that the model is fitted to.
  static constexpr std::array<std::size_t, 3> between{32, 2 * bench::kib, 32 * bench::kib};

  [[nodiscard]] static bench::row_key row(std::string what) {
    return {.row = "model", .mode = std::move(what)};
  }

  /// Reports seconds(model) of each fit.
  template <class Seconds>
  void report(bench::row_key const& key, Seconds const& seconds) {
    std::vector<double> values;
    for (auto const& fit : fitted_) values.push_back(seconds(fit));
    if (std::find(values.begin(), values.end(), 0.0) == values.end()) return m_.report(key, values);
    m_.leave_out(key, "a fitted line has no such part");
  }

  void costs() {
    auto const transfer = [this](std::string const& name, pgas::cost pgas::model::*cost) {
      report(row(name + " latency"), [=](pgas::model const& fit) { return (fit.*cost).base; });
      auto key = row(name + " bandwidth");
      key.bytes = bench::mib;
      key.unit = "B/s";
      report(key,
             [=](pgas::model const& fit) { return (fit.*cost).slope * static_cast<double>(bench::mib); });
    };
    transfer("put", &pgas::model::put);
    transfer("get", &pgas::model::get);
    auto const ranks = static_cast<pgas::rank_t>(m_.ranks());
    std::size_t const neighbours = before_ == after_ ? 1 : 2;
    using way = pgas::model::round;
    report(row("accumulate"), [](pgas::model const& fit) { return fit.accumulate(8); });
    report(row("fence"), [=](pgas::model const& fit) { return fit.seconds(way::fence, ranks, 0); });
    report(row("post and start"),
           [=](pgas::model const& fit) { return fit.seconds(way::neighbours, ranks, neighbours); });
    report(row("lock_all"), [=](pgas::model const& fit) { return fit.lock_all(ranks); });
    report(row("lock shared"), [](pgas::model const& fit) { return fit.lock_shared->base; });
    report(row("lock exclusive"), [](pgas::model const& fit) { return fit.lock_exclusive->base; });
  }

  /// The expected time beside the measured one.
  void sizes() {
    std::vector<std::byte> buffer(between.back());
    pgas::lock_all epoch{window_};
    auto const compare = [&](char const* name, std::size_t bytes, double expected, auto const& act) {
      m_.measure({.row = name, .mode = "", .bytes = bytes},
                 {bench::way{"", {}, [=](std::size_t n) { return static_cast<double>(n) * expected; }},
                  bench::origin_only(m_, "measured", act)});
    };
    for (std::size_t const bytes : between) {
      auto const part = std::span(buffer).first(bytes);
      compare("model_put", bytes, fitted_[0].put(static_cast<double>(bytes)),
              [&, part] { epoch.put(after_, 0, part), epoch.flush(after_); });
      compare("model_get", bytes, fitted_[0].get(static_cast<double>(bytes)),
              [&, part] { epoch.get(after_, 0, part), epoch.flush_local(after_); });
    }
  }

  /// Asks the model how to meet the neighbours on the ring.
  void choice() {
    std::vector<pgas::rank_t> neighbours{before_};
    if (after_ != before_) neighbours.push_back(after_);
    pgas::fence epoch{fenced_};
    auto const fence = bench::everybody("a fence", [&] { epoch.next(); });
    auto const post_and_start = bench::everybody("post and start", [&] {
      pgas::exposure exposed{window_, pgas::group(neighbours)};
      pgas::access{window_, pgas::group(neighbours)}.complete();
      exposed.wait();
    });
    auto const way = fitted_[0].best_round(m_.ranks(), neighbours.size());
    bench::way chosen = way == pgas::model::round::fence ? fence : post_and_start;
    chosen.name = "";
    m_.measure({.row = "model_round", .mode = ""}, {chosen, fence, post_and_start});
  }

  using window = decltype(pgas::make_window<std::byte>(std::declval<Team&>(), 1));

  bench::meter& m_;
  window window_;
  window fenced_;
  pgas::rank_t before_;
  pgas::rank_t after_;
  std::vector<pgas::model> fitted_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { model_rows(team, m).all(); });
}
