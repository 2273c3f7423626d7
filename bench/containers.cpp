// SPDX-License-Identifier: BSL-1.0
// Counters, queues, vectors and tasks, beside the same by hand in memory that the ranks share.
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/containers/distributed_vector.hpp>
#include <pgas/containers/work_stealing_queue.hpp>

#include "container_shapes.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace {

template <class Team>
class rows {
 public:
  rows(Team& team, bench::meter& m)
      : team_(team),
        m_(m),
        others_(static_cast<std::size_t>(m.ranks() - 1)),
        memory_(pgas::make_window<std::uint64_t>(team, elements)),
        words_(memory_.part(0).data()),
        spins_(m.oversubscribed() ? 20 : 2000) {}

  void all() {
    of_counters();
    of_queues();
    of_vectors();
    of_tasks();
  }

 private:
  static constexpr std::size_t cells = 1024;
  static constexpr std::size_t many = 256;                        ///< tasks of a run
  static constexpr std::size_t elements = std::size_t{1} << 22U;  ///< more than a row appends

  /// Each rank does a step as often as it is told; the slowest rank counts.
  template <class Step>
  bench::way each(std::string_view name, Step step) const {
    return bench::all_of(m_, name, step);
  }
  /// The other ranks push, and rank 0 takes all elements.
  template <class Push, class Pop>
  bench::way to_one(std::string_view name, Push push, Pop pop) const {
    return {name, [this, push, pop](std::size_t n) mutable {
              if (m_.rank() == 0) {
                for (std::size_t i = n * others_; i > 0; --i) pop();
              } else {
                for (; n > 0; --n) push();
              }
              m_.align();
            }};
  }
  static bench::row_key key(char const* name, double per_call = 1) {
    return {.row = name, .mode = "", .bytes = 8, .per_call = per_call};
  }
  /// Memory for a row by hand, all zero. Collective.
  std::uint64_t* cleared(std::size_t words) {
    team_.barrier();
    if (m_.rank() == 0) std::fill_n(words_, words, std::uint64_t{0});
    team_.barrier();
    return words_;
  }

  void of_counters() {
    auto numbers = pgas::make_counter(team_);
    bench::raw::lines const by_hand(cleared(64 * bench::raw::lines::stride));
    m_.measure(key("counter_fetch_add"),
               {each("", [&] { bench::keep(numbers.fetch_add()); }), each("atomic", [word = by_hand.at(0)] {
                  bench::keep(word.fetch_add(1, std::memory_order_acq_rel));
                })});
    auto sum = pgas::make_striped_counter(team_);
    auto const own = by_hand.at(1 + static_cast<std::size_t>(m_.rank()));
    m_.measure(key("striped_counter_add"),
               {each("", [&] { sum.add(); }),
                each("a store",
                     [own, i = std::uint64_t{0}]() mutable { own.store(++i, std::memory_order_release); }),
                each("atomic", [word = by_hand.at(0)] { word.fetch_add(1, std::memory_order_release); })});
  }

  void of_queues() {
    bool const is_pair = m_.ranks() == 2;
    auto inbox = pgas::make_inbox<std::uint64_t>(team_, cells);
    auto queue = pgas::make_queue<std::uint64_t>(team_, {.capacity = cells});
    bench::ring_of_pair pair(cleared(bench::ring_of_pair::words(cells)), cells, spins_);
    m_.measure(key(is_pair ? "inbox_one" : "inbox_many", static_cast<double>(others_)), [&] {
      std::vector<bench::way> ways{to_one(
          "", [&] { inbox.push(1); }, [&] { bench::keep(inbox.pop()); })};
      if (is_pair) {
        ways.push_back(to_one(
            "a ring of two ends", [&] { pair.push(1); }, [&] { bench::keep(pair.pop()); }));
      }
      return ways;
    }());
    bench::ring_of_cells ring(cleared(bench::ring_of_cells::words(cells)), cells, spins_);
    if (m_.rank() == 0) ring.begin();
    bench::locked_ring locked(words_ + bench::ring_of_cells::words(cells), cells, spins_);
    if (m_.rank() == 0) locked.begin();
    team_.barrier();
    m_.measure(key(is_pair ? "queue_one" : "queue_many", static_cast<double>(others_)),
               {to_one(
                    "", [&] { queue.push(1); }, [&] { bench::keep(queue.pop()); }),
                to_one(
                    "a ring of cells", [&] { ring.push(1); }, [&] { bench::keep(ring.pop()); }),
                to_one(
                    "a mutex", [&] { locked.push(1); }, [&] { bench::keep(locked.pop()); })});
    m_.measure(key("queue_each"), {each("",
                                        [&] {
                                          queue.push(1);
                                          bench::keep(queue.pop());
                                        }),
                                   each("a ring of cells",
                                        [&] {
                                          ring.push(1);
                                          bench::keep(ring.pop());
                                        }),
                                   each("a mutex", [&] {
                                     locked.push(1);
                                     bench::keep(locked.pop());
                                   })});
  }

