// SPDX-License-Identifier: BSL-1.0
// The conformance suites on MPI: tests/meson.build builds them with each MPI, and mpirun starts them.
#include "mpi/one_backend.hpp"

#include "conformance/bootstrap.hpp"
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
