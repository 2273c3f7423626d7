// SPDX-License-Identifier: BSL-1.0
// What grows with the number of ranks: scale --ranks P. Programs of the library run on simulated nodes, in
// virtual time, and print the time of each step, the slowest rank's, and the bytes that each structure takes
// on a rank. Each prints the same values in each run, except the speed of the simulation itself.
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <pgas/backends/simulated.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <pgas/sync/match_list.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/two_level.hpp>
#include <string>
#include <vector>

namespace scale {

using pgas::rank_t;
using pgas::backends::simulated;
using pgas::simulated::ticks;

/// A team keeps a list of ranks on each rank, and its collectives read from each rank: with more ranks, only
/// protocols on bare control words end in reasonable time and memory.
constexpr rank_t most_in_team = 4096;
/// The structures with a word or a byte for each other rank: 16,384 ranks have 2 GiB of them.
constexpr rank_t most_with_lists = 16'384;

/// Ranks that retry for a lock take most of the simulation's time.
constexpr rank_t most_with_retries = 1024;

void tell(std::string const& row, std::string const& mode, char const* unit, rank_t ranks, double value) {
  std::printf(R"({"type":"sample","row":"%s","mode":"%s","bytes":0,"unit":"%s","ranks":%d,"way":"",)"
              R"("hand_over":[],"seconds":[%.9g]})"
              "\n",
              row.c_str(), mode.c_str(), unit, ranks, value);
  std::fflush(stdout);
}

/// The rows of one run. Ranks are fibers of one thread, so all of them write here.
class rows {
 public:
  explicit rows(rank_t ranks) : ranks_(ranks) {}

  /// A step of all ranks: from the last begin to the last end, `times` operations.
  template <class Now, class Act>
  void step(std::string const& row, std::string const& mode, std::size_t times, Now const& now, Act&& act) {
    std::size_t const number = find(row, mode, "s");
    all_[number].begin = std::max(all_[number].begin, now());
    all_[number].times = times;
    act();
    all_[number].end = std::max(all_[number].end, now());
  }
  void value(std::string const& row, std::string const& mode, char const* unit, double value) {
    all_[find(row, mode, unit)].value = value;
  }
  ~rows() {
    for (auto const& r : all_) {
      double const time = static_cast<double>(r.end - r.begin) * 1e-12 / static_cast<double>(r.times);
      tell(r.row, r.mode, r.unit, ranks_, r.value.value_or(time));
    }
  }

 private:
  struct line {
    std::string row, mode;
    char const* unit;
    ticks begin = 0, end = 0;
    std::size_t times = 1;
    std::optional<double> value{};
  };
  std::size_t find(std::string const& name, std::string const& mode, char const* unit) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].row == name && all_[i].mode == mode) return i;
    }
    all_.push_back({name, mode, unit});
    return all_.size() - 1;
  }

  rank_t ranks_;
  std::vector<line> all_;
};

/// The bytes of the heap that are in use.
double heap() {
  auto const info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}
/// The most memory that this process had.
double resident() {
  ::rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) * 1024;
}

/// One rank without a team: protocols on bare control words.
template <class Boot>
class bare {
 public:
  bare(simulated& b, Boot& boot, rows& to) : b_(&b), boot_(&boot), rows_(&to) {}

