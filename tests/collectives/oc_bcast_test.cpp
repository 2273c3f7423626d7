// SPDX-License-Identifier: BSL-1.0
// The promises of oc_bcast: its trees, its place in a message buffer, and every order of a few ranks on the
// emulated chip and on words that show old values. The error of the printed algorithm is among the mutants.
#include <pgas/machines/scc/mesh.hpp>

#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <numeric>
#include <pgas/collectives/oc_bcast.hpp>
#include <pgas/detail/exchange/media.hpp>
#include <set>

#include "conformance/make.hpp"
#include "media_mutants.hpp"
#include "oc_bcast_mutants.hpp"
#include "support/ranks.hpp"
#include "support/waking_buffers.hpp"
#include "support/weak/model.hpp"

namespace pgas_test::oc_suite {
}  // not without a name: g++ warns of coroutines whose parameters have no linkage
using namespace pgas_test;
using namespace pgas_test::oc_suite;
namespace oc = pgas::collectives;
using oc::leaves;
using oc::notification;
using oc::oc_tree;
using pgas::word;

namespace pgas_test::oc_suite {

using places = std::vector<std::size_t>;

places children_of(oc_tree const& tree, std::size_t place) {
  places all;
  for (std::size_t i = 0; i < tree.children(place); ++i) all.push_back(tree.child(place, i));
  return all;
}
/// The places whose flags a place sets, in its order: forwarded ones first.
places notified_by(oc_tree const& tree, std::size_t place) {
  places all;
  auto const add = [&](std::size_t other) { all.push_back(other); };
  tree.each_forwarded(place, add);
  tree.each_own(place, add);
  return all;
}

/// Places that count ranks from the root on, or near ones on the mesh of the chip.
struct hops_on_mesh {
  unsigned operator()(rank_t a, rank_t b) const noexcept {
    using namespace pgas::detail::scc;
    return hops(tile_of(a), tile_of(b));
  }
};
template <class Places>
unsigned hops_of_tree(rank_t ranks, std::size_t k, rank_t root) {
  typename Places::places const of(ranks, k, root);
  oc_tree const tree(static_cast<std::size_t>(ranks), k, {});
  unsigned sum = 0;
  for (std::size_t p = 1; p < static_cast<std::size_t>(ranks); ++p)
    sum += hops_on_mesh{}(of.rank(p), of.rank(tree.parent(p)));
  return sum;
}

}  // namespace pgas_test::oc_suite

TEST_CASE("oc_tree: twelve ranks with seven children have the sets of the thesis' figure 2.2") {
  oc_tree const tree(12, 7, oc::binary_notification);
  CHECK(children_of(tree, 0) == places{1, 2, 3, 4, 5, 6, 7});
  CHECK(children_of(tree, 1) == places{8, 9, 10, 11});
  CHECK(tree.parent(1) == 0);
  CHECK(notified_by(tree, 0) == places{1, 2});
  CHECK(notified_by(tree, 1) == places{3, 4, 8, 9});
  CHECK(notified_by(tree, 2) == places{5, 6});
  CHECK(notified_by(tree, 3) == places{7});
  CHECK(notified_by(tree, 8) == places{10, 11});
  for (std::size_t leaf : {4U, 5U, 6U, 7U, 9U, 10U, 11U}) CHECK(notified_by(tree, leaf).empty());
}

TEST_CASE("oc_tree: the trees of 48 ranks are as deep as the thesis' geometry says") {
  struct row {
    std::size_t k, depth, notifications;
  };
  // The depth of a notification tree is that of k children.
  for (row const& r : {row{2, 5, 1}, row{3, 4, 2}, row{4, 3, 2}, row{6, 3, 2}, row{7, 2, 3}, row{11, 2, 3},
                       row{24, 2, 4}, row{47, 1, 5}}) {
    oc_tree const tree(48, r.k, oc::binary_notification);
    std::size_t depth = 0;
    std::size_t own = 0;
    std::size_t flags = 0;
    for (std::size_t p = 0; p < 48; ++p) {
      depth = std::max(depth, tree.depth(p));
      flags = std::max(flags, tree.notifications(p));
      if (p != 0 && p <= r.k) own = std::max(own, tree.notifications(p));
    }
    CHECK_MESSAGE(depth == r.depth, "k = ", r.k);
    CHECK_MESSAGE(own == r.notifications, "k = ", r.k);
    CHECK_MESSAGE(flags <= r.depth * r.notifications, "k = ", r.k);
  }
  CHECK(oc::automatic_k(48) == 7);
  CHECK(oc::automatic_k(12) == 11);
  CHECK(oc::automatic_k(2) == 1);
  CHECK(oc::automatic_k(1024) <= oc::most_readers);
}

