// SPDX-License-Identifier: BSL-1.0
// A search through all states that a map on an adversarial machine can reach, in all programs of a size.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/sequentially_consistent.hpp>
#include <pgas/histories/spec_map.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/adversarial_channel.hpp"
#include "support/inside.hpp"
#include "support/running_check.hpp"

namespace pgas_test {

using small_map = pgas::histories::spec_map<int, int>;

/// The messages of a machine: all of those to a core, and the first one on a way.
inline void (*add_messages)(adversarial_machine const&, rank_t, fingerprint&) = nullptr;
inline void (*add_inbox)(adversarial_machine const&, rank_t, fingerprint&) = nullptr;
inline void (*add_first)(adversarial_machine const&, machine_event const&, fingerprint&) = nullptr;

template <auto Cores>
struct opened_machine {
  static auto const& core_of(adversarial_machine const& of, rank_t rank) {
    return (of.*Cores)[static_cast<std::size_t>(rank)];
  }
  static inline bool const is_done = [] {
    add_messages = [](adversarial_machine const& of, rank_t rank, fingerprint& to) {
      to.add(core_of(of, rank).ways);
    };
    add_inbox = [](adversarial_machine const& of, rank_t rank, fingerprint& to) {
      to.add(core_of(of, rank).inbox);
    };
    add_first = [](adversarial_machine const& of, machine_event const& e, fingerprint& to) {
      std::size_t const way = static_cast<std::size_t>(e.from) * adversarial_machine::queues + e.queue;
      to.add(e.from).add(e.queue).add(core_of(of, e.core).ways[way].front());
    };
    return true;
  }();
};
template struct opened_machine<&adversarial_machine::cores_>;

/// The programs of a search.
struct programs_of {
  std::size_t clients = 3;
  std::size_t length = 4;                     ///< the operations of each client
  int keys = 2;                               ///< the number of keys, at most 2
  std::vector<std::vector<small_call>> of{};  ///< the operations of each client, or empty for all programs
};

/// The ways in which a search is shorter than all runs.
struct search_rules {
  bool leaves_out = true;       ///< orders whose histories are as strict as others
  bool ends_at_meeting = true;  ///< one order from there on; else all, while messages are under way
  bool remembers = true;        ///< known states, where a run ends
  bool records = false;         ///< the histories of runs that end; then states with different ones differ
};

/// The histories of one program, by their results: for each operation, the operations of each client that had
/// returned before its call. A history with more of these is as strict, or stricter.
using ended_histories = std::map<std::vector<int>, std::set<std::vector<std::size_t>>>;

struct search_outcome {
  std::string wrong;         ///< the first wrong history, or empty
  std::uint64_t states = 0;  ///< that differ
  std::uint64_t runs = 0;    ///< from the begin to a state that was known, or to the end
  bool is_whole = false;     ///< false if the time was over
};

/// Goes through all states, depth first, by runs that begin anew. A run ends in a state that is known.
///
/// A state is: of each core its part of the map, and in an operation the arguments and the answers since the
/// call. What else an operation of the six maps knows follows from these. Messages under way and those in
/// inboxes belong to the state, and so does `running_check`, which stands for the history. Where `Map`
/// promises sequential consistency only, all results do.
///
/// Rules leave out orders whose histories are as strict as others that the search has. Events on different
/// cores commute, unless one sends what the other delivers. A return that comes earlier, and a call that
/// comes later, forbid more. So a return follows directly what it depends on, or other such returns. An event
/// that depends on a call follows the call directly, or other such calls, if there is such an event. Where a
/// client hears one server alone, a message to a client in an operation comes at once: nothing else can
/// happen on that core. A message that only its receiver notices comes directly before what happens next on
/// that core. Programs that differ in the names of keys, or in which client begins, count once. When all
/// clients have ended their programs, the order does not matter for a right map. It does for a variant whose
/// updates may still be under way. Hashes of 64 bits stand for states. `search_rules` switches the rules off,
/// so that a test can compare.
/// Source: Mazurkiewicz 1977, for events that commute; Holzmann 1998, for hashes of states.
template <class Map, bool Interrupts = false, class Channel = adversarial_channel<Interrupts>>
class state_search final : public adversary {
  using channel_type = Channel;
  static constexpr bool is_linearizable = Map::promises == pgas::consistency::linearizable;
  static constexpr bool requires_replicas = std::string_view(Map::name).starts_with("rep_");

