// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/detail/job/forked_process.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/uncaught.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/team.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE {

namespace detail {

/// The number of ranks if nobody has named one.
inline constexpr rank_t any_ranks = std::numeric_limits<rank_t>::min();

inline rank_t ranks_in(setting const& given) {
  return static_cast<rank_t>(given.whole("a number of ranks", 1, 1'000'000));
}

/// The number of ranks that a launcher or the user has set in the environment, if any.
inline rank_t ranks_from_environment() {
  auto const given = setting::variable("PGAS_RANKS");
  return given.given() ? ranks_in(given) : any_ranks;
}

/// The number of ranks that a launcher of the backend has started, if it has; the caller must not ask for
/// another one. A backend that has launchers of its own has `launched_ranks()`.
template <class Backend>
rank_t ranks_from_launcher(rank_t asked) {
  if constexpr (requires { Backend::launched_ranks(); }) {
    rank_t const there = Backend::launched_ranks().value_or(any_ranks);
    if (there != any_ranks && asked != any_ranks && asked != there) {
      throw_error(errc::mismatch, -1,
                  {"run: the program asks for ", asked, " ranks, but the launcher has started ", there,
                   "; ask for no number, or for the same one"});
    }
    return there;
  } else {
    return any_ranks;
  }
}

/// The environment's number of ranks, else the caller's. If a launcher has started the ranks, both must
/// agree.
template <class Backend>
rank_t decide_ranks(rank_t asked) {
  rank_t const there = ranks_from_launcher<Backend>(asked);
  if (there != any_ranks) return there;
  rank_t const given = ranks_from_environment();
  bool const is_launched = launched_rank::find().has_value();
  if (is_launched && asked != any_ranks && asked != given) {
    throw_error(errc::mismatch, -1,
                {"run: the program asks for ", asked, " ranks, but the launcher has started ", given,
                 "; ask for no number, or for the same one"});
  }
  if (asked != any_ranks && !is_launched) {
    if (asked < 1)
      throw_error(errc::invalid_argument, -1, {"run: ", asked, " ranks asked for; a job has at least one"});
    return asked;
  }
  rank_t const ranks = given != any_ranks ? given : std::max(2, available_cores());
  if constexpr (requires { Backend::max_ranks; }) {
    return std::min(ranks, Backend::max_ranks);
  } else {
    return ranks;
  }
}

/// Makes the team of all ranks by the bootstrap.
template <class Backend, bootstrap Bootstrap>
std::shared_ptr<team_state<Backend>> make_world(Backend& b, Bootstrap& boot) {
  auto const words = team_state<Backend>::words(b.size());
  typename Backend::handle handle{};
  bytes_out const bytes = std::as_writable_bytes(std::span(&handle, 1));
  boot.fence();  // an earlier run's key is no longer read
  if (b.rank() == 0) {
    handle = b.reserve_control(words);
    boot.put("team", bytes);
  }
  boot.fence();
  boot.get("team", bytes);
  auto control = b.attach_control(handle, words, "team");
  boot.fence();  // all ranks have attached, so the words may be used
  using state = team_state<Backend>;
  return std::make_shared<state>(b, std::move(control), std::make_shared<deferred_error>());
}

/// Writes what ranks in this process have printed. Throws errc::bad_file if the system refuses it, so that a
/// program whose output is lost does not end with 0. A program without standard output wants none.
inline void flush_output() {
  if (flush_output_of_process(stdout)) return;
  int const why = errno;
  throw_error(errc::bad_file, -1,
              {"run: standard output cannot be written", why != 0 ? ": " : "",
               why != 0 ? std::strerror(why) : "", "; make room where the output goes"});
}

/// A rank's body, which writes the bytes of its result to the second argument. Calls of a std::function are
/// not inlined, so a program that runs many bodies compiles the launch of its backend once.
template <class Team>
using rank_body = std::function<void(Team&, std::span<std::byte>)>;

/// Ends a process that the body has forked and that returns from the body as well. The job fails, since the
/// destructors of the body have run twice.
[[noreturn, gnu::cold, gnu::noinline]] inline void end_forked_process(
    rank_t rank, function_ref<void(std::string_view)> fail) {
  std::string const text = text_of({"a process that rank ", rank, " has forked (process ", ::getpid(),
                                    ") left the body, in which it is no rank; end it by _exit or exec"});
  fail(text);
  std::fprintf(stderr, "pgas: %s\n", text.c_str());
  ::_exit(1);
}

/// Ends this process at the end of the body if a rank forked it in the body.
template <class Fail>
class one_process {
 public:
  one_process(rank_t rank, Fail fail) : rank_(rank), fail_(std::move(fail)) {}
  one_process(one_process const&) = delete;
  one_process& operator=(one_process const&) = delete;
  ~one_process() {
    if (::getpid() != process_) [[unlikely]]
      end_forked_process(rank_, fail_);
  }

