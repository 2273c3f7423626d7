// SPDX-License-Identifier: BSL-1.0
// Every protocol calls its boundary at the right moments; a recording boundary and a recording control show
// when. The promise: publish(targets) comes immediately before the first signal to those targets, and
// refresh(targets) immediately after their signal was seen. Each is called exactly once, and only the
// protocol calls a coherence policy.
// test: only addresses, each way, unit window
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/models.hpp"

namespace {

using pgas::everyone_t;
using pgas::group;
using pgas::rank_t;
using pgas::waiting_for;
using pgas::word;

/// The calls of a protocol, in order: "publish 1 2", "signal 1", "seen 2", "refresh all", ...
using record = std::vector<std::string>;

/// Control words of one rank alone. A store to another rank is recorded as a signal; a wait returns a value
/// that satisfies it. A message is a signal, too; a wait receives `next_seen` from the ranks that it awaits,
/// and a poll `next_slot_load` from each rank.
class recording_control {
 public:
  struct office_type {
    recording_control* of;
    pgas::message_receiver receiver{};
    std::size_t open(pgas::message_receiver r) { return receiver = r, 0; }
    void close(std::size_t) { receiver = {}; }
    bool try_send(rank_t to, std::size_t, word) const {
      return of->log->push_back("signal " + std::to_string(to)), true;
    }
    void send_later(rank_t to, std::size_t line, word message) const {
      static_cast<void>(try_send(to, line, message));
    }
    void poll() const {
      for (rank_t from = 0; from < of->size() && of->next_slot_load != 0; ++from)
        receiver.receive(receiver.state, from, of->next_slot_load);
    }
    static bool expect(rank_t, int) { return false; }
    static void will_send(rank_t) {}
  };
  struct slot_type {
    recording_control* of;
    rank_t owner;
    rank_t writer;
    [[nodiscard]] word load(std::memory_order) const { return of->next_slot_load; }
    void store(word, std::memory_order) const { of->log->push_back("signal " + std::to_string(owner)); }
  };
  struct cell_type : pgas::detail::refuses_store {
    cell_type(recording_control* c, rank_t o) : of(c), owner(o) {}
    recording_control* of;
    rank_t owner;
    [[nodiscard]] word load(std::memory_order) const { return of->next_load; }
    word fetch_add(word, std::memory_order) const { return signal(); }
    word fetch_xor(word, std::memory_order) const { return signal(); }
    word exchange(word, std::memory_order) const { return signal(); }
    bool compare_exchange(word&, word, std::memory_order) const { return signal(), true; }
    void reset_unshared(word, std::memory_order order) const {
      if (order != std::memory_order_relaxed) static_cast<void>(signal());
    }
    word signal() const {
      of->log->push_back("signal " + std::to_string(owner));
      return 0;
    }
  };
  static constexpr pgas::rmw read_modify_write = pgas::rmw::native;
  static constexpr bool can_park = false;

  recording_control(record& l, rank_t self, rank_t size) : log(&l), self_(self), size_(size) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }
  office_type& office() noexcept { return office_; }
  slot_type slot(rank_t owner, std::size_t, rank_t writer) { return {this, owner, writer}; }
  cell_type cell(rank_t owner, std::size_t) { return {this, owner}; }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word, Predicate&& predicate, waiting_for const& why) {
    std::string seen = "seen";
    for (rank_t rank : why.awaited) seen += " " + std::to_string(rank);
    log->push_back(seen);
    for (rank_t rank : why.awaited) {
      if (office_.receiver.receive == nullptr) break;
      office_.receiver.receive(office_.receiver.state, rank, next_seen);
      if (predicate(0)) return 0;
    }
    // The word itself tells the protocol only that some value satisfies the wait.
    for (word w = next_seen; w < 300; ++w) {
      if (predicate(w)) return w;
      if (predicate(word{1} << (w % 64))) return word{1} << (w % 64);
      if (predicate(w << 32U)) return w << 32U;
    }
    throw std::logic_error("no value satisfies the protocol");
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word>, Predicate&&, waiting_for const& why) {
    std::string seen = "seen";
    for (rank_t rank : why.awaited) seen += " " + std::to_string(rank);
    log->push_back(seen);
    return 0;
  }
  void pause(unsigned, waiting_for const&) {}

  record* log;
  word next_load = 0;
  word next_slot_load = 0;
  word next_seen = 0;  // the least value that a wait returns

 private:
  rank_t self_;
  rank_t size_;
  office_type office_{this};
};
static_assert(pgas::mailing_control<recording_control>);