  void of_vectors() {
    auto vector = pgas::make_vector<std::uint64_t>(team_, {.capacity = elements});
    std::uint64_t* const by_hand = cleared(bench::raw::lines::stride);
    m_.measure(
        key("vector_push_back"),
        {each("", [&] { vector.push_back(1); }), each("fetch_add", [by_hand] {
           std::atomic_ref index(by_hand[0]);
           std::uint64_t const i = index.fetch_add(1, std::memory_order_relaxed);
           std::atomic_ref(by_hand[bench::raw::lines::stride + i % (elements - bench::raw::lines::stride)])
               .store(1, std::memory_order_release);
         })});
  }

  void of_tasks() {
    auto queue = pgas::make_work_stealing_queue<std::uint64_t>(team_, cells);
    constexpr std::size_t deque_words = bench::stealing_deque::words(cells);
    std::uint64_t* const by_hand = cleared(2 * bench::raw::lines::stride + 64 * deque_words);
    std::vector<bench::stealing_deque> deques;
    for (int r = 0; r < m_.ranks(); ++r)
      deques.emplace_back(by_hand + 2 * bench::raw::lines::stride + static_cast<std::size_t>(r) * deque_words,
                          cells);
    bench::stealing_deque& own = deques[static_cast<std::size_t>(m_.rank())];
    // Rank 0 alone: a rank whose task is stolen would wait for another one.
    m_.measure(key("task_own"), {bench::origin_only(m_, "",
                                                    [&] {
                                                      queue.push(1);
                                                      bench::keep(queue.next());
                                                    }),
                                 bench::origin_only(m_, "a deque", [&] {
                                   own.push(1);
                                   bench::keep(own.take());
                                 })});
    while (queue.next()) {}
    queue.restart(team_);
    // Rank 0 makes all tasks; the others have those that they steal. A run ends when no task is anywhere.
    std::atomic_ref done(by_hand[0]);
    std::uint64_t runs = 0;
    m_.measure(key("task_run", many), {each("",
                                            [&] {
                                              if (m_.rank() == 0)
                                                for (std::uint64_t i = 0; i < many; ++i) queue.push(i);
                                              while (queue.next()) bench::short_task();
                                              queue.restart(team_);
                                            }),
                                       each("a deque",
                                            [&] {
                                              runs += many;
                                              if (m_.rank() == 0)
                                                for (std::uint64_t i = 0; i < many; ++i) own.push(i);
                                              bench::run_tasks(deques, static_cast<std::size_t>(m_.rank()),
                                                               done, runs, spins_);
                                              team_.barrier();
                                              team_.barrier();
                                            }),
                                       each("one rank", [&] {
                                         if (m_.rank() == 0)
                                           for (std::uint64_t i = 0; i < many; ++i) bench::short_task();
                                         team_.barrier();
                                       })});
  }

  Team& team_;
  bench::meter& m_;
  std::size_t others_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) memory_;
  std::uint64_t* words_;
  int spins_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    if (m.ranks() > 1) rows(team, m).all();
  });
}