TEST_CASE("oc_tree: each place is notified once and fetched for once, by the places that know of it") {
  for (std::size_t ranks = 1; ranks <= 60; ++ranks) {
    for (std::size_t k : {1U, 2U, 3U, 7U, 24U, 47U}) {
      for (std::size_t degree : {0U, 1U, 2U, 3U, 5U}) {
        oc_tree const tree(ranks, k, notification{degree});
        std::multiset<std::size_t> notified;
        std::multiset<std::size_t> fetching;
        for (std::size_t p = 0; p < ranks; ++p) {
          for (std::size_t other : notified_by(tree, p)) {
            notified.insert(other);
            REQUIRE(tree.notifier(other) == p);
          }
          std::size_t below = 1;
          for (std::size_t i = 0; i < tree.children(p); ++i) {
            std::size_t const child = tree.child(p, i);
            fetching.insert(child);
            below += tree.below(child);
            REQUIRE(tree.parent(child) == p);
            REQUIRE(tree.index(child) == i);
          }
          REQUIRE(tree.below(p) == below);
        }
        std::multiset<std::size_t> all;
        for (std::size_t p = 1; p < ranks; ++p) all.insert(p);
        REQUIRE(notified == all);
        REQUIRE(fetching == all);
      }
    }
  }
}

TEST_CASE("oc_tree: places by distance are those of all ranks, and bring children nearer to their parents") {
  using near = oc::near_first<hops_on_mesh>;
  for (rank_t ranks : {1, 2, 7, 12, 48}) {
    for (std::size_t k : {1U, 2U, 7U, 24U}) {
      for (rank_t root = 0; root < ranks; ++root) {
        near::places const of(ranks, k, root);
        REQUIRE(of.rank(0) == root);
        for (rank_t r = 0; r < ranks; ++r) REQUIRE(of.rank(of.place(r)) == r);
      }
    }
  }
  for (std::size_t k : {2U, 7U}) {
    unsigned by_number = 0;
    unsigned by_distance = 0;
    for (rank_t root = 0; root < 48; ++root) {
      by_number += hops_of_tree<oc::by_rank>(48, k, root);
      by_distance += hops_of_tree<near>(48, k, root);
    }
    std::cout << "hops of all fetches of 48 cores, mean over all roots, k = " << k << ": " << by_number / 48.0
              << " by number, " << by_distance / 48.0 << " by distance\n";
    CHECK(3 * by_distance < 2 * by_number);
  }
}

namespace pgas_test::oc_suite {

/// Broadcasts one after the other, each from its root. A chunk is a few words.
struct scenario {
  rank_t ranks = 0;
  std::vector<rank_t> roots;
  std::size_t chunks = 0;
};

/// Carries out this rank's part. Throws if the rank gets anything else than the root has sent.
template <class Algorithm, class Medium, class Waits>
void broadcasts(Medium& m, Waits& waits, scenario const& what) {
  auto const here = waits.in_place();
  std::size_t const words = what.chunks * Algorithm::chunk_bytes / sizeof(word);
  word first = 1;
  for (rank_t const root : what.roots) {
    std::vector<word> values(words, 0);
    if (m.rank() == root) std::iota(values.begin(), values.end(), first);
    pgas::bytes_out const bytes = std::as_writable_bytes(std::span(values));
    waits.begin("broadcast", pgas::detail::collective_call("broadcast", bytes.size(), root));
    pgas::detail::steps all = Algorithm::broadcast(m, bytes, root);
    all.begin();
    all.conclude();
    for (std::size_t i = 0; i < words; ++i) {
      if (values[i] != first + i) throw std::runtime_error("a rank got an old chunk");
    }
    first += words;
  }
}

// Words that show old values, as C++ allows.

/// A segment of relaxed words, whose transfers take place as late as they may. If a part is one word, a model
/// also notices a put that may come before another rank's earlier get.
class late_segment {
 public:
  late_segment(weak::control& c, std::size_t first_cell, weak::model* one_word)
      : control_(&c), first_(first_cell), one_word_(one_word) {}

