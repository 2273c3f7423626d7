// SPDX-License-Identifier: BSL-1.0
// What may carry an access from one node to another: MPI's one-sided operations, messages that the target
// serves in its waits, or messages to an agent. The agent is a third process, which shares the target's
// memory. Its core is that of the target, or another, here the origin's. Built with each MPI.
#include "mpi_far.hpp"

namespace {

using bench::kib;
using bench::mib;

/// What the agent is ordered to do: sleep, serve on the core of rank 0 or 1, or end.
enum class agents : std::uint64_t { sleeping, on_core_of_origin, on_core_of_target, ending };

constexpr int agent_process = 2;

/// The agent's whole life. It sleeps while the rows do without it.
void be_agent(bench::mpi::shared_parts const& parts) {
  std::vector<int> cores;
  ::cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  bench::mpi::server own(parts);
  auto now = agents::sleeping;
  for (;;) {
    // relaxed: the words are all that the processes tell each other here
    auto const order = static_cast<agents>(parts.order().load(std::memory_order_relaxed));
    if (order == agents::ending) return;
    if (order != now) {
      std::size_t const rank = order == agents::on_core_of_target ? 1 : 0;
      CPU_ZERO(&set);
      CPU_SET(cores[rank % cores.size()], &set);
      ::sched_setaffinity(0, sizeof set, &set);
      now = order;
      parts.state().store(static_cast<std::uint64_t>(now), std::memory_order_relaxed);
    }
    if (now == agents::sleeping) {
      ::usleep(100);
    } else if (!own.serve()) {
      ::sched_yield();
    }
  }
}

class far_rows {
 public:
  far_rows(bench::meter& m, bench::mpi::shared_parts const& parts, MPI_Comm ranks)
      : m_(m),
        parts_(parts),
        window_(bench::region, ranks),
        win_(window_.get()),
        other_(1 - m.rank()),
        own_(parts),
        to_target_(own_, other_, other_),
        to_agent_(own_, agent_process, other_),
        values_(random_puts) {
    window_.clear(bench::region, ranks);
    std::uint64_t random = 1;
    for (auto& each : values_) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      each = {(random >> 33U) % (bench::region / 8) * 8, random};
    }
  }
  ~far_rows() { order(agents::ending); }
  far_rows(far_rows const&) = delete;
  far_rows& operator=(far_rows const&) = delete;

  void all() {
    MPI_Win_lock_all(0, win_);
    for (bool const computes : {false, true}) {
      row(
          "far_put", 8, computes, [this] { rma_put(8); }, [this](auto& to) { to.put(private_.data(), 8); });
      row(
          "far_get", 8, computes, [this] { rma_get(8); }, [this](auto& to) { to.get(private_.data(), 8); });
      row(
          "far_fetch_add", 8, computes, [this] { rma_add(); }, [](auto& to) { to.add(1); });
      row(
          "far_put", mib, computes, [this] { rma_put(mib); },
          [this](auto& to) { to.long_put(private_.data(), mib); });
    }
    signals();
    at_random();
    MPI_Win_unlock_all(win_);
  }

 private:
  static constexpr std::size_t random_puts = 100'000;
  static constexpr double computes_for = 1e-3;

  void rma_put(std::size_t bytes) const {
    MPI_Put(private_.data(), static_cast<int>(bytes), MPI_BYTE, other_, 0, static_cast<int>(bytes), MPI_BYTE,
            win_);
    MPI_Win_flush(other_, win_);
  }
  void rma_get(std::size_t bytes) const {
    MPI_Get(private_.data(), static_cast<int>(bytes), MPI_BYTE, other_, 0, static_cast<int>(bytes), MPI_BYTE,
            win_);
    MPI_Win_flush(other_, win_);
  }
  void rma_add() {
    MPI_Fetch_and_op(&one_, &found_, MPI_UINT64_T, other_, 0, MPI_SUM, win_);
    MPI_Win_flush(other_, win_);
  }

  /// One access in each way.
  template <class Rma, class Messages>
  void row(char const* name, std::size_t bytes, bool computes, Rma rma, Messages messages) {
    m_.measure(
        {.row = name, .mode = computes ? "target computes" : "target waits", .bytes = bytes},
        {way("RMA", agents::sleeping, computes, rma),
         way("messages", agents::sleeping, computes, [=, this] { messages(to_target_); }),
         way("agent, own core", agents::on_core_of_origin, computes, [=, this] { messages(to_agent_); }),
         way("agent, target's core", agents::on_core_of_target, computes,
             [=, this] { messages(to_agent_); })});
  }

  /// The target waits in a loop that lets MPI work, or computes for 1 ms before each look.
  template <class Step>
  bench::way way(std::string_view name, agents agent, bool computes, Step step) {
    return {name, [=, this](std::size_t n) {
              ++round_;
              auto const over = m_.word();
              if (m_.rank() == 0) {
                order(agent);
                for (; n > 0; --n) step();
                over.store(round_, std::memory_order_release);  // pairs with the acquire of the target
                return;
              }
              bench::mpi::serve_until(own_, [&] {
                if (computes) compute();
                return over.load(std::memory_order_acquire) >= round_;
              });
            }};
  }
  static void compute() {
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(computes_for);
    while (std::chrono::steady_clock::now() < end) {}
  }

