// SPDX-License-Identifier: BSL-1.0
// pool_map on its own, and all conformance suites again behind a cache in software. On one host the processor
// keeps copies coherent, so a missing clean or drop would go unnoticed.
// test: early
#include <sys/mman.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "emulated_cache.hpp"
#include "support/temporary_pool.hpp"

namespace pgas_test {

template <flaw Flaw>
using emulated_pool = pgas::basic_pool_map<temporary_pool<std::uint64_t{16} << 20U>, emulated_cache<Flaw>>;
using sound_pool = emulated_pool<flaw::none>;

}  // namespace pgas_test

#define PGAS_TEST_ONE_BACKEND pgas_test::sound_pool
#include "conformance/bootstrap.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/random_programs.hpp"
#include "conformance/segment.hpp"
#include "support/leftovers.hpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);

namespace pgas_test {
namespace {

/// A named file of `Bytes` bytes that are all 0x5a.
class named_file {
 public:
  explicit named_file(std::size_t bytes, char const* suffix = "")
      : name_((std::filesystem::temp_directory_path() /
               ("pgas-test-file-" + std::to_string(::getpid()) + suffix))
                  .string()) {
    std::FILE* const file = std::fopen(name_.c_str(), "we");
    for (std::size_t i = 0; i < bytes; ++i) std::fputc(0x5a, file);
    std::fclose(file);
  }
  named_file(named_file const&) = delete;
  named_file& operator=(named_file const&) = delete;
  ~named_file() { std::remove(name_.c_str()); }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::string contents() const {
    std::string all;
    std::FILE* const file = std::fopen(name_.c_str(), "re");
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) all += static_cast<char>(c);
    std::fclose(file);
    return all;
  }

