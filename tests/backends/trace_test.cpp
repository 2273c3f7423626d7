// SPDX-License-Identifier: BSL-1.0
// The files of backends::traced: each epoch of each rank, in rows that nest, on a clock that goes forward. A
// file is complete or does not exist.
// test: lines, unit chip
#include <cmath>
#include <csignal>
#include <pgas/sync/queued.hpp>

#include "../../examples/traced/support/backends.hpp"
#include "support/json.hpp"
#include "support/ranks.hpp"
#include "support/saved.hpp"

using namespace pgas_test;
using pgas::backends::process_map;
using pgas::backends::scc;
using pgas::backends::traced;
using pgas::detail::traced_chunk;
using pgas::detail::traced_event;

static_assert(pgas::backend<traced<scc>> && pgas::mailbox_backend<traced<process_map>>);
// Other backends pay nothing: a span has no byte, and own memory is reached directly.
static_assert(std::is_same_v<pgas::detail::span_on<process_map::control_type>, pgas::detail::no_span>);
static_assert(std::is_empty_v<pgas::detail::no_span>);
static_assert(!pgas::shared_segment<traced<process_map>::segment_type>);
static_assert(pgas::local_segment<traced<process_map>::segment_type>);
static_assert(pgas::tagged_segment<traced<scc>::segment_type> &&
              !pgas::local_segment<traced<scc>::segment_type>);

namespace {

constexpr rank_t traced_ranks = 4;

/// One span, as a viewer reads it.
struct shown {
  rank_t rank;
  long row;
  std::string name, kind, of;
  double begin, end;  ///< whole nanoseconds
  std::vector<rank_t> with;
  double bytes;
};

class trace {
 public:
  explicit trace(fs::path const& file) {
    text_ = content_of(file);
    std::map<long, rank_t> rank_of;
    json const all = json::parse(text_);
    for (json const& e : all.items()) {
      auto const row = e.has("tid") ? static_cast<long>(e["tid"].number()) : 0;
      if (e["ph"].text() == "M" && e["name"].text() == "thread_name")
        rank_of[row] = std::atoi(e["args"]["name"].text().c_str() + std::strlen("rank "));
      if (e["ph"].text() != "X") continue;
      json const& about = e["args"];
      shown s{rank_of.at(row),
              row,
              e["name"].text(),
              e["cat"].text(),
              about.has("of") ? about["of"].text() : "",
              std::round(1000 * e["ts"].number()),
              0,
              {},
              about.has("bytes") ? about["bytes"].number() : 0};
      s.end = s.begin + std::round(1000 * e["dur"].number());
      for (char const* const list : {"ranks", "for ranks"}) {
        if (!about.has(list)) continue;
        for (json const& r : about[list].items()) s.with.push_back(static_cast<rank_t>(r.number()));
      }
      spans.push_back(s);
    }
  }

  /// The spans of a name and rank in the order of their beginnings; an empty `of` means any.
  [[nodiscard]] std::vector<shown> named(std::string_view name, rank_t rank, std::string_view of = "") const {
    std::vector<shown> found;
    for (auto const& s : spans) {
      if (s.name == name && s.rank == rank && (of.empty() || s.of == of)) found.push_back(s);
    }
    std::sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.begin < b.begin; });
    return found;
  }
  [[nodiscard]] std::string const& text() const { return text_; }

  std::vector<shown> spans;

 private:
  std::string text_;
};

/// While it lives, the traces of this program are written to a file.
class traced_to {
 public:
  explicit traced_to(fs::path const& file) { ::setenv("PGAS_TRACE", file.c_str(), 1); }
  traced_to(traced_to const&) = delete;
  traced_to& operator=(traced_to const&) = delete;
  ~traced_to() { ::unsetenv("PGAS_TRACE"); }
};

