// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/long_wait.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Tells the processor that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The number of polls before a wait does anything else, even before it asks whether ranks share cores. If
/// ranks share cores, the awaited rank is likely not running, and further polls only delay it.
inline constexpr int first_looks = 8;

/// The number of further polls without a pause, if there is a core for every rank. Together with the first
/// ones they last about as long as a signal between two cores.
inline constexpr int eager_looks = 24;

/// The number of all polls before a wait yields, if there is a core for every rank.
inline constexpr int patient_looks = 4000;

/// The number of messages after which a serving wait does not restart its polls, so that a rank which gets
/// messages without end still notices its deadline and the failure of the job.
inline constexpr int most_fresh_starts = 4096;

/// Returns whether a waiting rank keeps its core for a while. If ranks share cores, the awaited rank likely
/// needs this core.
inline bool keeps_core(job const& j) noexcept {
  return j.waits() == wait_policy::spin || (j.waits() == wait_policy::adaptive && !j.shares_cores());
}

/// The number of yields before a wait starts to keep time: reading the clock, or copying the awaited ranks,
/// at each yield would cost noticeable time.
inline constexpr int eager_yields = 256;

/// The same for wait_policy::park: less time than a rank takes to fall asleep and wake up.
inline constexpr int brief_looks = 64;
inline constexpr int brief_yields = 16;

/// Continues a wait after its first polls. It calls prepare(), which names the awaited ranks and the bells of
/// the awaited words, only if the wait is long.
[[gnu::noinline]] inline void wait_on(job const& j, function_ref<bool()> condition, waiting_for const& why,
                                      std::string_view label, function_ref<void(long_wait&)> prepare) {
  auto served = [&] {
    service::run_all(j.block());
    return condition();
  };
  bool const serves = service::any();
  // A rank that has got a message expects the next one: it restarts its polls, and does not pause between
  // them, since a poll that serves takes as long as a pause.
  auto const looks = [&served, serves](int how_often) {
    int fresh_starts = 0;
    std::uint64_t works = service::work_count();
    for (int i = 0; i < how_often; ++i) {
      if (served()) return true;
      if (!serves) {
        if (i >= eager_looks) cpu_relax();
      } else if (service::work_count() != works && fresh_starts < most_fresh_starts) {
        works = service::work_count();
        ++fresh_starts;
        i = 0;
      }
    }
    return false;
  };
  bool const parks = j.waits() == wait_policy::park;
  // A poll that also serves takes several times as long.
  int const patient = serves ? patient_looks / 4 : patient_looks;
  if (looks(keeps_core(j) ? patient : parks && !j.shares_cores() ? brief_looks : 0)) return;
  int const yields = j.waits() == wait_policy::spin ? 0 : parks ? brief_yields : eager_yields;
  // The next message often follows soon. With a yield or a pause after each poll, a rank would answer a
  // series of messages at the rate of system calls.
  bool const expects_mail = serves && keeps_core(j);
  for (int i = 0; i < yields; ++i) {
    std::uint64_t const works = service::work_count();
    give_up_core();
    if (served() || (expects_mail && service::work_count() != works && looks(patient))) return;
    if (i % 16 == 15) j.check(why.operation);
  }
  long_wait patience(j, why, label);
  prepare(patience);
  patience.serves();
  int const at_once = expects_mail ? patient : j.waits() == wait_policy::spin ? patient_looks : 1;
  while (!looks(at_once)) patience.pause(served);
}

/// The bells of a wait that no store ends.
struct no_bells {
  std::span<std::uint32_t* const> operator()() const noexcept { return {}; }
};

/// Returns once `condition()` is true: it polls, then yields, then starts a long wait.
template <std::predicate Condition, class Awaited, class Bells = no_bells>
void wait_for(job const& j, Condition&& condition, waiting_for const& why, std::string_view label,
              Awaited&& awaited, Bells&& bells = {}) {
  for (int i = 0; i < first_looks; ++i) {
    if (condition()) return;
  }
  auto const prepare = [&](long_wait& patience) {
    patience.awaits(awaited());
    patience.sleeps_on(bells());
  };
  wait_on(j, condition, why, label, prepare);
}

/// The longest pause between two attempts, as a power of two: about as long as a hand-over between ranks
/// through a system call.
inline constexpr unsigned longest_pause = 10;

/// Pauses between two attempts: for a random number of up to 2^attempt polls, or of yields if it does not
/// keep its core. Each rank has its own random numbers, so that colliding ranks do not collide again in step.
inline void back_off(job const& j, unsigned attempt, waiting_for const& why) {
  static thread_local std::uint64_t calls = 0;
  j.check(why.operation);
  service::run_all(j.block());
  std::uint64_t mixed =
      (++calls * 0x9e3779b97f4a7c15U) ^ (static_cast<std::uint64_t>(j.rank()) * 0xd1342543de82ef95U);
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;  // from splitmix64
  mixed ^= mixed >> 27U;
  std::uint64_t const most = std::uint64_t{1} << std::min(attempt, longest_pause);
  if (!keeps_core(j)) {
    for (std::uint64_t i = mixed % std::min(most, std::uint64_t{16}); i > 0; --i) give_up_core();
    give_up_core();
  } else {
    for (std::uint64_t i = mixed % most; i > 0; --i) cpu_relax();
    cpu_relax();
  }
}

inline void job::get(std::string_view key, bytes_out into) const {
  plain_list<rank_t> none;
  job_block::entry const* entry = nullptr;
  wait_for(
      *this, [&] { return (entry = find(key)) != nullptr; }, {.operation = "run"}, "start of the job",
      [&]() -> auto& { return none; });
  if (entry->bytes != into.size()) {
    throw_error(errc::mismatch, rank_, "bootstrap",
                {"the value of '", key, "' has another size; the ranks must run the same program"});
  }
  if (!into.empty()) std::memcpy(into.data(), entry->value.data(), into.size());
}

inline void job::fence() const {
  auto const ranks = static_cast<std::uint64_t>(size());
  // acq_rel: pairs with itself and with the acquire below; carries the keys that each rank has put.
  std::uint64_t const before = block().arrived.fetch_add(1, std::memory_order_acq_rel);
  std::uint64_t const all = (before / ranks + 1) * ranks;
  if (before + 1 == all) bell::ring(&block().arrived_bell);
  wait_for(
      *this, [&] { return block().arrived.load(std::memory_order_acquire) >= all; }, {.operation = "run"},
      "start or end of the job",
      [&] {
        plain_list<rank_t> others;
        for (rank_t rank = 0; rank < size(); ++rank) {
          if (rank != rank_) others.push_back(rank);
        }
        return others;
      },
      [this] { return std::array{&block().arrived_bell}; });
}

static_assert(bootstrap<job>);

}  // namespace PGAS_NAMESPACE::detail
