// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <type_traits>
#include <vector>

#include "make.hpp"

/// The promises of every mailbox, checked on every backend that has one.
namespace pgas_test {

/// Calls use(backend, bootstrap, mailbox) on every rank of every backend that has mailboxes.
template <class Use>
void with_mailboxes(Use const& use, std::initializer_list<rank_t> sizes = usual_sizes) {
  on_every_backend(
      [&]<class Backend, class Boot>(Backend& b, Boot& boot) {
        if constexpr (pgas::mailbox_backend<Backend>) {
          typename Backend::handle handle{};
          auto const bytes = std::as_writable_bytes(std::span(&handle, 1));
          if (b.rank() == 0) {
            handle = b.reserve_mailbox();
            boot.put("mailbox", bytes);
          }
          boot.fence();
          boot.get("mailbox", bytes);
          auto m = b.attach_mailbox(handle);
          boot.fence();
          use(b, boot, m);
          boot.fence();
        }
      },
      sizes);
}

TEST_CASE("mailbox: messages of all lengths between all ranks arrive once, whole and in order") {
  with_mailboxes([](auto& b, auto&, auto& m) {
    constexpr unsigned times = 200;
    std::size_t const longest = m.max_message_bytes;
    auto const message = [&](rank_t from, rank_t to, unsigned i) {
      std::vector<std::byte> bytes(sizeof i + (i * 7) % (longest - sizeof i + 1));
      std::memcpy(bytes.data(), &i, sizeof i);
      for (std::size_t k = sizeof i; k < bytes.size(); ++k) {
        bytes[k] = static_cast<std::byte>(static_cast<std::size_t>(from) * 5 +
                                          static_cast<std::size_t>(to) * 3 + i + k);
      }
      return bytes;
    };
    std::vector<unsigned> sent(static_cast<std::size_t>(b.size()));
    std::vector<unsigned> received(static_cast<std::size_t>(b.size()));
    std::string wrong;
    auto const handler = [&](rank_t from, pgas::bytes_in bytes) {
      auto& i = received[static_cast<std::size_t>(from)];
      auto const expected = message(from, b.rank(), i++);
      if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()))
        wrong = "message " + std::to_string(i);
    };
    auto const over = [&] {
      for (std::size_t r = 0; r < sent.size(); ++r) {
        if (sent[r] < times || received[r] < times) return false;
      }
      return true;
    };
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!over()) {
      for (rank_t to = 0; to < b.size(); ++to) {
        auto& i = sent[static_cast<std::size_t>(to)];
        while (i < times && m.try_send(to, message(b.rank(), to, i))) ++i;
      }
      if (m.poll(handler) == 0) std::this_thread::yield();
      require(wrong.empty(), wrong);
      b.check("mailbox test");
      require(std::chrono::steady_clock::now() < deadline, "all messages arrive");
    }
  });
}

TEST_CASE(
    "mailbox: words of both kinds keep their order among other messages, and a look for one sender takes "
    "one") {
  with_mailboxes([](auto& b, auto&, [[maybe_unused]] auto& m) {
    if constexpr (pgas::mailbox_of_words<std::remove_cvref_t<decltype(m)>>) {
      constexpr unsigned times = 100;
      auto const ranks = static_cast<std::size_t>(b.size());
      auto const is_word = [](unsigned i) { return i % 5 != 2; };
      auto const text = [&](rank_t from, rank_t to, unsigned i) -> pgas::word {
        return i % 7 == 3 ? m.most_word : (static_cast<pgas::word>(10 * from + to) * 1000 + i) % m.most_word;
      };
      std::vector<unsigned> sent(ranks);
      std::vector<unsigned> received(ranks);
      unsigned wrong = 0;
      auto const take = [&](rank_t from, pgas::word found, bool as_word) {
        unsigned const i = received[static_cast<std::size_t>(from)]++;
        if (found != text(from, b.rank(), i) || as_word != is_word(i)) ++wrong;
      };
      struct handler {
        decltype(take)& take_one;
        void operator()(rank_t from, pgas::word w) const { take_one(from, w, true); }
        void operator()(rank_t from, pgas::bytes_in bytes) const {
          pgas::word w = 0;
          std::memcpy(&w, bytes.data(), sizeof w);
          take_one(from, w, false);
        }
      } const handle{take};
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      for (unsigned turn = 0; wrong == 0; ++turn) {
        unsigned least = times;
        for (rank_t other = 0; other < b.size(); ++other) {
          auto const o = static_cast<std::size_t>(other);
          m.will_send(other);
          for (bool has_room = true; has_room && sent[o] < times; sent[o] += has_room ? 1 : 0) {
            pgas::word const w = text(b.rank(), other, sent[o]);
            has_room = !is_word(sent[o])  ? m.try_send(other, std::as_bytes(std::span(&w, 1)))
                       : sent[o] % 3 == 0 ? m.try_send_word(other, w)
                                          : m.try_send_close_word(other, w);
          }
          unsigned const before = received[o];
          if (turn % 4 != 3)
            require_equal(m.poll_from(other, 2, handle) ? 1U : 0U, received[o] - before, "messages");
          least = std::min({least, sent[o], received[o]});
        }
        if (least == times) break;
        if (turn % 4 == 3 && m.poll(handle) == 0) std::this_thread::yield();
        b.check("mailbox test");
        require(std::chrono::steady_clock::now() < deadline, "all messages arrive");
      }
      require_equal(wrong, 0U, "messages that differ from what was sent");
    }
  });
}