/// Two fences, an access and an exposure that overlap without nesting, and locks on two parts that do so too.
/// Each rank puts to, gets from and adds to the next rank.
template <class Backend>
void program() {
  pgas::run<traced<Backend>>(traced_ranks, [](auto& team) {
    rank_t const next = (team.rank() + 1) % traced_ranks,
                 last = (team.rank() + traced_ranks - 1) % traced_ranks;
    auto const a = pgas::make_window<double>(team, 16);
    auto const b = pgas::make_window<double>(team, 16);
    {
      pgas::fence epoch{a};
      epoch.put(next, 0, 1.5);
      epoch.next();
      if (epoch.get(team.rank(), 0) != 1.5) throw std::runtime_error("the trace changed what arrived");
    }
    team.barrier();
    {
      pgas::exposure open{a, {last}};
      pgas::access epoch{a, {next}};
      std::vector<double> const three(3, 2.0);
      epoch.put(next, 1, three);
      epoch.complete();
      pgas::fence beside{b};  // begins in the exposure and ends after it
      open.wait();
      beside.accumulate(next, 2, 4.0);
    }
    static_cast<void>(team.all_reduce(1));
    std::optional first(pgas::lock{a, team.rank(), pgas::shared});
    pgas::lock second{b, next, pgas::shared};
    static_cast<void>(second.get(next, 2));
    first.reset();
    second.unlock();
    auto const third = pgas::try_lock(a, next, pgas::shared);
    if (!third) throw std::runtime_error("shared locks exclude each other");
  });
}

template <class Backend>
trace traced_program() {
  temporary_folder const folder;
  traced_to const file(folder.path / "run.json");
  program<Backend>();
  CHECK(folder.names() == std::set<std::string>{"run.json"});
  return trace(folder.path / "run.json");
}

/// Virtual times and real times, one run of each.
trace const& on(bool real) {
  static trace const by_processes = traced_program<process_map>();
  static trace const on_chip = traced_program<scc>();
  return real ? by_processes : on_chip;
}

}  // namespace

TEST_CASE("a trace has a span for each epoch of each rank, with its window and ranks") {
  for (bool const real : {true, false}) {
    CAPTURE(real);
    trace const& t = on(real);
    std::set<std::string> windows;
    for (rank_t r = 0; r < traced_ranks; ++r) {
      CAPTURE(r);
      auto const fences = t.named("fence", r);
      REQUIRE(fences.size() == 3);
      CHECK(fences[0].of == fences[1].of);
      CHECK(fences[0].of != fences[2].of);
      CHECK(fences[1].begin >= fences[0].end);  // next() ends one epoch and begins the other
      auto const accesses = t.named("access", r, fences[0].of);
      auto const exposures = t.named("exposure", r, fences[0].of);
      REQUIRE(accesses.size() == 1);
      REQUIRE(exposures.size() == 1);
      CHECK(accesses[0].with == std::vector<rank_t>{(r + 1) % traced_ranks});
      CHECK(exposures[0].with == std::vector<rank_t>{(r + traced_ranks - 1) % traced_ranks});
      CHECK(fences[0].with.empty());
      auto const locks = t.named("lock", r);
      REQUIRE(locks.size() == 3);
      CHECK(locks[0].with == std::vector<rank_t>{r});
      CHECK(locks[1].with == std::vector<rank_t>{(r + 1) % traced_ranks});
      for (auto const& e : {fences[0], accesses[0], locks[0]}) CHECK(e.kind == "epoch");
      windows.insert({fences[0].of, fences[2].of});
    }
    CHECK(windows == std::set<std::string>{"window 0", "window 1"});
  }
}

TEST_CASE("spans of a row nest, and times never run backward") {
  for (bool const real : {true, false}) {
    CAPTURE(real);
    std::map<long, std::vector<shown>> open;
    std::map<long, double> before;
    std::set<long> rows;
    for (auto const& s : on(real).spans) {
      REQUIRE(s.begin >= 0);
      REQUIRE(s.end >= s.begin);
      REQUIRE(s.begin >= before[s.row]);
      before[s.row] = s.begin;
      auto& around = open[s.row];
      while (!around.empty() && around.back().end <= s.begin) around.pop_back();
      if (!around.empty()) CHECK(s.end <= around.back().end);
      around.push_back(s);
      rows.insert(s.row);
    }
    // The fence beside the exposure, and the second lock, do not fit into the rank's one row.
    CHECK(rows.size() == 2 * traced_ranks);
  }
}