  [[nodiscard]] rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] static std::size_t part_bytes(rank_t) noexcept { return 64; }
  void put(pgas::location at, pgas::bytes_in from) {
    word value = 0;
    std::memcpy(&value, from.data(), sizeof value);
    puts_.push_back({at, value});
  }
  void get(pgas::location at, pgas::bytes_out into) { gets_.push_back({at, into}); }
  pgas::done rput(pgas::location at, pgas::bytes_in from) { return put(at, from), flush_all(), pgas::done(); }
  pgas::done rget(pgas::location at, pgas::bytes_out into) {
    return get(at, into), flush_all(), pgas::done();
  }
  void flush(rank_t) { flush_all(); }
  void flush_all() {
    flush_local_all();
    for (auto const& p : std::exchange(puts_, {})) {
      if (one_word_ != nullptr) one_word_->write(rank(), p.at.rank);
      cell(p.at).reset_unshared(p.value, std::memory_order_relaxed);
    }
  }
  void flush_local(rank_t) { flush_local_all(); }
  void flush_local_all() {
    for (auto const& g : std::exchange(gets_, {})) {
      if (one_word_ != nullptr) one_word_->read(rank(), g.at.rank);
      word const value = cell(g.at).load(std::memory_order_relaxed);
      std::memcpy(g.into.data(), &value, sizeof value);
    }
  }

 private:
  struct started_put {
    pgas::location at;
    word value;
  };
  struct started_get {
    pgas::location at;
    pgas::bytes_out into;
  };
  weak::control::cell_type cell(pgas::location at) {
    return control_->cell(at.rank, first_ + at.offset / sizeof(word));
  }

  weak::control* control_;
  std::size_t first_;
  weak::model* one_word_;
  std::vector<started_put> puts_;
  std::vector<started_get> gets_;
};
static_assert(pgas::segment<late_segment>);

constexpr std::size_t weak_flags = 4;  ///< of two children
constexpr std::size_t weak_buffers = 3;

template <class Algorithm, class Media = media_mutants::none>
std::string search_old_values(weak::model& m, scenario const& what, weak::bounds within, long most) {
  return m.search(within, most, [&](rank_t self) {
    weak::control c(m, self);
    late_segment memory(c, weak_flags, Algorithm::buffers == 1 ? &m : nullptr);
    pgas::detail::patience<weak::control> waits(c);
    typename Media::template message_buffers<weak::control, late_segment> buffers(waits);
    buffers.lie_on(memory, c);
    broadcasts<Algorithm>(buffers, waits, what);
  });
}
weak::model words_of(scenario const& what) {
  return {what.ranks, {.slots = 0, .cells = weak_flags + weak_buffers}};
}

constexpr std::size_t one_word = sizeof(word);
template <std::size_t Buffers = 2, notification Notify = oc::binary_notification,
          leaves Leaves = leaves::stage, class Mutant = oc_bcast_mutants::none,
          oc::roots Roots = oc::roots::change, oc::returns Returns = oc::returns::drained>
using small =
    typename Mutant::template oc_bcast<2, one_word, Buffers, Notify, Leaves, oc::by_rank, Roots, Returns>;
template <class Mutant, oc::roots Roots = oc::roots::change>
using small_early = small<2, oc::binary_notification, leaves::stage, Mutant, Roots, oc::returns::early>;
constexpr notification chain{1};

std::vector<scenario> small_scenarios() {
  return {{3, {0, 1}, 1}, {3, {0, 1}, 3}, {3, {2, 2}, 4}, {4, {0, 1, 3}, 2}, {5, {0, 3}, 3}, {5, {4, 1}, 1}};
}
/// Calls use(algorithm) for variants of the algorithm for few ranks, right ones or with a fault.
template <class Mutant, oc::roots Roots = oc::roots::change, class Use>
void with_variants(Use const& use) {
  use(small<2, oc::binary_notification, leaves::stage, Mutant, Roots>{});
  use(small<2, chain, leaves::straight, Mutant, Roots>{});
  use(small<1, oc::sequential_notification, leaves::stage, Mutant, Roots>{});
  use(small<3, oc::binary_notification, leaves::straight, Mutant, Roots>{});
  use(small_early<Mutant, Roots>{});
}

