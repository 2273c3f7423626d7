// SPDX-License-Identifier: BSL-1.0
// A channel whose adversary decides when a core goes on, when a message arrives and when a handler runs.
// Cores are fibers of one thread, so a run is repeated by its decisions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/process/fiber.hpp>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace pgas_test {

using pgas::rank_t;
using pgas::word;

/// How a run of an adversarial machine ended.
enum class run_end {
  done,      ///< all cores returned
  deadlock,  ///< no core could go on, and no message was under way
  endless,   ///< the bound of steps was reached
  pruned     ///< the order equals one that has been covered
};

/// Something that may happen next on the machine.
struct machine_event {
  enum kind : std::uint8_t { resume, handle, deliver } what = resume;
  rank_t core = 0;  ///< the core on which it happens
  std::size_t queue = 0;
  rank_t from = 0;  ///< of a message

  friend bool operator==(machine_event const&, machine_event const&) = default;
};

/// What an event turned out to do: the calls and returns of operations that a history orders.
struct machine_effect {
  bool calls = false;
  bool returns = false;
  bool ends_order = false;  ///< from here on the order of events does not matter
};

/// Chooses the next event of a machine.
class adversary {
 public:
  virtual ~adversary() = default;
  /// The number of an event, or nothing to give the run up.
  virtual std::optional<std::size_t> choose(std::span<machine_event const> enabled) = 0;
  virtual void happened(machine_effect) {}
};

/// Chooses at random. Some cores and some ways are many times slower than others, differently for each seed.
class seeded_adversary final : public adversary {
 public:
  explicit seeded_adversary(std::uint64_t seed) : random_(seed), seed_(seed) {}
  std::optional<std::size_t> choose(std::span<machine_event const> enabled) override {
    weights_.clear();
    for (machine_event const& e : enabled) weights_.push_back(weight(e));
    std::uint64_t sum = 0;
    for (std::uint64_t const w : weights_) sum += w;
    std::uint64_t rest = random_() % sum;
    std::size_t chosen = 0;
    while (rest >= weights_[chosen]) rest -= weights_[chosen++];
    return chosen;
  }

 private:
  [[nodiscard]] std::uint64_t weight(machine_event const& e) const noexcept {
    std::uint64_t x = seed_ * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(e.core) * 1009 +
                      static_cast<std::uint64_t>(e.from) * 101 + e.queue * 11 + e.what;
    x = (x ^ (x >> 31U)) * 0xBF58476D1CE4E5B9U;
    return std::uint64_t{1} << (x >> 61U);
  }

  std::mt19937_64 random_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> weights_;
};

/// Lets all cores go on at the same speed: each that can takes a step, then all messages arrive.
class in_step final : public adversary {
 public:
  std::optional<std::size_t> choose(std::span<machine_event const> enabled) override {
    for (;;) {
      for (; next_ < round_.size(); ++next_) {
        auto const found = std::find(enabled.begin(), enabled.end(), round_[next_]);
        if (found == enabled.end()) continue;
        ++next_;
        return static_cast<std::size_t>(found - enabled.begin());
      }
      round_.assign(enabled.begin(), enabled.end());
      std::stable_sort(round_.begin(), round_.end(),
                       [](auto const& a, auto const& b) { return a.what < b.what; });
      next_ = 0;
    }
  }

 private:
  std::vector<machine_event> round_;
  std::size_t next_ = 0;
};

/// Chooses all orders, one in each run: depth first, and only one of several orders that differ in events
/// which do not depend on each other. Two events are independent if they happen on different cores, and not
/// one is a call and the other a return. A message is under way from its sender on, so a delivery needs
/// nothing else. Source: sleep sets (Godefroid 1996).
class all_orders final : public adversary {
 public:
  std::optional<std::size_t> choose(std::span<machine_event const> enabled) override {
    if (is_idle_) return 0;
    if (depth_ == path_.size()) {
      node next;
      next.sleeping = std::move(sleeping_);
      for (machine_event const& e : enabled)
        if (!sleeps(next.sleeping, e)) next.open.push_back(e);
      if (next.open.empty()) return std::nullopt;  // all orders from here on have been covered
      path_.push_back(std::move(next));
    }
    node& now = path_[depth_++];
    auto const found = std::find(enabled.begin(), enabled.end(), now.open[now.taken]);
    return static_cast<std::size_t>(found - enabled.begin());
  }
  void happened(machine_effect effect) override {
    if (is_idle_ || depth_ == 0) return;
    node& now = path_[depth_ - 1];
    now.effect = effect;
    is_idle_ = effect.ends_order;
    step const last{now.open[now.taken], effect};
    sleeping_.clear();
    for (step const& other : now.sleeping)
      if (are_independent(other, last)) sleeping_.push_back(other);
    for (step const& other : now.covered)
      if (are_independent(other, last)) sleeping_.push_back(other);
  }
  /// Goes to the next order. Returns false if there is none.
  bool next_order() {
    depth_ = 0;
    is_idle_ = false;
    sleeping_.clear();
    while (!path_.empty()) {
      node& last = path_.back();
      last.covered.push_back({last.open[last.taken], last.effect});
      if (++last.taken < last.open.size()) return true;
      path_.pop_back();
    }
    return false;
  }

