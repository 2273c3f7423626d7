// SPDX-License-Identifier: BSL-1.0
#pragma once

// What ranks on several nodes may expect, and the messages that operations cost where a backend counts them.
#include <array>
#include <pgas/detail/backends/cluster/packet.hpp>
#include <pgas/mpi.hpp>
#include <pgas/user_window.hpp>
#include <thread>

#include "../../conformance/collective.hpp"
#include "one_backend.hpp"

namespace pgas_test {

/// Calls body(team, packets) on two ranks on different nodes; packets() is the number that the rank has sent.
template <class Body>
void on_two_nodes(Body const& body) {
  everywhere(
      [&body](auto& team) {
        auto const& backend = team.state()->backend;
        if constexpr (requires { backend.packets_sent(); }) {
          auto pair = team.split(team.rank() == 0 || team.rank() == 2 ? 0 : 1);
          if (pair.size() != 2) return;
          if (pair.locality_of(1 - pair.rank()) != pgas::locality::remote) return;
          body(pair, [&] { return backend.packets_sent(); });
        }
      },
      {3});
}

}  // namespace pgas_test

TEST_CASE("small puts to another node share packets: a thousand of them with a flush take less than seven") {
  pgas_test::on_two_nodes([](auto& team, auto const& packets) {
    auto w = pgas::make_window<long>(team, 1000);
    {
      pgas::lock_all epoch{w};
      team.barrier();
      if (team.rank() == 0) {
        auto const before = packets();
        for (std::size_t i = 0; i < 1000; ++i) epoch.put(1, i, static_cast<long>(i));
        epoch.flush(1);
        pgas_test::require(packets() - before < 7, "packets of a thousand puts");
      }
    }
    team.barrier();
    if (team.rank() == 1) pgas_test::require_equal(w.local()[999], 999, "the last put");
    team.barrier();
  });
}

TEST_CASE("accumulates to another node share packets, and none waits for an answer") {
  pgas_test::on_two_nodes([](auto& team, auto const& packets) {
    auto w = pgas::make_window<long>(team, 10);
    {
      pgas::lock_all epoch{w};
      epoch.accumulate(1 - team.rank(), 0, 1L);  // announces single elements
      epoch.flush(1 - team.rank());
      team.barrier();
      auto const before = packets();
      for (int i = 0; i < 300; ++i) epoch.accumulate(1 - team.rank(), 1, 2L);
      epoch.flush(1 - team.rank());
      // The other rank's packets need receipts, too.
      pgas_test::require(packets() - before < 9, "packets of three hundred accumulates");
    }
    team.barrier();
    pgas_test::require_equal(w.local()[1], 600, "the sum of accumulates");
    team.barrier();
  });
}

TEST_CASE("a put to another node and the end of its access are one packet") {
  pgas_test::on_two_nodes([](auto& team, auto const& packets) {
    auto w = pgas::make_window<long>(team, 1);
    for (int round = 0; round < 5; ++round) {
      team.barrier();
      if (team.rank() == 1) {
        pgas::exposure epoch{w, {0}};
      } else {
        pgas::access epoch{w, {1}};
        epoch.put(1, 0, 5L + round);
        auto const before = packets();
        epoch.complete();
        pgas_test::require_equal(packets() - before, std::uint64_t{1}, "packets of the end of an access");
      }
      if (team.rank() == 1) pgas_test::require_equal(w.local()[0], 5L + round, "the value that was put");
    }
    team.barrier();
  });
}

TEST_CASE("a row of 1026 doubles and the end of its access are one packet") {
  pgas_test::on_two_nodes([](auto& team, auto const& packets) {
    std::vector<double> const row(1026, 0.5);
    auto w = pgas::make_window<double>(team, row.size());
    if (team.rank() == 1) {
      pgas::exposure epoch{w, {0}};
    } else {
      pgas::access epoch{w, {1}};
      auto const target = epoch.to(1);  // the post has come
      auto const before = packets();
      target.put(0, row);
      epoch.complete();
      pgas_test::require_equal(packets() - before, std::uint64_t{1}, "packets of a row and its signal");
    }
    if (team.rank() == 1) pgas_test::require_equal(w.local()[1025], 0.5, "the last element of the row");
    team.barrier();
  });
}