double seconds_for_search() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}

template <class Algorithm, class Media = media_mutants::none>
bool is_found(Algorithm) {
  for (auto const& what : small_scenarios()) {
    weak::model m = words_of(what);
    if (!search_old_values<Algorithm, Media>(m, what, {2, 1}, 3000).empty()) return true;
  }
  return false;
}
template <class Mutant, class Media = media_mutants::none, oc::roots Roots = oc::roots::change>
bool is_found_with_old_values() {
  bool found = false;
  with_variants<Mutant, Roots>(
      [&]<class Algorithm>(Algorithm a) { found = found || is_found<Algorithm, Media>(a); });
  return found;
}

}  // namespace pgas_test::oc_suite

TEST_CASE(
    "oc_bcast: ranks get all chunks in every order with few interruptions, on words that show old values") {
  long runs = 0;
  int complete = 0;
  int searches = 0;
  auto const most = static_cast<long>(500 * seconds_for_search());
  with_variants<oc_bcast_mutants::none>([&]<class Algorithm>(Algorithm) {
    for (auto const& what : small_scenarios()) {
      for (weak::bounds const within : {weak::bounds{1, 1}, weak::bounds{3, 2}}) {
        weak::model m = words_of(what);
        std::string const wrong = search_old_values<Algorithm>(m, what, within, most);
        CHECK_MESSAGE(wrong == "", what.ranks, " ranks, ", what.chunks, " chunks");
        runs += m.runs();
        complete += m.complete() ? 1 : 0;
        ++searches;
      }
    }
  });
  std::cout << "covered: " << runs << " orders of 3 to 5 ranks on words that show old values; " << complete
            << " of " << searches << " searches are complete\n";
}

TEST_CASE("oc_bcast: each step and each flush is needed, on words that show old values") {
  CHECK(is_found_with_old_values<oc_bcast_mutants::none, media_mutants::none, oc::roots::never_change>());
  CHECK(is_found_with_old_values<oc_bcast_mutants::done_before_fetch>());
  CHECK(is_found_with_old_values<oc_bcast_mutants::notify_before_chunk>());
  CHECK(is_found_with_old_values<oc_bcast_mutants::no_guard>());
  CHECK(is_found_with_old_values<oc_bcast_mutants::no_final_wait>());
  CHECK(is_found(small_early<oc_bcast_mutants::none, oc::roots::never_change>{}));
  CHECK(is_found(small_early<oc_bcast_mutants::no_guard>{}));
  CHECK(is_found_with_old_values<oc_bcast_mutants::none, media_mutants::no_flush>());
  CHECK(is_found_with_old_values<oc_bcast_mutants::none, media_mutants::no_flush_local>());
}

TEST_CASE("oc_bcast: each memory order of its flags is needed") {
  std::map<weak::site, bool> needed;
  auto const look = [&]<class Algorithm>(Algorithm) {
    for (scenario const& what : {scenario{3, {0, 1}, 2}, scenario{4, {0, 1}, 1}}) {
      weak::model right = words_of(what);
      CHECK(search_old_values<Algorithm>(right, what, {1, 1}, 300) == "");
      for (auto const& [at, times] : right.sites()) {
        if (at.order == std::memory_order_relaxed || needed[at]) continue;
        weak::model m = words_of(what);
        weak::weakened const to{at, std::memory_order_relaxed};
        m.weaken(&to);
        needed[at] = !search_old_values<Algorithm>(m, what, {1, 1}, 3000).empty();
      }
    }
  };
  look(small<1>{});
  look(small<1, chain>{});
  CHECK(needed.size() >= 8);
  for (auto const& [at, is_needed] : needed) CHECK_MESSAGE(is_needed, "no test notices ", to_string(at));
}

// The emulated chip.

