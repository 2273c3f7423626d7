// SPDX-License-Identifier: BSL-1.0
// dsde: items for ranks that do not expect them. dsde [--neighbours K] [--items N] [--rounds R] [--protocol
// P].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <pgas/pgas.hpp>
#include <stdexcept>
#include <string>
#include <support/network_backends.hpp>

#include "support/arguments.hpp"
#include "support/dsde/accumulate.hpp"
#include "support/dsde/alltoall.hpp"
#include "support/dsde/inbox.hpp"
#include "support/dsde/nbx.hpp"
#include "support/dsde/problem.hpp"
#include "support/dsde/reduce_scatter.hpp"
#include "support/dsde/routed.hpp"
#include "support/in_quotes.hpp"

namespace dsde = example::dsde;

struct setting {
  dsde::problem problem;
  std::string_view protocol = "all";
};

setting read(std::span<std::string_view const> arguments) {
  setting s;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    std::string_view const option = arguments[i];
    if (i + 1 == arguments.size())
      throw std::runtime_error("dsde: " + std::string(option) + " needs a value");
    if (option == "--neighbours") {
      s.problem.neighbours = example::number(arguments, i + 1, 0);
    } else if (option == "--items") {
      s.problem.items = example::number(arguments, i + 1, 0);
    } else if (option == "--rounds") {
      s.problem.rounds = example::number(arguments, i + 1, 0);
    } else if (option == "--protocol") {
      s.protocol = arguments[i + 1];
    } else {
      throw std::runtime_error("usage: dsde [--neighbours K] [--items N] [--rounds R] [--protocol NAME]");
    }
  }
  auto const& [neighbours, items, rounds] = s.problem;
  if (neighbours > dsde::most_neighbours || items == 0 || items > dsde::most_items || rounds == 0)
    throw std::runtime_error("dsde: take 0 to " + std::to_string(dsde::most_neighbours) +
                             " neighbours, 1 to " + std::to_string(dsde::most_items) +
                             " items for each, and at least one round");
  return s;
}

/// Exchanges by one protocol, checks what came, and returns the seconds of a round by the ranks' clocks. The
/// first round is not timed, since collectives make their memory in it.
template <template <class> class Protocol, class Team>
double seconds_of(Team& team, dsde::problem const& p) {
  Protocol<Team> protocol(team, p);
  std::size_t const rounds = p.rounds + 1;
  std::vector<std::vector<dsde::delivery>> out;
  for (std::size_t r = 0; r < rounds; ++r) out.push_back(dsde::deliveries_of(p, team.rank(), team.size(), r));
  std::vector<std::vector<dsde::item>> in(rounds);

  protocol.exchange(out[0], in[0]);
  team.barrier();
  auto const begin = team.now();
  for (std::size_t r = 1; r < rounds; ++r) protocol.exchange(out[r], in[r]);
  std::chrono::duration<double> const passed = team.now() - begin;
  team.barrier();  // nobody sends to this rank any more

  int wrong = 0;
  for (std::size_t r = 0; r < rounds; ++r) {
    std::sort(in[r].begin(), in[r].end());
    if (in[r] != dsde::items_for(p, team.rank(), team.size(), r)) ++wrong;
  }
  wrong = team.all_reduce(wrong);
  if (wrong != 0)
    throw std::runtime_error("dsde: " + std::string(Protocol<Team>::name) + " lost or doubled items in " +
                             std::to_string(wrong) + " rounds of a rank");
  return team.all_reduce(passed.count(), pgas::op::max{}) / static_cast<double>(p.rounds);
}

/// The shortest times of each kind of protocol.
struct shortest_times {
  double ours = std::numeric_limits<double>::max();
  double accumulate = ours;
  double messages = ours;
  int protocols = 0;
};

int main(int argc, char** argv) {
  return pgas::run<example::network_backends>(argc, argv, [](auto& team, auto arguments) {
    using team_type = std::remove_cvref_t<decltype(team)>;
    setting const s = read(arguments);
    shortest_times found;
    auto const run = [&]<template <class> class Protocol>(double& least) {
      std::string_view const name = Protocol<team_type>::name;
      if (s.protocol != "all" && s.protocol != name) return;
      double const seconds = seconds_of<Protocol>(team, s.problem);
      ++found.protocols;
      least = std::min(least, seconds);
      if (team.rank() == 0)
        std::printf("dsde: %-14s %9.2f us a round\n", std::string(name).c_str(), seconds * 1e6);
    };
    run.template operator()<dsde::routed>(found.ours);
    run.template operator()<dsde::inbox>(found.ours);
    run.template operator()<dsde::accumulate>(found.accumulate);
    run.template operator()<dsde::nbx>(found.messages);
    run.template operator()<dsde::reduce_scatter>(found.messages);
    run.template operator()<dsde::alltoall>(found.messages);
    if (found.protocols == 0)
      throw std::runtime_error("dsde: there is no protocol " + example::in_quotes(s.protocol) +
                               "; take routed, inbox, accumulate, nbx, reduce_scatter, alltoall or all");
    if (team.rank() != 0) return;
    auto const neighbours = std::min(s.problem.neighbours, static_cast<std::size_t>(team.size()) - 1);
    if (s.protocol == "all")
      std::printf("dsde: the fastest message form takes %.2f times as long as ours, accumulate %.2f times\n",
                  found.messages / found.ours, found.accumulate / found.ours);
    std::printf("dsde: %d ranks, %zu neighbours, %zu items: each item arrived once\n", team.size(),
                neighbours, s.problem.items);
  });
}
// PGAS_NODE=1 tools/run dsde --pgas-backend simulated --pgas-ranks 64:
//   dsde: routed              4.25 us a round
//   dsde: inbox               6.54 us a round
//   dsde: accumulate         26.96 us a round
//   dsde: nbx                10.15 us a round
//   dsde: reduce_scatter     19.82 us a round
//   dsde: alltoall           18.02 us a round
//   dsde: the fastest message form takes 2.39 times as long as ours, accumulate 6.35 times
//   dsde: 64 ranks, 6 neighbours, 1 items: each item arrived once