TEST_CASE(
    "long puts to a rank that computes are bounded: the next one waits until an earlier one has arrived") {
  pgas_test::on_two_nodes([](auto& team, auto const&) {
    constexpr std::size_t bytes = std::size_t{1} << 17U;
    constexpr std::size_t bound = pgas::detail::cluster::wire::most_unreceived;
    auto w = pgas::make_window<std::byte>(team, bytes);
    {
      pgas::lock_all epoch{w};
      team.barrier();
      if (team.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      } else {
        std::vector<std::byte> const values(bytes, std::byte{7});
        std::vector<decltype(epoch.rput(1, 0, std::span(values)))> requests;
        std::size_t most = 0;
        for (std::size_t i = 0; i < 3 * bound; ++i) {
          requests.push_back(epoch.rput(1, 0, std::span(values)));
          most = std::max(most, team.state()->backend.long_under_way());
        }
        for (auto& each : requests) each.wait();
        pgas_test::require(most > bound / 2, "many puts were under way at the same time");
        pgas_test::require(most <= bound + 1, "no more were under way than receipts may be missing");
      }
    }
    team.barrier();
    if (team.rank() == 1) pgas_test::require(w.local()[bytes - 1] == std::byte{7}, "the last byte");
    team.barrier();
  });
}

TEST_CASE("heads of requests keep homes, offsets, values and lengths of any size") {
  using pgas::detail::cluster::packed_head;
  using pgas::detail::cluster::request_head;
  std::array<std::uint64_t, 5> const numbers{0, 1, 0xffff'ffffU, 0x1'0000'0000U, ~std::uint64_t{0}};
  std::array<std::byte, packed_head::most> bytes{};
  for (std::uint64_t home : numbers)
    for (std::uint64_t offset : numbers)
      for (std::uint64_t value : numbers)
        for (std::uint32_t body : {0U, 1U, 0xffff'ffffU}) {
          packed_head const packed({.body = body, .home = home, .offset = offset, .value = value});
          packed.write(bytes.data());
          request_head read;
          pgas_test::require_equal(packed_head::read(bytes.data(), read), packed.bytes(), "bytes of a head");
          pgas_test::require(packed.bytes() <= (value == 0 ? packed_head::most_without_value : bytes.size()),
                             "a head is no longer than its most");
          pgas_test::require_equal(read.home, home, "home");
          pgas_test::require_equal(read.offset, offset, "offset");
          pgas_test::require_equal(read.value, value, "value");
          pgas_test::require_equal(read.body, body, "length of the body");
        }
}

TEST_CASE("an access to two ranks of another node ends for the second while the first computes") {
  pgas_test::everywhere(
      [](auto& team) {
        if constexpr (requires { team.state()->backend.packets_sent(); }) {
          int const is_other = team.rank() == 2 || team.locality_of(2) == pgas::locality::remote ? 1 : 0;
          if (team.all_reduce(is_other) == 3) {
            auto w = pgas::make_window<int>(team, 1);
            auto words = pgas::make_window<int>(team, 1);
            pgas::lock_all epoch{words};
            team.barrier();
            if (team.rank() == 2) {
              pgas::access access{w, {0, 1}};
              access.put(0, 0, 5);
              access.put(1, 0, 6);
            } else {
              pgas::exposure exposure{w, {2}};
              // acquire: pairs with the store of rank 1
              std::atomic_ref const end(words.local()[0]);
              while (team.rank() == 0 && end.load(std::memory_order_acquire) == 0) std::this_thread::yield();
              exposure.wait();
              if (team.rank() == 1) epoch.atomic_store(0, 0, 1);
              pgas_test::require_equal(w.local()[0], 5 + team.rank(), "the value that was put");
            }
            team.barrier();
          }
        }
      },
      {3});
}

TEST_CASE("puts into memory that a rank already had arrive before the end of the access, near and far") {
  pgas_test::everywhere(
      [](auto& team) {
        std::vector<int> memory(1024);
        {
          auto w = pgas::make_window(team, std::span(memory));
          pgas::rank_t const last = team.size() - 1;
          for (int round = 1; round <= 40; ++round) {
            if (team.rank() == last) {
              {
                pgas::exposure epoch{w, {0}};
              }
              pgas_test::require_equal(memory[0], round, "the first element");
              pgas_test::require_equal(memory[1023], round, "the last element");
            } else if (team.rank() == 0) {
              std::vector<int> const values(1024, round);
              pgas::access epoch{w, {last}};
              epoch.put(last, 0, std::span<int const>(values));
            }
          }
        }
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("another thread of a rank may wait for other nodes") {
  pgas_test::everywhere(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, 8);
        w.local()[0] = team.rank();
        team.barrier();
        int got = -1;
        pgas::rank_t const next = (team.rank() + 1) % team.size();
        std::thread([&] {
          pgas::lock_all epoch{w};
          got = epoch.get(next, 0);
        }).join();
        pgas_test::require_equal(got, next, "the element that the thread got");
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("a team is split again and again, into pieces on one node and on several") {
  pgas_test::everywhere(
      [](auto& team) {
        for (int round = 0; round < 5; ++round) {
          auto part = team.split((team.rank() + round) % 2, -team.rank());
          pgas_test::require_equal(part.all_reduce(1), part.size(), "the ranks of the piece");
          auto w = pgas::make_window<int>(part, 4);
          {
            pgas::fence epoch{w};
            epoch.put((part.rank() + 1) % part.size(), 0, round);
          }
          pgas_test::require_equal(w.local()[0], round, "the element that was put");
        }
      },
      {3});
}

TEST_CASE("a rank that has left a barrier may call MPI, while another rank has waited long in the barrier") {
  pgas_test::everywhere(
      [](auto& team) {
        MPI_Comm ranks = pgas::mpi::communicator(team);
        for (int round = 0; round < 400; ++round) {
          // The others' waits are long, some just begin to be.
          if (round % team.size() == team.rank())
            std::this_thread::sleep_for(std::chrono::microseconds(round % 40 * 10));
          team.barrier();
          MPI_Barrier(ranks);
        }
        MPI_Comm_free(&ranks);
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("collectives on several nodes: only the first rank of each node sends packets") {
  pgas_test::everywhere(
      [](auto& team) {
        auto const& backend = team.state()->backend;
        if constexpr (requires { backend.packets_sent(); }) {
          auto const nodes = backend.nodes();
          if (!nodes.form_levels()) return;
          bool const leads = nodes.first(nodes.node_of(team.rank())) == team.rank();
          auto const ranks = static_cast<std::size_t>(team.size());
          std::vector<long> mine(300, team.rank());
          std::vector<long> all(300 * ranks);
          auto const call_all = [&](pgas::rank_t root) {
            std::vector<long> values(300, team.rank());
            team.broadcast(values, root);
            pgas_test::require_equal(values[299], long{root}, "the root's element");
            team.reduce(mine, values, root);
            team.all_reduce(mine, values);
            pgas_test::require_equal(values[299], static_cast<long>(ranks * (ranks - 1) / 2), "a sum");
            team.inclusive_scan(mine, values);
            team.gather(mine, all, root);
            team.all_gather(mine, all);
            team.scatter(all, values, root);
            pgas_test::require_equal(values[0], long{team.rank()}, "what was gathered of this rank");
            pgas_test::require_equal(team.all_reduce(1), team.size(), "a sum of values");
          };
          for (pgas::rank_t root = 0; root < team.size(); ++root) {
            call_all(root);  // makes memory, the first time
            auto const before = backend.packets_sent();
            call_all(root);
            if (!leads) pgas_test::require_equal(backend.packets_sent(), before, "packets of a rank");
          }
        }
      },
      {3, 4, 6});
}

TEST_CASE("collectives on several nodes give what serial loops give if no node has consecutive ranks") {
  pgas_test::everywhere(
      [](auto& team) {
        auto turned = team.split(0, team.rank() % 2);
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
          pgas_test::collective_suite::random_sequence(turned, seed);
      },
      {3, 4, 6});
}

TEST_CASE(
    "collectives on several nodes: an algorithm that needs shared areas of all ranks is refused in a "
    "sentence") {
  pgas_test::everywhere(
      [](auto& team) {
        using operations = std::remove_cvref_t<decltype(team.state()->operations)>;
        if constexpr (operations::has_near_areas) {
          std::vector<int> values(10, team.rank());
          auto const call = [&] { team.broadcast(values, 0, pgas::collectives::direct{}); };
          if (team.state()->backend.nodes().count() > 1) {
            pgas_test::require_error(pgas::errc::unsupported, {"several nodes", "let the library choose"},
                                     call);
          } else {
            call();
            pgas_test::require_equal(values[9], 0, "the root's element");
          }
        }
      },
      {2, 3});
}
