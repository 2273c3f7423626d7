// SPDX-License-Identifier: BSL-1.0
// Messengers, which hold a bounded number of bytes: with each policy of credits, on models with mailboxes;
// without one of the steps of their protocol, each of which a program finds; and the predictors of messages.
// test: addresses, threads, each way, unit messages
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <pgas/backends/simulated.hpp>
#include <pgas/backends/tile.hpp>
#include <pgas/containers/make_messenger.hpp>

#include "messenger_mutants.hpp"
#include "support/ranks.hpp"

namespace pgas_test {
namespace {

using pgas::any_sender;
using pgas::any_tag;
using pgas::arrived_message;
using pgas::message_counts;
using pgas::message_form;
using pgas::message_options;
using pgas::message_request;
using pgas::word;
namespace credits = pgas::credits;
using simulated_model = model<pgas::backends::simulated>;
using tile_model = model<pgas::backends::tile>;

/// Returns whether this build and this run have a model.
template <class Model>
bool has() {
  return !std::is_void_v<PGAS_TEST_LIST::here<Model>> && chosen(Model::backend::name);
}

/// A messenger of any type, and its team's barrier: so that a program is compiled once.
class any_messenger {
 public:
  any_messenger() = default;
  any_messenger(any_messenger const&) = delete;
  any_messenger& operator=(any_messenger const&) = delete;
  virtual ~any_messenger() = default;
  virtual rank_t rank() = 0;
  virtual rank_t size() = 0;
  virtual message_request start_send(rank_t to, word tag, pgas::bytes_in message) = 0;
  virtual message_request start_receive(rank_t from, word tag, pgas::bytes_out into) = 0;
  virtual bool is_done(message_request which) = 0;
  virtual arrived_message wait(message_request which) = 0;
  virtual void send(rank_t to, word tag, pgas::bytes_in message) = 0;
  virtual arrived_message receive(rank_t from, word tag, pgas::bytes_out into) = 0;
  virtual void poll() = 0;
  virtual pgas::message_memory memory() = 0;
  virtual message_counts counts() = 0;
  virtual void barrier() = 0;
  /// The rank's clock in seconds.
  virtual double now() = 0;
  /// The least of all ranks' values. Collective.
  virtual double least(double mine) = 0;
};

template <class Team, class Messenger>
class erased final : public any_messenger {
 public:
  erased(Team& t, Messenger m) : team_(t), m_(std::move(m)) {}
  rank_t rank() override { return m_.rank(); }
  rank_t size() override { return m_.size(); }
  message_request start_send(rank_t to, word tag, pgas::bytes_in message) override {
    return m_.start_send(to, tag, message);
  }
  message_request start_receive(rank_t from, word tag, pgas::bytes_out into) override {
    return m_.start_receive(from, tag, into);
  }
  bool is_done(message_request which) override { return m_.is_done(which); }
  arrived_message wait(message_request which) override { return m_.wait(which); }
  void send(rank_t to, word tag, pgas::bytes_in message) override { m_.send(to, tag, message); }
  arrived_message receive(rank_t from, word tag, pgas::bytes_out into) override {
    return m_.receive(from, tag, into);
  }
  void poll() override { m_.poll(); }
  pgas::message_memory memory() override { return m_.memory(); }
  message_counts counts() override { return m_.counts(); }
  void barrier() override { team_.barrier(); }
  double now() override { return std::chrono::duration<double>(team_.now().time_since_epoch()).count(); }

  double least(double mine) override { return team_.all_reduce(mine, pgas::op::min{}); }