 private:
  struct step {
    machine_event event;
    machine_effect effect;
  };
  struct node {
    std::vector<machine_event> open;  ///< the events to take
    std::size_t taken = 0;
    machine_effect effect;       ///< of the event that is taken
    std::vector<step> covered;   ///< events that were taken here
    std::vector<step> sleeping;  ///< events that were covered from an earlier place on
  };

  static bool sleeps(std::vector<step> const& all, machine_event const& e) {
    return std::any_of(all.begin(), all.end(), [&](step const& s) { return s.event == e; });
  }
  static bool are_independent(step const& a, step const& b) {
    bool const are_ordered = (a.effect.calls && b.effect.returns) || (a.effect.returns && b.effect.calls);
    return a.event.core != b.event.core && !are_ordered;
  }

  std::vector<node> path_;
  std::size_t depth_ = 0;
  std::vector<step> sleeping_;
  bool is_idle_ = false;  ///< the order does not matter any more
};

struct machine_options {
  bool interrupts = false;  ///< handlers may run wherever a core computes
  bool is_eager = false;    ///< a core goes on until it must wait, and handlers run as soon as they may
  std::size_t room = 118;   ///< the words of a queue, with those under way to it
  std::size_t most_steps = 100'000;  ///< a run with more is endless
};

/// Cores with queues, and messages under way between them.
class adversarial_machine {
 public:
  static constexpr std::size_t queues = 3;

  adversarial_machine(rank_t cores, machine_options options, adversary& choices)
      : options_(options), choices_(choices), cores_(static_cast<std::size_t>(cores)) {
    for (core& c : cores_) c.ways.resize(cores_.size() * queues);
  }