TEST_CASE("a wait ends no earlier than the awaited action began") {
  for (bool const real : {true, false}) {
    CAPTURE(real);
    trace const& t = on(real);
    std::size_t checked = 0;
    for (auto const& s : t.spans) {
      if (s.name != "waits in start" && s.name != "waits in wait") continue;
      for (rank_t r : s.with) {
        auto const theirs = t.named(s.name == "waits in start" ? "exposure" : "access", r, s.of);
        REQUIRE(theirs.size() == 1);
        CHECK(s.end >= theirs[0].begin);
        ++checked;
      }
    }
    CHECK(checked > 0);
    for (char const* const all : {"barrier", "all_reduce"}) {
      double last_to_come = 0;
      for (rank_t r = 0; r < traced_ranks; ++r)
        last_to_come = std::max(last_to_come, t.named(all, r).at(0).begin);
      for (rank_t r = 0; r < traced_ranks; ++r) CHECK(t.named(all, r).at(0).end >= last_to_come);
    }
  }
}

TEST_CASE("transfers lie in an epoch and show their target and number of bytes") {
  for (bool const real : {true, false}) {
    CAPTURE(real);
    trace const& t = on(real);
    for (rank_t r = 0; r < traced_ranks; ++r) {
      auto const fence = t.named("fence", r).at(0);
      auto const access = t.named("access", r).at(0);
      std::vector<double> bytes;
      for (auto const& s : t.spans) {
        if (s.kind != "transfer" || s.rank != r || (s.name != "put" && s.name != "store")) continue;
        bool const is_first = s.begin >= fence.begin && s.end <= fence.end;
        bool const is_second = s.begin >= access.begin && s.end <= access.end;
        if (!is_first && !is_second)
          continue;  // on memory without atomics, accumulate records accesses of its own
        CHECK(s.with == std::vector<rank_t>{(r + 1) % traced_ranks});
        bytes.push_back(s.bytes);
      }
      CHECK(bytes == std::vector<double>{8, 24});
      auto const added = t.named("accumulate", r);
      REQUIRE(added.size() == 1);
      CHECK(added[0].bytes == 8);
      CHECK(added[0].with == std::vector<rank_t>{(r + 1) % traced_ranks});
    }
  }
}

TEST_CASE("times on the emulated chip are virtual: two runs write the same file, also after a hostile seed") {
  std::string const once = on(false).text();
  pgas::scc::options how;
  how.disturb(7);
  pgas::scc::with_options const other(how);
  CHECK(traced_program<scc>().text() == once);
}

