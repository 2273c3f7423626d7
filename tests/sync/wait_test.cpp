// SPDX-License-Identifier: BSL-1.0
// The promises of waiting under each wait_policy.
// test: threads, optimized, unit protocols
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <pgas/detail/job/deadlock_search.hpp>
#include <pgas/detail/job/launch.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/options.hpp>
#include <pgas/signals.hpp>
#include <pgas/sync/central_counter.hpp>
#include <random>
#include <thread>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::wait_policy;

namespace {

/// Processes if the test may start them, else threads.
using models = std::tuple<process_model, thread_model>;

/// Sets PGAS_WAIT for the jobs that start while it lives.
struct with_policy {
  explicit with_policy(std::string_view name) { ::setenv("PGAS_WAIT", std::string(name).c_str(), 1); }
  with_policy(with_policy const&) = delete;
  with_policy& operator=(with_policy const&) = delete;
  ~with_policy() { ::unsetenv("PGAS_WAIT"); }
};

/// A window whose parts can be locked.
template <class Team>
auto locked_window(Team& team) {
  return pgas::make_window<int>(team, 1);
}

void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// The looks at a sum of arrivals, which is `before` until look number `comes_at`, and then `all`.
struct watched_sum {
  pgas::word before;
  std::size_t comes_at = SIZE_MAX;
  std::size_t looks = 0;
  std::size_t waits = 0;  ///< the calls of wait_until
  static constexpr pgas::word all = 4;
};

/// The words of one of some ranks, of which two can run at once.
class crowded_control : public pgas::detail::control_archetype {
 public:
  struct cell_type : pgas::detail::control_archetype::cell_type {
    watched_sum* sum;
    [[nodiscard]] pgas::word load(std::memory_order) const {
      return ++sum->looks < sum->comes_at ? sum->before : watched_sum::all;
    }
  };
  struct job {
    wait_policy policy;
    [[nodiscard]] wait_policy waits() const noexcept { return policy; }
  };

  crowded_control(wait_policy policy, watched_sum& sum, pgas::rank_t ranks = 4)
      : job_{policy}, sum_(&sum), ranks_(ranks) {}
  [[nodiscard]] pgas::rank_t size() const noexcept { return ranks_; }
  [[nodiscard]] pgas::rank_t most_at_once() const noexcept { return 2; }
  [[nodiscard]] job const& owner() const noexcept { return job_; }
  [[nodiscard]] cell_type cell(pgas::rank_t, std::size_t) const { return {{}, sum_}; }
  template <class Word, std::predicate<pgas::word> Predicate>
  pgas::word wait_until(Word const& w, Predicate&&, pgas::waiting_for const&) {
    ++w.sum->waits;
    return watched_sum::all;
  }

 private:
  job job_;
  watched_sum* sum_;
  pgas::rank_t ranks_;
};
static_assert(pgas::detail::control_in_turns<crowded_control>);

/// Each rank adds `One` to the sum.
template <pgas::word One = 1>
watched_sum waited_for(watched_sum sum, wait_policy policy = wait_policy::adaptive, pgas::rank_t ranks = 4) {
  crowded_control control(policy, sum, ranks);
  pgas::detail::wait_for_arrivals<One>(control, control.cell(0, 0), watched_sum::all, {.operation = "fence"});
  return sum;
}

}  // namespace

TEST_CASE(
    "waiting: where ranks share cores, a rank takes turns first, and leaves a long wait to the control") {
  watched_sum const soon = waited_for({.before = 1, .comes_at = 20});
  CHECK((soon.looks == 20 && soon.waits == 0));
  watched_sum const late = waited_for({.before = 1});
  CHECK((late.looks > 0 && late.waits == 1));
  // One rank is missing, and one other can run now: to look for it is cheaper than a switch.
  watched_sum const nearly = waited_for({.before = 3});
  CHECK((nearly.looks > 100 * late.looks && nearly.waits == 1));
  // The same where each rank adds two.
  CHECK(waited_for<2>({.before = 2}).looks == nearly.looks);
  CHECK(waited_for<2>({.before = 0}).looks == late.looks);
  // With a core for each rank, or with many ranks on a core, the control does all of the wait.
  for (pgas::rank_t const ranks : {2, 9}) {
    watched_sum const none = waited_for({.before = 3}, wait_policy::adaptive, ranks);
    CHECK((none.looks == 0 && none.waits == 1));
  }
  for (wait_policy const keeps_or_sleeps : {wait_policy::spin, wait_policy::park}) {
    watched_sum const at_once = waited_for({.before = 3}, keeps_or_sleeps);
    CHECK((at_once.looks == 0 && at_once.waits == 1));
  }
}