 public:
  state_search(programs_of programs, pgas::map_on_options options, search_rules rules = {})
      : programs_(std::move(programs)), options_(options), rules_(rules) {}

  /// Searches until all states are known, a history is wrong, or the time is over.
  search_outcome run(std::chrono::duration<double> budget) {
    auto const end = std::chrono::steady_clock::now() + budget;
    search_outcome all;
    do {
      if (++all.runs % 16 == 0 && std::chrono::steady_clock::now() > end) {
        all.states = known_.size();
        return all;
      }
      all.wrong = run_once();
    } while (all.wrong.empty() && next());
    all.states = known_.size();
    all.is_whole = all.wrong.empty();
    return all;
  }

  /// The histories of the runs that ended, if the rules say so.
  [[nodiscard]] ended_histories const& histories() const noexcept { return histories_; }

  std::optional<std::size_t> choose(std::span<machine_event const> enabled) override {
    if (is_wrong_ || is_covered_) return std::nullopt;
    is_over_ = is_over_ || ends_order(enabled);
    if (is_over_) return 0;
    for (std::size_t i = 0; i < enabled.size(); ++i)
      if (enabled[i].what == machine_event::resume && at(enabled[i].core).map == nullptr) return i;
    if (depth_ == path_.size()) {
      if (!known_.insert(state(enabled)).second && rules_.remembers) return std::nullopt;
      node next = open(enabled);
      if (next.open.empty()) return std::nullopt;  // other orders are as strict
      path_.push_back(std::move(next));
    }
    node const& now = path_[depth_++];
    step const& chosen = now.open[now.taken];
    if (now.waives) calls_.clear();
    follows_ = hears_one_server() || depends_on_any(recent_, chosen.event);
    core& c = at(chosen.event.core);
    if (chosen.event.queue == pgas::detail::answers && c.is_calling)
      add_first(*machine_, chosen.event, c.since_call);
    if (chosen.event.what == machine_event::resume) c.chosen = chosen.call;
    last_ = {chosen.event, {enabled.begin(), enabled.end()}};
    messages_ = machine_->messages();
    return static_cast<std::size_t>(std::find(enabled.begin(), enabled.end(), chosen.event) -
                                    enabled.begin());
  }
  void happened(machine_effect effect) override {
    if (!last_) return;  // a core begins
    if (!rules_.leaves_out) {
      last_.reset();
      return;
    }
    have_met_ = have_met_ || effect.ends_order;
    if (effect.ends_order && rules_.ends_at_meeting) is_over_ = true;
    bool const only_returns = effect.returns && !effect.calls;
    bool const only_calls = effect.calls && !effect.returns;
    // The order with the return before the event in front of it forbids more, as does one with a call later.
    bool const is_late = only_returns && !follows_;
    bool const comes_after_call = effect.calls && effect.returns && !calls_.empty();
    if ((is_late || comes_after_call) && !is_over_) is_covered_ = true;
    if (!only_returns) recent_.clear();
    if (!only_calls) calls_.clear();
    bool const is_quiet = last_->event.what == machine_event::deliver && is_client(last_->event.core) &&
                          !effect.calls && !effect.returns && machine_->messages() == messages_;
    quiet_ = is_quiet && !is_without_servers() ? std::optional(last_->event.core) : std::nullopt;
    recent_.push_back(*last_);
    if (only_calls) calls_.push_back(*last_);
    last_.reset();
  }

 private:
  struct step {
    machine_event event;
    small_call call;  ///< if the event begins an operation
  };
  struct node {
    std::vector<step> open;
    std::size_t taken = 0;
    bool waives = false;  ///< the call before need not be followed by what depends on it
  };
  /// An event, and what else could have happened.
  struct past {
    machine_event event;
    std::vector<machine_event> enabled;
  };
  struct core {
    Map* map = nullptr;
    bool may_call = false;
    bool is_calling = false;
    pgas::histories::moment begin = 0;  ///< of the last call
    std::size_t calls = 0;
    small_call chosen;
    fingerprint since_call;
    fingerprint results;  ///< for sequential consistency
  };