/// The same, where few of the ranks can run at once.
class crowded_control : public recording_control {
 public:
  crowded_control(record& l, rank_t size, rank_t at_once)
      : recording_control(l, 1, size), at_once_(at_once) {}
  [[nodiscard]] rank_t most_at_once() const noexcept { return at_once_; }

 private:
  rank_t at_once_;
};
static_assert(pgas::control_of_cores<crowded_control>);

/// A fault of a protocol: it forgets, doubles or delays a call of its boundary.
enum class fault { none, no_publish, no_refresh, publish_late, publish_twice, refresh_twice, refresh_early };

/// Records the calls of a protocol. With a fault it records those that a protocol with the fault would make.
struct recording_boundary {
  record* log;
  fault injected = fault::none;
  record late{};  ///< the delayed calls

  void publish(group targets) { publish_as(noted("publish", targets), noted("refresh", targets)); }
  void publish(everyone_t) { publish_as("publish all", "refresh all"); }
  void refresh(group targets) { refresh_as(noted("refresh", targets)); }
  void refresh(everyone_t) { refresh_as("refresh all"); }

  /// Records the delayed calls. A call of a protocol that signals has ended.
  void catch_up() {
    log->insert(log->end(), late.begin(), late.end());
    late.clear();
  }

 private:
  static std::string noted(std::string text, group targets) {
    for (rank_t target : targets) text += " " + std::to_string(target);
    return text;
  }
  void publish_as(std::string const& text, std::string const& refresh) {
    if (injected == fault::no_publish) return;
    if (injected == fault::publish_late) {
      late = {text};
      return;
    }
    if (injected == fault::refresh_early) log->push_back(refresh);
    log->push_back(text);
    if (injected == fault::publish_twice) log->push_back(text);
  }
  void refresh_as(std::string const& text) {
    if (injected == fault::no_refresh || injected == fault::refresh_early) return;
    log->push_back(text);
    if (injected == fault::refresh_twice) log->push_back(text);
  }
};
static_assert(pgas::boundary<recording_boundary>);

bool starts(std::string const& text, std::string_view with) { return text.starts_with(with); }
std::size_t count(record const& r, std::string_view what) {
  return static_cast<std::size_t>(
      std::count_if(r.begin(), r.end(), [&](auto const& e) { return starts(e, what); }));
}
std::size_t first(record const& r, std::string_view what) {
  return static_cast<std::size_t>(
      std::find_if(r.begin(), r.end(), [&](auto const& e) { return starts(e, what); }) - r.begin());
}
std::size_t last(record const& r, std::string_view what) {
  std::size_t found = r.size();
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (starts(r[i], what)) found = i;
  }
  return found;
}
std::string names(std::string text, std::vector<rank_t> const& ranks) {
  for (rank_t rank : ranks) text += " " + std::to_string(rank);
  return text;
}

// The promises as functions: each returns the fault of a record, or an empty string.

std::string wrong_fence(record const& r, rank_t size) {
  if (count(r, "publish all") != 1 || r.empty() || r.front() != "publish all")
    return "publish everything, once, first";
  if (count(r, "refresh all") != 1 || r.back() != "refresh all") return "refresh everything, once, last";
  if (count(r, "publish") != 1 || count(r, "refresh") != 1) return "no other call of the boundary";
  if (size > 1 && (count(r, "signal") == 0 || count(r, "seen") == 0)) return "send a signal and see one";
  return {};
}

