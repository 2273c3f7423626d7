// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <pgas/containers/make_channel.hpp>
#include <thread>
#include <vector>

#include "../support/ranks.hpp"

/// The promises of every channel, checked on every model that has one.
namespace pgas_test {

namespace channel_suite {

using pgas::word;

/// Calls use(team, channel) on every rank of every model that has a channel.
template <class Use>
void with_channels(Use const& use, std::initializer_list<rank_t> sizes) {
  for_each_model([&]<class Model>(Model) {
    using backend = typename Model::backend;
    if constexpr (pgas::mailbox_backend<backend> || pgas::channel_backend<backend>) {
      for (rank_t ranks : sizes) {
        if (!can_have<backend>(ranks)) continue;
        on<Model>(ranks, [&](auto& team) {
          auto channel = pgas::make_channel(team);
          static_assert(pgas::channel<decltype(channel)>);
          use(team, channel);
          team.barrier();
        });
      }
    }
  });
}

template <class Channel>
using message_of = std::array<word, Channel::most_words>;

/// Message i from one rank to one queue: its words follow from these numbers.
template <class Channel>
std::span<word const> fill(message_of<Channel>& text, rank_t from, rank_t to, std::size_t queue, word i) {
  std::size_t const words = 1 + static_cast<std::size_t>(i * 7 + queue) % text.size();
  for (std::size_t w = 0; w < words; ++w)
    text[w] = i + 1000 * w + 100'000 * static_cast<word>(from * 64 + to) + 1'000'000'000 * queue;
  return std::span(text).first(words);
}

/// Compares the messages that a rank receives with those that were sent.
template <class Channel>
class receiver {
 public:
  explicit receiver(Channel& c) : self_(c.rank()), next_(static_cast<std::size_t>(c.size())) {}

  void check(rank_t from, std::size_t queue, std::span<word const> message) {
    message_of<Channel> text;
    auto const expected =
        fill<Channel>(text, from, self_, queue, next_[static_cast<std::size_t>(from)][queue]++);
    require(std::equal(message.begin(), message.end(), expected.begin(), expected.end()),
            "a message is that which follows the one before");
    ++count_;
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  rank_t self_;
  std::vector<std::array<word, Channel::queues>> next_;
  std::size_t count_ = 0;
};

/// Sends word `value` alone.
template <class Channel>
void tell(Channel& c, rank_t to, std::size_t queue, word value) {
  c.send(to, queue, std::span(&value, 1));
}
/// Receives a message of one word.
template <class Channel>
word hear(Channel& c, std::size_t queue) {
  message_of<Channel> text{};
  require_equal(c.receive(queue, text).words, std::size_t{1}, "words of the message");
  return text[0];
}

/// Calls act() until nothing has happened for a while; act() returns whether something has.
template <class Act>
void until_quiet(Act&& act) {
  auto last = std::chrono::steady_clock::now();
  for (int quiet = 0;
       quiet < 300 || std::chrono::steady_clock::now() < last + std::chrono::milliseconds(20);) {
    if (act()) {
      quiet = 0;
      last = std::chrono::steady_clock::now();
    } else {
      ++quiet;
      std::this_thread::yield();
    }
  }
}

/// Sends `times` messages from each rank to each queue of each rank, in a random order and at random speeds.
/// All have handlers, which are held at times.
template <class Team, class Channel>
void flood(Team& team, Channel& c, std::size_t times, std::uint64_t seed) {
  receiver<Channel> got(c);
  for (std::size_t q = 0; q < Channel::queues; ++q)
    c.handle(q, [&, q](rank_t from, std::span<word const> m) { got.check(from, q, m); });
  team.barrier();
  random_source rng(static_cast<std::uint64_t>(c.rank()) + 64 * seed);
  message_of<Channel> text;
  std::vector<std::array<word, Channel::queues>> sent(static_cast<std::size_t>(c.size()));
  std::size_t const all = times * Channel::queues * sent.size();
  for (std::size_t left = all; left > 0;) {
    rank_t const to = rng.rank_below(c.size());
    std::size_t const q = rng.below(Channel::queues);
    auto& i = sent[static_cast<std::size_t>(to)][q];
    if (i == times) continue;
    c.send(to, q, fill<Channel>(text, c.rank(), to, q, i++));
    --left;
    if (rng.one_in(8)) c.charge(rng.below(300));
    if (rng.one_in(16)) {
      auto const held = c.hold();
      std::size_t const before = got.count();
      c.charge(rng.below(300));
      c.poll();
      require_equal(got.count(), before, "messages before and after a hold");
    }
    dawdle(rng);
  }
  while (got.count() < all) {
    if (c.poll() == 0) std::this_thread::yield();
  }
  team.barrier();
  require_equal(got.count(), all, "messages of all ranks");
  for (std::size_t q = 0; q < Channel::queues; ++q) c.handle(q, {});
}

/// Runs floods on `Backend` with the options that disturbed(seed) chooses, for PGAS_TEST_SECONDS.
template <class Backend, class Disturbed>
void flood_for_a_while(Disturbed const& disturbed) {
  char const* const given = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = given != nullptr ? std::atof(given) : 2;
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t seed = 0;
  do {
    ++seed;
    auto const hostile = disturbed(seed);
    try {
      pgas::run<Backend>(static_cast<rank_t>(2 + seed % 3), [seed](auto& team) {
        auto c = pgas::make_channel(team);
        flood(team, c, 6, seed);
      });
    } catch (std::exception const& e) {
      FAIL(Backend::name << ", seed " << seed << ": " << std::string(e.what()));
    }
  } while (agreed(std::chrono::steady_clock::now() < end));
  std::cout << "covered: " << seed << " seeds of messages between 2, 3 and 4 ranks on " << Backend::name
            << "\n";
}

}  // namespace channel_suite

TEST_CASE(
    "channel: messages of all lengths to handlers arrive once, whole, and in the order of each pair and "
    "queue") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) { flood(team, c, rounds_on(team.state()->backend, std::size_t{60}), 17); },
      {1, 2, 3, 5});
}

