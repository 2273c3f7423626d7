// SPDX-License-Identifier: BSL-1.0
// Fence and post protocols on the emulated chip, with more ranks than a search could cover, in orders that
// seeds choose. Also the behaviour of a match list that is full.
// test: optimized, unit protocols
#include "support/post_rounds.hpp"

using namespace pgas_test;
namespace scc = pgas::scc;

namespace {

/// Runs body(backend, bootstrap) on each of `ranks` cores. Their priorities change at random times.
template <class Body>
void by_seeds(rank_t ranks, std::uint64_t seeds, std::string_view name, Body const& body) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    scc::options how;
    how.seed = seed;
    how.schedule = seed % 2 == 0 ? scc::scheduling::priority : scc::scheduling::random;
    scc::with_options const emulated(how);
    try {
      launch<pgas::backends::scc>(ranks, [&](auto& backend, auto& boot) { body(backend, boot, seed); });
    } catch (std::exception const& e) {
      FAIL_CHECK(name << " on " << ranks << " cores, seed " << seed << ": " << std::string(e.what()));
      return;
    }
  }
}

template <class Protocols, class Use>
void each(Use const& use) {
  if (!chosen(pgas::backends::scc::name)) return;
  std::apply([&](auto... protocol) { (use(protocol), ...); }, Protocols{});
}

}  // namespace

TEST_CASE("post protocols: three to eight ranks that come early or late keep the contract, for many seeds") {
  each<post_protocols>([]<class Protocol>(Protocol) {
    for (rank_t const ranks : {3, 8}) {
      by_seeds(ranks, 40, Protocol::name, [](auto& backend, auto& boot, std::uint64_t seed) {
        post_fixture<Protocol, std::remove_reference_t<decltype(backend)>> f(backend, boot, "seeds");
        random_source rng(seed * 100 + static_cast<std::uint64_t>(backend.rank()));
        random_source shared(seed);
        for (pgas::word round = 1; round <= 12; ++round) {
          auto const graph = random_graph(shared, backend.size());
          play_round(f, backend, graph, round, rng, false);
        }
      });
    }
  });
}

TEST_CASE(
    "fence protocols: no rank leaves before every rank has come, for three to eight ranks and many seeds") {
  each<fence_protocols>([]<class Protocol>(Protocol) {
    for (rank_t const ranks : {3, 8}) {
      by_seeds(ranks, 40, Protocol::name, [](auto& backend, auto& boot, std::uint64_t) {
        auto const own = Protocol::words(backend.size());
        auto control =
            make_control(backend, boot, "seeds", own + pgas::control_words{.slots = 1, .cells = 0});
        typename Protocol::template on<decltype(control)> protocol(control, {});
        pgas::no_boundary nothing;
        for (pgas::word round = 1; round <= 20; ++round) {
          control.slot(backend.rank(), own.slots, backend.rank()).store(round, std::memory_order_relaxed);
          protocol.fence(nothing, "fence");
          for (rank_t r = 0; r < backend.size(); ++r) {
            auto const seen = control.slot(r, own.slots, r).load(std::memory_order_relaxed);
            require(seen == round || seen == round + 1, "a rank is in this round, or one ahead");
          }
        }
      });
    }
  });
}

TEST_CASE("match_list: the error for too many early posts names the limit and a protocol to choose") {
  if (!chosen(pgas::backends::scc::name)) return;
  by_seeds(3, 4, "match_list", [](auto& backend, auto& boot, std::uint64_t) {
    using protocol_type = pgas::sync::match_list<1>;
    auto control = make_control(backend, boot, "full", protocol_type::words(backend.size()));
    typename protocol_type::template on<decltype(control)> protocol(control, {});
    pgas::no_boundary nothing;
    rank_t const origin = 0;
    if (backend.rank() == 1) protocol.post(pgas::group(&origin, 1), nothing);
    boot.fence();
    if (backend.rank() == 2) {
      require_error(errc::no_space,
                    {"rank 2: post", "the match list of rank 0 has 1 places", "match_list<places>"},
                    [&] { protocol.post(pgas::group(&origin, 1), nothing); });
    }
    boot.fence();
    // Once the list has room again, the protocol goes on.
    rank_t const first = 1;
    if (backend.rank() == origin)
      protocol.complete(pgas::group(&first, 1), nothing, pgas::exposure_state::awaited);
    if (backend.rank() == first) protocol.wait(pgas::group(&origin, 1), nothing);
    boot.fence();
    if (backend.rank() == first) protocol.post(pgas::group(&origin, 1), nothing);
    if (backend.rank() == origin)
      protocol.complete(pgas::group(&first, 1), nothing, pgas::exposure_state::awaited);
    if (backend.rank() == first) protocol.wait(pgas::group(&origin, 1), nothing);
    boot.fence();
  });
}
