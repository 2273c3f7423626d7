// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <thread>

#include "lock_protocol.hpp"
#include "post_protocol.hpp"

/// The promises of mailed protocols alone: how many messages they send, that every wait answers, and what
/// becomes of a rank that nobody answers.
namespace pgas_test {

namespace detail {

/// A control whose office counts the messages that this rank sends.
template <class Inner>
class counting_control : public Inner {
 public:
  explicit counting_control(Inner inner) : Inner(std::move(inner)) {}

  struct office_type {
    counting_control* of;
    std::size_t open(pgas::message_receiver r) { return behind().open(r); }
    void close(std::size_t line) { behind().close(line); }
    bool try_send(rank_t to, std::size_t line, pgas::word message) {
      bool const has_room = behind().try_send(to, line, message);
      of->sent += has_room ? 1 : 0;
      return has_room;
    }
    void send_later(rank_t to, std::size_t line, pgas::word message) {
      behind().send_later(to, line, message);
      ++of->sent;
    }
    void poll() { behind().poll(); }
    bool expect(rank_t from, int looks) { return behind().expect(from, looks); }
    void will_send(rank_t to) { behind().will_send(to); }
    auto& behind() { return static_cast<Inner*>(of)->office(); }
  };
  office_type& office() noexcept { return office_; }

  int sent = 0;

 private:
  office_type office_{this};
};

/// Calls use(protocol state, its control, backend, bootstrap) on every backend with mailboxes, on three
/// ranks.
template <class Protocol, class Use>
void counted(Use const& use) {
  with_protocols<std::tuple<Protocol>>(
      [&]<class P>(P, auto& b, auto& boot) {
        counting_control control(
            make_control_for<P>(b, boot, "c " + std::string(P::name), P::words(b.size())));
        typename P::template on<decltype(control)> protocol(control, {});
        use(protocol, control, b, boot);
        boot.fence();
      },
      {3});
}

}  // namespace detail

TEST_CASE("mailed posts: a pair of origin and target exchanges two messages, deferred and immediate") {
  auto const two = [](auto& protocol, auto& control, auto& b, auto& boot) {
    pgas::no_boundary nothing;
    rank_t const next = (b.rank() + 1) % b.size();
    rank_t const previous = (b.rank() + b.size() - 1) % b.size();
    pgas::group const to(&next, 1);
    pgas::group const from(&previous, 1);
    for (auto const known : {pgas::exposure_state::awaited, pgas::exposure_state::known}) {
      for (bool const accesses : {false, true}) {
        control.sent = 0;
        protocol.post(from, nothing);
        if (known == pgas::exposure_state::known) boot.fence();
        protocol.start(to, nothing, known);
        if (accesses) protocol.trigger(next, nothing, known);
        require_equal(control.sent, 1, "messages of a target");
        protocol.complete(to, nothing, known);
        require_equal(control.sent, 2, "messages of a target and an origin");
        protocol.wait(from, nothing);
        require_equal(control.sent, 2, "messages of an epoch");
      }
    }
    control.sent = 0;
    protocol.post({}, nothing);
    protocol.start({}, nothing, pgas::exposure_state::awaited);
    protocol.complete({}, nothing, pgas::exposure_state::awaited);
    protocol.wait({}, nothing);
    require_equal(control.sent, 0, "messages of empty groups");
  };
  detail::counted<pgas::sync::mailed_posts>(two);
  detail::counted<pgas::sync::immediate<pgas::sync::mailed_posts>>(two);
}

TEST_CASE("mailed locks: a lock takes three messages; a deferred lock without an access takes none") {
  auto const counts = []<class Protocol>(Protocol& protocol, auto& control, auto& b, auto& boot) {
    constexpr bool is_deferred = requires(pgas::no_boundary& n) { protocol.first_access(0, n); };
    pgas::no_boundary nothing;
    auto const step = [&](int of_holder, int of_owner, std::string_view what, auto const& act) {
      control.sent = 0;
      boot.fence();
      if (b.rank() == 0) act();
      boot.fence();
      require_equal(control.sent, b.rank() == 0 ? of_holder : b.rank() == 1 ? of_owner : 0, what);
    };
    using enum pgas::lock_kind;
    for (auto const kind : {shared, exclusive}) {
      step(2, 1, "messages of a lock with an access", [&] {
        hold(protocol, 1, kind, nothing);
        protocol.unlock(1, kind, nothing);
      });
      step(is_deferred ? 0 : 2, is_deferred ? 0 : 1, "messages of a lock without an access", [&] {
        protocol.lock(1, kind, nothing);
        protocol.unlock(1, kind, nothing);
      });
      step(0, 0, "messages of a lock on the own part", [&] {
        hold(protocol, 0, kind, nothing);
        protocol.unlock(0, kind, nothing);
      });
    }
    if (b.rank() == 1) hold(protocol, 1, exclusive, nothing);
    step(1, 1, "messages of a try in vain",
         [&] { require(!protocol.try_lock(1, shared, nothing), "another rank holds the part alone"); });
    if (b.rank() == 1) protocol.unlock(1, exclusive, nothing);
    control.sent = 0;
    boot.fence();
    protocol.lock_all(nothing);
    protocol.unlock_all(nothing);
    boot.fence();
    require_equal(control.sent, 3 * (b.size() - 1), "messages of lock_all, and answers to the others'");
  };
  detail::counted<pgas::sync::mailed_locks>(counts);
  detail::counted<pgas::sync::deferred<pgas::sync::mailed_locks>>(counts);
}

TEST_CASE("mailed posts: immediate epochs keep the contract") {
  with_protocols<std::tuple<pgas::sync::immediate<pgas::sync::mailed_posts>>>(
      []<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
        post_fixture<Protocol, Backend> f(b, boot, "i");
        random_source rng(static_cast<std::uint64_t>(b.rank()) + 50);
        random_source shared(7);
        for (pgas::word round = 1; round <= 40; ++round)
          play_round(f, b, random_graph(shared, b.size()), round, rng, false);
      },
      {4});
}