  /// Runs body(core) on each core. Rethrows the exception of a core.
  template <class Body>
  run_end run(Body const& body) {
    for (rank_t rank = 0; rank < size(); ++rank) {
      at(rank).runs = std::make_unique<pgas::detail::fiber>(stack(rank), [this, rank, &body] {
        try {
          body(rank);
        } catch (abandoned const&) {
        } catch (...) {
          if (!failure_) failure_ = std::current_exception();
        }
      });
    }
    run_end const end = schedule();
    is_abandoned_ = true;
    for (core& c : cores_)
      while (!c.runs->is_done()) c.runs->resume();
    if (failure_) std::rethrow_exception(failure_);
    return end;
  }

  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(cores_.size()); }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

  // What a core does

  /// The times of a call and of a return, for a history.
  std::int64_t calls() noexcept {
    effect_.calls = true;
    return ++clock_;
  }
  std::int64_t returns() noexcept {
    effect_.returns = true;
    return ++clock_;
  }

  void send(rank_t from, rank_t to, std::size_t queue, std::span<word const> message) {
    pass(from, true);
    wait(from, [&] { return at(to).words[queue] + message.size() <= options_.room; });
    at(to).words[queue] += message.size();
    ++messages_;
    auto& way = at(to).ways[static_cast<std::size_t>(from) * queues + queue];
    if (way.empty()) busy_.push_back({machine_event::deliver, to, queue, from});
    way.emplace_back(message.begin(), message.end());
  }
  pgas::received receive(rank_t rank, std::size_t queue, std::span<word> into) {
    pass(rank, true);
    auto& inbox = at(rank).inbox[queue];
    wait(rank, [&] { return !inbox.empty(); });
    return take(rank, queue, into);
  }
  std::optional<pgas::received> try_receive(rank_t rank, std::size_t queue, std::span<word> into) {
    pass(rank, true);
    if (at(rank).inbox[queue].empty()) return std::nullopt;
    return take(rank, queue, into);
  }
  void handle(rank_t rank, std::size_t queue, pgas::message_handler handler) {
    at(rank).handlers[queue] = std::move(handler);
  }
  /// Lets handlers run, and other cores, if the machine is not eager.
  void pass(rank_t rank, bool is_in_library) {
    if (options_.is_eager) {
      at(rank).in_library = is_in_library;
      if (!at(rank).is_handling)
        while (auto const queue = to_handle(rank)) run_handler(rank, *queue);
      at(rank).in_library = false;
    } else {
      wait_here(rank, is_in_library, [] { return true; });
    }
  }
  std::size_t poll(rank_t rank) {
    std::uint64_t const before = at(rank).handled;
    pass(rank, true);
    at(rank).in_library = true;
    while (auto const queue = to_handle(rank)) run_handler(rank, *queue);
    at(rank).in_library = false;
    return static_cast<std::size_t>(at(rank).handled - before);
  }
  void charge(rank_t rank) { pass(rank, false); }
  void hold(rank_t rank, int more) noexcept { at(rank).holds += more; }

  /// An operation begins, in an order that the adversary chooses.
  void step(rank_t rank) {
    wait_here(rank, false, [] { return true; });
  }
  /// Waits, in the library, until `all` cores have come here. From then on the order does not matter.
  void meet(rank_t rank, std::size_t all) {
    if (++met_ == all) effect_.ends_order = true;
    wait(rank, [this, all] { return met_ >= all; });
  }
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

 private:
  struct abandoned {};
  struct parcel {
    rank_t from;
    std::vector<word> words;
  };
  struct core {
    std::unique_ptr<pgas::detail::fiber> runs;
    std::function<bool()> may_go_on = [] { return true; };
    bool in_library = false;
    bool may_leave_wait = false;  ///< false where only handlers run
    bool is_handling = false;
    int holds = 0;
    std::optional<std::size_t> told_to_handle;
    std::array<pgas::message_handler, queues> handlers;
    std::array<std::deque<parcel>, queues> inbox;
    std::array<std::size_t, queues> words{};          ///< of the inbox, and under way to it
    std::vector<std::deque<std::vector<word>>> ways;  ///< by sender and queue
    std::uint64_t handled = 0;
  };

  static pgas::detail::fiber_stack stack(rank_t rank) {
    constexpr std::size_t bytes = 256 * 1024;
    static std::vector<std::unique_ptr<std::byte[]>> all;
    while (all.size() <= static_cast<std::size_t>(rank))
      all.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    return pgas::detail::fiber_stack::part_of({all[static_cast<std::size_t>(rank)].get(), bytes});
  }

  core& at(rank_t rank) { return cores_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] std::optional<std::size_t> to_handle(rank_t rank) {
    core const& c = at(rank);
    if (c.holds > 0 || c.is_handling || !(c.in_library || options_.interrupts)) return std::nullopt;
    for (std::size_t queue = 0; queue < queues; ++queue)
      if (c.handlers[queue] && !c.inbox[queue].empty()) return queue;
    return std::nullopt;
  }

  run_end schedule() {
    std::vector<machine_event> enabled;
    for (;; ++steps_) {
      if (failure_) return run_end::done;
      if (steps_ > options_.most_steps) return run_end::endless;
      enabled.clear();
      bool all_done = true;
      for (rank_t rank = 0; rank < size(); ++rank) {
        core& c = at(rank);
        if (!c.runs->is_done()) {
          all_done = false;
          if (c.may_go_on()) enabled.push_back({machine_event::resume, rank});
          if (!options_.is_eager && !c.is_handling && c.holds == 0 && (c.in_library || options_.interrupts))
            for (std::size_t queue = 0; queue < queues; ++queue)
              if (c.handlers[queue] && !c.inbox[queue].empty())
                enabled.push_back({machine_event::handle, rank, queue});
        }
      }
      enabled.insert(enabled.end(), busy_.begin(), busy_.end());
      if (all_done) return run_end::done;
      if (enabled.empty()) return run_end::deadlock;
      auto const chosen = choices_.choose(enabled);
      if (!chosen) return run_end::pruned;
      effect_ = {};
      happen(enabled[*chosen]);
      choices_.happened(effect_);
    }
  }
  void happen(machine_event e) {
    core& c = at(e.core);
    if (e.what == machine_event::deliver) {
      auto& way = c.ways[static_cast<std::size_t>(e.from) * queues + e.queue];
      c.inbox[e.queue].push_back({e.from, std::move(way.front())});
      way.pop_front();
      if (way.empty()) std::erase(busy_, e);
      // An eager core goes on at once with what the message allows.
      if (!options_.is_eager || c.runs->is_done()) return;
      c.may_leave_wait = c.in_library;
      if ((c.in_library && c.may_go_on()) || to_handle(e.core)) c.runs->resume();
      return;
    }
    if (e.what == machine_event::handle) c.told_to_handle = e.queue;
    c.may_leave_wait = true;
    c.runs->resume();
  }
  /// Waits in the library until a condition holds.
  template <class Condition>
  void wait(rank_t rank, Condition condition) {
    if (!condition()) wait_here(rank, true, condition);
  }
  template <class Condition>
  void wait_here(rank_t rank, bool is_in_library, Condition condition) {
    core& c = at(rank);
    bool const was_in_library = c.in_library;
    auto const before = std::move(c.may_go_on);
    do {
      c.may_go_on = condition;
      c.in_library = is_in_library;
      if (is_abandoned_) throw abandoned{};
      c.runs->suspend();
      if (is_abandoned_) throw abandoned{};
      if (auto const queue = std::exchange(c.told_to_handle, std::nullopt)) {
        run_handler(rank, *queue);
        continue;
      }
      if (options_.is_eager)
        while (auto const next = to_handle(rank)) run_handler(rank, *next);
      if (c.may_leave_wait && condition()) break;
    } while (true);
    c.may_go_on = before;
    c.in_library = was_in_library;
  }
  void run_handler(rank_t rank, std::size_t queue) {
    core& c = at(rank);
    parcel const first = std::move(c.inbox[queue].front());
    c.inbox[queue].pop_front();
    c.words[queue] -= first.words.size();
    ++c.handled;
    auto const handler = c.handlers[queue];  // it may replace itself
    bool const was_in_library = std::exchange(c.in_library, false);
    c.is_handling = true;
    handler(first.from, first.words);
    c.is_handling = false;
    c.in_library = was_in_library;
  }
  pgas::received take(rank_t rank, std::size_t queue, std::span<word> into) {
    core& c = at(rank);
    parcel const first = std::move(c.inbox[queue].front());
    c.inbox[queue].pop_front();
    c.words[queue] -= first.words.size();
    std::copy(first.words.begin(), first.words.end(), into.begin());
    return {first.from, first.words.size()};
  }

  machine_options options_;
  adversary& choices_;
  std::vector<core> cores_;
  std::vector<machine_event> busy_;  ///< the ways on which messages are
  std::exception_ptr failure_;
  bool is_abandoned_ = false;
  std::size_t met_ = 0;
  std::size_t steps_ = 0;
  std::int64_t clock_ = 0;
  std::uint64_t messages_ = 0;
  machine_effect effect_;
};

