// SPDX-License-Identifier: BSL-1.0
// Programs under the checker of races, beside the same programs without it: the same ranks run both, on
// checked<process_map> and on the process_map inside.
#include <fstream>
#include <numeric>
#include <optional>
#include <pgas/backends/checked.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>

#include "../examples/support/conjugate_gradient.hpp"
#include "../examples/support/distributed_fft.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace {

using checked = pgas::backends::checked<pgas::backends::process_map>;

/// A bootstrap for a second team of the same ranks.
template <class Team>
class bootstrap_over {
 public:
  explicit bootstrap_over(Team& team) : team_(&team) {}
  [[nodiscard]] pgas::rank_t rank() const noexcept { return team_->rank(); }
  [[nodiscard]] pgas::rank_t size() const noexcept { return team_->size(); }
  void fence() const { team_->barrier(); }
  void fail(std::string_view) const noexcept {}
  void put(std::string_view, pgas::bytes_in value) { kept_.assign(value.begin(), value.end()); }
  void get(std::string_view, pgas::bytes_out into) const {
    std::vector<std::byte> value(into.size());
    if (team_->rank() == 0) value = kept_;
    team_->broadcast(std::span(value));
    std::copy(value.begin(), value.end(), into.begin());
  }

 private:
  Team* team_;
  std::vector<std::byte> kept_;
};

/// The loop of examples/heat.
template <class Team>
class heat {
  using array = decltype(pgas::make_array<double>(std::declval<Team&>(), {1, 1}, pgas::halo{.width = 1}));

 public:
  explicit heat(Team& team, std::size_t side = 512)
      : now_(pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1})),
        next_(pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1})) {}

  void operator()() {
    pgas::exchange_halo(now_);
    relax(next_, now_);
    std::swap(now_, next_);
  }

 private:
  [[gnu::noinline]] static void relax(array const& next, array const& now) {
    auto const u = pgas::stage(now, pgas::read_only);
    auto const v = pgas::stage(next, pgas::write_only);
    for (std::size_t i = 0; i < now.local_rows(); ++i)
      for (std::size_t j = 0; j < now.extent(1); ++j)
        v(i, j) = u(i, j) + 0.2 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
  }

  array now_;
  array next_;
};

/// A transform of the class S of the NAS benchmark FT.
template <class Team>
class transform {
 public:
  explicit transform(Team& team)
      : fft_(team, {64, 64, 64}), cells_(fft_.make_cells()), to_(fft_.make_spectrum()) {}

  void operator()() {
    if (auto const own = pgas::stage(cells_, pgas::write_only); true)
      std::fill(own.data(), own.data() + own.size(), example::cell{1, 0});
    fft_.forward(cells_, to_);
  }

 private:
  example::distributed_fft<Team> fft_;
  example::cell_array<Team> cells_;
  example::cell_array<Team> to_;
};

/// A solution of the class S of the NAS benchmark CG.
template <class Team>
class solve {
 public:
  explicit solve(Team& team)
      : equations_(team, example::nas::cg::problem_of("S")), x_(equations_.rows(), 1.0), z_(x_.size()) {}

  void operator()() { equations_.solve(x_, z_); }

 private:
  example::conjugate_gradient<Team> equations_;
  std::vector<double> x_;
  std::vector<double> z_;
};

/// Updates of random words of all ranks, as examples/gups makes them.
template <class Team>
class updates {
 public:
  explicit updates(Team& team)
      : table_(pgas::make_array<std::uint64_t>(team, words)),
        x_(static_cast<std::uint64_t>(team.rank()) + 1) {}

  void operator()() {
    pgas::fence epoch{table_};
    for (std::size_t i = 0; i < each; ++i) {
      x_ = x_ * 6364136223846793005U + 1442695040888963407U;
      auto const [owner, at] = table_.layout().owner_and_offset({x_ >> (64U - log2_words)});
      epoch.to(owner).accumulate(at, x_, pgas::op::bit_xor{});
    }
  }
  static constexpr std::size_t each = 1024;

 private:
  static constexpr unsigned log2_words = 16;
  static constexpr std::size_t words = std::size_t{1} << log2_words;

  decltype(pgas::make_array<std::uint64_t>(std::declval<Team&>(), 1)) table_;
  std::uint64_t x_;
};

/// The shared memory that the ranks have touched, in bytes; each page counts once.
template <class Team>
double shared_bytes(Team& team) {
  team.barrier();
  std::ifstream rollup("/proc/self/smaps_rollup");
  double bytes = 0;
  for (std::string word; rollup >> word;) {
    if (word == "Pss_Shmem:" && rollup >> bytes) break;
  }
  return team.all_reduce(bytes * 1024);
}

/// The shadow's bytes for each byte of windows whose elements are stored, loaded, and put one by one.
double shadow_of_byte(auto& team) {
  constexpr std::size_t elements = std::size_t{1} << 20U;
  double const before = shared_bytes(team);
  auto w = pgas::make_window<double>(team, elements);
  {
    pgas::fence epoch{w};
    pgas::rank_t const right = (team.rank() + 1) % team.size();
    for (std::size_t i = 0; i < elements; ++i) epoch.put(right, i, 1.0);
  }
  {
    auto const own = pgas::stage(w, pgas::read_only);
    static_cast<void>(std::accumulate(own.begin(), own.end(), 0.0));
  }
  double const windows = static_cast<double>(elements * sizeof(double)) * team.size();
  return (shared_bytes(team) - before - windows) / windows;
}

template <template <class> class Program>
void measure(bench::meter& m, bench::row_key const& key, auto& under, auto& plain) {
  Program program(under);
  Program alone(plain);
  m.measure(key, {bench::everybody("", [&program] { program(); }),
                  bench::everybody("without the checker", [&alone] { alone(); })});
}

}  // namespace

int main(int argc, char** argv) {
  bench::settings const given(argc, argv);
  bench::meeting_place const place(given);
  pgas::run<checked>(given.ranks, [&](auto& team) {
    bench::meter m(given, place, team.rank(), team.size(), [&team] { team.barrier(); });
    bootstrap_over boot(team);
    pgas::backends::process_map inside = team.state()->backend;
    pgas::team<pgas::backends::process_map> plain(pgas::detail::make_world(inside, boot));
    measure<heat>(m, {.row = "checked_heat", .mode = "512 x 512"}, team, plain);
    measure<transform>(m, {.row = "checked_fft3d", .mode = "64 x 64 x 64"}, team, plain);
    measure<solve>(m, {.row = "checked_cg", .mode = "class S"}, team, plain);
    measure<updates>(
        m, {.row = "checked_gups", .mode = "2^16 words", .per_call = updates<decltype(plain)>::each}, team,
        plain);
    double const shadow = shadow_of_byte(team);
    auto const bytes = [](std::string_view name, double of_byte) {
      return bench::way{name, {}, [of_byte](std::size_t n) { return of_byte * static_cast<double>(n); }};
    };
    m.measure({.row = "checked_memory", .mode = "8 B each", .unit = "B a byte"},
              {bytes("", shadow), bytes("the windows", 1)});
    m.end();
  });
  return 0;
}
