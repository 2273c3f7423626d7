// SPDX-License-Identifier: BSL-1.0
// The promises of waking a rank that sleeps in a wait. These tests measure time, so nothing runs beside them.
// test: threads, optimized, alone, unit protocols
#include <array>
#include <atomic>
#include <chrono>
#include <pgas/detail/job/wait.hpp>
#include <pgas/signals.hpp>
#include <thread>

#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

/// One storer and one sleeper take the steps of detail::bell without the sleep. Returns how often the storer
/// saw no sleeper while the sleeper saw no store: then a wake-up is lost.
std::uint64_t lost_wake_ups(bool fences, int milliseconds) {
  // On lines of their own, as on pool_map: on one line processors hardly ever lose a wake-up.
  alignas(128) std::atomic<std::uint64_t> word{0};
  alignas(128) std::atomic<std::uint32_t> bell{0};
  alignas(128) std::atomic<std::uint64_t> storers_turn{0};
  alignas(128) std::atomic<std::uint64_t> stored{0};
  // Lines that both store to. Their misses keep the word back in the storer's buffer of stores.
  struct alignas(128) stored_line {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<stored_line, 48> before_word;
  bool saw_sleeper = false;
  std::atomic<bool> over{false};
  std::thread storer([&] {
    for (std::uint64_t round = 1;; ++round) {
      while (storers_turn.load(std::memory_order_acquire) < round) {
        if (over.load(std::memory_order_relaxed)) return;
      }
      for (stored_line& at : before_word) at.value.store(round, std::memory_order_relaxed);
      word.store(round, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      saw_sleeper = bell.load(std::memory_order_relaxed) != 0;
      stored.store(round, std::memory_order_release);
    }
  });
  std::uint64_t lost = 0;
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  for (std::uint64_t round = 1; std::chrono::steady_clock::now() < end; ++round) {
    for (stored_line& at : before_word) at.value.store(0, std::memory_order_relaxed);
    bell.store(0, std::memory_order_relaxed);
    storers_turn.store(round, std::memory_order_release);
    for (std::uint64_t i = round % 256; i > 0; --i) pgas::detail::cpu_relax();
    bell.exchange(1, std::memory_order_acq_rel);
    if (fences) static_cast<void>(pgas::detail::bell::fence_everywhere());
    bool const saw_store = word.load(std::memory_order_acquire) == round;
    while (stored.load(std::memory_order_acquire) < round) {
      if (std::chrono::steady_clock::now() > end) std::this_thread::yield();
    }
    if (!saw_store && !saw_sleeper) ++lost;
  }
  over.store(true, std::memory_order_relaxed);
  storer.join();
  return lost;
}

}  // namespace

TEST_CASE("waking: no wake-up is lost with the fence of the sleeper, and some are without it") {
  if (!pgas::detail::bell::admit_fences()) return;
  CHECK(lost_wake_ups(true, 1000) == 0);
  if (pgas::detail::available_cores() < 2) return;
  std::uint64_t lost = 0;
  for (int attempt = 0; attempt < 20 && lost == 0; ++attempt) lost = lost_wake_ups(false, 100);
  WARN_MESSAGE(lost > 0, "without the fence no wake-up was lost: the cores had other work");
}

TEST_CASE("waking: a late signal wakes the rank that sleeps, whether it waits for one word or for several") {
  if (!chosen(process_model::backend::name) || !pgas::detail::bell::admit_fences()) return;
  for_each_model<std::tuple<process_model, loopback_model>>([]<class Model>(Model) {
    for (bool const any : {false, true}) {
      if (any && Model::backend::name == loopback_model::backend::name) continue;  // one bell for all words
      double const late = pgas::run<typename Model::backend>(2, [any](auto& team) {
        auto w = pgas::make_window<std::int64_t>(team, 1);
        auto signals = pgas::make_signals(w);
        auto const now = [] {
          return std::int64_t{std::chrono::steady_clock::now().time_since_epoch().count()};
        };
        std::int64_t lost = 0;
        for (int round = 0; round < 3; ++round) {
          team.barrier();
          if (team.rank() == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(600));
            pgas::lock_all epoch{w};
            epoch.put(0, 0, now());
            signals.signal(epoch, 0);
            continue;
          }
          if (any) {
            std::array<pgas::signal_from, 2> const all{{{0}, {1}}};
            static_cast<void>(signals.wait_any(all));
          } else {
            signals.wait({1});
          }
          lost += now() - w.local()[0];
        }
        return static_cast<double>(lost) * 1e-9;
      });
      CHECK_MESSAGE(late < 0.05, Model::name(), any, ": ", late,
                    " s");  // a sleep lasts up to 75 ms then: 0.11 s together
    }
  });
}

TEST_CASE("waking: a request by mail wakes the owner that sleeps in a barrier") {
  if (!chosen(process_model::backend::name) || !pgas::detail::bell::admit_fences()) return;
  for_each_model<std::tuple<process_model, loopback_model>>([]<class Model>(Model) {
    double const late = pgas::run<typename Model::backend>(2, [](auto& team) {
      using mailed = pgas::protocols<pgas::default_fence, pgas::sync::mailed_posts, pgas::sync::mailed_locks>;
      auto w = pgas::make_window<int>(team.template with<typename Model::coherence, mailed>(), 1);
      std::chrono::duration<double> lost{};
      for (int round = 0; round < 3; ++round) {
        team.barrier();
        if (team.rank() == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
          auto const asked = std::chrono::steady_clock::now();
          pgas::lock epoch{w, 1, pgas::exclusive};
          epoch.put(1, 0, round);
          lost += std::chrono::steady_clock::now() - asked;
        }
        team.barrier();
      }
      return lost.count();
    });
    CHECK_MESSAGE(late < 0.05, Model::name(), ": ", late, " s");  // as in the case above
  });
}