TEST_CASE("waiting: a wait sees the value that ends it under each policy, early or late") {
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const chosen(name);
    everywhere<models>(
        [](auto& team) {
          auto w = locked_window(team);
          auto signals = pgas::make_signals(w);
          w.local()[0] = 0;
          team.barrier();
          for (int round = 0; round < 6; ++round) {
            if (round == 3 && team.rank() == 0)
              sleep_ms(5);  // the other ranks are past the first stage of their wait
            team.barrier();
            pgas::lock epoch{w, 0, pgas::exclusive};
            epoch.put(0, 0, epoch.get(0, 0) + 1);
            if (round == 4 && team.rank() == 0) sleep_ms(5);
          }
          team.barrier();  // no rank wants an exclusive lock any more
          {
            pgas::lock_all epoch{w};
            rank_t const next = (team.rank() + 1) % team.size();
            rank_t const before = (team.rank() + team.size() - 1) % team.size();
            signals.signal(epoch, next);
            signals.wait({before});
          }
          team.barrier();
          pgas::lock epoch{w, 0, pgas::shared};
          require_equal(epoch.get(0, 0), 6 * team.size(), "updates");
        },
        {1, 2, 3, 5});
  }
}

TEST_CASE("waiting: each policy notices a failed rank, a deadline, and ranks that wait for each other") {
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const policy(name);
    for_each_model<models>([name]<class Model>(Model) {
      auto const failed = error_of<Model>(3, [](auto& team) {
        team.barrier();
        if (team.rank() == 1) {
          sleep_ms(20);
          throw std::runtime_error("lost interest");
        }
        team.barrier();
      });
      REQUIRE_MESSAGE(failed.has_value(), Model::name());
      CHECK(std::string(failed->what()).find("rank 1 threw: lost interest") != std::string::npos);

      on<Model>(2, [](auto& team) {
        auto w = locked_window(team);
        auto signals = pgas::make_signals(w);
        require_error(errc::timed_out, {"wait for a signal"}, [&] {
          signals.wait({1 - team.rank()}, 1,
                       std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
        });
        team.barrier();
      });

      // A second each: one policy that keeps its core and one that does not, on one model.
      if ((name != "spin" && name != "park") || !std::is_same_v<Model, process_model>) return;
      auto const crosswise = error_of<Model>(2, [](auto& team) {
        auto w = locked_window(team);
        pgas::lock own{w, team.rank(), pgas::exclusive};
        team.barrier();
        pgas::lock other{w, 1 - team.rank(), pgas::exclusive};
      });
      REQUIRE_MESSAGE(crosswise.has_value(), Model::name());
      CHECK(crosswise->code() == pgas::make_error_code(errc::deadlock));
    });
  }
}

TEST_CASE("waiting: a rank sleeps in a long wait only if its policy says so") {
  if (!chosen(process_model::backend::name)) return;
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const policy(name);
    long const sleeps = pgas::run<pgas::backends::process_map>(2, [](auto& team) {
      auto const slept = [] {
        ::rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_nvcsw;
      };
      team.barrier();
      long const before = slept();
      if (team.rank() == 1) sleep_ms(100);
      team.barrier();
      return slept() - before;
    });
    bool const may_sleep = name == "adaptive" || name == "park";
    CHECK_MESSAGE((sleeps >= 5) == may_sleep, name, ": ", sleeps);  // on a busy machine each wait lasts long
  }
}

TEST_CASE(
    "waiting: the command line and the environment name the policy, and an unknown name is refused with a "
    "sentence") {
  CHECK(pgas::wait_policy_named("park") == wait_policy::park);
  std::string const sentence = " takes one of adaptive, spin, yield, park, not 'often'";
  {
    with_policy const wrong("often");
    require_error(errc::invalid_argument, {sentence},
                  [] { pgas::run<pgas::backends::process_map>(2, [](auto&) {}); });
  }
  require_error(errc::invalid_argument, {sentence}, [] {
    char const* const words[] = {"program", "--pgas-wait=often"};
    static_cast<void>(pgas::detail::command_line::parse(2, words));
  });
  char const* const words[] = {"program", "--pgas-wait", "yield", "--pgas-ranks", "2"};
  CHECK(pgas::run<pgas::backend_list<pgas::backends::process_map>>(5, words, [](auto&) {
          return std::string_view(std::getenv("PGAS_WAIT")) == "yield" ? 7 : 1;
        }) == 7);
  ::unsetenv("PGAS_WAIT");
}