 private:
  Team& team_;
  Messenger m_;
};

using program = std::function<void(any_messenger&)>;

/// Runs a program with one type of messenger on ranks of one backend.
template <class Backend, class Credits, message_form Form = message_form::tagged,
          class Mutant = messenger_mutants::none>
void run_one(rank_t ranks, message_options const& o, program const& body) {
  pgas::run<Backend>(ranks, [&](auto& team) {
    auto m = Mutant::template make_messenger<Credits, Form>(team, o);
    erased e(team, std::move(m));
    body(e);
    team.barrier();
  });
}

using runner = void (*)(rank_t, message_options const&, program const&);
struct named_runner {
  std::string name;
  runner run;
  bool is_bounded;
  std::size_t own_bytes;  ///< about what the policy needs for itself
};

/// All policies of credits on a backend.
template <class Backend>
std::vector<named_runner> runners_on() {
  std::vector<named_runner> all;
  [&]<class... Credits>(std::type_identity<std::tuple<Credits...>>) {
    (all.push_back({std::string(Backend::name) + ", credits " + std::string(Credits::name),
                    &run_one<Backend, Credits>, !Credits::is_unlimited, Credits::state_bytes(8)}),
     ...);
  }(std::type_identity<std::tuple<credits::none, credits::fixed, credits::by_period, credits::by_graph,
                                  credits::unlimited>>{});
  return all;
}

/// Runs a program with each policy of credits on each model.
void everywhere_with(message_options const& o, program const& body, std::initializer_list<rank_t> sizes) {
  using models = std::tuple<process_model, loopback_model, scc_model, tile_model, simulated_model>;
  for_each_model<models>([&]<class Model>(Model) {
    for (named_runner const& one : runners_on<typename Model::backend>()) {
      for (rank_t const ranks : sizes) {
        if (!can_have<typename Model::backend>(ranks)) continue;
        try {
          auto with = o;
          with.budget += one.own_bytes;
          one.run(ranks, with, [&](any_messenger& m) {
            body(m);
            if (one.is_bounded)
              require(m.memory().most <= m.memory().budget, "a messenger keeps within its budget");
          });
        } catch (std::exception const& e) {
          FAIL_CHECK(one.name << ", " << ranks << " ranks: " << std::string(e.what()));
        }
      }
    }
  });
}

/// Returns the error of a program, or nothing.
std::string failure_of(runner run, rank_t ranks, message_options const& o, program const& body) {
  try {
    run(ranks, o, body);
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

/// The bytes of message i from one rank to another.
std::vector<std::byte> text_of(rank_t from, rank_t to, std::size_t i, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t k = 0; k < bytes; ++k)
    all[k] = static_cast<std::byte>(static_cast<std::size_t>(from * 7 + to * 13) + i * 31 + k * 3 + k / 256);
  return all;
}

message_options with_budget(std::size_t bytes, std::size_t requests = 64) {
  message_options o;
  o.budget = bytes;
  o.requests = requests;
  return o;
}

/// Each rank sends `times` messages to each rank and receives in an order of its own; `budget` is small.
void exchange_at_random(any_messenger& m, std::size_t times, std::uint64_t seed) {
  constexpr word tags = 3;
  random_source rng(seed * 64 + static_cast<std::uint64_t>(m.rank()));
  auto const length = [](rank_t from, rank_t to, std::size_t i) {
    constexpr std::array<std::size_t, 6> lengths{0, 17, 200, 600, 2500, 9000};
    return lengths[(static_cast<std::size_t>(from * 5 + to * 3) + i) % lengths.size()];
  };
  struct sent_message {
    std::vector<std::byte> text;
    message_request which;
  };
  std::vector<sent_message> sends;
  auto const ranks = static_cast<std::size_t>(m.size());
  std::vector<std::array<std::size_t, tags>> next(ranks);  // of each sender and tag
  for (auto& of_sender : next)
    for (std::size_t t = 0; t < tags; ++t) of_sender[t] = t;
  std::vector<std::byte> into(10'000);
  auto const check = [&](arrived_message const& got) {
    auto& i = next[static_cast<std::size_t>(got.from)][got.tag];
    require_equal(got.bytes, length(got.from, m.rank(), i),
                  "the bytes of the sender's next message of a tag");
    auto const expected = text_of(got.from, m.rank(), i, got.bytes);
    require(std::equal(expected.begin(), expected.end(), into.begin()), "a message has its sender's bytes");
    i += tags;
  };
  for (std::size_t i = 0; i < times; ++i) {
    for (rank_t to = 0; to < m.size(); ++to) {
      auto& one = sends.emplace_back();
      one.text = text_of(m.rank(), to, i, length(m.rank(), to, i));
      one.which = m.start_send(to, i % tags, one.text);
      if (rng.one_in(4)) m.poll();
    }
  }
  for (std::size_t left = times * ranks; left > 0;) {
    rank_t const from = rng.one_in(3) ? any_sender : rng.rank_below(m.size());
    word const tag = from == any_sender && rng.one_in(2) ? any_tag : rng.below(tags);
    auto const has_left = [&](std::size_t r, word t) { return next[r][t] < times; };
    bool may_come = from == any_sender && tag == any_tag;
    for (std::size_t r = 0; r < ranks && !may_come; ++r)
      may_come = (from == any_sender || from == static_cast<rank_t>(r)) && has_left(r, tag);
    if (!may_come) continue;
    check(m.receive(from, tag, into));
    --left;
  }
  for (auto& one : sends) m.wait(one.which);
  m.barrier();
}

/// All ranks flood rank 0, which takes their messages in reverse order. Returns the seconds from the
/// first send on.
double flood_in_reverse(any_messenger& m, std::size_t bytes, word times) {
  m.barrier();
  double const begin = m.now();
  std::vector<message_request> all;
  if (m.rank() == 0) {
    std::vector<std::vector<std::byte>> into(static_cast<std::size_t>(m.size()),
                                             std::vector<std::byte>(bytes));
    for (word tag = times; tag-- > 0;) {
      all.clear();
      for (rank_t r = m.size() - 1; r > 0; --r)
        all.push_back(m.start_receive(r, tag, into[static_cast<std::size_t>(r)]));
      for (auto const which : all) m.wait(which);
      for (rank_t r = 1; r < m.size(); ++r)
        require(into[static_cast<std::size_t>(r)] == text_of(r, 0, tag, bytes), "a message is its sender's");
    }
  } else {
    std::vector<std::vector<std::byte>> texts;
    for (word tag = 0; tag < times; ++tag) texts.push_back(text_of(m.rank(), 0, tag, bytes));
    for (word tag = 0; tag < times; ++tag) all.push_back(m.start_send(0, tag, texts[tag]));
    for (auto const which : all) m.wait(which);
  }
  double const end = m.now();
  double const first = m.least(begin);
  m.barrier();
  return end - first;
}

/// While the result lives, launches on a model take a hostile schedule.
auto disturbed(tile_model, std::uint64_t seed) {
  return std::make_unique<pgas::tile_machine::with_options>(pgas::tile_machine::options{}.disturb(seed));
}
auto disturbed(scc_model, std::uint64_t seed) {
  return std::make_unique<pgas::scc::with_options>(pgas::scc::options{}.disturb(seed));
}

TEST_CASE("messenger: messages of all lengths and tags arrive once, whole, and in order of sender and tag") {
  everywhere_with(with_budget(40'000), [](any_messenger& m) { exchange_at_random(m, 12, 3); }, {1, 2, 3, 5});
}

TEST_CASE("messenger: a flood that is taken in reverse order arrives, with a budget for a part of it") {
  everywhere_with(with_budget(24'000), [](any_messenger& m) { flood_in_reverse(m, 3000, 5); }, {2, 4, 6});
}

TEST_CASE("messenger: random schedules, and those that put one rank last, lose no message and no order") {
  char const* const given = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = given != nullptr ? std::atof(given) : 2;
  auto const flood = [&]<class Model>(Model model) {
    if (!has<Model>()) return;
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds / 2);
    auto const all = runners_on<typename Model::backend>();
    std::uint64_t seed = 0;
    do {
      ++seed;
      auto const hostile = disturbed(model, seed);
      auto const& one = all[seed % (all.size() - 1)];
      std::string const wrong = failure_of(one.run, static_cast<rank_t>(2 + seed % 3),
                                           with_budget(one.own_bytes + 12'000 + 2000 * (seed % 7)),
                                           [seed](any_messenger& m) { exchange_at_random(m, 6, seed); });
      if (!wrong.empty()) FAIL(one.name << ", seed " << seed << ": " << wrong);
    } while (std::chrono::steady_clock::now() < end);
    std::cout << "covered: " << seed << " seeds of a flood on " << Model::backend::name << "\n";
  };
  flood(tile_model{});
  flood(scc_model{});  // whose mailboxes hold one letter of a sender
}

TEST_CASE("messenger: wrong ranks, tags, requests, lengths and budgets are refused, and the message stays") {
  everywhere_with(
      with_budget(40'000),
      [](any_messenger& m) {
        std::array<std::byte, 100> text{};
        rank_t const self = m.rank();
        require_error(errc::out_of_range, {"send", "rank " + std::to_string(m.size()) + " does not exist"},
                      [&] { m.send(m.size(), 0, text); });
        require_error(errc::out_of_range, {"start_receive", "rank -7"},
                      [&] { static_cast<void>(m.start_receive(-7, 0, text)); });
        require_error(errc::invalid_argument, {"any_tag"}, [&] { m.send(self, any_tag, text); });
        auto const sent = m.start_send(self, 5, text);
        require_error(errc::invalid_argument, {"receive", "100 bytes", "fit into 99"},
                      [&] { m.receive(self, 5, std::span(text).first(99)); });
        require_equal(m.receive(any_sender, any_tag, text), arrived_message{self, 5, 100}, "the envelope");
        while (!m.is_done(sent)) std::this_thread::yield();
        m.wait(sent);
        require_error(errc::gone, {"wait for each request once"}, [&] { m.wait(sent); });
        m.barrier();
      },
      {1, 2});
  if (!has<simulated_model>()) return;
  std::string const few = failure_of(&run_one<pgas::backends::simulated, credits::none>, 4, with_budget(500),
                                     [](any_messenger&) {});
  CHECK_MESSAGE(few.find("500 bytes are too few for the messages of 4 ranks") != std::string::npos, few);
}

TEST_CASE("messenger: PGAS_MESSAGE_BYTES is the budget of a messenger without options") {
  ::setenv("PGAS_MESSAGE_BYTES", "123456", 1);
  CHECK(message_options::from_environment().budget == 123456);
  ::setenv("PGAS_MESSAGE_BYTES", "many", 1);
  CHECK_THROWS_AS(static_cast<void>(message_options::from_environment()), pgas::error);
  ::unsetenv("PGAS_MESSAGE_BYTES");
}

TEST_CASE("messenger: the waits of all ranks end when a rank dies under its flood") {
  using models = std::tuple<process_model, loopback_model, tile_model, simulated_model>;
  for_each_model<models>([]<class Model>(Model) {
    for (auto const& one : runners_on<typename Model::backend>()) {
      std::string const wrong =
          failure_of(one.run, 4, with_budget(one.own_bytes + 24'000), [](any_messenger& m) {
            std::vector<std::byte> text(5000);
            if (m.rank() == 0) {
              for (int i = 0; i < 5; ++i) m.receive(any_sender, any_tag, text);
              throw std::runtime_error("gone on purpose");
            }
            for (word i = 0;; ++i) m.send(0, i, text);
          });
      CHECK_MESSAGE(wrong.find("gone on purpose") != std::string::npos, one.name << ": " << wrong);
    }
  });
}

TEST_CASE("messenger: ranks that wait for messages of each other are found") {
  if (!has<simulated_model>()) return;
  std::string const wrong = failure_of(&run_one<pgas::backends::simulated, credits::fixed>, 2,
                                       with_budget(24'000), [](any_messenger& m) {
                                         std::array<std::byte, 8> text{};
                                         m.receive(1 - m.rank(), 0, text);
                                       });
  CHECK_MESSAGE(wrong.find("waits in receive (messenger ") != std::string::npos, wrong);
}

TEST_CASE("messenger: the killer benchmark takes at most twice the unlimited time, in virtual time") {
  auto const seconds_of = [](runner run, rank_t ranks, std::size_t budget, std::size_t bytes, word times,
                             std::size_t& most) {
    double seconds = 0;
    run(ranks, with_budget(budget, 256), [&](any_messenger& m) {
      double const mine = flood_in_reverse(m, bytes, times);
      if (m.rank() != 0) return;
      seconds = mine;
      most = m.memory().most;
    });
    return seconds;
  };
  if (!has<simulated_model>()) return;
  auto const all = runners_on<pgas::backends::simulated>();
  for (rank_t const ranks : {16, 128}) {
    for (std::size_t const bytes : {1024U, 10240U}) {
      if (ranks == 128 && bytes > 1024) continue;
      std::size_t most = 0;
      double const unlimited = seconds_of(all.back().run, ranks, 0, bytes, 3, most);
      for (auto const& one : all) {
        if (!one.is_bounded) continue;
        double const bounded = seconds_of(one.run, ranks, 250'000, bytes, 3, most);
        CHECK_MESSAGE(bounded <= 2 * unlimited, one.name << ", " << ranks << " ranks, " << bytes
                                                         << " bytes: " << bounded / unlimited << " times");
        CHECK_MESSAGE(most <= 250'000, one.name);
      }
    }
  }
}

TEST_CASE("messenger: the killer benchmark ends within 250 KB on many ranks that share no memory") {
  for_each_model<std::tuple<process_model, loopback_model>>([]<class Model>(Model) {
    for (auto const& one : runners_on<typename Model::backend>()) {
      if (!one.is_bounded) continue;
      std::string const wrong = failure_of(one.run, 16, with_budget(250'000), [](any_messenger& m) {
        flood_in_reverse(m, 10'240, 3);
        require(m.memory().most <= 250'000, "a messenger keeps within its budget");
      });
      CHECK_MESSAGE(wrong.empty(), one.name << ": " << wrong);
    }
  });
}

// Steps of the protocol that are left out

/// The first of some random schedules of a machine with which ranks with this budget lose a message or an
/// order; 0 if none does.
template <class Credits, class Mutant, message_form Form = message_form::tagged, class Model = tile_model>
std::uint64_t first_failure(std::uint64_t seeds,
                            std::function<void(any_messenger&, std::uint64_t)> const& body = nullptr) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto const hostile = disturbed(Model{}, seed);
    std::string const wrong = failure_of(
        &run_one<typename Model::backend, Credits, Form, Mutant>, 3, with_budget(12'000 + 1000 * (seed % 5)),
        [&body, seed](any_messenger& m) { body ? body(m, seed) : exchange_at_random(m, 12, seed); });
    if (!wrong.empty()) return seed;
  }
  return 0;
}

/// All other ranks send messages of one tag, one after the other, while rank 0 receives them.
void send_by_and_by(any_messenger& m, std::uint64_t seed) {
  constexpr std::size_t times = 50;
  random_source rng(seed * 64 + static_cast<std::uint64_t>(m.rank()));
  auto const dawdle_here = [&] {
    for (std::size_t polls = rng.below(5); polls > 0; --polls) m.poll();
  };
  std::vector<std::vector<std::byte>> texts(times, std::vector<std::byte>(800));
  std::vector<message_request> all;
  for (std::size_t i = 0; i < times; ++i) {
    texts[i][0] = static_cast<std::byte>(i);
    dawdle_here();
    if (m.rank() != 0) all.push_back(m.start_send(0, 0, texts[i]));
    for (rank_t from = 1; from < m.size() && m.rank() == 0; ++from) {
      std::vector<std::byte> into(800);
      m.receive(from, 0, into);
      require(into[0] == static_cast<std::byte>(i), "a message is its sender's next one");
      dawdle_here();
    }
  }
  for (auto const which : all) m.wait(which);
  m.barrier();
}

/// Rank 0 posts receives for messages that it has put on hold, in reverse order, while others are slow.
void receive_what_is_held(any_messenger& m, std::uint64_t seed) {
  constexpr std::size_t times = 12;
  random_source rng(seed * 64 + static_cast<std::uint64_t>(m.rank()));
  std::vector<std::vector<std::byte>> texts(times * 2, std::vector<std::byte>(3000));
  std::vector<message_request> all;
  if (m.rank() != 0) {
    for (std::size_t i = 0; i < times; ++i) all.push_back(m.start_send(0, i, texts[i]));
  } else {
    for (std::size_t polls = rng.below(40); polls > 0; --polls) m.poll();
    for (std::size_t i = times; i-- > 0;) {
      for (rank_t from = 1; from < m.size(); ++from)
        all.push_back(m.start_receive(from, i, texts[2 * i + static_cast<std::size_t>(from) - 1]));
    }
  }
  for (auto const which : all) m.wait(which);
  m.barrier();
}

TEST_CASE("messenger: no schedule loses an order or a message, unless a step is left out") {
  if (!has<tile_model>()) return;
  constexpr std::uint64_t few = 40, many = 400;
  CHECK(first_failure<credits::none, messenger_mutants::none>(few) == 0);
  CHECK(first_failure<credits::fixed, messenger_mutants::none>(few) == 0);
  CHECK(first_failure<credits::none, messenger_mutants::no_age>(many) != 0);
  CHECK(first_failure<credits::none, messenger_mutants::no_failure>(many) != 0);
  CHECK(first_failure<credits::none, messenger_mutants::no_wake_by_receive>(many) != 0);
  CHECK(first_failure<credits::none, messenger_mutants::no_answer>(many) != 0);
  CHECK(first_failure<credits::none, messenger_mutants::none>(few, send_by_and_by) == 0);
  CHECK(first_failure<credits::none, messenger_mutants::no_order>(many, send_by_and_by) != 0);
  CHECK(first_failure<credits::fixed, messenger_mutants::eager>(many) != 0);
}

TEST_CASE("messenger: a message that was held and then cleared arrives, though the mailbox was full") {
  if (!has<scc_model>()) return;
  using none = credits::none;
  constexpr auto form = message_form::tagged;
  using mixed = messenger_mutants::early_clear;
  CHECK(first_failure<none, messenger_mutants::none, form, scc_model>(20, receive_what_is_held) == 0);
  CHECK(first_failure<none, mixed, form, scc_model>(20, receive_what_is_held) != 0);
}

TEST_CASE(
    "messenger: memory that comes back lets a refused sender go on, without a receive for its message") {
  if (!has<simulated_model>()) return;
  auto const blocked = [](any_messenger& m) {
    std::vector<std::byte> text(1000);
    if (m.rank() == 0) {
      m.barrier();  // which serves the messenger
      m.receive(1, 0, text);
      m.barrier();
      for (word tag = 1; tag < 4; ++tag) m.receive(1, tag, text);
    } else {
      std::vector<message_request> all;
      for (word tag = 0; tag < 4; ++tag) all.push_back(m.start_send(0, tag, text));
      m.wait(all[0]);
      m.barrier();
      m.wait(all[3]);
      m.barrier();
      m.wait(all[1]);
      m.wait(all[2]);
    }
    m.barrier();
  };
  using none = credits::none;
  auto o = with_budget(0);
  o.budget = pgas::messenger_on<pgas::backends::simulated, none>::least_budget(2, o) + 1200;
  using stays = messenger_mutants::no_wake_by_memory;
  CHECK(failure_of(&run_one<pgas::backends::simulated, none>, 2, o, blocked) == "");
  CHECK(failure_of(&run_one<pgas::backends::simulated, none, message_form::tagged, stays>, 2, o, blocked) !=
        "");
}

TEST_CASE("messenger: a receiver returns credit by itself, so a sender of one way needs no question") {
  if (!has<simulated_model>()) return;
  std::uint64_t asked = 0;
  auto const one_way = [&asked](any_messenger& m) {
    std::vector<std::byte> text(500);
    for (word i = 0; i < 200; ++i) {
      if (m.rank() == 1) m.send(0, i, text);
      if (m.rank() == 0) m.receive(1, i, text);
      m.barrier();
    }
    if (m.rank() == 1) asked = m.counts().asked;
  };
  using keeps = messenger_mutants::no_credits;
  using backend = pgas::backends::simulated;
  CHECK(failure_of(&run_one<backend, credits::fixed>, 2, with_budget(30'000), one_way) == "");
  CHECK(asked == 0);
  CHECK(failure_of(&run_one<backend, credits::fixed, message_form::tagged, keeps>, 2, with_budget(30'000),
                   one_way) == "");
  CHECK(asked > 0);
}

TEST_CASE("messenger: the form for control data keeps the order of each sender, without ages") {
  if (!has<tile_model>()) return;
  auto const in_order = [](any_messenger& m, std::uint64_t) {
    std::vector<std::byte> text(700);
    std::vector<message_request> all;
    for (word i = 0; i < 20; ++i)
      for (rank_t to = 0; to < m.size(); ++to) all.push_back(m.start_send(to, i, text));
    std::vector<word> next(static_cast<std::size_t>(m.size()));
    for (int i = 0; i < 20 * m.size(); ++i) {
      auto const got = m.receive(any_sender, any_tag, text);
      require_equal(got.tag, next[static_cast<std::size_t>(got.from)]++, "the number of a sender's message");
    }
    for (auto const which : all) m.wait(which);
    m.barrier();
  };
  CHECK(first_failure<credits::none, messenger_mutants::none, message_form::control>(40, in_order) == 0);
}

// Prediction

using pgas::observed_message;

/// The share of a stream that a predictor foresees `k` messages ahead.
template <class Predictor>
double hits(std::vector<observed_message> const& stream, std::size_t k) {
  auto p = std::make_unique<Predictor>();
  std::size_t as_expected = 0;
  for (std::size_t i = 0; i + k <= stream.size(); ++i) {
    auto const expected = p->ahead(k);
    as_expected += expected && *expected == stream[i + k - 1] ? 1U : 0U;
    p->observe(stream[i]);
  }
  return static_cast<double>(as_expected) / static_cast<double>(stream.size() + 1 - k);
}

using by_period = pgas::prediction::periodicity<>;
using by_graph = pgas::prediction::transition_graph<>;

TEST_CASE("prediction: a stream with a period of up to 256 messages is foreseen from its third period on") {
  random_source rng(1);
  for (std::size_t const period : {1U, 2U, 7U, 18U, 126U, 256U}) {
    std::vector<observed_message> stream;
    for (std::size_t i = 0; i < 200 * period; ++i)
      stream.push_back(i < period ? observed_message{rng.rank_below(8), 100 * rng.below(3)}
                                  : stream[i - period]);
    for (std::size_t const k : {1U, 5U}) CHECK(hits<by_period>(stream, k) > 0.95);
    by_period p;
    for (auto const& m : stream) p.observe(m);
    CHECK(p.period() != 0);
    CHECK(period % p.period() == 0);
  }
}

TEST_CASE(
    "prediction: after a change of the pattern the new one is found, and a random stream is not foreseen") {
  std::vector<observed_message> stream;
  for (std::size_t i = 0; i < 3000; ++i) {
    std::size_t const step = i < 1000 ? i % 6 : i % 10;
    stream.push_back({static_cast<rank_t>(step % 4), 64 * step});
  }
  CHECK(hits<by_period>(stream, 1) > 0.95);
  CHECK(hits<by_graph>(stream, 1) > 0.9);
  random_source rng(2);
  stream.clear();
  for (std::size_t i = 0; i < 3000; ++i) stream.push_back({rng.rank_below(64), 0});
  CHECK(hits<by_period>(stream, 1) < 0.2);
  CHECK(hits<by_graph>(stream, 1) < 0.2);
}

TEST_CASE("prediction: messages of a periodic stream come on the credit that their receiver has foreseen") {
  if (!has<simulated_model>()) return;
  for (auto const& one : runners_on<pgas::backends::simulated>()) {
    if (one.name.find("period") == std::string::npos && one.name.find("graph") == std::string::npos) continue;
    std::uint64_t eager = 0, asked = 0;
    std::string const wrong = failure_of(one.run, 4, with_budget(300'000), [&](any_messenger& m) {
      std::vector<std::byte> text(4000);
      for (word i = 0; i < 200; ++i) {
        for (rank_t from = 1; from < 4; ++from) {
          if (m.rank() == 0) m.receive(from, i, text);
          if (m.rank() == from) m.send(0, i, std::span(text).first(static_cast<std::size_t>(from) * 1000));
        }
        m.barrier();
      }
      if (m.rank() == 2) eager = m.counts().eager, asked = m.counts().asked;
    });
    CHECK_MESSAGE(wrong.empty(), one.name << ": " << wrong);
    CHECK_MESSAGE(eager > 180, one.name << ": " << eager << " at once, " << asked << " asked");
  }
}

}  // namespace
}  // namespace pgas_test