namespace pgas_test::oc_suite {

namespace scc = pgas::scc;

/// A search makes a chip for each order. Returning its memory to the system each time costs more than the
/// run.
[[maybe_unused]] bool const keeps_chip_memory =
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && ::mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;

/// Broadcasts on the chip; returns the fault that it found, or nothing.
template <class Algorithm>
std::string play_on_chip(scenario const& what) {
  try {
    pgas_test::launch<pgas::backends::scc>(what.ranks, [&](auto& mine, auto& boot) {
      using control = pgas::backends::scc::control_type;
      using segment = pgas::backends::scc::segment_type;
      using medium = pgas::detail::message_buffers<control, segment>;
      auto words = make_control(mine, boot, "flags", medium::words());
      auto memory =
          make_segment(mine, boot, "buffers",
                       std::vector<std::size_t>(static_cast<std::size_t>(what.ranks), medium::buffer_bytes));
      pgas::detail::patience<control> waits(words);
      medium buffers(waits);
      buffers.lie_on(memory, words);
      broadcasts<Algorithm>(buffers, waits, what);
      boot.fence();
    });
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

/// Plays orders made from priorities and a few changes of them, and random orders.
struct tried {
  long runs = 0;
  long wrong = 0;
  long hung = 0;  ///< of the wrong ones, those in which ranks wait for each other
  std::string first;
};
template <class Algorithm>
tried try_on_chip(scenario const& what, long most, double seconds, bool until_wrong, bool oracle = true) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  tried t;
  while (t.runs < most && !(until_wrong && t.wrong > 0) && std::chrono::steady_clock::now() < end) {
    scc::options how;
    how.disturb(next_seed());
    how.check = oracle;
    scc::with_options const emulated(how);
    ++t.runs;
    std::string const wrong = play_on_chip<Algorithm>(what);
    if (wrong.empty()) continue;
    ++t.wrong;
    t.hung += wrong.find("old chunk") == std::string::npos ? 1 : 0;
    if (t.first.empty()) t.first = "seed " + std::to_string(how.seed) + ": " + wrong;
  }
  return t;
}

/// A chunk is a line of the chip.
template <std::size_t K, std::size_t Buffers = 2, leaves Leaves = leaves::stage>
using in_lines = oc::oc_bcast<K, 32, Buffers, oc::binary_notification, Leaves, oc::near_first<hops_on_mesh>>;
template <std::size_t K, class Mutant = oc_bcast_mutants::none, oc::roots Roots = oc::roots::change>
using thesis = typename Mutant::template oc_bcast<K, 32, 2, oc::binary_notification, leaves::stage,
                                                  oc::by_rank, Roots, oc::returns::drained>;

}  // namespace pgas_test::oc_suite

TEST_CASE(
    "oc_bcast: broadcasts from roots 0, 2, 5 and 1 of twelve cores arrive, and those as printed do not") {
  if (!chosen(pgas::backends::scc::name)) return;
  scenario const changing{12, {0, 2, 5, 1}, 3};
  double const share = seconds_for_search() / 4;
  tried const right = try_on_chip<thesis<7>>(changing, 1000000, share, true);
  CHECK_MESSAGE(right.wrong == 0, right.first);
  tried const printed = try_on_chip<thesis<7, oc_bcast_mutants::none, oc::roots::never_change>>(
      changing, 1000, share, false, false);
  CHECK(printed.wrong > 0);
  tried const one_root = try_on_chip<thesis<7, oc_bcast_mutants::none, oc::roots::never_change>>(
      {12, {0, 0, 0, 0}, 3}, 1000000, share, true);
  CHECK_MESSAGE(one_root.wrong == 0, one_root.first);
  std::cout << "covered: " << right.runs << " orders of 12 cores with changing roots; as printed "
            << printed.wrong << " of " << printed.runs << " fail, " << printed.hung
            << " of them with ranks that wait for each other; as printed with one root 0 of " << one_root.runs
            << " fail\n";
}

TEST_CASE("oc_bcast: on the chip a rank that says done before it has fetched gets an old chunk") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(
      try_on_chip<thesis<2, oc_bcast_mutants::done_before_fetch>>({5, {0}, 6}, 2000, 60, true, false).wrong ==
      1);
}
TEST_CASE("oc_bcast: on the chip a rank that is notified before the chunk is there gets an old chunk") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(try_on_chip<thesis<2, oc_bcast_mutants::notify_before_chunk>>({5, {0}, 6}, 2000, 60, true, false)
            .wrong == 1);
}
TEST_CASE("oc_bcast: on the chip a buffer that is filled without a guard loses a chunk") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(try_on_chip<thesis<2, oc_bcast_mutants::no_guard>>({5, {0}, 6}, 2000, 60, true, false).wrong == 1);
}
TEST_CASE("oc_bcast: on the chip a rank that returns without the final wait overwrites its last chunks") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(try_on_chip<thesis<2, oc_bcast_mutants::no_final_wait>>({5, {0, 0, 0}, 2}, 2000, 60, true, false)
            .wrong == 1);
}

