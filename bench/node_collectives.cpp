// SPDX-License-Identifier: BSL-1.0
// Collectives on nodes of two ranks: by nodes, on links that make no difference between near and far ranks,
// and by MPI in the same processes. Built with each MPI, whose launcher starts it.
#include <mpi.h>

#include <cstdlib>
#include <pgas/backends/cluster.hpp>
#include <pgas/pgas.hpp>
#include <vector>

#include "peers/mpi_support.hpp"

namespace {

namespace collectives = pgas::collectives;

template <class Team>
void measure(Team& team, bench::meter& m, std::size_t bytes) {
  std::size_t const count = bytes / sizeof(double);
  auto const elements = static_cast<int>(count);
  auto const ranks = static_cast<std::size_t>(team.size());
  std::vector<double> mine(count, 1.0);
  std::vector<double> result(count);
  std::vector<double> all(count * ranks);
  auto const row = [&](char const* name, auto ours, auto on_links, auto by_mpi) {
    m.measure(
        {.row = name, .mode = "cluster", .bytes = bytes},
        {bench::everybody("", ours), bench::everybody("links", on_links), bench::everybody("MPI", by_mpi)});
  };
  // Roots go round, as in bench/collective_shapes.hpp.
  auto const next = [n = team.size()](pgas::rank_t& root) { return root = (root + 1) % n; };
  auto const rooted = [&next](auto const& call) {
    return [&next, call, root = pgas::rank_t{0}]() mutable { call(next(root)); };
  };
  row("node_bcast", rooted([&](pgas::rank_t root) { team.broadcast(mine, root); }),
      rooted([&](pgas::rank_t root) { team.broadcast(mine, root, collectives::binomial{}); }),
      rooted([&](pgas::rank_t root) { MPI_Bcast(mine.data(), elements, MPI_DOUBLE, root, MPI_COMM_WORLD); }));
  row(
      "node_allreduce", [&] { team.all_reduce(mine, result); },
      [&] { team.all_reduce(mine, result, pgas::op::sum{}, collectives::recursive_doubling{}); },
      [&] { MPI_Allreduce(mine.data(), result.data(), elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
  row("node_gather", rooted([&](pgas::rank_t root) { team.gather(mine, all, root); }),
      rooted([&](pgas::rank_t root) { team.gather(mine, all, root, collectives::pulled{}); }),
      rooted([&](pgas::rank_t root) {
        MPI_Gather(mine.data(), elements, MPI_DOUBLE, all.data(), elements, MPI_DOUBLE, root, MPI_COMM_WORLD);
      }));
  row(
      "node_allgather", [&] { team.all_gather(mine, all); },
      [&] { team.all_gather(mine, all, collectives::bruck{}); },
      [&] {
        MPI_Allgather(mine.data(), elements, MPI_DOUBLE, all.data(), elements, MPI_DOUBLE, MPI_COMM_WORLD);
      });
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("PGAS_NODE_SIZE", "2", 1);
  MPI_Init(&argc, &argv);
  bench::settings const given(argc, argv);
  bench::meeting_place const place(given);
  pgas::run<pgas::backends::cluster>(given.ranks, [&](auto& team) {
    auto const poll = [backend = team.state()->backend]() mutable { backend.check("poll"); };
    bench::meter m(
        given, place, team.rank(), team.size(), [&team] { team.barrier(); }, poll);
    for (std::size_t const bytes : {std::size_t{8}, bench::kib, 64 * bench::kib}) measure(team, m, bytes);
    if (team.rank() == 0) m.end();
  });
  bench::mpi::end();
  return 0;
}