TEST_CASE("channel: a rank that receives slowly loses no message, and gets those of each queue in order") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        using channel = std::remove_reference_t<decltype(c)>;
        auto const times = static_cast<word>(rounds_on(team.state()->backend, 200));
        random_source rng(static_cast<std::uint64_t>(c.rank()) + 5);
        message_of<channel> text;
        if (c.rank() != 0) {  // each of the others in another order of queues
          for (word i = 0; i < times; ++i) {
            for (std::size_t q = 0; q < channel::queues; ++q) {
              c.send(0, q, fill<channel>(text, c.rank(), 0, q, i));
              dawdle(rng);
            }
          }
          return;
        }
        receiver<channel> got(c);
        auto const senders = static_cast<std::size_t>(c.size() - 1);
        std::array<std::size_t, channel::queues> left;
        left.fill(senders * static_cast<std::size_t>(times));
        while (std::any_of(left.begin(), left.end(), [](std::size_t n) { return n != 0; })) {
          std::size_t const q = rng.below(channel::queues);
          if (left[q] == 0) continue;
          auto const one = c.try_receive(q, text);
          if (!one) {
            dawdle(rng);
            continue;
          }
          got.check(one->from, q, std::span(text).first(one->words));
          --left[q];
          if (rng.one_in(4)) c.charge(rng.below(1000));
          dawdle(rng);
        }
      },
      {2, 3, 5});
}