/// The side that signals: publish to the group directly before the first signal, then one signal to each.
std::string wrong_signals(record const& r, std::vector<rank_t> const& targets) {
  if (count(r, "publish") != 1) return "publish once";
  if (r[first(r, "publish")] != names("publish", targets)) return "publish to the group";
  if (!targets.empty() && first(r, "signal") != first(r, "publish") + 1)
    return "publish immediately before the first signal";
  for (rank_t target : targets) {
    if (std::count(r.begin(), r.end(), "signal " + std::to_string(target)) != 1)
      return "signal each target once";
  }
  if (count(r, "signal") != targets.size()) return "signal no other rank";
  return {};
}

/// The side that is signalled: refresh directly after the last of the signals was seen.
std::string wrong_refresh(record const& r, std::vector<rank_t> const& from) {
  if (count(r, "refresh") != 1 || r.back() != names("refresh", from)) return "refresh the group, once, last";
  if (count(r, "publish") != 0 || count(r, "signal") != 0) return "no publish and no signal";
  if (from.empty() && count(r, "seen") == 0) return {};  // the group is empty
  if (last(r, "seen") + 1 != r.size() - 1) return "refresh immediately after the signals were seen";
  return {};
}

template <class Protocol>
std::string wrong_as_fence(rank_t self, rank_t size, fault injected = fault::none) {
  record r;
  recording_control c(r, self, size);
  recording_boundary b{&r, injected};
  typename Protocol::template on<recording_control> p(c, {});
  for (int round = 0; round < 3; ++round) {
    r.clear();
    p.fence(b, "fence");
    b.catch_up();
    if (auto wrong = wrong_fence(r, size); !wrong.empty()) return wrong;
  }
  return {};
}

template <class Protocol>
std::string wrong_as_post(rank_t self, rank_t size, fault injected = fault::none) {
  std::vector<std::vector<rank_t>> groups{{}, {0}, {self}};
  std::vector<rank_t> all;
  for (rank_t rank = 0; rank < size; ++rank) all.push_back(rank);
  groups.push_back(all);
  std::reverse(all.begin(), all.end());
  groups.push_back(all);

  record r;
  recording_control c(r, self, size);
  recording_boundary b{&r, injected};
  auto const fresh = [&] { return typename Protocol::template on<recording_control>(c, {}); };
  constexpr bool by_messages = std::is_same_v<Protocol, pgas::sync::post_messages>;
  constexpr bool waits_in_start = Protocol::name.starts_with("immediate");
  constexpr word completion = by_messages ? 9 : 1;  // the kind of the first message: its sender has completed
  for (auto const& g : groups) {
    {  // post, then wait
      auto p = fresh();
      r.clear();
      p.post(g, b);
      b.catch_up();
      if (auto wrong = wrong_signals(r, g); !wrong.empty()) return "post: " + wrong;
      if (count(r, "refresh") != 0 || count(r, "seen") != 0) return "post: does not wait";
      r.clear();
      if (by_messages || pgas::is_mailed<Protocol>) c.next_seen = completion;
      p.wait(g, b);
      c.next_seen = 0;
      if (auto wrong = wrong_refresh(r, g); !wrong.empty()) return "wait: " + wrong;
    }
    {  // post, then test until it returns true
      auto p = fresh();
      p.post(g, b);
      b.catch_up();
      r.clear();
      if (!g.empty()) {
        if (p.test(g, b)) return "test: returns false before all origins have completed";
        if (!r.empty()) return "test: has no effect when it returns false";
      }
      // Completions as a counter holds them, or as one bit, word or message for each origin.
      c.next_load = std::is_same_v<Protocol, pgas::sync::two_vectors> ? ~word{0} : g.size();
      c.next_slot_load = completion;
      if (!p.test(g, b)) return "test: returns true when all origins have completed";
      c.next_load = 0;
      c.next_slot_load = 0;
      if (r != record{names("refresh", g)}) return "test: refreshes the group once when it returns true";
    }
    for (bool const triggers : {false, true}) {  // start, maybe trigger, complete
      auto p = fresh();
      r.clear();
      p.start(g, b, pgas::exposure_state::awaited);
      record met;
      for (rank_t target : g) {
        met.push_back(names("seen", {target}));
        met.push_back(names("refresh", {target}));
      }
      if (waits_in_start ? r != met : !r.empty())
        return "start: sends no signal; or waits for each target, then refreshes it";
      if (triggers) {
        for (rank_t target : g) {
          r.clear();
          p.trigger(target, b, pgas::exposure_state::awaited);
          if (!waits_in_start && r != record{names("seen", {target}), names("refresh", {target})})
            return "trigger: waits for the target, then refreshes it";
          if (waits_in_start && !r.empty()) return "trigger: once an epoch";
          r.clear();
          p.trigger(target, b, pgas::exposure_state::awaited);
          if (!r.empty()) return "trigger: once an epoch";
        }
      }
      r.clear();
      p.complete(g, b, pgas::exposure_state::awaited);
      b.catch_up();
      if (auto wrong = wrong_signals(r, g); !wrong.empty()) return "complete: " + wrong;
      if (count(r, "refresh") != 0) return "complete: no refresh";
      bool const all_met = triggers || waits_in_start;
      if (count(r, "seen") != (all_met ? 0 : g.size())) return "complete: waits for the targets not met yet";
      if (!all_met && !g.empty() && last(r, "seen") > first(r, "publish"))
        return "complete: waits before it publishes";
    }
  }
  return {};
}

