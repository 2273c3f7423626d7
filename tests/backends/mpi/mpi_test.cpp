// SPDX-License-Identifier: BSL-1.0
// The conformance suites on MPI: tests/meson.build builds them with each MPI, and mpirun starts them.
// test: mpirun
#include "one_backend.hpp"

#include "conformance/bootstrap.hpp"
#include "conformance/channel.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/mailed_protocol.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/segment.hpp"

TEST_CASE(
    "mailbox: a rank that receives a message finds the sender's earlier stores to words of a third rank") {
  pgas_test::with_mailboxes(
      [](auto& b, auto& boot, auto& m) {
        auto words = pgas_test::make_control(b, boot, "third", {.slots = 1, .cells = 0});
        auto const of_third = words.slot(2, 0, 0);
        pgas::word received = 0;
        auto const handler = [&](pgas::rank_t, pgas::bytes_in bytes) {
          std::memcpy(&received, bytes.data(), sizeof received);
          // acquire: pairs with the message, behind which rank 0 cannot leave its store.
          pgas_test::require(of_third.load(std::memory_order_acquire) >= received, "the store came first");
        };
        auto const until = [&](auto const& condition) {
          words.wait_until(words.slot(b.rank(), 0, b.rank()), [&](pgas::word) { return condition(); },
                           {.operation = "waits for a message"});
        };
        for (pgas::word round = 1; round <= 20; ++round) {
          if (b.rank() == 0) {
            of_third.store(round, std::memory_order_relaxed);
            bool sent = false;
            auto const message = std::as_bytes(std::span(&round, 1));
            until([&] { return sent = sent || m.try_send(1, message); });
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sends nothing that it has not sent
          } else if (b.rank() == 1) {
            until([&] { return m.poll(handler), received >= round; });
          }
        }
        boot.fence();
      },
      {3});
}

TEST_CASE("mailbox: messages between ranks of a node need no packet") {
  pgas_test::with_mailboxes(
      [](auto& b, auto& boot, auto& m) {
        if constexpr (requires { b.packets_sent(); }) {
          pgas::rank_t const other = 1 - b.rank();
          if (b.rank() < 2 && b.locality_of(other) == pgas::locality::node) {
            auto const before = b.packets_sent();
            auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            int next = 0;
            auto const receive = [&](pgas::rank_t from, pgas::bytes_in message) {
              pgas_test::require_equal(from, other, "the sender, as a rank of the team");
              pgas_test::require_equal(pgas::detail::cluster::read_as<int>(message.data()), next++,
                                       "a message");
            };
            for (int sent = 0; sent < 100 || next < 100;) {
              if (sent < 100 && m.try_send(other, std::as_bytes(std::span(&sent, 1)))) ++sent;
              if (m.poll(receive) == 0) std::this_thread::yield();
              pgas_test::require(std::chrono::steady_clock::now() < deadline, "all messages arrive");
            }
            pgas_test::require_equal(b.packets_sent() - before, std::uint64_t{0}, "packets");
          }
        }
        boot.fence();
      },
      {2, 3});
}