TEST_CASE("without a file name nothing is written, and the program runs") {
  temporary_folder const folder;
  fs::path const before = fs::current_path();
  fs::current_path(folder.path);
  program<process_map>();
  fs::current_path(before);
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("the command line names the file, and a program whose backends write none says so") {
  temporary_folder const folder;
  auto const nothing = [](auto& team) { team.barrier(); };
  std::string const option = "--pgas-trace=" + (folder.path / "run.json").string();
  char const* const words[] = {"program", option.c_str(), "--pgas-ranks", "2"};
  CHECK(pgas::run<pgas::backend_list<traced<process_map>>>(4, words, nothing) == 0);
  ::unsetenv("PGAS_TRACE");
  CHECK(folder.names() == std::set<std::string>{"run.json"});

  using untraced =
      pgas::detail::dispatcher<pgas::backend_list<process_map>, pgas::coherence_list<pgas::default_coherence>,
                               pgas::protocols_list<pgas::backend_default_protocols>>;
  require_error(errc::unsupported, {"--pgas-trace: this program's backends write no trace"},
                [&] { untraced::run(pgas::detail::command_line::parse(4, words), nothing); });
}

TEST_CASE("a backend's own option acts on that backend, and is refused with the backend's name on others") {
  temporary_folder const folder;
  auto const nothing = [](auto& team) { team.barrier(); };
  std::string const file = (folder.path / "run.svg").string();
  char const* const heat[] = {"program", "--pgas-heat",  file.c_str(), "--pgas-backend",
                              "scc",     "--pgas-ranks", "2"};
  CHECK(pgas::run<pgas::backend_list<process_map, traced<pgas::backends::scc>>>(7, heat, nothing) == 0);
  CHECK(folder.names() == std::set<std::string>{"run.svg"});

  using without =
      pgas::detail::dispatcher<pgas::backend_list<process_map>, pgas::coherence_list<pgas::default_coherence>,
                               pgas::protocols_list<pgas::backend_default_protocols>>;
  require_error(errc::invalid_argument, {"--pgas-heat: no such option; --pgas-help lists them"},
                [&] { without::run(pgas::detail::command_line::parse(3, heat), nothing); });
  using with = pgas::detail::dispatcher<pgas::backend_list<process_map, pgas::backends::scc>,
                                        pgas::coherence_list<pgas::default_coherence>,
                                        pgas::protocols_list<pgas::backend_default_protocols>>;
  require_error(errc::unsupported,
                {"--pgas-heat: backend process_map has no such option", "by --pgas-backend: scc"},
                [&] { with::run(pgas::detail::command_line::parse(3, heat), nothing); });
  CHECK(with::other_options().ends_with("; --pgas-heat: a file, on scc"));
}

TEST_CASE("a file that cannot be written is reported in a sentence before any rank begins") {
  temporary_folder const folder;
  for (fs::path const& wrong : {folder.path / "no folder" / "run.json", folder.path}) {
    traced_to const file(wrong);
    CHECK_THROWS_WITH_AS(pgas::run<traced<process_map>>(1, [](auto& team) { team.barrier(); }),
                         doctest::Contains(("trace: '" + wrong.string() + "' cannot be written: ").c_str()),
                         pgas::error);
  }
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a trace honours the umask, keeps the mode of the file that it replaces, and replaces no device") {
  temporary_folder const folder;
  fs::path const path = folder.path / "run.json";
  traced_to const file(path);
  auto const run = [] { pgas::run<traced<process_map>>(1, [](auto& team) { team.barrier(); }); };
  auto const mode = [&] { return static_cast<int>(fs::status(path).permissions()); };
  ::mode_t const before = ::umask(077);
  run();
  CHECK(mode() == 0600);
  fs::permissions(path, fs::perms(0640));
  run();
  CHECK(mode() == 0640);
  ::umask(before);
  fs::create_symlink("/dev/null", folder.path / "null");
  traced_to const device(folder.path / "null");
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("is a folder or device"), pgas::error);
  CHECK(folder.names() == std::set<std::string>{"null", "run.json"});
}

TEST_CASE("a rank that does not exist is refused as without traces") {
  temporary_folder const folder;
  traced_to const file(folder.path / "run.json");
  require_error(errc::out_of_range, {"rank 99"}, [] {
    pgas::run<traced<process_map>>(2, [](auto& team) {
      auto const w = pgas::make_window<int>(team, 1);
      pgas::access epoch{w, {99}};
    });
  });
}

TEST_CASE("a killed rank leaves a readable file with the other ranks' spans") {
  temporary_folder const folder;
  traced_to const file(folder.path / "run.json");
  CHECK_THROWS_AS(pgas::run<traced<process_map>>(traced_ranks,
                                                 [](auto& team) {
                                                   team.barrier();
                                                   if (team.rank() == 2) ::kill(::getpid(), SIGKILL);
                                                   team.barrier();
                                                 }),
                  pgas::error);
  trace const left(folder.path / "run.json");
  CHECK(left.named("barrier", 0).size() == 2);  // the second barrier ended with an error
  CHECK(left.named("barrier", 2).empty());
  CHECK(folder.names() == std::set<std::string>{"run.json"});
}

TEST_CASE("a truncated file of records is read up to its last whole record") {
  auto const chunk_of = [](int events) {
    traced_chunk c;
    for (int i = 0; i < events; ++i) {
      c.add({.begin = i,
             .end = i + 1,
             .rank = events,
             .kind = {},
             .name = "put",
             .place = "",
             .ranks = {1, 2}});
    }
    return std::string(c.finished());
  };
  std::string const one = chunk_of(1), two = chunk_of(2), three = chunk_of(3);
  CHECK(traced_chunk::read(one + two + three).size() == 6);
  for (std::size_t cut = 0; cut < two.size(); ++cut) {
    CAPTURE(cut);
    auto const read = traced_chunk::read(one + two.substr(0, cut) + three);
    CHECK(read.size() == 4);
    CHECK(traced_chunk::read(one + two.substr(0, cut)).size() == 1);
  }
  CHECK(traced_chunk::read("").empty());
}