TEST_CASE("oc_bcast: cores get all chunks in every order with few changes of turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  std::array const searched{scenario{3, {0, 1}, 3}, scenario{4, {0, 3, 0}, 2}, scenario{5, {0, 4, 1}, 3}};
  double const share = seconds_for_search() / (2 * searched.size());
  for (auto const& what : searched) {
    for (std::size_t const switches : {1U, 3U}) {
      auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(share);
      scc::decisions script;
      script.most_switches = switches;
      scc::options how;
      how.schedule = scc::scheduling::script;
      how.script = &script;
      scc::with_options const emulated(how);
      long runs = 0;
      bool more = true;
      for (; more && std::chrono::steady_clock::now() < end; more = script.next(), ++runs)
        REQUIRE(play_on_chip<thesis<2>>(what) == "");
      std::cout << "covered: " << runs << (more ? " of the" : ", all") << " orders of " << what.ranks
                << " cores with up to " << switches << " changes of turns\n";
    }
  }
}

TEST_CASE("oc_bcast: cores get all chunks in random orders, with each number of buffers and near children") {
  if (!chosen(pgas::backends::scc::name)) return;
  double const share = seconds_for_search() / 5;
  long runs = 0;
  auto const all_arrive = [&]<class Algorithm>(Algorithm) {
    for (scenario const& what : {scenario{5, {0, 4, 4, 4, 2}, 3}, scenario{13, {3, 0, 12}, 3}}) {
      tried const t = try_on_chip<Algorithm>(what, 1000000, share / 2, true);
      CHECK_MESSAGE(t.wrong == 0, t.first);
      runs += t.runs;
    }
  };
  all_arrive(in_lines<2>{});
  all_arrive(in_lines<3, 1>{});
  all_arrive(in_lines<2, 3, leaves::straight>{});
  all_arrive(in_lines<oc::automatic_children>{});
  all_arrive(oc::oc_bcast<3, 32, 2, notification{3}, leaves::straight, oc::by_rank, oc::roots::change,
                          oc::returns::early>{});
  std::cout << "covered: " << runs << " random orders of 5 and 13 cores\n";
}

// Interrupts.