TEST_CASE("mailbox: a full mailbox refuses a message, and has room again after a poll") {
  with_mailboxes([](auto& b, auto& boot, auto& m) {
    rank_t const to = (b.rank() + 1) % b.size();
    std::size_t sent = 0;
    std::vector<std::byte> const message(m.max_message_bytes, std::byte{42});
    while (sent < 100'000 && m.try_send(to, message)) ++sent;
    require(sent > 0, "a mailbox has room for at least one message");
    require(sent < 100'000, "a mailbox is bounded");
    boot.fence();
    std::size_t received = 0;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (received < sent) {
      std::size_t const handled = m.poll([&](rank_t, pgas::bytes_in bytes) {
        if (bytes.size() == m.max_message_bytes && bytes[0] == std::byte{42}) ++received;
      });
      if (handled == 0) std::this_thread::yield();
      require(std::chrono::steady_clock::now() < deadline, "a sent message arrives");
    }
    require_equal(received, sent, "messages");
    boot.fence();
    while (!m.try_send(to, {})) {
      static_cast<void>(m.poll([](rank_t, pgas::bytes_in) {}));
      require(std::chrono::steady_clock::now() < deadline, "a mailbox has room again after a poll");
    }
    boot.fence();
  });
}

TEST_CASE("mailbox: a handler may send messages") {
  with_mailboxes([](auto& b, auto&, auto& m) {
    // A counter travels round the ring, sent on by the handlers, until it has made 50 rounds.
    int const last = 50 * b.size();
    bool over = false;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto const send = [&](int hops) {
      while (!m.try_send((b.rank() + 1) % b.size(), std::as_bytes(std::span(&hops, 1))))
        std::this_thread::yield();
    };
    if (b.rank() == 0) send(1);
    while (!over) {
      std::size_t const handled = m.poll([&](rank_t, pgas::bytes_in bytes) {
        int hops = 0;
        std::memcpy(&hops, bytes.data(), sizeof hops);
        if (hops < last + b.size() - 1) send(hops + 1);
        over = hops >= last;
      });
      if (handled == 0) std::this_thread::yield();
      b.check("mailbox test");
      require(std::chrono::steady_clock::now() < deadline, "the counter passes every rank and returns");
    }
  });
}

namespace detail {

/// Answers each question with its number, also while this rank waits.
template <class Mailbox>
class answering {
 public:
  explicit answering(Mailbox& m) : mailbox_(&m) {
    m.serve([this] { look(); });
  }
  answering(answering const&) = delete;
  answering& operator=(answering const&) = delete;
  ~answering() { mailbox_->serve({}); }

  [[nodiscard]] bool ask(rank_t whom) { return send(whom, question); }
  [[nodiscard]] int answers() const noexcept { return answers_; }

 private:
  enum kind : unsigned char { question, answer };

  bool send(rank_t to, kind what) { return mailbox_->try_send(to, std::as_bytes(std::span(&what, 1))); }
  void look() {
    mailbox_->poll([this](rank_t from, pgas::bytes_in bytes) {
      if (bytes[0] == std::byte{answer}) {
        ++answers_;
      } else {
        unanswered_.push_back(from);
      }
    });
    std::erase_if(unanswered_, [this](rank_t from) { return send(from, answer); });
  }

  Mailbox* mailbox_;
  int answers_ = 0;
  std::vector<rank_t> unanswered_;
};

}  // namespace detail

TEST_CASE("mailbox: a rank that waits answers messages, whatever it waits for") {
  with_mailboxes([](auto& b, auto& boot, auto& m) {
    detail::answering post(m);
    auto words = make_control(b, boot, "served", {.slots = 1, .cells = 0});
    rank_t const others = b.size() - 1;
    auto const ask_all = [&](int answers) {
      for (rank_t whom = 1; whom <= others; ++whom) {
        bool asked = false;
        words.wait_until(words.slot(0, 0, 0), [&](pgas::word) { return asked = asked || post.ask(whom); },
                         {.operation = "asks"});
      }
      words.wait_until(words.slot(0, 0, 0), [&](pgas::word) { return post.answers() == answers; },
                       {.operation = "waits for answers"});
    };
    for (int round = 1; round <= 20; ++round) {
      if (b.rank() == 0) ask_all(2 * round * others - others);  // the others wait in the bootstrap's fence
      boot.fence();
      if (b.rank() == 0) {  // the others wait for a word
        ask_all(2 * round * others);
        for (rank_t r = 1; r <= others; ++r)
          words.slot(r, 0, 0).store(static_cast<pgas::word>(round), std::memory_order_release);
      } else {
        words.wait_until(words.slot(b.rank(), 0, 0),
                         [&](pgas::word seen) { return seen == static_cast<pgas::word>(round); },
                         {.operation = "waits for a word"});
      }
    }
    boot.fence();
  });
}

TEST_CASE("mailbox: a rank that waits for room goes on when the receiver, which waits too, has polled") {
  with_mailboxes([](auto& b, auto& boot, auto& m) {
    detail::answering post(m);
    auto words = make_control(b, boot, "room", {.slots = 1, .cells = 0});
    rank_t const next = (b.rank() + 1) % b.size();
    constexpr int questions = 200;
    for (int i = 0; i < questions; ++i) {
      bool asked = false;
      words.wait_until(words.slot(b.rank(), 0, b.rank()),
                       [&](pgas::word) { return asked = asked || post.ask(next); },
                       {.operation = "waits for room", .awaited = pgas::group(&next, 1)});
    }
    words.wait_until(words.slot(b.rank(), 0, b.rank()),
                     [&](pgas::word) { return post.answers() == questions; },
                     {.operation = "waits for answers", .awaited = pgas::group(&next, 1)});
    boot.fence();
  });
}

}  // namespace pgas_test
