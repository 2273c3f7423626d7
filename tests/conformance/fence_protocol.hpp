// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "make.hpp"

/// The promises of every fence protocol, checked on every backend whose control words can carry it.
namespace pgas_test {

/// Calls use(protocol, backend, bootstrap) on every rank for each protocol that the backend can carry.
template <class Protocols, class Use>
void with_protocols(Use const& use, std::initializer_list<rank_t> sizes = usual_sizes) {
  on_every_backend(
      [&]<class Backend>(Backend& b, auto& boot) {
        auto const one = [&]<class Protocol>(Protocol p) {
          if constexpr (pgas::can_carry(Backend::control_type::read_modify_write, Protocol::needs) &&
                        (!pgas::is_mailed<Protocol> || pgas::mailbox_backend<Backend>))
            use(p, b, boot);
        };
        [&]<class... Protocol>(std::type_identity<std::tuple<Protocol...>>) {
          (one(Protocol{}), ...);
        }(std::type_identity<Protocols>{});
      },
      sizes);
}

/// Throws if the first words of this rank have changed.
template <class Control>
void require_untouched(Control& c, pgas::control_words first) {
  for (std::size_t i = 0; i < first.slots; ++i)
    require_equal(c.slot(c.rank(), i, c.rank()).load(std::memory_order_acquire), 0U,
                  "a slot that is not its own");
  for (std::size_t i = 0; i < first.cells; ++i)
    require_equal(c.cell(c.rank(), i).load(std::memory_order_acquire), 0U, "a cell that is not its own");
}

/// Calls use(protocol, one, two, backend, bootstrap) on every rank for each protocol of a tuple that the
/// backend can carry. The states of two windows lie side by side in one control, behind words that must not
/// change.
template <class Protocols, class Use>
void with_two_windows(std::string const& key, Use const& use) {
  with_protocols<Protocols>([&]<class Protocol>(Protocol p, auto& b, auto& boot) {
    auto const own = Protocol::words(b.size());
    constexpr pgas::control_words before{.slots = 3, .cells = 2};
    auto c = make_control_for<Protocol>(b, boot, key + std::string(Protocol::name), before + own + own);
    using state = typename Protocol::template on<decltype(c)>;
    state one(c, before);
    state two(c, before + own);
    use(p, one, two, b, boot);
    require_untouched(c, before);
    boot.fence();
  });
}

/// by_size uses its second protocol above 16 ranks.
inline constexpr std::initializer_list<rank_t> fence_sizes{1, 2, 3, 4, 7, 17};

TEST_CASE("fence: no rank leaves before every rank has come, in every round and with any delays") {
  with_protocols<fence_protocols>(
      []<class Protocol>(Protocol, auto& b, auto& boot) {
        auto const own = Protocol::words(b.size());
        auto c = make_control(b, boot, std::string("f") + std::string(Protocol::name),
                              own + pgas::control_words{.slots = 1, .cells = 0});
        typename Protocol::template on<decltype(c)> protocol(c, {});
        pgas::no_boundary nothing;
        random_source rng(static_cast<std::uint64_t>(b.rank()));
        pgas::word const usual = b.size() > 7 ? 30 : 200;
        for (pgas::word round = 1; round <= rounds_on(b, usual); ++round) {
          c.slot(b.rank(), own.slots, b.rank()).store(round, std::memory_order_relaxed);
          dawdle(rng);
          protocol.fence(nothing, "fence test");
          for (rank_t r = 0; r < b.size(); ++r) {
            // Relaxed: the fence itself must order the store before it and the load after it.
            auto const seen = c.slot(r, own.slots, r).load(std::memory_order_relaxed);
            require(seen == round || seen == round + 1, "a rank is in this round, or one ahead");
          }
        }
      },
      fence_sizes);
}

TEST_CASE("fence: it works at any place in a control, and two of them do not interfere") {
  with_two_windows<fence_protocols>("t", [](auto, auto& one, auto& two, auto& b, auto&) {
    pgas::no_boundary nothing;
    for (int round = 0; round < rounds_on(b, 50); ++round) {
      one.fence(nothing, "one");
      if (round % 3 == 0) two.fence(nothing, "two");
    }
  });
}

TEST_CASE("lock: all ranks may hold lock_all at once") {
  with_protocols<lock_protocols>([]<class Protocol>(Protocol, auto& b, auto& boot) {
    auto const own = Protocol::words(b.size());
    auto c = make_control_for<Protocol>(b, boot, std::string("l") + std::string(Protocol::name),
                                        own + pgas::control_words{.slots = 1, .cells = 0});
    typename Protocol::template on<decltype(c)> protocol(c, {});
    pgas::no_boundary nothing;
    for (int round = 0; round < rounds_on(b, 20); ++round) {
      protocol.lock_all(nothing);
      boot.fence();  // returns only if every rank got in
      protocol.unlock_all(nothing);
    }
    boot.fence();
  });
}

}  // namespace pgas_test
