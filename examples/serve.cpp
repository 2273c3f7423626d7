// SPDX-License-Identifier: BSL-1.0
// serve: rank 0 answers look-ups in a global array over TCP while all ranks compute, in one loop.
// serve PORT serves until a client asks for element -1: `echo 7 | nc -q1 localhost PORT`. serve load N C lets
// C clients ask N questions, and checks the answers.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <pgas/async/asio.hpp>
#include <stdexcept>
#include <string>
#include <support/backends.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/arguments.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t elements = 10000;
long value_of(std::size_t i) { return 3 * static_cast<long>(i) + 1; }

constexpr long sum_of_all =
    3 * static_cast<long>(elements * (elements - 1) / 2) + static_cast<long>(elements);

/// One client's connection: a line with an index gets a line with the element.
template <class Loop, class Epoch>
class session : public std::enable_shared_from_this<session<Loop, Epoch>> {
 public:
  session(tcp::socket socket, Loop& loop, Epoch& epoch, long& answered, bool& is_over)
      : socket_(std::move(socket)), loop_(loop), epoch_(epoch), answered_(answered), is_over_(is_over) {}

  void read() {
    asio::async_read_until(socket_, asio::dynamic_buffer(line_), '\n',
                           [self = this->shared_from_this()](auto error, std::size_t length) {
                             if (!error) self->look_up(length);
                           });
  }

 private:
  void look_up(std::size_t length) {
    long const index = std::atol(line_.c_str());
    line_.erase(0, length);
    if (index < 0 || index >= static_cast<long>(elements)) {
      is_over_ = is_over_ || index < 0;
      return write(index < 0 ? "bye\n" : "no such element\n");
    }
    auto const first = static_cast<std::size_t>(index);
    pgas::complete(loop_, epoch_.rget(first, std::span(&element_, 1)),
                   [self = this->shared_from_this()](std::exception_ptr const& error) {
                     if (error) std::rethrow_exception(error);
                     ++self->answered_;
                     self->write(std::to_string(self->element_) + "\n");
                   });
  }
  void write(std::string text) {
    answer_ = std::move(text);
    asio::async_write(socket_, asio::buffer(answer_),
                      [self = this->shared_from_this()](auto error, std::size_t) {
                        if (!error && !self->is_over_) self->read();
                      });
  }

  tcp::socket socket_;
  Loop& loop_;
  Epoch& epoch_;
  long& answered_;
  bool& is_over_;
  std::string line_;
  std::string answer_;
  long element_ = 0;
};

/// A client that asks `questions` questions, and returns the number of right answers.
long ask(unsigned short port, long questions, std::size_t seed) {
  asio::io_context context;
  tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), port});
  long right = 0;
  std::string line;
  for (long k = 0; k < questions; ++k) {
    std::size_t const i = (seed + static_cast<std::size_t>(k) * 7919) % elements;
    asio::write(socket, asio::buffer(std::to_string(i) + "\n"));
    std::size_t const length = asio::read_until(socket, asio::dynamic_buffer(line), '\n');
    right += std::stol(line) == value_of(i) ? 1 : 0;
    line.erase(0, length);
  }
  return right;
}

/// Asks with several clients, each in a thread that calls nothing of the library, then ends the server.
long ask_all(unsigned short port, long questions, std::size_t clients) {
  std::vector<long> right(clients);
  {
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c < clients; ++c) {
      long const mine = questions / static_cast<long>(clients) +
                        (static_cast<long>(c) < questions % static_cast<long>(clients) ? 1 : 0);
      threads.emplace_back([&, c, mine] {
        try {
          right[c] = ask(port, mine, c * 131);
        } catch (std::exception const& e) {
          std::fprintf(stderr, "client %zu: %s\n", c, e.what());
        }
      });
    }
  }
  asio::io_context context;
  tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), port});
  asio::write(socket, asio::buffer(std::string("-1\n")));
  return std::accumulate(right.begin(), right.end(), 0L);
}

/// The computation of a rank: rounds of work on its part, each with a sum over all ranks, until rank 0 says
/// that the server is over. Rank 0 answers clients while it awaits a sum. Returns the number of rounds.
template <class Team, class Array>
pgas::task<long> compute(Team& team, Array& a, bool const& is_over) {
  for (long rounds = 1;; ++rounds) {
    std::array<long, 2> mine{0, team.rank() == 0 && is_over ? 1L : 0L};
    {
      auto const own = pgas::stage(a, pgas::read_only);
      for (std::size_t i = 0; i < a.own_box().count[0]; ++i) mine[0] += own(i);
    }
    std::array<long, 2> sums{};
    co_await team.start().all_reduce(mine, sums);
    if (sums[0] != sum_of_all) throw std::runtime_error("the ranks have computed another sum");
    if (sums[1] != 0) co_return rounds;
  }
}

/// Rank 0: clients and the computation in one loop.
template <class Team, class Array, class Epoch>
void serve(Team& team, Array& a, Epoch& epoch, unsigned short port, long questions, std::size_t clients) {
  asio::io_context context;
  pgas::scheduler tasks(team);
  pgas::progress_in loop(context, tasks);
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), port));
  unsigned short const chosen = acceptor.local_endpoint().port();
  long answered = 0;
  bool is_over = false;
  std::function<void()> const accept = [&] {
    acceptor.async_accept([&](auto error, tcp::socket socket) {
      if (error) return;
      using session_type = session<decltype(loop), Epoch>;
      std::make_shared<session_type>(std::move(socket), loop, epoch, answered, is_over)->read();
      accept();
    });
  };
  accept();
  std::printf("serve: %zu elements on %d ranks at port %d\n", elements, team.size(), int{chosen});
  std::fflush(stdout);

  long rounds = 0;
  pgas::complete(loop, compute(team, a, is_over), [&](std::exception_ptr const& error, long done) {
    rounds = done;
    context.stop();
    if (error) std::rethrow_exception(error);
  });
  long right = 0;
  std::jthread asking([&] {
    if (questions > 0) right = ask_all(chosen, questions, clients);
  });
  context.run();
  asking.join();
  if (questions > 0) {
    std::printf("serve: %ld of %ld questions answered right", right, questions);
  } else {
    std::printf("serve: %ld questions answered", answered);
  }
  std::printf(" in %ld rounds of the ranks\n", rounds);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team, auto arguments) {
    if (arguments.empty() || arguments.size() > 3)
      throw std::runtime_error("usage: serve PORT, or serve load QUESTIONS CLIENTS");
    bool const is_load = arguments[0] == "load";
    auto const port = static_cast<unsigned short>(is_load ? 0 : example::number(arguments, 0, 0));
    auto const questions = is_load ? static_cast<long>(example::number(arguments, 1, 1000)) : 0;
    auto const clients = std::max<std::size_t>(1, example::number(arguments, 2, 4));

    auto a = pgas::make_array<long>(team, elements);
    {
      auto const own = pgas::stage(a, pgas::write_only);
      for (std::size_t i = 0; i < a.own_box().count[0]; ++i) own(i) = value_of(a.own_box().first[0] + i);
    }
    pgas::fence filled{a};
    filled.close();
    pgas::lock_all epoch{a};  // for look-ups
    if (team.rank() == 0) {
      serve(team, a, epoch, port, questions, clients);
    } else {
      pgas::sync_wait(team, compute(team, a, false));
    }
  });
}
// With load 4000 4 --pgas-ranks 3:
//   serve: 10000 elements on 3 ranks at port 41217
//   serve: 4000 of 4000 questions answered right in 5126 rounds of the ranks
