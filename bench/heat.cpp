// SPDX-License-Identifier: BSL-1.0
// The five-point stencil on global_array, as examples/heat writes it, beside the same loop with raw pointers
// and flags on the same memory. By hand, each neighbour signals "you may write my ghost row", writes, and
// signals "written".
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>

#include "program.hpp"
#include "stencil.hpp"

namespace {

template <class Team>
class heat {
  using array = decltype(pgas::make_array<double>(std::declval<Team&>(), {1, 1}, pgas::halo{.width = 1}));

 public:
  heat(Team& team, bench::meter& m, std::size_t side)
      : m_(m),
        team_(team),
        self_(static_cast<std::size_t>(team.rank())),
        side_(side),
        rows_(side / 2),
        now_(pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1})),
        next_(pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1})) {
    for (auto* some : {&now_, &next_}) {
      auto const cells = pgas::stage(*some, pgas::write_only);
      for (std::size_t i = 0; i < rows_; ++i)
        std::fill_n(&cells(i, 0), side, 1.0 + static_cast<double>(self_));
    }
    auto const lines = m.free_lines();
    if (self_ == 0) {
      for (std::size_t i = 0; i < 4; ++i) lines.at(i).store(0, std::memory_order_relaxed);
    }
    team.barrier();
  }

  /// All ranks swap the arrays, and leave a state from which the others can continue.
  void all() {
    auto const by_hand = [this] { return bench::everybody("flags by hand", [this] { step_by_hand(); }); };
    m_.measure(bench::stencil_key(side_), {bench::everybody("", [this] { step_by_pointer(); }), by_hand()});
    auto key = bench::stencil_key(side_);
    key.row += " by u(i, j)";
    m_.measure(key, {bench::everybody("", [this] { step_by_index(); }), by_hand()});
  }

 private:
  /// Uses the loop of the baseline.
  void step_by_pointer() {
    pgas::exchange_halo(now_);
    {
      auto const u = pgas::stage(now_, pgas::read_only);
      auto const v = pgas::stage(next_, pgas::write_only);
      bench::relax(v.data(), u.data(), rows_, side_, now_.shape().pitch());
    }
    std::swap(now_, next_);
  }

  /// Written as in examples/heat.
  void step_by_index() {
    pgas::exchange_halo(now_);
    relax_by_index(next_, now_);
    std::swap(now_, next_);
  }
  [[gnu::noinline]] static void relax_by_index(array const& next, array const& now) {
    auto const u = pgas::stage(now, pgas::read_only);
    auto const v = pgas::stage(next, pgas::write_only);
    for (std::size_t i = 0; i < now.local_rows(); ++i)
      for (std::size_t j = 0; j < now.extent(1); ++j)
        v(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
  }

  void step_by_hand() {
    auto const lines = m_.free_lines();
    std::size_t const pitch = now_.shape().pitch();
    double* const mine = now_.local().data_handle();
    double* const theirs = now_.window().part(team_.rank() == 0 ? 1 : 0).data() + now_.shape().origin();
    ++step_;
    lines.at(self_).store(step_, std::memory_order_release);
    bench::raw::spin_until(lines.at(1 - self_), step_);
    if (self_ == 0) {  // my last row goes above the first of rank 1, whose first row goes below my last
      std::memcpy(theirs - pitch, mine + (rows_ - 1) * pitch, side_ * sizeof(double));
    } else {
      std::memcpy(theirs + rows_ * pitch, mine, side_ * sizeof(double));
    }
    lines.at(2 + self_).store(step_, std::memory_order_release);
    bench::raw::spin_until(lines.at(3 - self_), step_);
    bench::relax(next_.local().data_handle(), mine, rows_, side_, pitch);
    std::swap(now_, next_);
  }

  bench::meter& m_;
  Team& team_;
  std::size_t self_;
  std::size_t side_;
  std::size_t rows_;
  array now_;
  array next_;
  std::uint64_t step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    for (std::size_t const side : bench::stencil_sides) heat(team, m, side).all();
  });
  return 0;
}
