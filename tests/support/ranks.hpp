// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <pgas/machines/scc/shrink.hpp>
#include <pgas/vocabulary/error.hpp>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "agreed.hpp"
#include "launches.hpp"

/// Runs test bodies on several ranks, and reports the rank that broke a promise.
///
/// Ranks may be processes, so a failed check must be an exception: `run` carries its text and rank to the
/// parent, which reports it to doctest. Do not use CHECK or REQUIRE inside a body.
namespace pgas_test {

using pgas::errc;
using pgas::rank_t;

namespace detail {

template <class T>
std::string shown(T const& value) {
  std::ostringstream text;
  if constexpr (requires { text << value; }) {
    text << value;
  } else {
    text << "(a value that cannot be printed)";
  }
  return text.str();
}

[[noreturn]] inline void broken(std::string const& sentence, std::source_location const& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.find_last_of('/') == std::string_view::npos ? 0 : file.find_last_of('/') + 1);
  throw std::runtime_error(std::string(file) + ":" + std::to_string(where.line()) + ": " + sentence);
}

}  // namespace detail

/// Ends the rank with this sentence unless the condition holds; the job then fails with rank and text.
inline void require(bool condition, std::string_view sentence,
                    std::source_location const& where = std::source_location::current()) {
  if (!condition) detail::broken("not true: " + std::string(sentence), where);
}

/// Like require(actual == expected, what), and prints both values.
template <class A, class E>
void require_equal(A const& actual, E const& expected, std::string_view what,
                   std::source_location const& where = std::source_location::current()) {
  if (!(actual == expected)) {
    detail::broken(
        std::string(what) + ": is " + detail::shown(actual) + ", should be " + detail::shown(expected),
        where);
  }
}

namespace detail {

/// Requires an error of any act, so that a unit compiles this once.
inline void require_error_of(errc code, std::initializer_list<std::string> pieces, call_ref<> act,
                             std::source_location const& where) {
  try {
    act();
  } catch (pgas::error const& e) {
    if (e.code() != pgas::make_error_code(code))
      broken("another code than expected: " + std::string(e.what()), where);
    for (auto const& piece : pieces) {
      if (std::string_view(e.what()).find(piece) == std::string_view::npos) {
        broken("the message lacks '" + piece + "': " + e.what(), where);
      }
    }
    return;
  }
  broken("no error was thrown", where);
}

}  // namespace detail

/// Requires that act() throws pgas::error with this code and with each piece in its message.
template <class Act>
void require_error(errc code, std::initializer_list<std::string> pieces, Act const& act,
                   std::source_location const& where = std::source_location::current()) {
  if constexpr (std::is_function_v<Act>) {
    detail::require_error_of(
        code, pieces, [&act] { act(); }, where);
  } else {
    detail::require_error_of(code, pieces, act, where);
  }
}

/// The numbers of ranks that suites run with, unless they say otherwise.
inline constexpr std::initializer_list<rank_t> usual_sizes{1, 2, 3, 4, 7};

/// Returns whether PGAS_TEST_MODELS, a comma-separated list of backends for sanitizer runs, includes this
/// one. Throws std::invalid_argument for a name that no backend has: a test on no backend could not fail.
inline bool chosen(std::string_view backend) {
  char const* const given = std::getenv("PGAS_TEST_MODELS");
  if (given == nullptr || *given == '\0') return true;
  using namespace pgas::backends;
  constexpr std::array known{self::name,
                             process_map::name,
                             thread_map::name,
                             loopback::name,
                             scc::name,
                             pool_backend::name,
                             incoherent::backend::name,
                             std::string_view("fake_nodes"),
                             std::string_view("simulated"),
                             std::string_view("tile"),
                             std::string_view("mpi"),
                             std::string_view("cluster"),
                             std::string_view("other_memory"),
                             std::string_view("user_memory")};
  bool found = false;
  std::istringstream list(given);
  for (std::string name; std::getline(list, name, ',');) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw std::invalid_argument("PGAS_TEST_MODELS: no backend has the name '" + name +
                                  "'; correct the list");
    found = found || name == backend;
  }
  return found;
}

template <class Backend>
constexpr bool can_have(rank_t ranks) {
  if constexpr (requires { Backend::max_ranks; }) {
    return ranks <= Backend::max_ranks;
  } else {
    return true;
  }
}

/// The seed of the next run on a backend that misbehaves at random: a new one each time, unless PGAS_SEED
/// fixes it.
inline std::uint64_t next_seed() {
  static std::uint64_t last = 0;
  char const* const fixed = std::getenv("PGAS_SEED");
  return fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : ++last;
}

/// The fewest changes of turns with which run() still throws, as a sentence, if the backend can find them.
template <class Backend, class Run>
std::string in_fewest_switches(Run const& run) {
  if constexpr (std::is_same_v<Backend, pgas::backends::scc>) {
    auto const throws = [&](pgas::scc::options const& how) {
      pgas::scc::with_options const emulated(how);
      try {
        run();
        return false;
      } catch (std::exception const&) {
        return true;
      }
    };
    return "; it needs no more than: " +
           pgas::scc::to_string(pgas::scc::fewest_switches(pgas::scc::with_options::chosen(), throws));
  } else {
    return "";
  }
}

/// The rounds of a suite on a backend: a fifth of the usual ones on loopback, where an access to a word is
/// two messages, and takes several hundred times as long as in shared memory. Still less if the target must
/// be in a wait meanwhile, since ranks of the tests share cores.
template <class Backend, class Count>
constexpr Count rounds_on(Backend const&, Count usual) {
  if (Backend::progress_by == pgas::progress::polled) return std::max<Count>(2, usual / 20);
  return std::is_same_v<Backend, pgas::backends::loopback> ? std::max<Count>(2, usual / 5) : usual;
}