  void order(agents what) const {
    if (m_.rank() != 0) return;
    auto const number = static_cast<std::uint64_t>(what);
    parts_.order().store(number, std::memory_order_relaxed);
    while (what != agents::ending && parts_.state().load(std::memory_order_relaxed) != number) ::usleep(20);
  }

  /// 1 KiB, and then a word that says so: to the other rank and back.
  void signals() {
    bench::row_key key = bench::there_and_back("far_signal", kib);
    auto const there_and_back = [this](std::string_view name, agents agent, auto send, auto seen) {
      return bench::way{name, [=, this](std::size_t n) {
                          order(agent);
                          m_.align();
                          bool const first = m_.rank() == 0;
                          for (; n > 0; --n) {
                            ++signals_;
                            if (first) send(signals_);
                            bench::mpi::serve_until(own_, [&] { return seen() >= signals_; });
                            if (!first) send(signals_);
                          }
                        }};
    };
    auto const by_rma = [this](std::uint64_t number) {
      MPI_Put(private_.data(), kib, MPI_BYTE, other_, signals_at, kib, MPI_BYTE, win_);
      MPI_Win_flush(other_, win_);
      MPI_Accumulate(&number, 1, MPI_UINT64_T, other_, word_at, 1, MPI_UINT64_T, MPI_REPLACE, win_);
      MPI_Win_flush(other_, win_);
    };
    auto const seen_in_window = [this] {
      // acquire: the flush at the origin came before the word
      return bench::raw::word_ref(*reinterpret_cast<std::uint64_t*>(window_.data() + word_at))
          .load(std::memory_order_acquire);
    };
    auto const by = [this](bench::mpi::message_origin& to) {
      return [this, &to](std::uint64_t number) {
        to.put_and_signal(private_.data(), kib, signals_at, word_at, number);
      };
    };
    // acquire: pairs with the release of the server
    auto const seen = [this] { return parts_.word(m_.rank(), word_at).load(std::memory_order_acquire); };
    m_.measure(key, {there_and_back("RMA", agents::sleeping, by_rma, seen_in_window),
                     there_and_back("messages", agents::sleeping, by(to_target_), seen),
                     there_and_back("agent, own core", agents::on_core_of_origin, by(to_agent_), seen),
                     there_and_back("agent, target's core", agents::on_core_of_target, by(to_agent_), seen)});
  }

  void at_random() {
    constexpr std::size_t most = bench::mpi::packet::most / sizeof(bench::mpi::place_and_value);
    m_.measure(
        {.row = "far_random_puts", .mode = "", .bytes = 8, .per_call = random_puts, .unit = "op/s"},
        {way("RMA", agents::sleeping, false,
             [this] {
               for (auto const& each : values_) {
                 MPI_Put(&each.value, 8, MPI_BYTE, other_, static_cast<MPI_Aint>(each.at), 8, MPI_BYTE, win_);
               }
               MPI_Win_flush(other_, win_);
             }),
         way("messages", agents::sleeping, false, [this] { to_target_.put_all(values_, 1); }),
         way("packets of 16 KiB", agents::sleeping, false, [this] { to_target_.put_all(values_, most); })});
  }

  // behind the bytes of the puts
  static constexpr std::size_t signals_at = 2 * mib;
  static constexpr std::size_t word_at = signals_at + 64 * kib;

  bench::meter& m_;
  bench::mpi::shared_parts const& parts_;
  bench::mpi::allocated_window window_;
  MPI_Win win_;
  bench::buffer private_;
  int other_;
  bench::mpi::server own_;
  bench::mpi::message_origin to_target_;
  bench::mpi::message_origin to_agent_;
  std::vector<bench::mpi::place_and_value> values_;
  std::uint64_t round_ = 0;    // runs of all ways
  std::uint64_t signals_ = 0;  // of all ways
  std::uint64_t one_ = 1;
  std::uint64_t found_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int process = 0;
  int processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes != agent_process + 1) {
    std::fprintf(stderr, "%s: start three processes: two ranks and an agent\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, process == agent_process ? 1 : 0, process, &ranks);
  {
    bench::mpi::shared_parts const parts(process);
    if (process == agent_process) {
      be_agent(parts);
    } else {
      bench::settings const given(argc, argv);
      bench::meeting_place const place(given);
      bench::meter m(
          given, place, process, 2, [ranks] { MPI_Barrier(ranks); }, bench::mpi::poll);
      far_rows(m, parts, ranks).all();
      m.end();
    }
  }
  MPI_Comm_free(&ranks);
  bench::mpi::end();
  return 0;
}
