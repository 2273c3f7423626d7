// SPDX-License-Identifier: BSL-1.0
// The promises of every variable of the environment and every option: a value that is not allowed is refused
// by its name, with the text that was given and what is allowed.
// test: optimized, unit protocols
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <pgas/options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

/// Sets a variable while it lives.
class with_variable {
 public:
  with_variable(char const* name, std::string const& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  with_variable(with_variable const&) = delete;
  with_variable& operator=(with_variable const&) = delete;
  ~with_variable() { ::unsetenv(name_); }

 private:
  char const* name_;
};

void run_forked() {
  pgas::run<pgas::backends::process_map>(2, [](auto&) {});
}
void run_open() {
  pgas::run<pgas::backends::process_map>([](auto&) {});
}
void run_on_chip() { static_cast<void>(pgas::scc::options::from_environment()); }
void run_on_pool() { static_cast<void>(pgas::pool_from_environment::open()); }
void run_as_rank() {
  with_variable const fd("PGAS_JOB_FD", "100");
  run_forked();
}
void run_with_descriptor() {
  with_variable const rank("PGAS_RANK", "0");
  run_forked();
}

/// One variable: what it takes, in the words of the message, and values that are refused and allowed.
struct row {
  char const* variable;
  std::string allowed;
  std::vector<std::string> refused;
  std::vector<std::string> taken;
  std::function<void()> use;
};

std::vector<std::string> const no_numbers{"abc", "5s", "nan",  "inf", "-1", "+1",
                                          " 1",  "1 ", "1.5x", "0x",  "--1"};

/// Texts that are no numbers, and others.
std::vector<std::string> no_numbers_and(std::initializer_list<char const*> others) {
  std::vector<std::string> all = no_numbers;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<row> const refusals{
    {"PGAS_TIMEOUT",
     "a number of seconds from 0 to 32000000",
     no_numbers_and({"1e10", "1e999", "5,5"}),
     {"", "60", "60.5", "6e1", "0"},
     run_forked},
    {"PGAS_RANKS",
     "a number of ranks from 1 to 1000000",
     no_numbers_and({"0", "1000001", "2.0", "99999999999999999999"}),
     {"", "2", "0x2"},
     run_open},
    {"PGAS_RANK",
     "a rank's number from 0 to 999999",
     no_numbers_and({"x", "2.0", "1000000"}),
     {},
     run_forked},
    {"PGAS_RANK", "a rank's number from 0 to ", no_numbers_and({"x"}), {}, run_as_rank},
    {"PGAS_JOB_FD",
     "a descriptor from 0 to 2147483647",
     no_numbers_and({"2147483648"}),
     {},
     run_with_descriptor},
    {"PGAS_WAIT", "one of adaptive, spin, yield, park", {"often", "Park", "park "}, {"", "park"}, run_forked},
    {"PGAS_CACHED_BYTES",
     "a number of bytes from 0 on",
     no_numbers_and({"4k", "18446744073709551616"}),
     {"", "0", "0x100000", "18446744073709551615"},
     run_forked},
    {"PGAS_CORE", "0 or 1", {"yes", "no", "2", "1 "}, {"", "0", "1"}, run_forked},
    {"PGAS_SEED",
     "a number from 0 on",
     no_numbers_and({"18446744073709551616"}),
     {"", "0", "0x1F", "18446744073709551615"},
     run_on_chip},
    {"PGAS_CHECK", "0 or 1", {"no", "yes", "off", "00"}, {"", "0", "1"}, run_on_chip},
    {"PGAS_CLOCK", "one of formulas-533, ", {"fast", "formulas-5333"}, {"", "formulas-533"}, run_on_chip},
    {"PGAS_STACK_BYTES",
     "a number of bytes from 32768 to 1073741824",
     no_numbers_and({"32767", "1073741825", "1M"}),
     {"", "0x100000", "262144"},
     run_on_chip},
    {"PGAS_POOL_OFFSET",
     "a number of bytes from 0 on",
     no_numbers_and({"4k"}),
     {},
     [] {
       with_variable const path("PGAS_POOL", "/dev/zero");
       run_on_pool();
     }},
    {"PGAS_POOL_BYTES",
     "a number of bytes from 0 on",
     no_numbers_and({"4k"}),
     {},
     [] {
       with_variable const path("PGAS_POOL", "/dev/zero");
       run_on_pool();
     }},
};

/// The words of a program of these arguments on stderr. Its status is in `status`.
template <class Body>
std::string said(std::vector<char const*> const& words, char const* output, int& status, Body const& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    if (output != nullptr && std::freopen(output, "w", stdout) == nullptr) ::_exit(99);
    ::_exit(pgas::run<pgas::backend_list<pgas::backends::process_map, pgas::backends::self>>(
        static_cast<int>(words.size()), words.data(), body));
  }
  ::close(ends[1]);
  std::string text;
  char piece[512];
  for (::ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, &status, 0);
  return text;
}

}  // namespace

