// SPDX-License-Identifier: BSL-1.0
// The transform of examples/fft3d, in slabs, beside FFTW with as many threads in one process, in place and
// not.
#include <optional>
#include <pgas/pgas.hpp>

#include "../examples/support/distributed_fft.hpp"
#include "program.hpp"
#include "transform.hpp"

namespace {

/// Lets FFTW's threads use all cores while they run; a rank has one core of its own.
class all_cores {
 public:
  all_cores() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    ::cpu_set_t all;
    CPU_ZERO(&all);
    for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
    ::sched_setaffinity(0, sizeof all, &all);
  }
  all_cores(all_cores const&) = delete;
  all_cores& operator=(all_cores const&) = delete;
  ~all_cores() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  ::cpu_set_t before_;
};

/// FFTW's own transform, on rank 0, while the other ranks wait.
class threaded {
 public:
  threaded(bench::extents_of_transform const& n, int threads, bool in_place) : in_(n[0] * n[1] * n[2]) {
    all_cores const now;
    if (!in_place) out_.emplace(in_.all().size());
    fftw_plan_with_nthreads(threads);
    plan_ = fftw_plan_dft_3d(static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]),
                             in_.data(), in_place ? in_.data() : out_->data(), FFTW_FORWARD, FFTW_MEASURE);
    fftw_plan_with_nthreads(1);
  }
  threaded(threaded const&) = delete;
  threaded& operator=(threaded const&) = delete;
  ~threaded() { fftw_destroy_plan(plan_); }

  void fill() const { bench::fill(in_.all()); }
  void run() const {
    all_cores const now;
    fftw_execute(plan_);
  }

 private:
  bench::fftw_cells in_;
  std::optional<bench::fftw_cells> out_;
  fftw_plan plan_;
};

template <class Team>
void measure(Team& team, bench::meter& m, bench::extents_of_transform const& n) {
  fftw_set_timelimit(bench::planning(m.quick()));
  std::optional<threaded> in_place;
  std::optional<threaded> out_of_place;
  if (team.rank() == 0) {
    in_place.emplace(n, team.size(), true);
    out_of_place.emplace(n, team.size(), false);
  }
  team.barrier();  // each rank plans alone
  example::distributed_fft const fft(team, n);
  auto const cells = fft.make_cells();
  auto const spectrum = fft.make_spectrum();
  auto const by_threads = [&](std::string_view name, auto const& some) {
    return bench::transform_way(
        m, name, [&] { some ? some->fill() : void(); }, [&] { some ? some->run() : void(); });
  };
  m.measure(bench::transform_key(n),
            {bench::transform_way(
                 m, "",
                 [&] {
                   auto const mine = pgas::stage(cells, pgas::write_only);
                   bench::fill({mine.data(), mine.size()});
                 },
                 [&] { fft.forward(cells, spectrum); }),
             by_threads("FFTW in place", in_place), by_threads("FFTW out of place", out_of_place)});
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    fftw_init_threads();
    for (auto const& n : bench::transforms(m.quick())) measure(team, m, n);
  });
  return 0;
}
