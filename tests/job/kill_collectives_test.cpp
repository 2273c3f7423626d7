// SPDX-License-Identifier: BSL-1.0
// A rank that dies in a collective, or throws, is named by all other ranks, and leaves nothing behind: in
// both forms, on each medium, with short messages and with long ones.
// test: sleeps, unit kill
#include <sys/mman.h>
#include <unistd.h>
#include <pgas/backends/process_map.hpp>
#include <pgas/team.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "support/leftovers.hpp"
#include "support/ranks.hpp"

namespace pgas_test::endings {

namespace collectives = pgas::collectives;

constexpr rank_t ranks = 3;

/// The errors that the ranks have caught, in memory that they share outside of the job.
class catches {
 public:
  catches()
      : at_(new(::mmap(nullptr, sizeof(texts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                texts{}) {}
  catches(catches const&) = delete;
  catches& operator=(catches const&) = delete;
  ~catches() { ::munmap(at_, sizeof(texts)); }

  void note(rank_t rank, char const* what) const {
    std::strncpy((*at_)[static_cast<std::size_t>(rank)].data(), what, 499);
  }
  [[nodiscard]] std::string of(rank_t rank) const { return (*at_)[static_cast<std::size_t>(rank)].data(); }

 private:
  using texts = std::array<std::array<char, 500>, ranks>;
  texts* at_;
};

/// How a rank ends.
enum class death { killed, throws };
[[noreturn]] void die(death how) {
  if (how == death::throws) throw std::runtime_error("the tea is cold");
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// An operation that ends the rank at one of its calls, in the middle of a reduction.
struct deadly_sum {
  static constexpr bool commutes = true;
  static inline thread_local long calls_left = -1;
  static inline thread_local death how = death::killed;
  std::int64_t operator()(std::int64_t x, std::int64_t y) const {
    if (calls_left >= 0 && calls_left-- == 0) die(how);
    return x + y;
  }
};

/// The place of a rank's end: before the call, or within it.
enum class moment { before, within };

struct blocking {
  template <class Team, class Call>
  static void carry_out(Team& team, Call const& call) {
    call(team);
  }
};
/// Two are under way, and the rank that waits for them may have to go on with both.
struct started {
  template <class Team, class Call>
  static void carry_out(Team& team, Call const& call) {
    auto const starter = team.start();
    auto first = call(starter);
    auto second = call(starter);
    second.wait();
    first.wait();
  }
};

/// The collective is carried on while the rank waits in a barrier.
struct started_before_a_barrier {
  template <class Team, class Call>
  static void carry_out(Team& team, Call const& call) {
    auto request = call(team.start());
    team.barrier();
    request.wait();
  }
};
template <class Form>
constexpr char const* form_name = std::is_same_v<Form, blocking>  ? ""
                                  : std::is_same_v<Form, started> ? ", started"
                                                                  : ", started before a barrier";

/// Two collectives on one medium, of which the first folds elements.
struct on_shared_areas {
  static constexpr auto name = "shared areas";
  template <class Form, class Team>
  static void carry_out(Team& team, std::vector<std::int64_t>& some, std::vector<std::int64_t>& all,
                        rank_t root) {
    std::vector<std::int64_t> sum(some.size());
    Form::carry_out(
        team, [&](auto const& t) { return t.all_reduce(some, sum, deadly_sum{}, collectives::direct{}); });
    Form::carry_out(team, [&](auto const& t) { return t.broadcast(all, root, collectives::direct{}); });
  }
};
struct on_links {
  static constexpr auto name = "links";
  template <class Form, class Team>
  static void carry_out(Team& team, std::vector<std::int64_t>& some, std::vector<std::int64_t>& all,
                        rank_t root) {
    std::vector<std::int64_t> sum(some.size());
    Form::carry_out(
        team, [&](auto const& t) { return t.all_reduce(some, sum, deadly_sum{}, collectives::ring{}); });
    Form::carry_out(team, [&](auto const& t) { return t.broadcast(all, root, collectives::binomial{}); });
  }
};
struct on_pull_areas {
  static constexpr auto name = "pull areas";
  template <class Form, class Team>
  static void carry_out(Team& team, std::vector<std::int64_t>& some, std::vector<std::int64_t>& all,
                        rank_t root) {
    Form::carry_out(team, [&](auto const& t) {
      return t.reduce_scatter(all, some, deadly_sum{}, collectives::pulled{});
    });
    Form::carry_out(team, [&](auto const& t) { return t.gather(some, all, root, collectives::pulled{}); });
  }
};

/// Repeats collectives until the victim ends; then the others learn of it in one of their waits.
template <class Medium, class Form, class Team>
void repeat(Team& team, rank_t victim, death how, moment when, std::size_t count) {
  bool const dies = team.rank() == victim;
  std::vector<std::int64_t> some(count, 1);
  std::vector<std::int64_t> all(count * ranks, 1);
  for (int round = 0;; ++round) {
    if (dies && round == 3) {
      if (when == moment::before) die(how);
      deadly_sum::how = how;
      deadly_sum::calls_left = static_cast<long>(count / 2);
    }
    Medium::template carry_out<Form>(team, some, all, round % ranks);
  }
}

constexpr std::size_t few = 3;        // elements: shorter than a slot's room, and one piece everywhere
constexpr std::size_t many = 40'000;  // more pieces than links and pull areas hold

/// Ends each rank in each collective; all others name it.
template <class Model>
void all_name_it(death how) {
  leftovers const before;
  int runs = 0;
  double longest = 0;
  auto const one = [&]<class Medium, class Form>(std::type_identity<Medium>, std::type_identity<Form>,
                                                 std::size_t count, moment when) {
    for (rank_t victim = 0; victim < ranks; ++victim) {
      catches const caught;
      stopwatch const watch;
      auto const e = error_of<Model>(ranks, [&caught, victim, how, when, count](auto& team) {
        for (int const signal : {SIGTERM, SIGSEGV, SIGABRT, SIGINT}) ::signal(signal, SIG_DFL);
        deadly_sum::calls_left = -1;
        try {
          repeat<Medium, Form>(team, victim, how, when, count);
        } catch (std::exception const& what) {
          caught.note(team.rank(), what.what());
          throw;
        }
      });
      ++runs;
      longest = std::max(longest, watch.seconds());
      std::string const where = std::string(Model::name()) + ", " + Medium::name + ", rank " +
                                std::to_string(victim) +
                                (when == moment::before ? " before a call" : " within one") + " of " +
                                std::to_string(count) + form_name<Form>;
      REQUIRE_MESSAGE(e.has_value(), where);
      std::string const named = "rank " + std::to_string(victim);
      std::string const why = how == death::killed ? "signal 9" : "threw: the tea is cold";
      for (rank_t r = 0; r < ranks; ++r) {
        std::string const what = r == victim ? e->what() : caught.of(r);
        CHECK_MESSAGE(what.find(named) != std::string::npos, where, ": rank ", r, " says: ", what);
        CHECK_MESSAGE(what.find(why) != std::string::npos, where, ": rank ", r, " says: ", what);
      }
    }
  };
  auto const each = [&]<class Medium>(std::type_identity<Medium> medium) {
    for (std::size_t const count : {few, many}) {
      for (moment const when : {moment::before, moment::within}) {
        one(medium, std::type_identity<blocking>{}, count, when);
        one(medium, std::type_identity<started>{}, count, when);
        one(medium, std::type_identity<started_before_a_barrier>{}, count, when);
      }
    }
  };
  each(std::type_identity<on_shared_areas>{});
  each(std::type_identity<on_links>{});
  each(std::type_identity<on_pull_areas>{});
  CHECK_MESSAGE(longest < 3.5, "the longest run took ", longest, " s");
  before.check("after the collectives");
  std::cout << "covered: " << runs << " ends of a rank in a collective on " << Model::name()
            << ", the longest took " << longest << " s\n";
}

TEST_CASE("collectives: a rank that is killed before or within a collective is named by all others, soon") {
  if (chosen(process_model::backend::name)) all_name_it<process_model>(death::killed);
}

TEST_CASE("collectives: a rank that throws before or within a collective is named by all others, soon") {
  if (chosen(process_model::backend::name)) all_name_it<process_model>(death::throws);
  all_name_it<thread_model>(death::throws);
}

}  // namespace pgas_test::endings
