// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "channel.hpp"

/// The ends of waits in a channel whose job fails: not for ranks that a launcher has started, since it fails
/// with them.
namespace pgas_test {

TEST_CASE("channel: waits end when a rank fails, and when ranks wait for each other's messages") {
  using namespace channel_suite;
  for_each_model([]<class Model>(Model) {
    using backend = typename Model::backend;
    if constexpr (pgas::mailbox_backend<backend> || pgas::channel_backend<backend>) {
      auto const fails = [](auto const& wait) {
        return error_of<Model>(2, [&wait](auto& team) {
          auto c = pgas::make_channel(team);
          team.barrier();
          if (team.rank() == 1) throw std::runtime_error("gone on purpose");
          wait(c);
        });
      };
      auto const lost = [](std::optional<pgas::error> const& e) {
        REQUIRE_MESSAGE(e.has_value(), Model::name());
        CHECK_MESSAGE(std::string(e->what()).find("gone on purpose") != std::string::npos,
                      Model::name() << ": " << e->what());
      };
      lost(fails([](auto& c) { hear(c, 0); }));
      lost(fails([](auto& c) {
        for (;;) tell(c, 1, 0, 1);
      }));
      lost(fails([](auto& c) {
        for (;;) {
          c.poll();
          std::this_thread::yield();
        }
      }));
      auto const stuck = [](auto const& wait, std::string_view operation) {
        auto const e = error_of<Model>(2, [&wait](auto& team) {
          auto c = pgas::make_channel(team);
          wait(c);
        });
        REQUIRE_MESSAGE(e.has_value(), Model::name());
        CHECK_MESSAGE(e->code() == errc::deadlock, Model::name() << ": " << e->what());
        std::string const what = e->what();
        CHECK_MESSAGE(what.find("waits in " + std::string(operation) + " (channel ") != std::string::npos,
                      Model::name() << ": " << what);
      };
      stuck([](auto& c) { hear(c, 0); }, "receive");
      stuck(
          [](auto& c) {
            for (;;) tell(c, 1 - c.rank(), 0, 1);
          },
          "send");
    }
  });
}

}  // namespace pgas_test
