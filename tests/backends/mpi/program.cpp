// SPDX-License-Identifier: BSL-1.0
// What goes wrong in a program on MPI, by name: see failures_test.py. Its states have the name of what a rank
// does when it goes wrong.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pgas/containers/counter.hpp>
#include <pgas/mpi.hpp>
#include <pgas/pgas.hpp>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using backend = pgas::backends::PGAS_TEST_MPI_BACKEND;

/// Rank 1 goes wrong while the others wait for it.
void go_wrong(std::string_view how) {
  if (how == "throw") throw std::runtime_error("the tea is cold");
  if (how == "kill") ::raise(SIGKILL);
  if (how == "exit") std::exit(0);
  if (how == "leave") ::_exit(0);
}

/// The rounds of a state that all ranks go through before rank 1 goes wrong in it.
constexpr int rounds = 3;

/// Calls round(goes_wrong) again and again; rank 1 goes wrong in the middle of one.
template <class Team, class Round>
void repeat(Team& team, std::string_view how, Round const& round) {
  for (int i = 0;; ++i) {
    round([&] {
      if (i == rounds && team.rank() == 1) go_wrong(how);
    });
  }
}

template <class Team>
void fence(Team& team, std::string_view how) {
  auto w = pgas::make_window<int>(team, 4);
  repeat(team, how, [&](auto const& goes_wrong) {
    pgas::fence epoch{w};
    epoch.put((team.rank() + 1) % team.size(), 0, 1);
    goes_wrong();
  });
}
template <class Team>
void hold_lock(Team& team, std::string_view how) {
  auto w = pgas::make_window<int>(team, 4);
  repeat(team, how, [&](auto const& goes_wrong) {
    team.barrier();
    pgas::lock epoch{w, 0, pgas::exclusive};
    epoch.put(0, 0, 1);
    goes_wrong();
  });
}
template <class Team>
void post(Team& team, std::string_view how) {
  auto w = pgas::make_window<int>(team, 4);
  pgas::rank_t const next = (team.rank() + 1) % team.size();
  pgas::rank_t const previous = (team.rank() + team.size() - 1) % team.size();
  repeat(team, how, [&](auto const& goes_wrong) {
    pgas::exposure exposed{w, {previous}};
    pgas::access epoch{w, {next}};
    epoch.put(next, 0, 1);
    goes_wrong();
    epoch.complete();
    exposed.wait();
  });
}
template <class Team>
void halo(Team& team, std::string_view how) {
  auto cells = pgas::make_array<double>(team, {64, 64}, pgas::halo{.width = 1});
  repeat(team, how, [&](auto const& goes_wrong) {
    goes_wrong();
    pgas::exchange_halo(cells);
  });
}
/// On `cluster` no flush ends the gets: it bounds their number itself. MPICH 4.0.2 hangs when its own pile
/// up.
template <class Team>
void get(Team& team, std::string_view how) {
  auto w = pgas::make_window<double>(team, 100'000);
  std::vector<double> into(100'000);  // outlasts the epoch, which rank 1 leaves with a get under way
  pgas::lock_all epoch{w};
  repeat(team, how, [&](auto const& goes_wrong) {
    pgas::rank_t const next = (team.rank() + 1) % team.size();
    epoch.get(next, 0, into);
    goes_wrong();
    if (!std::is_same_v<backend, pgas::backends::cluster>) epoch.flush(next);
  });
}
template <class Team>
void create(Team& team, std::string_view how) {
  repeat(team, how, [&](auto const& goes_wrong) {
    goes_wrong();
    auto w = pgas::make_window<int>(team, 1000);
  });
}
/// Short and long ones, blocking and started; rank 1 goes wrong before a call, with others under way.
template <class Team>
void collective(Team& team, std::string_view how) {
  std::vector<int> few(5, 1);
  std::vector<int> many(50'000, 1);
  std::vector<int> sum(many.size());
  repeat(team, how, [&](auto const& goes_wrong) {
    team.all_reduce(few, few);
    auto request = team.start().all_reduce(many, sum);
    goes_wrong();
    team.broadcast(few, 1);
    request.wait();
  });
}

/// Goes through the state that a name like "fence kill" begins with; returns if it begins with none.
template <class Team>
void pass_through(Team& team, std::string_view name) {
  auto const end = name.find(' ');
  if (end == std::string_view::npos) return;
  std::string_view const state = name.substr(0, end);
  std::string_view const how = name.substr(end + 1);
  if (state == "fence") fence(team, how);
  if (state == "lock") hold_lock(team, how);
  if (state == "post") post(team, how);
  if (state == "halo") halo(team, how);
  if (state == "get") get(team, how);
  if (state == "create") create(team, how);
  if (state == "collective") collective(team, how);
}

/// Each rank waits for a post of the next one, which does not come.
template <class Team>
void wait_in_a_ring(Team& team) {
  auto w = pgas::make_window<int>(team, 1);
  int const next = (team.rank() + 1) % team.size();
  pgas::access epoch{w, {next}};
  epoch.put(next, 0, 1);
}

/// The even processes work together; MPI and the library take turns on them, and on memory of MPI.
void live_together(int rank) {
  MPI_Comm even = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &even);
  if (even == MPI_COMM_NULL) return;
  int const sum = pgas::mpi::run<backend>(even, [](auto& team) {
    int* memory = nullptr;
    MPI_Alloc_mem(sizeof(int), MPI_INFO_NULL, static_cast<void*>(&memory));
    *memory = 0;
    int total = 0;
    {
      auto w = pgas::make_window(team, std::span(memory, 1));
      {
        pgas::fence epoch{w};
        epoch.put((team.rank() + 1) % team.size(), 0, team.rank() + 1);
      }
      MPI_Comm ranks = pgas::mpi::communicator(team);
      MPI_Allreduce(memory, &total, 1, MPI_INT, MPI_SUM, ranks);
      MPI_Comm_free(&ranks);
    }
    team.barrier();
    MPI_Free_mem(memory);
    return total;
  });
  if (rank == 0) std::printf("together %d\n", sum);
  MPI_Comm_free(&even);
}

void require(bool condition, char const* promise) {
  if (!condition) throw std::runtime_error(promise);
}

/// Every kind of access by a team of one process, each in a job of its own, and by the process as a sub-team.
template <class Team>
void access_alone(Team& team) {
  auto w = pgas::make_window<double>(team, 10);
  {
    pgas::fence epoch{w};
    epoch.put(0, 3, 2.5);
    epoch.accumulate(0, 3, 0.5);
    require(epoch.get(0, 3) == 3.0, "a sum of doubles");
  }
  auto numbers = pgas::make_window<std::uint64_t>(team, 4);
  {
    pgas::lock_all epoch{numbers};
    require(epoch.fetch_add(0, 1, 5U) == 0, "the number before an addition");
    std::uint64_t expected = 5;
    require(epoch.compare_exchange(0, 1, expected, 7U), "an exchange");
    require(epoch.exchange(0, 1, 9U) == 7, "the number before an exchange");
    epoch.atomic_store(0, 2, 4U);
    epoch.accumulate(0, 2, std::uint64_t{3}, pgas::op::bit_or{});
    require(epoch.atomic_load(0, 2) == 7, "bits");
    epoch.flush_all();
  }
  std::vector<int> mine(8, 1);
  {
    auto own = pgas::make_window(team, std::span(mine));
    {
      pgas::lock epoch{own, 0, pgas::exclusive};
      epoch.put(0, 2, 6);
    }
    require(mine[2] == 6, "memory of the program");
  }
  auto counter = pgas::make_counter(team);
  require(counter.fetch_add(2) == 0 && counter.read() == 2, "a counter");
}

/// Each process runs jobs of its own, beside those of the others.
int run_alone() {
  return pgas::mpi::run<backend>(MPI_COMM_SELF, [](auto& team) {
    access_alone(team);
    auto sub = team.split(0);
    access_alone(sub);
    return team.all_reduce(1);
  });
}

}  // namespace

int main(int, char** argv) {
  std::string_view const how(argv[1]);
  bool const has_begun = how == "own" || how == "together" || how == "alone";  // the program has its own MPI
  if (has_begun) MPI_Init(nullptr, nullptr);
  if (how.starts_with("uncaught")) {
    int const rank = pgas::run<backend>([how](auto& team) {
      if (how == "uncaught" && team.rank() == 1) go_wrong("throw");
      return team.rank();
    });
    // One process alone ends, and the others wait for it.
    int self = rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    if (self == 1) throw pgas::error(pgas::errc::bad_file, 1, "the tea is cold");
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
  }
  try {
    int const alone = how == "alone" ? run_alone() : 0;
    int const sum = pgas::run<backend>([how, alone](auto& team) {
      pass_through(team, how);
      if (how == "ring") wait_in_a_ring(team);
      if (team.rank() == 1) go_wrong(how);
      if (how == "alone") {
        auto parts = team.split(team.rank());
        access_alone(parts);
        int const all = team.all_reduce(alone);
        if (team.rank() == 0) std::printf("alone %d\n", all);
      }
      return team.all_reduce(team.rank());
    });
    std::printf("sum %d\n", sum);
    if (how == "again") {
      std::printf("again %d\n", pgas::run<backend>([](auto& team) { return team.all_reduce(1); }));
    }
  } catch (pgas::error const& e) {
    std::fprintf(stderr, "caught: %s\n", e.what());
    return 3;
  }
  if (!has_begun) return 0;
  int ranks = 0;
  int const one = 1;
  MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("MPI still counts %d\n", ranks);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  live_together(rank);
  MPI_Finalize();
}