 private:
  std::string name_;
};

/// While it lives, the environment names this memory.
class environment {
 public:
  environment(char const* path, char const* offset, char const* bytes) {
    set("PGAS_POOL", path);
    set("PGAS_POOL_OFFSET", offset);
    set("PGAS_POOL_BYTES", bytes);
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment() {
    for (char const* name : {"PGAS_POOL", "PGAS_POOL_OFFSET", "PGAS_POOL_BYTES"}) ::unsetenv(name);
  }

 private:
  static void set(char const* name, char const* value) {
    if (value != nullptr) ::setenv(name, value, 1);
  }
};

/// Each rank passes its number to the next rank, by a put and by a get; all add up the numbers they received.
template <class Backend>
int ring(rank_t ranks) {
  return pgas::run<Backend>(ranks, [](auto& team) {
    auto w = pgas::make_window<int>(team, 10);
    rank_t const next = (team.rank() + 1) % team.size();
    w.local()[1] = team.rank();
    pgas::fence epoch{w};
    epoch.put(next, 0, team.rank());
    epoch.next();
    int const told = epoch.get(team.rank(), 0);
    require_equal(told, (team.rank() + team.size() - 1) % team.size(), "the value put");
    require_equal(epoch.get(next, 1), next, "the value got");
    epoch.close();
    return team.all_reduce(told);
  });
}

std::string complaint(rank_t ranks) {
  try {
    ring<pgas::backends::pool_map>(ranks);
  } catch (pgas::error const& e) {
    return e.what();
  }
  return "";
}
bool has(std::string const& text, std::string const& piece) { return text.find(piece) != std::string::npos; }

TEST_CASE("pool_map uses the bytes of the given file and no others, and leaves nothing behind") {
  named_file const file(3 * 65536);
  leftovers const before;
  {
    environment const names(file.name().c_str(), "65536", "65536");
    CHECK(ring<pgas::backends::pool_map>(3) == 3);
    CHECK(ring<pgas::backends::pool_map>(2) == 1);  // the first job's contents are zero again
  }
  std::string const after = file.contents();
  REQUIRE(after.size() == 3 * 65536);
  CHECK(after.find_first_not_of('\x5a') >= 65536);
  CHECK(after.find_first_not_of('\x5a') < 2 * 65536);
  CHECK(after.find_last_not_of('\x5a') < 2 * 65536);
  before.check("two jobs");
}

TEST_CASE("pool_map names the fault of unusable memory in a sentence") {
  leftovers const before;
  CHECK(has(complaint(2), "set PGAS_POOL to the path"));
  {
    environment const names("/nowhere/pool", nullptr, nullptr);
    CHECK(has(complaint(2), "PGAS_POOL is '/nowhere/pool': No such file"));
  }
  {
    environment const names("/dev/zero", nullptr, nullptr);
    CHECK(has(complaint(2), "size of a device is unknown; set PGAS_POOL_BYTES"));
  }
  named_file const file(65536);
  {
    environment const names(file.name().c_str(), "4k", nullptr);
    CHECK(has(complaint(2), "PGAS_POOL_OFFSET takes a number of bytes from 0 on, not '4k'"));
  }
  {
    environment const names(file.name().c_str(), "4096", "65536");
    CHECK(has(complaint(2), "the file has 65536 bytes, not 65536 from 4096 on"));
  }
  {
    environment const names(file.name().c_str(), "65536", nullptr);
    CHECK(has(complaint(2), "the file has 65536 bytes"));
  }
  {
    environment const names(file.name().c_str(), "100", nullptr);
    CHECK(has(complaint(2), "from 100 on cannot be mapped"));
  }
  {
    environment const names(file.name().c_str(), nullptr, "4096");
    CHECK(has(complaint(3), "bytes were asked for"));
  }
  before.check("wrong names");
}

TEST_CASE("a rank of pool_map that is killed ends the job with its number, and nothing is left behind") {
  leftovers const before;
  std::string what;
  try {
    pgas::run<pool_backend>(3, [](auto& team) {
      auto w = pgas::make_window<int>(team, 10);
      if (team.rank() == 1) ::raise(SIGKILL);
      pgas::fence const epoch{w};
    });
  } catch (pgas::error const& e) {
    what = e.what();
  }
  CHECK(has(what, "rank 1"));
  CHECK(has(what, "was killed by signal 9"));
  before.check("a killed rank");
}

TEST_CASE("pool_map refuses memory that another job uses, and takes it again after that job's end") {
  named_file const file(2 * 65536, "\n\x1b[2J");  // a terminal must not do what the name says
  environment const names(file.name().c_str(), "0", "65536");
  leftovers const before;
  // The job inside overlaps the job outside, then uses bytes of its own, then overlaps again by one page.
  for (auto const& [offset, is_free] : {std::pair{"0", false}, {"65536", true}, {"61440", false}}) {
    auto const e = error_of<model<pgas::backends::pool_map>>(2, [offset, is_free](auto& team) {
      if (team.rank() == 0) {
        ::setenv("PGAS_POOL_OFFSET", offset, 1);
        std::string const refusal = complaint(2);
        require(is_free == refusal.empty(), "the memory of the other job is refused: " + refusal);
        require(is_free || has(refusal, "another job uses '"), "the refusal says why: " + refusal);
        require(is_free || has(refusal, "\\n\\x1b[2J'"), "the name is shown with escapes: " + refusal);
      }
      team.barrier();
    });
    CHECK_MESSAGE(!e.has_value(), std::string(e ? e->what() : ""));
  }
  CHECK(complaint(2).empty());
  before.check("jobs that overlap");
}

TEST_CASE(
    "a file that is truncated under pool_map ends the job with an error that names the file and a rank") {
  named_file const file(1U << 20U);
  environment const names(file.name().c_str(), nullptr, nullptr);
  leftovers const before;
  auto const e = error_of<model<pgas::backends::pool_map>>(3, [&file](auto& team) {
    auto w = pgas::make_window<char>(team, 100'000);
    team.barrier();
    if (team.rank() == 1) {
      require(::truncate(file.name().c_str(), 4096) == 0, "the file can be truncated");
      for (std::size_t i = 0; i < w.local().size(); ++i) w.local()[i] = 'x';
    }
    team.barrier();
  });
  REQUIRE(e.has_value());
  CHECK(e->code() == pgas::make_error_code(pgas::errc::bad_file));
  CHECK_MESSAGE(has(e->what(), "rank "), std::string(e->what()));
  CHECK_MESSAGE(has(e->what(), "the file '" + file.name() + "' has lost bytes"), std::string(e->what()));
  before.check("a truncated file");
}

TEST_CASE("memory of destroyed windows is used again, and is zero again") {
  CHECK_NOTHROW(pgas::run<sound_pool>(3, [](auto& team) {
    for (int round = 0; round < 60; ++round) {  // together four times the size of the pool
      auto w = pgas::make_window<char>(team, std::size_t{300} << 10U);
      auto const own = w.local();
      for (std::size_t i = 0; i < own.size(); i += 5000) require_equal(int{own[i]}, 0, "new memory");
      {
        pgas::lock_all epoch{w};
        rank_t const next = (team.rank() + 1) % team.size();
        require_equal(int{epoch.get(next, 4999)}, 0, "new memory of another rank");
        epoch.put(next, 4999, 'y');
      }
      team.barrier();
      for (std::size_t i = 0; i < own.size(); i += 5000) own[i] = 'x';  // no epoch cleans it
    }
  }));
}

TEST_CASE("random programs give byte-equal values behind incoherent caches" * doctest::test_suite("long")) {
  random_programs::play_on<all_models>();
}

/// A program that must fail behind a flawed cache: ranks put to bytes of one line, get, and count under the
/// element lock.
template <class Backend>
std::optional<pgas::error> error_behind() {
  try {
    pgas::run<Backend>(3, [](auto& team) {
      auto w = pgas::make_window<char>(team, 200);
      rank_t const n = team.size();
      auto const self = static_cast<std::size_t>(team.rank());
      for (int round = 1; round <= 30; ++round) {
        auto const mark = [&](rank_t who) { return static_cast<char>(round * 3 + who); };
        w.local()[100] = mark(team.rank());
        pgas::fence epoch{w};
        // On a busy machine ranks run one after the other. So that no rank reads a line again behind
        // another's put, all ranks come here first. The barrier touches no window.
        team.barrier();
        for (rank_t to = 0; to < n; ++to) epoch.put(to, self, mark(team.rank()));
        epoch.next();
        for (rank_t from = 0; from < n; ++from) {
          require_equal(epoch.get(team.rank(), static_cast<std::size_t>(from)), mark(from),
                        "the value put to this rank");
          require_equal(epoch.get(from, 100), mark(from), "the value that another rank has stored");
        }
        epoch.close();
        pgas::fence apart{w};
      }
    });
  } catch (pgas::error const& e) {
    return e;
  }
  return std::nullopt;
}

/// True if one of several runs fails: the effect of a flaw depends on the order of ranks. On a busy machine
/// ranks run one after the other for long, so a flaw gets many runs. Most need one.
template <flaw Flaw>
bool is_noticed() {
  for (int run = 0; run < (Flaw == flaw::none ? 20 : 400); ++run) {
    if (error_behind<emulated_pool<Flaw>>()) return true;
  }
  return false;
}

TEST_CASE("each flaw of a cache is noticed, so each of the steps that pool_map asks of a cache is needed" *
          doctest::test_suite("long")) {
  CHECK_FALSE(is_noticed<flaw::none>());
  CHECK(is_noticed<flaw::clean_does_nothing>());
  CHECK(is_noticed<flaw::drop_does_nothing>());
  CHECK(is_noticed<flaw::drop_only_cleans>());
  CHECK(is_noticed<flaw::drain_stores_does_nothing>());
  CHECK(is_noticed<flaw::drain_all_is_drain_stores>());
  CHECK(is_noticed<flaw::put_is_a_store>());
}

}  // namespace
}  // namespace pgas_test