TEST_CASE("settings: each variable refuses a bad value by name, with the value and what is allowed") {
  if (!chosen(process_model::backend::name)) return;
  for (row const& each : refusals) {
    for (std::string const& value : each.refused) {
      CAPTURE(value);
      with_variable const set(each.variable, value);
      std::string const sentence = std::string(each.variable) + " takes " + each.allowed;
      require_error(errc::invalid_argument, {sentence, ", not '" + value + "'"}, each.use);
    }
    for (std::string const& value : each.taken) {
      CAPTURE(each.variable);
      CAPTURE(value);
      with_variable const set(each.variable, value);
      CHECK_NOTHROW(each.use());
    }
  }
}

TEST_CASE("settings: what a launcher passes to a rank comes whole, or is refused by the name of what lacks") {
  if (!chosen(process_model::backend::name)) return;
  std::string const advice = ", but a launcher sets PGAS_RANK, PGAS_RANKS and PGAS_JOB_FD";
  for (char const* const name : {"PGAS_RANK", "PGAS_JOB_FD"}) {
    CAPTURE(name);
    with_variable const empty(name, "");
    require_error(errc::invalid_argument, {std::string(name) + " is empty" + advice}, run_forked);
  }
  with_variable const rank("PGAS_RANK", "2");
  require_error(errc::invalid_argument, {"PGAS_RANKS is missing" + advice}, run_forked);
  with_variable const ranks("PGAS_RANKS", "2");
  require_error(errc::invalid_argument, {"PGAS_JOB_FD is missing" + advice}, run_forked);
  with_variable const fd("PGAS_JOB_FD", "100");
  require_error(errc::invalid_argument, {"PGAS_RANK takes a rank's number below PGAS_RANKS, which is 2"},
                run_forked);
}

TEST_CASE("settings: control characters in a refused value are shown as codes, and a long value is cut") {
  if (!chosen(process_model::backend::name)) return;
  with_variable const wait("PGAS_WAIT", "a\x1b[31m\nb");
  require_error(errc::invalid_argument, {"not 'a\\x1b[31m\\nb'"}, run_forked);
  with_variable const timeout("PGAS_TIMEOUT", std::string(100'000, 'x'));
  require_error(errc::invalid_argument, {"xxx...'"}, run_forked);
}

TEST_CASE("settings: each option of the command line refuses a bad value in the same form") {
  if (!chosen(process_model::backend::name)) return;
  struct option_row {
    char const* name;
    char const* value;
    char const* allowed;
  };
  for (option_row const& each :
       std::initializer_list<option_row>{{"--pgas-ranks", "x", "a number of ranks from 1 to 1000000"},
                                         {"--pgas-ranks", "0", "a number of ranks from 1 to 1000000"},
                                         {"--pgas-ranks", "", "a number of ranks from 1 to 1000000"},
                                         {"--pgas-wait", "often", "one of adaptive, spin, yield, park"},
                                         {"--pgas-backend", "mpi", "one of process_map, self"},
                                         {"--pgas-coherence", "none", "one of default"},
                                         {"--pgas-sync", "none", "one of default"}}) {
    int status = 0;
    std::string const text = said({"program", each.name, each.value}, nullptr, status, [](auto&) {});
    std::string const sentence =
        std::string(each.name) + " takes " + each.allowed + ", not '" + each.value + "'";
    CHECK_MESSAGE(text.find("pgas: " + sentence) == 0, text);
    CHECK(WEXITSTATUS(status) == 1);
  }
}

TEST_CASE("settings: an unknown option is named without its control characters") {
  if (!chosen(process_model::backend::name)) return;
  for (auto const& words : {std::vector<char const*>{"program", "--pgas-\x1b[31m", "1"},
                            std::vector<char const*>{"program", "--pgas-\x1b[31m"}}) {
    int status = 0;
    std::string const text = said(words, nullptr, status, [](auto&) {});
    CHECK_MESSAGE(text.find("pgas: --pgas-\\x1b[31m: ") == 0, text);
    CHECK(WEXITSTATUS(status) == 1);
  }
}

TEST_CASE("settings: a program whose output goes to a full device ends with a message and not with 0") {
  if (!chosen(process_model::backend::name)) return;
  for (char const* const backend : {"process_map", "self"}) {
    int status = 0;
    std::string const text = said({"program", "--pgas-backend", backend, "--pgas-ranks", "1"}, "/dev/full",
                                  status, [](auto&) { std::printf("a result\n"); });
    CHECK_MESSAGE(text.find("standard output") != std::string::npos, text);
    CHECK_MESSAGE(text.find("make room where the output goes") != std::string::npos, text);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
  int status = 0;
  CHECK(said({"program", "--pgas-backend", "self", "--pgas-ranks", "1"}, "/dev/null", status,
             [](auto&) { std::printf("a result\n"); }) == "");
  CHECK(status == 0);
}