 private:
  rank_t rank_;
  Fail fail_;
  ::pid_t process_ = ::getpid();
};

/// The work of each rank of a new world: it makes the team of all ranks and calls body(team, result). Rank
/// 0's result of `bytes` bytes is then the bootstrap's "result".
template <class Team>
auto rank_main(std::size_t bytes, rank_body<Team> const& body) {
  return [&body, bytes](auto&& b, auto& boot) {
    Team world(make_world(b, boot));
    auto const deferred = world.state()->deferred;
    plain_list<std::byte> memory(bytes);
    bytes_out const mine(memory.begin(), bytes);
    {
      one_process const of_rank(b.rank(), [&boot](std::string_view why) { boot.fail(why); });
      body(world, mine);
    }
    deferred->rethrow();
    if (bytes != 0 && b.rank() == 0) boot.put("result", mine);
    boot.fence();  // no rank's memory goes before all ranks have returned
  };
}

/// Starts the ranks, which call the body. Rank 0's result is then in `result`.
template <class Team>
void launch_ranks(rank_t asked, std::span<std::byte> result,
                  std::function<void(Team&, std::span<std::byte>)> const& body) {
  using backend_type = typename Team::backend_type;
  auto job = backend_type::launch(decide_ranks<backend_type>(asked), rank_main<Team>(result.size(), body));
  if (!result.empty()) job.get("result", result);
  flush_output();
}

/// A body that ranks call. Plain expressions: the traits of the standard would add six lines to each message
/// about an error in the body.
template <class Body, class Team>
concept body_on = requires(Body const& body, Team& team) { body(team); };

template <class Backend>
using team_of_job = team<Backend, typename Backend::default_coherence, default_protocols_on<Backend>>;

/// Calls launch(bytes of the result, body of a rank), and returns the result of rank 0.
template <class Team, class Body, class Launch>
auto run_body(Body const& body, Launch const& launch) {
  static_assert(body_on<Body, Team>,
                "run: the body is called as `body(team)` on a copy per rank; take the team by `auto&` or "
                "value, and do not "
                "make the lambda mutable: ranks share no captured state");
  using result = decltype(body(std::declval<Team&>()));
  uncaught_errors::report();
  static_assert(
      std::is_void_v<result> || transportable<result>,
      "run: rank 0's result travels to the caller as bytes, and this type keeps its values elsewhere, in "
      "memory that "
      "ends with the rank; return a number, a std::array or a struct of such, or write the values to a file");

  if constexpr (std::is_void_v<result>) {
    launch(std::span<std::byte>(), rank_body<Team>([&body](Team& world, std::span<std::byte>) {
             Body const mine = body;
             mine(world);
           }));
  } else {
    result value;
    launch(std::as_writable_bytes(std::span(&value, 1)),
           rank_body<Team>([&body](Team& world, std::span<std::byte> bytes) {
             Body const mine = body;
             result const given = mine(world);
             std::memcpy(bytes.data(), &given, sizeof(result));
           }));
    return value;
  }
}

template <backend Backend, class Coherence, class Protocols, class Body>
auto run_on(rank_t asked, Body const& body) {
  using team_type = team<Backend, Coherence, Protocols>;
  return run_body<team_type>(body, [&](std::span<std::byte> result, rank_body<team_type> const& rank) {
    launch_ranks<team_type>(asked, result, rank);
  });
}

}  // namespace detail

/// Runs body(team) on every rank of a new job and returns rank 0's result.
///
/// `ranks` is the number of ranks. Without it PGAS_RANKS decides, else the number of cores that the program
/// may use, by its affinity and its control groups, and at least 2. Under pgas-run the program is one rank
/// already, and the launcher's number counts. The caller supervises and is no rank.
/// It returns when all ranks have returned. If a rank fails by an exception, a signal or an early exit, the
/// others are ended, and run throws `error` with the number of the first rank that failed. If the program
/// catches it nowhere, the program ends with the error's sentence in one line, and with exit code 1.
///
/// Each rank calls a copy of the body. Ranks are processes on most backends, so a variable that the body
/// captures by reference is the rank's own: the caller does not see what a rank assigns to it. Return the
/// result instead:
///   `double const sum = pgas::run<process_map>(4, [](auto& team) { return team.all_reduce(1.0); });`
/// The result of rank 0 must be transportable: a number, a std::array, or a struct of such.
/// MPI: MPI_Init to MPI_Finalize.
template <backend Backend, class Body>
auto run(rank_t ranks, Body const& body) {
  // The compiler meets the body here first, so that few lines stand before an error in it.
  static_cast<void>(detail::body_on<Body, detail::team_of_job<Backend>>);
  return detail::run_on<Backend, typename Backend::default_coherence, default_protocols_on<Backend>>(ranks,
                                                                                                     body);
}
template <backend Backend, class Body>
auto run(Body const& body) {
  static_cast<void>(detail::body_on<Body, detail::team_of_job<Backend>>);
  return detail::run_on<Backend, typename Backend::default_coherence, default_protocols_on<Backend>>(
      detail::any_ranks, body);
}

/// Does not compile: says how a job is run.
template <class Backend = void>
auto run(detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<Backend>,
                "run: write `pgas::run<pgas::backends::process_map>(ranks, [](auto& team) { ... });`, or "
                "`pgas::run<pgas::backend_list<...>>(argc, argv, [](auto& team) { ... })` for a whole main");
}

}  // namespace PGAS_NAMESPACE