// These name their models, so the units of single backends leave them out.
#if !defined(PGAS_TEST_ONE_BACKEND)
using models_with_mail = std::tuple<process_model, loopback_model, scc_model>;

/// The team with mailed protocols.
template <class Team>
auto mailed(Team& team) {
  return team.template with<typename Team::backend_type::default_coherence,
                            pgas::protocols<pgas::default_fence, pgas::sync::mailed_posts,
                                            pgas::sync::deferred<pgas::sync::mailed_locks>>>();
}

TEST_CASE("mailed protocols: a rank answers while it waits in any call, on any window") {
  everywhere<models_with_mail>(
      [](auto& team) {
        auto const by_mail = mailed(team);
        auto one = pgas::make_window<int>(by_mail, 4);
        auto plain = pgas::make_window<int>(team, 4);
        rank_t const last = team.size() - 1;
        int expected = 0;
        auto const others_lock_last = [&] {
          ++expected;
          if (team.rank() == last) return;
          pgas::lock epoch{one, last, pgas::exclusive};
          epoch.put(last, 0, epoch.get(last, 0) + 1);
        };
        for (int round = 0; round < 3; ++round) {
          others_lock_last();
          team.barrier();
          others_lock_last();
          static_cast<void>(team.broadcast(round, 0));
          team.barrier();
          {
            pgas::fence epoch{plain};
            others_lock_last();
            epoch.next();
          }
          {
            auto two = pgas::make_window<int>(by_mail, 1);  // its window goes before the first one
            others_lock_last();
            pgas::exposure exposed{two, {(team.rank() + last) % team.size()}};
            pgas::access epoch{two, {(team.rank() + 1) % team.size()}};
            epoch.put((team.rank() + 1) % team.size(), 0, round + 1);
            epoch.complete();
            exposed.wait();
            int const got = two.local()[0];
            require_equal(got, round + 1, "the neighbour's put");
          }
          {
            pgas::lock_all all{plain};
            others_lock_last();
            static_cast<void>(all.fetch_add(last, 1, 1));
          }
          team.barrier();
          pgas::lock epoch{one, last, pgas::shared};
          require_equal(epoch.get(last, 0), expected * last, "updates under locks");
          epoch.unlock();
          team.barrier();
        }
      },
      {2, 3});
}

TEST_CASE("mailed locks: an owner that has returned answers nobody, and the error names it") {
  auto const on_model = []<class Model>(Model) {
    if (!chosen(Model::backend::name)) return;
    auto const e = error_of<Model>(2, [](auto& team) {
      auto w = pgas::make_window<int>(mailed(team), 1);
      auto waits_no_more = pgas::make_window<int>(team, 1);
      team.barrier();  // rank 1 could still answer here
      {
        pgas::lock_all all{waits_no_more};
        if (team.rank() == 1) {
          all.atomic_store(0, 0, 1);
          return;
        }
        while (all.atomic_load(0, 0) == 0) std::this_thread::yield();
      }
      pgas::lock epoch{w, 1, pgas::exclusive};
      epoch.put(1, 0, 1);
    });
    REQUIRE_MESSAGE(e.has_value(), Model::name());
    std::string const what = e->what();
    CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::deadlock), what);
    CHECK_MESSAGE(what.find("rank 0 waits in lock (window 0)") != std::string::npos, what);
    CHECK_MESSAGE(what.find("none of them can go on") != std::string::npos, what);
  };
  std::apply([&](auto... model) { (on_model(model), ...); }, models_with_mail{});
}
#endif

}  // namespace pgas_test