/// A core's end of the channel of an adversarial machine.
template <bool Interrupts>
class adversarial_channel {
 public:
  static constexpr std::size_t queues = adversarial_machine::queues;
  static constexpr std::size_t most_words = 24;
  static constexpr bool interrupts = Interrupts;

  adversarial_channel(adversarial_machine& machine, rank_t rank) : machine_(&machine), rank_(rank) {}

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return machine_->size(); }
  void send(rank_t to, std::size_t queue, std::span<word const> message) {
    machine_->send(rank_, to, queue, message);
  }
  void multicast(std::span<rank_t const> to, std::size_t queue, std::span<word const> message) {
    for (rank_t const each : to) send(each, queue, message);
  }
  pgas::received receive(std::size_t queue, std::span<word> into) {
    return machine_->receive(rank_, queue, into);
  }
  std::optional<pgas::received> try_receive(std::size_t queue, std::span<word> into) {
    return machine_->try_receive(rank_, queue, into);
  }
  void handle(std::size_t queue, pgas::message_handler handler) {
    machine_->handle(rank_, queue, std::move(handler));
  }
  std::size_t poll() { return machine_->poll(rank_); }
  class held {
   public:
    explicit held(adversarial_channel& channel) : channel_(&channel) {
      channel.machine_->hold(channel.rank_, 1);
    }
    held(held const&) = delete;
    held& operator=(held const&) = delete;
    ~held() { channel_->machine_->hold(channel_->rank_, -1); }

   private:
    adversarial_channel* channel_;
  };
  [[nodiscard]] held hold() { return held(*this); }
  void charge(std::uint64_t /*cycles*/) { machine_->charge(rank_); }

 private:
  adversarial_machine* machine_;
  rank_t rank_;
};

static_assert(pgas::channel<adversarial_channel<false>>);
static_assert(pgas::channel<adversarial_channel<true>>);

}  // namespace pgas_test
