// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>

namespace PGAS_NAMESPACE::detail {

/// A bell is 32 bits of shared memory beside an awaited word. A rank sleeps on it until a store to the word.
///
/// The bell of a control word lies on another line than the word. A waiting rank polls the word, so it gets
/// the word's line as soon as the other rank has stored. If the bell were on that line, the storer's look at
/// the bell would fetch the line back. The line of the bell stays in all caches, since a bell changes only
/// for a sleep.
///
/// Source    the futex of Linux; the fence that only one side pays: Dice, Huang, Yang 2001, "Asymmetric
///           Dekker synchronization", and membarrier(2).
/// States    0: no rank sleeps on the word. 1: a rank may sleep; the next storer sets 0 and wakes all.
///
///               a sleeper                               a storer
///               exchange the bell with 1                store the word
///               membarrier: a fence in every rank       no fence: the compiler keeps the order
///               load the word; stop if it ends the wait load the bell; stop if it is 0
///               sleep while the bell is 1               exchange the bell with 0, wake all sleepers
///
/// No wake-up is lost. The kernel interrupts each rank that runs, and each such rank fences; a rank that does
/// not run has fenced when it left its core. A storer's fence comes after its store or before its load of the
/// bell. In the first case the sleeper loads the stored value. In the second case the storer loads 1.
/// If the storer's exchange removes the 1 of a second sleeper, that sleeper does not fall asleep, since the
/// kernel compares the bell with 1 under a lock that the wake-up takes, too. If the second sleeper exchanges
/// after the storer, its acquire pairs with the storer's release, and it loads the stored value.
///
/// Costs     a storer: a load from a line that is in its cache, except after a sleep. The first storer after
///           a sleep also makes a system call. A sleeper: three system calls.
namespace bell {

/// The most bells on which one rank can sleep at a time: as many as the system allows.
inline constexpr std::size_t most = 128;

/// The bells of the words that one wait awaits.
class list {
 public:
  void add(std::uint32_t* at) noexcept {
    if (size_ < most) at_[size_] = at;
    ++size_;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// All of them, or none if they are too many to sleep on.
  [[nodiscard]] std::span<std::uint32_t* const> all() const noexcept {
    return {at_.data(), size_ <= most ? size_ : 0};
  }

 private:
  std::array<std::uint32_t*, most> at_;
  std::size_t size_ = 0;
};

/// Registers this process for the fences of sleepers. Returns false if the system has no such fence; sleeps
/// must then be short. One call in each process suffices, and children inherit it.
///
/// Linux records for each core whether the running process is registered. A core that ran this process last,
/// and idles during the call, is missed. Its record is still false when the process runs there again (seen on
/// Linux 6.18). So a supervisor calls this function before it starts its ranks: a process that is registered
/// from its birth has no such core. A second kind of fence reaches the threads of the own process without
/// that record. A process that MPI started may still be missed. The bound on each sleep then ends the wait.
[[nodiscard]] inline bool admit_fences() noexcept {
  constexpr int register_global_expedited = 1 << 2;  // the headers of old systems lack the names
  constexpr int register_private_expedited = 1 << 4;
  return ::syscall(SYS_membarrier, register_global_expedited, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, register_private_expedited, 0, 0) == 0;
}

/// A full fence in this thread, in every running thread of this process, and in those of the registered
/// processes.
inline bool fence_everywhere() noexcept {
  constexpr int global_expedited = 1 << 1;
  constexpr int private_expedited = 1 << 3;
  return ::syscall(SYS_membarrier, private_expedited, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, global_expedited, 0, 0) == 0;
}

[[gnu::noinline]] inline void wake(std::uint32_t* at) noexcept {
  // acq_rel: release pairs with the acquire of a later sleeper's exchange, which then loads the stored word.
  if (std::atomic_ref(*at).exchange(0, std::memory_order_acq_rel) == 0) return;
  ::syscall(SYS_futex, at, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Wakes all ranks that sleep on the bell. Call it after the store that may end their waits.
[[gnu::always_inline]] inline void ring(std::uint32_t* at) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the sleeper's membarrier is the fence
  // relaxed: the exchange in wake() synchronizes.
  if (std::atomic_ref(*at).load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake(at);
}

/// The same for the bell that lies `Words` words behind a word. The function that wakes takes the word, so
/// the inlined part does not compute the address of the bell.
template <std::size_t Words, class Word>
[[gnu::noinline]] void wake_behind(Word* at) noexcept {
  wake(reinterpret_cast<std::uint32_t*>(at + Words));
}
template <std::size_t Words, class Word>
[[nodiscard, gnu::always_inline]] inline bool is_set_behind(Word* at) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // as in ring
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at + Words)).load(std::memory_order_relaxed) != 0;
}
template <std::size_t Words, class Word>
[[gnu::always_inline]] inline void ring_behind(Word* at) noexcept {
  if (is_set_behind<Words>(at)) [[unlikely]]
    wake_behind<Words>(at);
}

/// Sleeps until one of the bells is 0, for at most `longest` nanoseconds. Returns false if the system
/// refuses.
[[nodiscard]] inline bool sleep_while_set(std::span<std::uint32_t* const> bells,
                                          std::int64_t longest) noexcept {
  ::timespec limit{.tv_sec = static_cast<std::time_t>(longest / 1'000'000'000),
                   .tv_nsec = static_cast<long>(longest % 1'000'000'000)};
  long result = -1;
  if (bells.size() == 1) {
    result = ::syscall(SYS_futex, bells.front(), FUTEX_WAIT, 1, &limit, nullptr, 0);
  } else {
#if defined(SYS_futex_waitv) && defined(FUTEX_32)
    std::array<::futex_waitv, most> waiters{};
    for (std::size_t i = 0; i < bells.size(); ++i) {
      waiters[i] = {
          .val = 1, .uaddr = reinterpret_cast<std::uintptr_t>(bells[i]), .flags = FUTEX_32, .__reserved = 0};
    }
    ::timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += limit.tv_sec + (until.tv_nsec + limit.tv_nsec) / 1'000'000'000;
    until.tv_nsec = (until.tv_nsec + limit.tv_nsec) % 1'000'000'000;
    result = ::syscall(SYS_futex_waitv, waiters.data(), static_cast<unsigned>(bells.size()), 0, &until,
                       CLOCK_MONOTONIC);
#else
    errno = ENOSYS;
#endif
  }
  return result >= 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

/// Sleeps until a store to one of the words with these bells, for at most `longest` nanoseconds, unless
/// condition() is true already. Returns false if the system cannot wake a rank in this way.
[[nodiscard]] inline bool sleep(std::span<std::uint32_t* const> bells, std::int64_t longest,
                                function_ref<bool()> condition) {
  if (bells.empty() || bells.size() > most) return false;
  // acquire: pairs with the release in wake(), for a storer that exchanged first; release: for other
  // sleepers.
  for (std::uint32_t* const at : bells) std::atomic_ref(*at).exchange(1, std::memory_order_acq_rel);
  return fence_everywhere() && (condition() || sleep_while_set(bells, longest));
}

}  // namespace bell
}  // namespace PGAS_NAMESPACE::detail