TEST_CASE("waiting: idle ranks look at their words seldom, and one of them looks for a deadlock for all") {
  if (!chosen(process_model::backend::name)) return;
  constexpr rank_t ranks = 64;
  auto const j = pgas::detail::job::create(ranks);
  pgas::detail::run_processes(j, [](pgas::detail::job const& mine) {
    if (mine.rank() == 0) sleep_ms(2500);
    mine.fence();
  });
  std::uint64_t checks = 0;
  for (rank_t rank = 1; rank < ranks; ++rank) checks += j.record(rank).checks.load();
  // Sleeps of an eighth of the time waited, up to 100 ms: some 60 looks. Timed naps of 1 ms made 2500.
  CHECK(checks / (ranks - 1) < 100);
  CHECK(j.block().looks.load() >= 1);
  CHECK(j.block().looks.load() <= 4);
}

TEST_CASE("waiting: a rank that answers messages looks often between two pauses") {
  if (!chosen(process_model::backend::name)) return;
  auto const j = pgas::detail::job::create(1);
  pgas::detail::run_processes(j, [](pgas::detail::job const& mine) {
    constexpr int many = 20'000;  // with a pause after each look there are 5,000
    int looks = 0;
    pgas::detail::service const answers(mine.block(), nullptr, [&] { ++looks; });
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    pgas::detail::wait_for(
        mine, [&] { return looks >= many || std::chrono::steady_clock::now() > end; }, {.operation = "wait"},
        "messages", [] { return pgas::group{}; });
    require_equal(looks >= many, true, "many looks in two seconds");
  });
}

TEST_CASE("waiting: the search for blocked ranks finds what a search by single ranks finds") {
  using pgas::detail::job_block;
  auto const memory = std::make_unique<job_block>();
  job_block& block = *memory;
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    std::size_t const size = round % 50 == 49 ? job_block::max_ranks : 1 + random() % 130;
    block.ranks = static_cast<std::uint32_t>(size);
    std::vector<std::vector<bool>> awaits(size, std::vector<bool>(size));
    std::vector<bool> in(size);
    for (std::size_t r = 0; r < size; ++r) {
      auto& record = block.records[r];
      bool const waits = random() % 32 != 0;
      bool const finished = !waits && random() % 2 == 0;
      record.wait = waits ? 1 : 2;
      record.phase = finished ? job_block::finished : job_block::running;
      for (auto& awaited : record.awaited) awaited = 0;
      std::size_t const targets = random() % 3;
      for (std::size_t i = 0; i < targets; ++i) {
        std::size_t const other = random() % size;
        awaits[r][other] = true;
        record.awaited[other / 64] |= std::uint64_t{1} << (other % 64);
      }
      in[r] = finished || (waits && targets > 0);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = 0; r < size; ++r) {
        if (!in[r] || block.records[r].phase == job_block::finished) continue;
        for (std::size_t other = 0; other < size; ++other) {
          if (awaits[r][other] && !in[other]) {
            in[r] = false;
            changed = true;
          }
        }
      }
    }
    std::vector<rank_t> expected;
    bool any = false;
    for (std::size_t r = 0; r < size; ++r) {
      if (in[r]) expected.push_back(static_cast<rank_t>(r));
      any = any || (in[r] && block.records[r].phase != job_block::finished);
    }
    if (!any) expected.clear();
    std::vector<rank_t> found;
    for (auto const& seen : pgas::detail::blocked_ranks(block)) found.push_back(seen.rank);
    REQUIRE(found == expected);
  }
}

TEST_CASE(
    "waiting: a ring ends a sleep, on one bell or on many, and a bell that has rung lets nobody sleep") {
  namespace bell = pgas::detail::bell;
  if (!bell::admit_fences()) return;
  using seconds = std::chrono::duration<double>;
  constexpr std::int64_t longest = 20'000'000'000;  // nanoseconds
  for (std::size_t const count : {std::size_t{1}, std::size_t{2}, bell::most}) {
    std::vector<std::uint32_t> states(count);
    std::vector<std::uint32_t*> bells;
    for (auto& state : states) bells.push_back(&state);
    std::atomic<bool> over{false};
    auto const ended = [&] { return over.load(std::memory_order_acquire); };
    auto const started = std::chrono::steady_clock::now();
    std::thread storer([&] {
      sleep_ms(50);
      over.store(true, std::memory_order_release);
      bell::ring(bells.back());
    });
    bool works = true;
    while (works && !ended()) works = bell::sleep(bells, longest, ended);
    storer.join();
    if (!works && count > 1) continue;  // the system cannot wait for several words
    CHECK(works);
    CHECK(seconds(std::chrono::steady_clock::now() - started).count() < 10);
    CHECK(bell::sleep(bells, longest, ended));  // returns, since the wait has ended
    CHECK(seconds(std::chrono::steady_clock::now() - started).count() < 10);
  }
}