TEST_CASE("channel: a full queue holds its sender up, whose handlers go on, and no other queue") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        using channel = std::remove_reference_t<decltype(c)>;
        constexpr word times = 1000;
        if (c.rank() == 0) {
          c.handle(2, [&](rank_t from, std::span<word const> m) { tell(c, from, 1, m[0] + 1); });
          team.barrier();
          for (word i = 0; i < times; ++i) {
            tell(c, 1, 3, i);
            tell(c, 1, 0, i);
          }
          team.barrier();
          c.handle(2, {});
          return;
        }
        team.barrier();
        if (c.rank() == 1) {
          message_of<channel> text;
          // A busy machine may keep the sender from its core for longer than the quiet time.
          require_equal(hear(c, 3), word{0}, "the first message");
          word told = hear(c, 3);
          require_equal(told, word{1}, "the second message, sent before any of queue 0 was taken");
          until_quiet([&] { return c.try_receive(3, text) && (told = text[0], true); });
          require(told <= 118, "a queue has room for 118 words");
          for (word i = 0; i < 20; ++i) {
            tell(c, 0, 2, i);
            require_equal(hear(c, 1), i + 1, "the answer of a rank that waits for room");
          }
          for (word i = 0; i < times; ++i) {
            require_equal(hear(c, 0), i, "the full queue's next message");
            if (i > told) require_equal(hear(c, 3), i, "the other queue's next message");
          }
        }
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("channel: a rank that waits answers by its handler, whatever it waits for") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        word asked = 0;
        c.handle(0, [&](rank_t from, std::span<word const> m) {
          ++asked;
          tell(c, from, 1, m[0] * 3 + static_cast<word>(c.rank()));
        });
        team.barrier();
        for (rank_t turn = 0; turn < c.size(); ++turn) {  // the others wait in a barrier
          if (c.rank() == turn) {
            for (word i = 0; i < 10; ++i) {
              for (rank_t r = 0; r < c.size(); ++r) {
                tell(c, r, 0, i);
                require_equal(hear(c, 1), i * 3 + static_cast<word>(r), "an answer");
              }
            }
          }
          team.barrier();
        }
        for (word i = 0; i < 10; ++i) {  // all ask at once, so the others wait in receive
          rank_t const next = (c.rank() + 1) % c.size();
          tell(c, next, 0, i);
          require_equal(hear(c, 1), i * 3 + static_cast<word>(next), "an answer");
        }
        team.barrier();
        require_equal(asked, static_cast<word>(10 * c.size() + 10), "questions");
        c.handle(0, {});
      },
      {1, 2, 4});
}

TEST_CASE(
    "channel: messages that a handler sends into a full queue keep their order and come before later ones") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        using channel = std::remove_reference_t<decltype(c)>;
        if constexpr (channel::interrupts) return;  // there a handler waits for room
        constexpr word times = 100;
        message_of<channel> text{};
        bool asked = false;
        if (c.rank() == 0) {
          c.handle(0, [&](rank_t from, std::span<word const>) {
            asked = true;
            for (text[0] = 0; text[0] < times; ++text[0]) c.send(from, 1, text);
          });
        }
        team.barrier();
        if (c.rank() == 0) {
          while (!asked) {
            if (c.poll() == 0) std::this_thread::yield();
          }
          tell(c, 1, 1, times);
        } else if (c.rank() == 1) {
          tell(c, 0, 0, 1);
          for (word i = 0; i <= times; ++i) {
            c.receive(1, text);
            require_equal(text[0], i, "the handler's messages, and then the later one");
          }
        }
        team.barrier();
        c.handle(0, {});
      },
      {2});
}

TEST_CASE("channel: no handler runs while a rank holds them, and all that came run after it") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        int handled = 0;
        c.handle(0, [&](rank_t from, std::span<word const>) {
          ++handled;
          tell(c, from, 1, 7);
        });
        team.barrier();
        for (int round = 1; round <= 5; ++round) {
          if (c.rank() == 1) {
            auto const held = c.hold();
            team.barrier();
            team.barrier();
            until_quiet([&] { return c.poll() != 0; });
            require_equal(handled, round - 1, "messages handled while held");
          } else {
            team.barrier();
            if (c.rank() == 0) tell(c, 1, 0, 0);
            team.barrier();
          }
          if (c.rank() == 0) require_equal(hear(c, 1), word{7}, "the answer");
          team.barrier();  // in which the handler runs, without a further message
          if (c.rank() == 1) require_equal(handled, round, "messages handled in the end");
          team.barrier();
        }
        c.handle(0, {});
      },
      {2, 3});
}

TEST_CASE("channel: a rank receives from a handled queue itself, and changes handlers") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& c) {
        using channel = std::remove_reference_t<decltype(c)>;
        message_of<channel> text{};
        word first = 0, second = 0;
        rank_t const self = c.rank();
        {
          c.handle(2, [&](rank_t, std::span<word const> m) { first += m[0]; });
          auto const held = c.hold();
          tell(c, self, 2, 1);
          auto const one = c.receive(2, text);
          require_equal(one.from, self, "the sender");
          require_equal(text[0], word{1}, "the message");
          require(!c.try_receive(2, text), "no second message has come");
          tell(c, self, 2, 2);
          team.barrier();
        }
        while (first == 0) c.poll();
        c.handle(2, [&](rank_t, std::span<word const> m) { second += m[0]; });
        tell(c, self, 2, 4);
        while (second == 0) c.poll();
        c.handle(2, {});
        tell(c, self, 2, 8);
        require_equal(hear(c, 2), word{8}, "a message without a handler");
        require_equal(first, word{2}, "the first handler's sum");
        require_equal(second, word{4}, "the second handler's sum");
        team.barrier();
      },
      {1, 2});
}