  /// Runs body(protocol) on a new control, and tells what the protocol keeps on a rank.
  template <class Protocol, class Body>
  void with(std::string const& kind, Body&& body) {
    std::string const name(Protocol::name);
    simulated::handle handle{};
    auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
    auto const words = Protocol::words(b_->size());
    std::string const key = kind + name;
    if (b_->rank() == 0) {
      handle = b_->reserve_control(words);
      boot_->put(key, bytes);
    }
    boot_->fence();
    boot_->get(key, bytes);
    auto control = b_->attach_control(handle, words, key);
    boot_->fence();
    double const before = heap();
    boot_->fence();
    typename Protocol::template on<decltype(control)> protocol(control, {});
    boot_->fence();
    if (b_->rank() == 0) {
      rows_->value(kind + " words", name, "B", static_cast<double>((words.slots + words.cells) * 8));
      rows_->value(kind + " private", name, "B", (heap() - before) / b_->size() + sizeof protocol);
    }
    boot_->fence();
    body(protocol, name);
    boot_->fence();
  }
  template <class Protocol>
  void fence() {
    with<Protocol>("fence", [&](auto& p, std::string const& name) {
      pgas::no_boundary nothing;
      p.fence(nothing, "fence");  // the first one finds all ranks at one time
      step("fence", name, 4, [&] {
        for (int i = 0; i < 4; ++i) p.fence(nothing, "fence");
      });
    });
  }
  /// An epoch with four neighbours on a grid of ranks.
  template <class Protocol>
  void post_start() {
    with<Protocol>("post_start", [&](auto& p, std::string const& name) {
      pgas::no_boundary nothing;
      rank_t const n = b_->size(), r = b_->rank();
      rank_t side = 1;
      while (side * side < n) side *= 2;
      std::array const around{(r + 1) % n, (r + n - 1) % n, (r + side) % n, (r + n - side) % n};
      step("post_start", name, 4, [&] {
        for (int i = 0; i < 4; ++i) {
          p.post(around, nothing);
          p.start(around, nothing, pgas::exposure_state::awaited);
          p.complete(around, nothing, pgas::exposure_state::awaited);
          p.wait(around, nothing);
        }
      });
    });
  }
  template <class Protocol>
  void lock() {
    with<Protocol>("lock", [&](auto& p, std::string const& name) {
      pgas::no_boundary nothing;
      // Neither is on the node of rank 0, which has the word of two_level that all locks share.
      rank_t const origin = b_->size() / 4, target = b_->size() / 4 * 3;
      auto const take = [&](rank_t part, pgas::lock_kind kind) {
        p.lock(part, kind, nothing);
        if constexpr (requires { p.first_access(part, nothing); }) p.first_access(part, nothing);
        p.unlock(part, kind, nothing);
      };
      step("lock_shared", name, 1, [&] {
        if (b_->rank() == origin) take(target, pgas::lock_kind::shared);
      });
      boot_->fence();
      step("lock_exclusive", name, 1, [&] {
        if (b_->rank() == origin) take(target, pgas::lock_kind::exclusive);
      });
      boot_->fence();
      step("lock_all", name, 1, [&] {
        p.lock_all(nothing);
        p.unlock_all(nothing);
      });
      boot_->fence();
      if (b_->size() > (std::is_same_v<Protocol, pgas::sync::two_level<>> ? most_with_retries : most_in_team))
        return;
      step("lock_contended", name, 1, [&] { take(0, pgas::lock_kind::exclusive); });
    });
  }

 private:
  template <class Act>
  void step(std::string const& row, std::string const& mode, std::size_t times, Act&& act) {
    rows_->step(
        row, mode, times, [this] { return b_->virtual_time(); }, act);
  }

  simulated* b_;
  Boot* boot_;
  rows* rows_;
};

void protocols(rank_t ranks) {
  rows to(ranks);
  static_cast<void>(simulated::launch(ranks, [&](auto&& given, auto& boot) {
    simulated b = given;
    bare rank(b, boot, to);
    rank.template fence<pgas::sync::dissemination>();
    rank.template post_start<pgas::sync::match_list<8>>();
    rank.template lock<pgas::sync::two_level<>>();
    if (ranks <= most_with_lists) {
      rank.template post_start<pgas::sync::match_vector>();
      rank.template lock<pgas::sync::queued>();
    }
    if (ranks <= most_in_team) {
      rank.template fence<pgas::default_fence>();
      rank.template fence<pgas::sync::central_counter>();
      rank.template post_start<pgas::sync::post_array>();
    }
  }));
}

/// The steps of a program, with a team.
template <class Team>
class program {
 public:
  program(Team& team, rows& to) : team_(&team), rows_(&to) {}

  template <class Act>
  void step(std::string const& row, std::string const& mode, std::size_t times, Act&& act) {
    team_->barrier();
    rows_->step(
        row, mode, times, [this] { return team_->state()->backend.virtual_time(); }, act);
    team_->barrier();
  }
  /// Makes something, and tells the bytes that it takes on a rank. The caller keeps it.
  template <class Make>
  auto made(std::string const& row, Make&& make) {
    auto const& held = pgas::simulated::counters_of(*team_).now;
    auto const before = held;
    team_->barrier();
    double const heap_before = heap();
    team_->barrier();
    using thing = decltype(make());
    std::optional<thing> all;
    rows_->step(
        row, "", 1, [this] { return team_->state()->backend.virtual_time(); }, [&] { all.emplace(make()); });
    team_->barrier();
    if (team_->rank() == 0) {
      rows_->value(row + " words", "", "B", static_cast<double>(held.control - before.control));
      rows_->value(row + " private", "", "B", (heap() - heap_before) / team_->size());
    }
    team_->barrier();
    return std::move(*all);
  }