template <class Protocol>
std::string wrong_as_lock(rank_t self, rank_t size, fault injected = fault::none) {
  record r;
  recording_control c(r, self, size);
  if constexpr (pgas::is_mailed<Protocol>) c.next_seen = 6;  // yes
  recording_boundary b{&r, injected};
  typename Protocol::template on<recording_control> p(c, {});
  for (int round = 0; round < 2; ++round) {
    r.clear();
    p.lock_all(b);
    for (rank_t target = 0; target < size; ++target) {
      p.trigger(target, b);
      p.trigger(target, b);
      std::string const one = "refresh " + std::to_string(target);
      if (count(r, "refresh all") + static_cast<std::size_t>(std::count(r.begin(), r.end(), one)) != 1)
        return "lock_all and trigger refresh each part once";
      if (first(r, "signal " + std::to_string(target)) < r.size() &&
          first(r, "signal " + std::to_string(target)) > first(r, one))
        return "trigger refreshes a part after it has locked it";
    }
    if (count(r, "publish") != 0) return "lock_all publishes nothing";
    r.clear();
    p.unlock_all(b);
    b.catch_up();
    if (count(r, "publish all") != 1 || r.front() != "publish all" || count(r, "refresh") != 0)
      return "unlock_all publishes everything, first";
    if constexpr (pgas::target_lock_protocol<Protocol>) {
      for (auto const kind : {pgas::lock_kind::shared, pgas::lock_kind::exclusive}) {
        rank_t const target = size - 1;
        bool const signals = !pgas::is_mailed<Protocol> || target != self;
        r.clear();
        if (round == 0) {
          pgas_test::hold(p, target, kind, b);
        } else if (!p.try_lock(target, kind, b)) {
          return "try_lock takes a free lock";
        }
        if (count(r, "refresh") != 1 || r.back() != "refresh " + std::to_string(target) ||
            count(r, "publish") != 0 || (count(r, "signal " + std::to_string(target)) != 0) != signals)
          return "lock refreshes its part, last";
        r.clear();
        p.unlock(target, kind, b);
        b.catch_up();
        if (count(r, "publish") != 1 || r.front() != "publish " + std::to_string(target) ||
            count(r, "refresh") != 0 || (count(r, "signal " + std::to_string(target)) != 0) != signals)
          return "unlock publishes its part, first";
      }
    }
  }
  return {};
}