  /// The results that a client has seen so far.
  struct life {
    std::size_t all = 0;              ///< the operations of the whole run
    std::vector<int> results;         ///< of its operations, in their order
    std::vector<std::size_t> before;  ///< for each call, the operations of each client that had returned
  };

  core& at(rank_t rank) { return cores_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t length_of(std::size_t client) const {
    return programs_.of.empty() ? programs_.length : programs_.of[client].size();
  }

  /// Carries out one run along the path, and on to states that are new.
  std::string run_once() {
    auto const clients = static_cast<rank_t>(programs_.clients);
    bool const is_dedicated = options_.servers.where == pgas::placement::dedicated;
    rank_t const ranks = clients + (is_dedicated ? options_.servers.number : 0);
    first_client_ = ranks - clients;
    cores_.assign(static_cast<std::size_t>(ranks), {});
    check_ = {};
    seen_ = {};
    depth_ = 0;
    lived_.assign(programs_.clients, {});
    for (std::size_t client = 0; client < programs_.clients; ++client)
      lived_[client].all = length_of(client) + static_cast<std::size_t>(programs_.keys);
    is_wrong_ = is_covered_ = is_over_ = have_met_ = false;
    last_.reset();
    recent_.clear();
    calls_.clear();
    quiet_.reset();
    adversarial_machine machine(
        ranks, {.interrupts = Interrupts, .is_eager = true, .room = 1'000'000, .most_steps = 5'000}, *this);
    machine_ = &machine;
    run_end const end = machine.run([&](rank_t rank) {
      channel_type channel(machine, rank);
      Map map(channel, options_);
      at(rank).map = &map;
      if (map.is_client()) act(rank);
      map.serve();
    });
    if (end == run_end::deadlock) return "all ranks wait";
    if (end == run_end::endless) return "the run does not end";
    if (is_wrong_) return check_linearizable(with_pending()).text;
    if (rules_.records && end == run_end::done) record();
    if (is_linearizable || end != run_end::done) return "";
    fingerprint results;
    for (core const& c : cores_) results.add(c.results.value());
    if (!right_.insert(results.value()).second) return "";
    auto const verdict = check_sequentially_consistent(seen_);
    return verdict.right ? "" : verdict.text;
  }
  /// Goes to the next path. Returns false if there is none.
  bool next() {
    while (!path_.empty()) {
      if (++path_.back().taken < path_.back().open.size()) return true;
      path_.pop_back();
    }
    return false;
  }

  // What a client does

  void act(rank_t rank) {
    core& mine = at(rank);
    std::size_t const client = static_cast<std::size_t>(rank - first_client_);
    for (; mine.calls < length_of(client); ++mine.calls) {
      mine.may_call = true;
      machine_->step(rank);
      mine.may_call = false;
      call(rank, mine.chosen);
    }
    machine_->poll(rank);  // a handler that waits in a meeting runs for later messages only
    machine_->meet(rank, programs_.clients);
    for (int key = 0; key < programs_.keys; ++key) call(rank, {small_call::lookup, key, 0});
  }
  void call(rank_t rank, small_call const what) {
    core& mine = at(rank);
    std::size_t const client = static_cast<std::size_t>(rank - first_client_);
    mine.since_call = fingerprint().add(what.what).add(what.key).add(what.value);
    mine.is_calling = true;
    auto const begin = machine_->calls();
    mine.begin = begin;
    if (mine.calls < length_of(client))  // the order of the lookups at the end does not matter
      for (life const& other : lived_) lived_[client].before.push_back(other.results.size());
    if constexpr (is_linearizable) check_.calls(client, what);
    std::optional<int> found;
    bool is_done = true;
    if (what.what == small_call::lookup)
      found = mine.map->lookup(what.key);
    else
      is_done = change(*mine.map, what);
    mine.is_calling = false;
    int const result = found.value_or(0);
    lived_[client].results.push_back(is_done ? result : -1);
    if constexpr (!is_linearizable) mine.results.add(what.what).add(what.key).add(what.value).add(result);
    auto const end = machine_->returns();
    if (is_done) {
      seen_.add(rank, operation_of(what), small_map::result(found), begin, end);
    }
    if constexpr (is_linearizable)
      if (is_done ? !check_.returns(client, result) : !check_.gives_up(client)) is_wrong_ = true;
  }
  /// Whether all results are known, or all clients have met and no message can change what they look up.
  [[nodiscard]] bool ends_order(std::span<machine_event const> enabled) const {
    return std::all_of(lived_.begin(), lived_.end(),
                       [](life const& l) { return l.results.size() == l.all; }) ||
           (have_met_ && std::none_of(enabled.begin(), enabled.end(),
                                      [](auto const& e) { return e.what == machine_event::deliver; }));
  }
  void record() {
    std::vector<int> results;
    std::vector<std::size_t> before;
    for (life const& l : lived_) {
      // Late lookups at the end depend on an order that does not matter.
      auto const some = l.results.size() - (is_linearizable ? 0 : static_cast<std::size_t>(programs_.keys));
      results.insert(results.end(), l.results.begin(), l.results.begin() + static_cast<std::ptrdiff_t>(some));
      before.insert(before.end(), l.before.begin(), l.before.end());
    }
    histories_[results].insert(before);
  }
  static small_map::operation operation_of(small_call const& what) {
    if (what.what == small_call::lookup) return small_map::lookup(what.key);
    if (what.what == small_call::erase) return small_map::erase(what.key);
    return small_map::update(what.key, what.value);
  }
  /// The history so far, with the operations that have not returned.
  [[nodiscard]] pgas::histories::history<small_map> with_pending() const {
    auto all = seen_;
    for (std::size_t rank = 0; rank < cores_.size(); ++rank)
      if (cores_[rank].is_calling)
        all.add_pending(static_cast<int>(rank), operation_of(cores_[rank].chosen), cores_[rank].begin);
    return all;
  }
  /// Updates or erases. Returns false if the map had to give up: nobody waits for a while on an eager
  /// machine.
  static bool change(Map& map, small_call const& what) {
    if constexpr (requires { map.try_erase(what.key); }) {
      return what.what == small_call::update ? map.try_update(what.key, what.value) : map.try_erase(what.key);
    } else {
      if (what.what == small_call::update)
        map.update(what.key, what.value);
      else
        map.erase(what.key);
      return true;
    }
  }

  // States

  /// The part of a core: its part of the map, and its inbox.
  std::uint64_t part(rank_t rank) {
    fingerprint all;
    all.add(*at(rank).map);
    add_inbox(*machine_, rank, all);
    return all.value();
  }
  std::uint64_t state(std::span<machine_event const> enabled) {
    fingerprint all;
    for (rank_t rank = 0; rank < static_cast<rank_t>(cores_.size()); ++rank) {
      core const& c = at(rank);
      all.add(c.calls).add(c.is_calling).add(c.is_calling ? c.since_call.value() : 0).add(part(rank));
      if constexpr (!is_linearizable) all.add(c.results.value());
      add_messages(*machine_, rank, all);
    }
    if constexpr (is_linearizable) check_.add_to(all);
    for (life const& l : lived_) all.add(l.results.size());
    if (rules_.records)
      for (life const& l : lived_) all.add(l.results).add(l.before);
    if (!rules_.leaves_out) return all.value();
    // The events that may follow the last ones.
    for (past const& call : calls_) all.add(call.event.core);
    all.add(quiet_);
    for (machine_event const& e : enabled)
      all.add(depends_on_all_calls(e)).add(at(e.core).is_calling && depends_on_any(recent_, e));
    return all.value();
  }

  // Which events may follow

  [[nodiscard]] bool hears_one_server() const {
    bool const is_dedicated = options_.servers.where == pgas::placement::dedicated;
    return !requires_replicas && is_dedicated && options_.servers.number == 1;
  }
  /// Whether calls send messages to other clients, so that one event may depend on two calls.
  [[nodiscard]] bool is_without_servers() const {
    return options_.servers.number == pgas::map_servers::chosen;
  }
  static bool depends(machine_event const& e, past const& on) {
    if (e.core == on.event.core) return true;
    if (e.what != machine_event::deliver || e.from != on.event.core) return false;
    return std::find(on.enabled.begin(), on.enabled.end(), e) == on.enabled.end();
  }
  /// Whether an event depends on one of these; always, if there is none.
  static bool depends_on_any(std::vector<past> const& some, machine_event const& e) {
    return some.empty() ||
           std::any_of(some.begin(), some.end(), [&](past const& p) { return depends(e, p); });
  }
  [[nodiscard]] bool depends_on_all_calls(machine_event const& e) const {
    return std::all_of(calls_.begin(), calls_.end(), [&](past const& p) { return depends(e, p); });
  }
  [[nodiscard]] bool is_client(rank_t rank) const { return rank >= first_client_; }
  /// Whether nothing is left but messages to clients, none of them to the core of the last one.
  [[nodiscard]] bool are_quiet_to_the_end(std::span<machine_event const> enabled) const {
    return std::all_of(enabled.begin(), enabled.end(), [&](machine_event const& e) {
      return e.what == machine_event::deliver && is_client(e.core) && e.core != *quiet_;
    });
  }
  node open(std::span<machine_event const> enabled) {
    node next;
    if (rules_.leaves_out && hears_one_server())
      for (machine_event const& e : enabled)
        if (e.what == machine_event::deliver && at(e.core).is_calling) return {{{e, {}}}, 0, false};
    // A call from which no message and no event on its core follows waits for others.
    next.waives = calls_.size() == 1 && std::none_of(enabled.begin(), enabled.end(),
                                                     [&](auto const& e) { return depends_on_all_calls(e); });
    next.waives = next.waives || !rules_.leaves_out;
    bool const must_stay = quiet_ && !are_quiet_to_the_end(enabled);
    for (machine_event const& e : enabled) {
      if (must_stay && e.core != *quiet_) continue;
      core const& c = at(e.core);
      bool const is_call = e.what == machine_event::resume && c.may_call;
      if (!next.waives && !depends_on_all_calls(e) && !(is_call && is_without_servers())) continue;
      if (!is_call) {
        next.open.push_back({e, {}});
        continue;
      }
      std::size_t const client = static_cast<std::size_t>(e.core - first_client_);
      if (!programs_.of.empty()) {
        next.open.push_back({e, programs_.of[client][c.calls]});
        continue;
      }
      bool const is_first = path_.empty();
      if (is_first && client != 0) continue;
      int const value = static_cast<int>(client * programs_.length + c.calls) + 1;
      for (int key = 0; key < (is_first ? 1 : programs_.keys); ++key) {
        next.open.push_back({e, {small_call::lookup, key, 0}});
        next.open.push_back({e, {small_call::update, key, value}});
        next.open.push_back({e, {small_call::erase, key, 0}});
      }
    }
    return next;
  }

  programs_of programs_;
  pgas::map_on_options options_;
  search_rules rules_;
  ended_histories histories_;
  std::vector<life> lived_;  ///< of each client
  std::vector<node> path_;
  std::unordered_set<std::uint64_t> known_;
  std::unordered_set<std::uint64_t> right_;  ///< results that are sequentially consistent

  // Of a run
  adversarial_machine* machine_ = nullptr;
  std::vector<core> cores_;
  rank_t first_client_ = 0;
  running_check check_;
  pgas::histories::history<small_map> seen_;
  std::size_t depth_ = 0;
  std::optional<past> last_;     ///< the event that happens now
  std::vector<past> recent_;     ///< the last event that does not only return, and those behind it
  std::vector<past> calls_;      ///< the last events, as far as they only call
  std::optional<rank_t> quiet_;  ///< the core where the last message had no effect elsewhere
  std::uint64_t messages_ = 0;   ///< that were sent before the event
  bool follows_ = false;         ///< the event depends on a recent one
  bool is_covered_ = false;      ///< the order is less strict than another one
  bool is_wrong_ = false;
  bool is_over_ = false;   ///< the order does not matter any more
  bool have_met_ = false;  ///< the clients, at the end of their programs
};

}  // namespace pgas_test