TEST_CASE("channel: a multicast reaches each rank of its list, and a channel may move") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& made) {
        using channel = std::remove_reference_t<decltype(made)>;
        channel c(std::move(made));
        message_of<channel> text{};
        std::vector<rank_t> all;
        for (rank_t r = 0; r < c.size(); ++r) all.push_back(r);
        for (rank_t root = 0; root < c.size(); ++root) {
          text.fill(static_cast<word>(root) + 1);
          if (c.rank() == root) c.multicast(all, 3, text);
          text.fill(0);
          auto const one = c.receive(3, text);
          require_equal(one.from, root, "the sender");
          require_equal(one.words, text.size(), "words");
          require(
              std::all_of(text.begin(), text.end(), [&](word w) { return w == static_cast<word>(root) + 1; }),
              "the words are the sender's");
          team.barrier();
        }
        made = std::move(c);
      },
      {1, 3, 5});
}

TEST_CASE("channel: two channels of one team, and that of a part of it, do not mix") {
  using namespace channel_suite;
  with_channels(
      [](auto& team, auto& first) {
        auto half = team.split(team.rank() % 2);
        auto second = pgas::make_channel(half);
        rank_t const next = (first.rank() + 1) % first.size();
        rank_t const next_in_half = (second.rank() + 1) % second.size();
        for (word i = 0; i < 30; ++i) {
          tell(first, next, 0, i);
          tell(second, next_in_half, 0, i + 100);
          require_equal(hear(second, 0), i + 100, "the second channel's message");
          require_equal(hear(first, 0), i, "the first channel's message");
        }
        team.barrier();
      },
      {2, 4, 5});
}

TEST_CASE("channel: wrong ranks, queues and lengths are refused, and receiving in a handler") {
  using namespace channel_suite;
  with_channels(
      [](auto&, auto& c) {
        using channel = std::remove_reference_t<decltype(c)>;
        std::array<word, channel::most_words + 1> text{};
        std::span<word const> const one(text.data(), 1);
        rank_t const self = c.rank();
        auto const number = [](auto n) { return std::to_string(n); };
        require_error(errc::out_of_range, {"send", "rank " + number(c.size()) + " does not exist"},
                      [&] { c.send(c.size(), 0, one); });
        require_error(errc::out_of_range, {"send", "rank -1 does not exist"}, [&] { c.send(-1, 0, one); });
        require_error(errc::out_of_range, {"send", "queue 4 does not exist"}, [&] { c.send(self, 4, one); });
        require_error(errc::out_of_range, {"receive", "queue 9 does not exist"}, [&] { c.receive(9, text); });
        require_error(errc::out_of_range, {"try_receive", "queue 4"},
                      [&] { static_cast<void>(c.try_receive(4, text)); });
        require_error(errc::out_of_range, {"handle", "queue 4"}, [&] { c.handle(4, {}); });
        require_error(errc::invalid_argument, {"0 words", number(channel::most_words)},
                      [&] { c.send(self, 0, {}); });
        require_error(errc::invalid_argument, {number(text.size()) + " words"},
                      [&] { c.send(self, 0, text); });
        std::array<rank_t, 2> const list{self, c.size()};
        require_error(errc::out_of_range, {"multicast"}, [&] { c.multicast(list, 0, one); });
        c.send(self, 0, std::span(text).first(2));
        require_error(errc::invalid_argument, {"receive", "2 words", "fit into 1"},
                      [&] { c.receive(0, std::span(text).first(1)); });
        require_equal(c.receive(0, text).words, std::size_t{2}, "words of the message that did not fit");
        require(!c.try_receive(0, text), "a refused message goes to nobody");
        bool over = false;
        c.handle(0, [&](rank_t, std::span<word const>) {
          over = true;
          require_error(errc::wrong_order, {"receive", "handler"}, [&] { c.receive(1, text); });
          require_error(errc::wrong_order, {"try_receive", "handler"},
                        [&] { static_cast<void>(c.try_receive(1, text)); });
        });
        c.send(self, 0, one);
        while (!over) c.poll();
        c.handle(0, {});
      },
      {1, 2});
}

}  // namespace pgas_test