/// Lets a backend misbehave as a seed says while it lives. A unit for one backend specializes it.
template <class Backend>
struct disturbed {
  explicit disturbed(std::uint64_t) noexcept {}
};

/// A body for ranks of a model.
template <class Model>
using body_for = call_ref<typename Model::team&>;

/// Runs body(team) on `ranks` ranks of a model; a failure is a failure of the current doctest case. The body
/// is behind a call, so that a unit compiles this once for each model.
template <class Model>
void run_on(rank_t ranks, body_for<Model> body) {
  std::uint64_t const seed = next_seed();
  incoherent::against const misbehaviour({.seed = seed});
  auto emulated = pgas::scc::with_options::chosen();
  pgas::scc::with_options const hostile(emulated.disturb(seed));
  disturbed<typename Model::backend> const too(seed);
  auto const run = [&] {
    pgas::run<typename Model::backend>(ranks, [&body](auto& world) {
      auto team = world.template with<typename Model::coherence, typename Model::protocols>();
      body(team);
    });
  };
  try {
    run();
  } catch (std::exception const& e) {
    FAIL_CHECK(Model::name() << ", " << ranks << " ranks, PGAS_SEED=" << seed << ": " << std::string(e.what())
                             << in_fewest_switches<typename Model::backend>(run));
  }
}

// launches.cpp compiles these once.
extern template void run_on<self_model>(rank_t, body_for<self_model>);
extern template void run_on<thread_model>(rank_t, body_for<thread_model>);
extern template void run_on<process_model>(rank_t, body_for<process_model>);
extern template void run_on<loopback_model>(rank_t, body_for<loopback_model>);
extern template void run_on<scc_model>(rank_t, body_for<scc_model>);
extern template void run_on<scc_write_back_model>(rank_t, body_for<scc_write_back_model>);
extern template void run_on<write_back_model>(rank_t, body_for<write_back_model>);
extern template void run_on<at_get_model>(rank_t, body_for<at_get_model>);
extern template void run_on<uncached_model>(rank_t, body_for<uncached_model>);
extern template void run_on<pool_model>(rank_t, body_for<pool_model>);

/// Runs body(team) on `ranks` ranks of a model.
template <class Model, class Body>
void on(rank_t ranks, Body const& body) {
  run_on<Model>(ranks, body);
}

/// Calls use(model) for every chosen model of a std::tuple that this build has.
template <class Models = all_models, class Use>
void for_each_model(Use const& use) {
  auto const on_model = [&use]<class Named>(Named) {
    using here = PGAS_TEST_LIST::here<Named>;
    if constexpr (!std::is_void_v<here>) {
      if (chosen(here::backend::name)) use(here{});
    }
  };
  [&]<class... Named>(std::type_identity<std::tuple<Named...>>) {
    (on_model(Named{}), ...);
  }(std::type_identity<Models>{});
}

/// Runs body(team) on every model of a std::tuple that this build has, with each number of ranks.
template <class Models = all_models, class Body>
void everywhere(Body const& body, std::initializer_list<rank_t> sizes = usual_sizes) {
  for_each_model<Models>([&]<class Model>(Model) {
    for (rank_t ranks : sizes) {
      if (can_have<typename Model::backend>(ranks)) run_on<Model>(ranks, body);
    }
  });
}

/// Calls main(backend, bootstrap) on every rank of every backend, with each number of ranks, without a team.
template <class Backends = all_backends, class Main>
void on_every_backend(Main const& main, std::initializer_list<rank_t> sizes = usual_sizes) {
  auto const on_backend = [&]<class Backend>(std::type_identity<Backend>) {
    if (!chosen(Backend::name)) return;
    for (rank_t ranks : sizes) {
      if (!can_have<Backend>(ranks)) continue;
      try {
        launch<Backend>(ranks, [&main](Backend& backend, auto& boot) {
          main(backend, boot);
          boot.fence();
        });
      } catch (std::exception const& e) {
        FAIL_CHECK(Backend::name << ", " << ranks << " ranks: " << std::string(e.what()));
      }
    }
  };
  [&]<class... B>(std::type_identity<std::tuple<B...>>) {
    (on_backend(std::type_identity<B>{}), ...);
  }(std::type_identity<Backends>{});
}

/// The error that run() throws for this body, or none.
template <class Model, class Body>
std::optional<pgas::error> error_of(rank_t ranks, Body const& body) {
  try {
    pgas::run<typename Model::backend>(ranks, [&body](auto& world) {
      auto team = world.template with<typename Model::coherence, typename Model::protocols>();
      body(team);
    });
  } catch (pgas::error const& e) {
    return e;
  }
  return std::nullopt;
}

/// A small generator with one word of state: the same numbers on every machine and rank.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}

  std::uint64_t operator()() noexcept {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>((*this)() % bound); }
  rank_t rank_below(rank_t bound) noexcept {
    return static_cast<rank_t>(below(static_cast<std::size_t>(bound)));
  }
  bool one_in(std::size_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// Lets other ranks run for a random while, so that ranks meet in other orders.
inline void dawdle(random_source& rng) {
  for (std::size_t turns = rng.one_in(8) ? rng.below(6) : 0; turns > 0; --turns) std::this_thread::yield();
}

}  // namespace pgas_test