  void run() {
    auto& team = *team_;
    rank_t const n = team.size();
    step("barrier", "", 4, [&] {
      for (int i = 0; i < 4; ++i) team.barrier();
    });
    step("broadcast", "", 1, [&] { static_cast<void>(team.broadcast(1)); });
    step("all_reduce", "", 1, [&] { static_cast<void>(team.all_reduce(1)); });
    static_cast<void>(team.all_gather(1));  // makes the memory of links
    step("all_gather", "", 1, [&] { static_cast<void>(team.all_gather(1)); });
    auto const half = made("split", [&] { return team.split(team.rank() % 2); });
    auto const w = made("make_window", [&] { return pgas::make_window<std::uint64_t>(team, 128); });

    step("window fence", "", 4, [&] {
      pgas::fence epoch{w};
      for (int i = 0; i < 3; ++i) epoch.next();
    });
    step("window lock, exclusive", "", 1, [&] {
      if (team.rank() == 0) pgas::lock epoch{w, n / 2, pgas::exclusive};
    });
    hash_table();
    halo();
  }

 private:
  /// Each rank inserts 16 random keys into a table of which each rank has a part, by compare and exchange.
  void hash_table() {
    auto& team = *team_;
    auto const table = pgas::make_window<std::uint64_t>(team, 64);
    std::uint64_t dice = static_cast<std::uint64_t>(team.rank()) * 2 + 1;
    constexpr std::size_t inserts = 16;
    pgas::lock_all epoch{table};
    step("hash table, an insert", "", inserts, [&] {
      for (std::size_t i = 0; i < inserts; ++i) {
        std::uint64_t const key = (dice = dice * 6364136223846793005U + 1442695040888963407U) >> 16U | 1U;
        auto const owner = static_cast<rank_t>((key >> 8U) % static_cast<std::uint64_t>(team.size()));
        for (std::size_t at = (key >> 32U) % 64;; at = (at + 1) % 64) {
          std::uint64_t free = 0;
          if (epoch.compare_exchange(owner, at, free, key)) break;
        }
      }
    });
  }
  /// A plate of 8 x 8 cells a rank.
  void halo() {
    auto& team = *team_;
    std::size_t rows_of_ranks = 1;
    auto const n = static_cast<std::size_t>(team.size());
    while (rows_of_ranks * rows_of_ranks < n) rows_of_ranks *= 2;
    auto const a = made("make_array", [&] {
      return pgas::make_array<double>(team, {8 * rows_of_ranks, 8 * (n / rows_of_ranks)},
                                      pgas::tiled<pgas::block, pgas::block>{}, pgas::halo{.width = 1});
    });
    pgas::exchange_halo(a);
    step("exchange_halo", "", 4, [&] {
      for (int i = 0; i < 4; ++i) pgas::exchange_halo(a);
    });
  }

  Team* team_;
  rows* rows_;
};

void programs(rank_t ranks) {
  rows to(ranks);
  pgas::run<simulated>(ranks, [&](auto& team) {
    program p(team, to);
    p.run();
  });
  auto const& all = simulated::last_totals();
  to.value("messages to the busiest rank", "", "messages", static_cast<double>(all.busiest));
  to.value("stack", "", "B", static_cast<double>(all.stack));
}

}  // namespace scale

int main(int argc, char** argv) {
  pgas::rank_t ranks = 64;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--ranks") == 0) ranks = std::atoi(argv[i + 1]);
  }
  // Nodes of 16 ranks: the smallest run has some of them, too.
  auto how = pgas::simulated::options::from_environment();
  if (std::getenv("PGAS_NODE") == nullptr) how.network.node = 16;
  pgas::simulated::with_options const with(how);
  // The speed of the simulation, and the memory of all that was simulated so far.
  auto const run = [ranks](char const* what, void (*rows_of)(pgas::rank_t)) {
    auto const started = std::chrono::steady_clock::now();
    rows_of(ranks);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - started;
    auto const events = static_cast<double>(pgas::backends::simulated::last_totals().events);
    scale::tell("simulation", what, "events/s", ranks, events / took.count());
    scale::tell("simulated ranks a GiB", what, "ranks", ranks,
                (1U << 30U) * static_cast<double>(ranks) / scale::resident());
  };
  run("protocols", scale::protocols);
  if (ranks <= scale::most_in_team) run("programs", scale::programs);
  std::printf("{\"type\":\"end\"}\n");
  return 0;
}