template <class Protocols, class Check>
void each(Check const& check) {
  std::apply(
      [&](auto... protocol) {
        for (rank_t size : {1, 2, 3, 7, 65}) {
          for (rank_t self : {0, size / 2, size - 1}) (check(protocol, self, size), ...);
        }
      },
      Protocols{});
}

/// Calls is_caught(protocol, fault) for each protocol and each fault.
template <class Protocols, class IsCaught>
void each_fault(IsCaught const& is_caught) {
  for (auto const wrong : {fault::no_publish, fault::no_refresh, fault::publish_late, fault::publish_twice,
                           fault::refresh_twice, fault::refresh_early}) {
    std::apply([&](auto... protocol) { (is_caught(protocol, wrong), ...); }, Protocols{});
  }
}

}  // namespace

TEST_CASE(
    "every fence protocol publishes to all before its first signal and refreshes after the last signal it "
    "sees") {
  each<pgas_test::fence_protocols>([]<class Protocol>(Protocol, rank_t self, rank_t size) {
    CHECK_MESSAGE(wrong_as_fence<Protocol>(self, size) == "", Protocol::name, " on rank ", self, " of ",
                  size);
  });
}

TEST_CASE(
    "every post protocol publishes to a group before its first signal and refreshes after it has seen the "
    "group's "
    "signals") {
  each<pgas_test::post_protocols>([]<class Protocol>(Protocol, rank_t self, rank_t size) {
    CHECK_MESSAGE(wrong_as_post<Protocol>(self, size) == "", Protocol::name, " on rank ", self, " of ", size);
  });
}

TEST_CASE(
    "every lock protocol refreshes when a rank gets the lock and publishes before the rank releases it") {
  each<pgas_test::lock_protocols>([]<class Protocol>(Protocol, rank_t self, rank_t size) {
    CHECK_MESSAGE(wrong_as_lock<Protocol>(self, size) == "", Protocol::name, " on rank ", self, " of ", size);
  });
}

TEST_CASE("a fence protocol that forgets, doubles or delays a call of its boundary is detected") {
  each_fault<pgas_test::fence_protocols>([]<class Protocol>(Protocol, fault wrong) {
    CHECK_MESSAGE(wrong_as_fence<Protocol>(1, 3, wrong) != "", Protocol::name);
  });
}

TEST_CASE("a post protocol that forgets, doubles or delays a call of its boundary is detected") {
  each_fault<pgas_test::post_protocols>([]<class Protocol>(Protocol, fault wrong) {
    CHECK_MESSAGE(wrong_as_post<Protocol>(1, 3, wrong) != "", Protocol::name);
  });
}

TEST_CASE("a lock protocol that forgets or doubles a call of its boundary is detected") {
  each_fault<pgas_test::lock_protocols>([]<class Protocol>(Protocol, fault wrong) {
    // The unlock_all of a protocol that has only lock_all sends no signal, so no publish is late.
    if (wrong == fault::publish_late && !pgas::target_lock_protocol<Protocol>) return;
    CHECK_MESSAGE(wrong_as_lock<Protocol>(1, 3, wrong) != "", Protocol::name);
  });
}

TEST_CASE("by_size: of many ranks on few cores each signals once, and on many cores once a round") {
  using protocol = pgas::sync::by_size<pgas::sync::central_counter, pgas::sync::dissemination, 16>;
  auto const signals = [](rank_t ranks, rank_t at_once) {
    record r;
    crowded_control c(r, ranks, at_once);
    typename protocol::template on<crowded_control> p(c, {});
    pgas::no_boundary nothing;
    p.fence(nothing, "fence");
    return std::count_if(r.begin(), r.end(), [](std::string const& s) { return s.starts_with("signal"); });
  };
  CHECK(signals(64, 2) == 1);
  CHECK(signals(64, 16) == 1);
  CHECK(signals(64, 17) == 6);
  CHECK(signals(64, 64) == 6);
  CHECK(signals(16, 16) == 1);
}
