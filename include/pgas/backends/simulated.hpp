// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/machines/backend.hpp>
#include <pgas/detail/machines/simulated/control.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <pgas/detail/machines/simulated/segment.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// Work that a rank does while it waits, as long as an object lives.
class work : public service {
 public:
  work(std::shared_ptr<machine> m, rank_t self, std::function<void()> what)
      : service(std::move(m), self, std::move(what)) {
    machine_->of(rank_).begin_work();
  }
  ~work() { machine_->of(rank_).end_work(); }
};

/// The values that ranks exchange before they have memory, and their barrier. Takes no virtual time, except
/// that a rank waits for the last one.
struct meeting {
  std::map<std::string, std::vector<std::byte>, std::less<>> values;
  rank_t arrived = 0;
  word puts = 0, fences = 0;
};

/// One rank's share of it.
class rank_bootstrap {
 public:
  rank_bootstrap(std::shared_ptr<machine> m, std::shared_ptr<meeting> all, rank_t self) noexcept
      : machine_(std::move(m)), all_(std::move(all)), self_(self) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return machine_->turns().size(); }
  void put(std::string_view key, bytes_in value) const {
    all_->values[std::string(key)].assign(value.begin(), value.end());
    change(all_->puts);
  }
  void get(std::string_view key, bytes_out into) const {
    auto found = all_->values.find(key);
    for (; found == all_->values.end(); found = all_->values.find(key)) await(all_->puts);
    if (!into.empty()) std::memcpy(into.data(), found->second.data(), into.size());
  }
  void fence() const {
    machine_->drain(self_);
    if (++all_->arrived < size()) return await(all_->fences);
    all_->arrived = 0;
    change(all_->fences);
  }
  void fail(std::string_view what) const { machine_->turns().fail(self_, what); }

 private:
  void change(word& w) const {
    ++w;
    auto& turns = machine_->turns();
    ticks const now = std::max(turns.present(), turns.current() < 0 ? 0 : turns.clock(self_));
    turns.changed(-1, &w, [now](rank_t) { return now; });
  }
  /// Waits until the word is another one.
  void await(word const& w) const {
    std::array<watch, 1> watches{watch{.at = &w}};
    waiting_for const why{.operation = "run"};
    team_ranks const everybody(self_, size());
    auto const is_new = [old = w](word now) { return now != old; };
    wait mine{{.why = &why, .label = "start or end of the job", .ranks = &everybody}, self_, is_new, watches};
    machine_->await(mine);
  }

  std::shared_ptr<machine> machine_;
  std::shared_ptr<meeting> all_;
  rank_t self_;
};
static_assert(bootstrap<rank_bootstrap>);

}  // namespace PGAS_NAMESPACE::detail::simulated

namespace PGAS_NAMESPACE::detail {

/// Short messages into a box of each receiver, which has room for `home_boxes::room` of them, from all
/// senders together.
///
/// A message travels as a store does. The sender knows at once whether there is room, as if it had a credit;
/// it learns of new room after a latency. Memory: what has arrived.
class simulated_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = simulated::letter::most;

