// SPDX-License-Identifier: BSL-1.0
// Asynchronous programs in virtual time: async_virtual --ranks P. The exchanges of examples/dsde, and a flood
// of messages in bounded memory. Each run prints the same values.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <pgas/backends/simulated.hpp>
#include <pgas/pgas.hpp>

#include "../../examples/support/dsde/accumulate.hpp"
#include "../../examples/support/dsde/alltoall.hpp"
#include "../../examples/support/dsde/inbox.hpp"
#include "../../examples/support/dsde/nbx.hpp"
#include "../../examples/support/dsde/problem.hpp"
#include "../../examples/support/dsde/reduce_scatter.hpp"
#include "../../examples/support/dsde/routed.hpp"
#include "flow.hpp"

namespace {

namespace dsde = example::dsde;
namespace flow = papers::flow;

void tell(char const* row, std::size_t bytes, pgas::rank_t ranks, std::string_view way, double seconds) {
  std::printf(R"({"type":"sample","row":"%s","mode":"","bytes":%zu,"unit":"s","ranks":%d,"way":"%s",)"
              R"("hand_over":[],"seconds":[%.9g]})"
              "\n",
              row, bytes, ranks, std::string(way).c_str(), seconds);
  std::fflush(stdout);
}

/// The virtual time of a round by one protocol. The first round makes memory, and is not timed.
template <template <class> class Protocol, class Team>
double round_of(Team& team) {
  dsde::problem const p;
  Protocol<Team> protocol(team, p);
  std::optional<pgas::time_point> begin;
  for (std::size_t r = 0; r <= p.rounds; ++r) {
    std::vector<dsde::item> in;
    protocol.exchange(dsde::deliveries_of(p, team.rank(), team.size(), r), in);
    if (r == 0) team.barrier();
    if (r == 0) begin = team.now();
  }
  std::chrono::duration<double> const passed = team.now() - *begin;
  team.barrier();  // nobody sends to this rank any more
  return team.all_reduce(passed.count(), pgas::op::max{}) / static_cast<double>(p.rounds);
}

void exchanges(pgas::rank_t ranks) {
  pgas::run<pgas::backends::simulated>(ranks, [ranks](auto& team) {
    auto const of = [&]<template <class> class Protocol>(std::string_view way) {
      double const seconds = round_of<Protocol>(team);
      if (team.rank() == 0) tell("dsde", 0, ranks, way, seconds);
    };
    of.template operator()<dsde::routed>("");
    of.template operator()<dsde::nbx>("nbx");
    of.template operator()<dsde::reduce_scatter>("reduce_scatter");
    of.template operator()<dsde::alltoall>("alltoall");
    of.template operator()<dsde::accumulate>("accumulate");
  });
}

/// The killer benchmark of Ferreras 2008, section 4.4, with the default credits and a budget of 250 KB.
void floods(pgas::rank_t ranks) {
  for (std::size_t const bytes : {1024U, 10240U}) {
    flow::killer const point{ranks, bytes, 5};
    tell("flood", bytes, ranks, "unlimited", flow::flood<pgas::credits::unlimited>(point, 0).us * 1e-6);
    tell("flood", bytes, ranks, "", flow::flood<pgas::credits::fixed>(point, 250'000).us * 1e-6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  pgas::rank_t ranks = 64;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--ranks") == 0) ranks = std::atoi(argv[i + 1]);
  }
  {
    // Each rank is a node.
    auto how = pgas::simulated::options::from_environment();
    how.network.node = 1;
    pgas::simulated::with_options const with(how);
    exchanges(ranks);
  }
  floods(ranks);
  std::printf("{\"type\":\"end\"}\n");
  return 0;
}