namespace pgas_test::oc_suite {

/// The values of one started broadcast.
struct message {
  rank_t root = 0;
  std::vector<word> values;
};

/// Buffers of a core on which an interrupt can come between the look at a flag and the suspension of the
/// steps that await it.
template <class Backend>
class interruptible_buffers : public pgas::detail::message_buffers<pgas::backends::scc::control_type,
                                                                   pgas::backends::scc::segment_type> {
  using base = message_buffers;

 public:
  interruptible_buffers(pgas::detail::patience<pgas::backends::scc::control_type>& waits, Backend& core)
      : base(waits), core_(&core) {}

  class awaiter : public flag_awaiter {
   public:
    awaiter(flag_awaiter const& inner, Backend& core) : flag_awaiter(inner), core_(&core) {}
    bool await_ready() {
      bool const is_ready = flag_awaiter::await_ready();
      static_cast<void>(flag_awaiter::await_ready());  // lets other cores run
      core_->charge(1);                                // takes an interrupt
      return is_ready;
    }

   private:
    Backend* core_;
  };
  awaiter flag(std::size_t i, word number, rank_t setter) { return {base::flag(i, number, setter), *core_}; }

 private:
  Backend* core_;
};

/// The result that a core finds after its computation.
struct outcome {
  bool had_ended;                                  ///< all broadcasts had ended with the computation
  std::chrono::duration<double, std::micro> took;  ///< from their start to their end
};

/// Starts all broadcasts on this core, computes, and returns when they have ended. Throws if a core gets
/// anything else than the root has sent.
template <class Algorithm, bool LooksAgain = true, class Backend, class Boot>
outcome compute_meanwhile(Backend& mine, Boot& boot, scenario const& what, std::uint64_t cycles) {
  using control = pgas::backends::scc::control_type;
  using medium = interruptible_buffers<Backend>;
  using waking = waking_buffers<medium>;
  auto words = make_control(mine, boot, "flags", medium::words());
  auto memory =
      make_segment(mine, boot, "buffers",
                   std::vector<std::size_t>(static_cast<std::size_t>(what.ranks), medium::buffer_bytes));
  pgas::detail::patience<control> waits(words);
  medium buffers(waits, mine);
  buffers.lie_on(memory, words);
  waking by_interrupts(buffers, mine.interrupts());
  interrupted_steps<control, LooksAgain> started(waits, mine.interrupts());
  boot.fence();
  std::deque<message> messages;
  auto const begin = mine.now();
  word first = 1;
  for (rank_t const root : what.roots) {
    auto& m = messages.emplace_back(message{root, {}});
    m.values.resize(what.chunks * Algorithm::chunk_bytes / sizeof(word));
    if (mine.rank() == root) std::iota(m.values.begin(), m.values.end(), first);
    first += m.values.size();
    auto const bytes = std::as_writable_bytes(std::span(m.values));
    started.start("broadcast", pgas::detail::collective_call("broadcast", bytes.size(), root),
                  [&by_interrupts, bytes, root] { return Algorithm::broadcast(by_interrupts, bytes, root); });
  }
  mine.charge(cycles);
  bool const had_ended = started.have_ended();
  started.wait();
  outcome const found{had_ended, mine.now() - begin};
  first = 1;
  for (auto const& m : messages) {
    for (word const value : m.values) {
      if (value != first++) throw std::runtime_error("a rank got an old chunk");
    }
  }
  boot.fence();
  return found;
}

/// OC-Bcast where an interrupt takes longer than a flag: each rank wakes all its children at once.
template <std::size_t K>
using waking_all = oc::oc_bcast<K, 32, 2, oc::sequential_notification, leaves::straight>;

template <bool LooksAgain>
tried try_interrupts(long most, double seconds) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  tried t;
  while (t.runs < most && t.wrong == 0 && std::chrono::steady_clock::now() < end) {
    scc::options how;
    how.disturb(next_seed());
    scc::with_options const emulated(how);
    scenario const what =
        !LooksAgain || t.runs % 2 == 0 ? scenario{3, {0}, 1} : scenario{12, {0, 2, 5, 1}, 3};
    try {
      pgas_test::launch<pgas::backends::scc>(what.ranks, [&](auto& mine, auto& boot) {
        compute_meanwhile<waking_all<3>, LooksAgain>(mine, boot, what, 1000);
      });
    } catch (std::exception const& e) {
      ++t.wrong;
      t.first = "seed " + std::to_string(how.seed) + ": " + e.what();
    }
    ++t.runs;
  }
  return t;
}

}  // namespace pgas_test::oc_suite

TEST_CASE(
    "oc_bcast: several broadcasts go on by interrupts in every random order, while cores do other things") {
  if (!chosen(pgas::backends::scc::name)) return;
  tried const right = try_interrupts<true>(1'000'000, seconds_for_search() / 2);
  CHECK_MESSAGE(right.wrong == 0, right.first);
  std::cout << "covered: " << right.runs << " random orders of 3 and 12 cores with interrupts\n";
}

TEST_CASE("oc_bcast: steps that an interrupt meets amid their work miss a flag unless they look again") {
  if (!chosen(pgas::backends::scc::name)) return;
  CHECK(try_interrupts<false>(2000, 60).wrong == 1);
}

TEST_CASE("oc_bcast: broadcasts end by interrupts while all 48 cores compute and call nothing") {
  if (!chosen(pgas::backends::scc::name)) return;
  scc::options how;
  how.check = false;
  how.clock = &scc::formulas_533;
  scc::with_options const emulated(how);
  std::size_t ended = 0;
  pgas_test::launch<pgas::backends::scc>(48, [&](auto& mine, auto& boot) {
    ended +=
        compute_meanwhile<waking_all<7>>(mine, boot, {48, {0, 0, 47, 13}, 3}, 1'000'000).had_ended ? 1U : 0U;
  });
  CHECK(ended == 48);

  // A line from core 0 to 48 cores that sleep.
  auto const time_of = []<class Algorithm>(Algorithm) {
    double last = 0;
    pgas_test::launch<pgas::backends::scc>(48, [&last](auto& mine, auto& boot) {
      last = std::max(last, compute_meanwhile<Algorithm>(mine, boot, {48, {0}, 1}, 0).took.count());
    });
    return last;
  };
  double const by_sets = time_of(waking_all<7>{});
  double const down_tree = time_of(oc::oc_bcast<7, 32, 2, oc::binary_notification, leaves::straight>{});
  std::cout << "a line to 48 cores by interrupts: " << by_sets
            << " us where a core wakes all its children at once, " << down_tree
            << " us where children wake each other\n";
}