  simulated_mailbox(std::shared_ptr<simulated::machine> m, std::shared_ptr<simulated::home_boxes> home,
                    team_ranks ranks)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)) {}

  /// Sends if the receiver's box has room. Throws errc::invalid_argument if the message is too long.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    rank_t const self = ranks_.to_world(ranks_.self());
    if (message.size() > max_message_bytes) throw_too_long(self, message.size(), max_message_bytes);
    simulated::letter l{.home = home_, .to = to, .from = ranks_.self(), .size = message.size(), .bytes = {}};
    if (!message.empty()) std::memcpy(l.bytes.data(), message.data(), message.size());
    return machine_->send(self, ranks_.to_world(to), std::move(l));
  }

  /// Handles the messages that have arrived; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    rank_t const self = ranks_.to_world(ranks_.self());
    auto& box = home_->of(ranks_.self());
    machine_->look(self);
    std::size_t const count = box.arrived.size();
    for (std::size_t i = 0; i < count; ++i) {
      simulated::letter const l = std::move(box.arrived.front());
      box.arrived.pop_front();
      machine_->make_room(self, box);
      handler(l.from, bytes_in(l.bytes).first(l.size));
    }
    return count;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what != nullptr)
      service_ =
          std::make_unique<simulated::service>(machine_, ranks_.to_world(ranks_.self()), std::move(what));
  }

 private:
  std::shared_ptr<simulated::machine> machine_;
  std::shared_ptr<simulated::home_boxes> home_;
  team_ranks ranks_;
  std::unique_ptr<simulated::service> service_;
};
static_assert(mailbox<simulated_mailbox>);

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::backends {

/// Many nodes that are not there: up to 65,536 ranks in virtual time, on a network whose times are data.
///
/// Ranks are fibers of one thread, and the program is a real one. team.now() is the rank's virtual clock,
/// which remote operations, waits and team.charge advance. The same program with the same options takes the
/// same virtual time to the last digit. A rank keeps its turn while it computes, so it may wait only through
/// the library. simulated::options choose the network; simulated/network.hpp has its equations.
///
/// After a run, last_totals() and last_counters() say how many operations there were, over which distance,
/// and how much memory a rank had. Source: LogGP (Alexandrov et al. 1995); the times of foMPI (Gerstenberger
/// et al. 2014, section 3).
class simulated : public detail::emulation::machine_backend<simulated, detail::simulated::machine> {
 public:
  using segment_type = detail::simulated_segment;
  using control_type = detail::simulated_control;
  using mailbox_type = detail::simulated_mailbox;
  using default_coherence = coherence::coherent;

  static constexpr std::string_view name = "simulated";
  static constexpr rank_t max_ranks = 65'536;

  /// Runs main(backend, bootstrap) on a fiber for each rank; returns the bootstrap.
  template <class Main>
  static detail::simulated::rank_bootstrap launch(rank_t ranks, Main const& main) {
    using namespace detail::simulated;
    detail::refuse_launcher("run: the simulated ranks are fibers of one process");
    if (ranks > max_ranks) {
      throw error(errc::invalid_argument, -1,
                  detail::text_of({"run: the simulation has at most ", max_ranks, " ranks, and ", ranks,
                                   " were asked for: ask for fewer"}));
    }
    auto const m = std::make_shared<machine>(ranks, pgas::simulated::with_options::chosen());
    auto const all = std::make_shared<meeting>();
    auto const run_rank = [&](rank_t rank) {
      rank_bootstrap boot(m, all, rank);
      main(simulated(m, rank), boot);
    };
    m->run(run_rank);
    last_totals() = m->totals();
    last_counters() = m->counters();
    m->turns().failed().rethrow();
    return {m, all, 0};
  }

  [[nodiscard]] locality locality_of(rank_t rank) const {
    auto const d = distance_of(rank);
    if (d == pgas::simulated::distance::self) return locality::self;
    return d == pgas::simulated::distance::node ? locality::node : locality::remote;
  }
  /// The distance of a rank, which says more than locality_of.
  [[nodiscard]] pgas::simulated::distance distance_of(rank_t rank) const {
    return machine_->net().between(self_, world_rank(rank));
  }

  /// See backend_of_nodes. Costs a look at each rank of the team.
  [[nodiscard]] node_ranges nodes() const {
    std::vector<rank_t> leader_of;
    leader_of.reserve(static_cast<std::size_t>(size()));
    std::map<int, rank_t> first;
    for (rank_t rank = 0; rank < size(); ++rank)
      leader_of.push_back(first.emplace(machine_->net().node_of(world_rank(rank)), rank).first->second);
    return node_ranges::of(std::move(leader_of));
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return machine_->parts.add(detail::simulated::home_parts::of(sizes, self_), sizes.size());
  }
  handle reserve_control(control_words words) const {
    return machine_->words.add(detail::simulated::home_words::of(words, size(), self_),
                               static_cast<std::size_t>(size()));
  }
  handle reserve_mailbox() const {
    return machine_->mailboxes.add(std::make_shared<detail::simulated::home_boxes>(size()),
                                   static_cast<std::size_t>(size()));
  }
  /// See working_backend. Each change of one of this rank's words calls the work, which takes its time.
  [[nodiscard]] std::unique_ptr<detail::simulated::work> while_waiting(std::function<void()> work) const {
    return std::make_unique<detail::simulated::work>(machine_, self_, std::move(work));
  }

  void charge(std::uint64_t cycles) const {
    machine_->count(self_).charged += cycles;
    machine_->turns().clock(self_) += machine_->net().compute(cycles);
  }
  /// The virtual time of this rank since the launch, in picoseconds.
  [[nodiscard]] pgas::simulated::ticks virtual_time() const { return machine_->turns().clock(self_); }
  /// The counts of this rank so far.
  [[nodiscard]] pgas::simulated::counters const& counters() const { return machine_->count(self_); }

  /// The counts of each rank in this thread's last launch.
  static std::vector<pgas::simulated::counters>& last_counters() {
    return detail::one_per_thread<last_launch>().counters;
  }
  /// The counts of this thread's last launch as a whole.
  static pgas::simulated::totals& last_totals() { return detail::one_per_thread<last_launch>().totals; }
  /// Prints the totals of the last launch.
  static void report(std::FILE* to) {
    auto const& t = last_totals();
    std::fprintf(to, "simulated: %zu ranks, %.3f us of virtual time, %zu events\n", std::size_t{t.ranks},
                 t.microseconds, std::size_t{t.events});
    std::fprintf(to, "distance       puts       gets     stores      loads    atomics        bytes\n");
    constexpr std::array<char const*, pgas::simulated::distances> names{"self", "node", "group", "far"};
    for (std::size_t d = 0; d < names.size(); ++d) {
      auto const& o = t.to[d];
      std::fprintf(to, "%-8s %10zu %10zu %10zu %10zu %10zu %12zu\n", names[d], std::size_t{o.puts},
                   std::size_t{o.gets}, std::size_t{o.stores}, std::size_t{o.loads}, std::size_t{o.atomics},
                   std::size_t{o.bytes});
    }
    std::fprintf(to,
                 "messages to the busiest rank: %zu; memory a rank: %zu bytes of payload, %zu of control "
                 "words, %zu of stack\n",
                 std::size_t{t.busiest}, std::size_t{t.most.payload}, std::size_t{t.most.control},
                 std::size_t{t.stack});
  }

 private:
  struct last_launch {
    static constexpr std::string_view shared_name = "last launch of simulated";
    std::vector<pgas::simulated::counters> counters;
    pgas::simulated::totals totals;
  };

  simulated(std::shared_ptr<detail::simulated::machine> m, rank_t self)
      : machine_backend(std::move(m), self) {}
};
static_assert(mailbox_backend<simulated> && working_backend<simulated> && backend_of_nodes<simulated>);

}  // namespace PGAS_NAMESPACE::backends

namespace PGAS_NAMESPACE::simulated {

/// The virtual time of the calling rank since the launch, in microseconds. One-sided, free.
template <class Team>
[[nodiscard]] double microseconds_of(Team const& team) {
  return static_cast<double>(team.state()->backend.virtual_time()) / 1e6;
}
/// The counts of the calling rank so far. One-sided, free.
template <class Team>
[[nodiscard]] counters const& counters_of(Team const& team) {
  return team.state()->backend.counters();
}

}  // namespace PGAS_NAMESPACE::simulated