// In programs.

TEST_CASE("oc_bcast: several are in flight at once on one team, with different roots and trees") {
  everywhere([](auto& team) {
    std::vector<std::vector<int>> values;
    for (int i = 0; i < 4; ++i) values.emplace_back(3000, team.rank() + 100 * i);
    rank_t const last = team.size() - 1;
    auto first = team.start().broadcast(values[0], 0, oc::oc_bcast<>{});
    auto second = team.start().broadcast(values[1], last, oc::oc_bcast<2, 1024>{});
    auto third = team.start().broadcast(values[2], last, oc::oc_bcast<2, 1024>{});
    auto fourth = team.start().broadcast(values[3], last / 2, oc::oc_bcast<>{});
    fourth.wait();
    while (!second.test()) std::this_thread::yield();
    first.wait();
    third.wait();
    require_equal(values[0][2999], 0, "the first broadcast");
    require_equal(values[1][2999], last + 100, "the second broadcast");
    require_equal(values[2][0], last + 200, "the third broadcast");
    require_equal(values[3][1500], last / 2 + 300, "the fourth broadcast");
  });
}

TEST_CASE("oc_bcast: ranks that name different sizes or roots get an error that names a rank") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    auto const refused = [](auto const& body) {
      auto const e = error_of<Model>(3, [&body](auto& team) {
        std::vector<int> warm(100);
        team.broadcast(warm, 0, oc::oc_bcast<>{});
        body(team);
        team.broadcast(warm, 0, oc::oc_bcast<>{});
      });
      REQUIRE_MESSAGE(e.has_value(), Model::name());
      CHECK_MESSAGE((e->code() == pgas::make_error_code(errc::mismatch) ||
                     e->code() == pgas::make_error_code(errc::deadlock)),
                    Model::name() << ": " << std::string(e->what()));
    };
    refused([](auto& team) {
      std::vector<int> values(team.rank() == 1 ? 24 : 20);
      team.broadcast(values, 0, oc::oc_bcast<>{});
    });
    refused([](auto& team) {
      std::vector<int> values(20);
      team.broadcast(values, team.rank() == 2 ? 1 : 0, oc::oc_bcast<>{});
    });
  });
}

namespace pgas_test::oc_suite {

/// The message passing buffer of a core of the SCC, flags included: a medium as far as its sizes go.
struct buffer_of_scc {
  static constexpr std::size_t buffer_bytes = 8192;
  static constexpr std::size_t flag_bytes = 32;
  static constexpr std::size_t flags = 256;

  pgas::buffer_tree last;
  [[nodiscard]] static rank_t rank() { return 0; }
  [[nodiscard]] static rank_t size() { return 1; }
  pgas::buffer_tree& tree() { return last; }
  static void fill(std::size_t, pgas::bytes_in) {}
  static void fetch(rank_t, std::size_t, pgas::bytes_out) {}
  static void drain(std::size_t, pgas::bytes_out) {}
  static void fetch_out(rank_t, std::size_t, pgas::bytes_out) {}
  static void set_flag(rank_t, std::size_t, word) {}
  static void flag(std::size_t, word, rank_t) {}
};
static_assert(pgas::buffering_medium<buffer_of_scc>);
constexpr std::size_t line = 32;

}  // namespace pgas_test::oc_suite

TEST_CASE("oc_bcast: two chunks of 96 lines and all flags fit into a buffer of the SCC, for each k") {
  CHECK(oc::oc_bcast<>::fits<buffer_of_scc>);
  CHECK(oc::oc_bcast<7>::fits<buffer_of_scc>);
  CHECK(oc::oc_bcast<47>::fits<buffer_of_scc>);
  CHECK(oc::oc_bcast<7, 123 * line>::fits<buffer_of_scc>);
  CHECK(!oc::oc_bcast<7, 124 * line>::fits<buffer_of_scc>);
  CHECK(oc::oc_bcast<47, 207 * line, 1>::fits<buffer_of_scc>);
  CHECK(!oc::oc_bcast<7, 96 * line, 3>::fits<buffer_of_scc>);
}
