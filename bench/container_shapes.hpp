// SPDX-License-Identifier: BSL-1.0
// Queues and deques by hand, on words that the ranks share. They know no library, no deadlock and no end of a
// job: a rank that waits spins, and then yields.
#pragma once

#include <pthread.h>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "meter.hpp"
#include "raw.hpp"

namespace bench {

/// A wait by hand.
class patience {
 public:
  explicit patience(int spins) noexcept : left_(spins) {}
  void wait() noexcept {
    if (--left_ < 0) std::this_thread::yield();
  }

 private:
  int left_;
};

/// A ring for one rank that pushes and one that pops, as Lamport's of 1983. Each end keeps the other's last
/// place, so it loads the other's line only when the ring seems full or empty.
class ring_of_pair {
 public:
  static constexpr std::size_t words(std::size_t cells) noexcept { return 2 * raw::lines::stride + cells; }

  ring_of_pair(std::uint64_t* at, std::size_t cells, int spins) noexcept
      : ends_(at), cells_(at + 2 * raw::lines::stride), size_(cells), spins_(spins) {}

  void push(std::uint64_t value) noexcept {
    for (patience p(spins_); mine_ - other_ == size_;) {
      other_ = ends_.at(1).load(std::memory_order_acquire);  // pairs with the store in pop
      if (mine_ - other_ == size_) p.wait();
    }
    cells_[mine_ % size_] = value;
    ends_.at(0).store(++mine_, std::memory_order_release);  // pairs with the load in pop
  }
  std::uint64_t pop() noexcept {
    for (patience p(spins_); mine_ == other_;) {
      other_ = ends_.at(0).load(std::memory_order_acquire);  // pairs with the store in push
      if (mine_ == other_) p.wait();
    }
    std::uint64_t const value = cells_[mine_ % size_];
    ends_.at(1).store(++mine_, std::memory_order_release);  // pairs with the load in push
    return value;
  }

 private:
  raw::lines ends_;
  std::uint64_t* cells_;
  std::uint64_t size_;
  int spins_;
  std::uint64_t mine_ = 0;
  std::uint64_t other_ = 0;
};

/// Vyukov's bounded ring for many ranks: a cell is its turn and an element.
class ring_of_cells {
 public:
  static constexpr std::size_t words(std::size_t cells) noexcept {
    return 2 * raw::lines::stride + 2 * cells;
  }

  ring_of_cells(std::uint64_t* at, std::size_t cells, int spins) noexcept
      : ends_(at), cells_(at + 2 * raw::lines::stride), size_(cells), spins_(spins) {}
  /// On one rank, before all others use the ring.
  void begin() noexcept {
    for (std::uint64_t i = 0; i < size_; ++i) turn(i).store(i, std::memory_order_relaxed);
  }

  void push(std::uint64_t value) noexcept {
    std::uint64_t const ticket = claim(0, 0);
    cells_[2 * (ticket % size_) + 1] = value;
    turn(ticket).store(ticket + 1, std::memory_order_release);  // pairs with the load in claim of pop
  }
  std::uint64_t pop() noexcept {
    std::uint64_t const ticket = claim(1, 1);
    std::uint64_t const value = cells_[2 * (ticket % size_) + 1];
    turn(ticket).store(ticket + size_, std::memory_order_release);  // pairs with the load in claim of push
    return value;
  }

 private:
  [[nodiscard]] raw::word_ref turn(std::uint64_t ticket) const noexcept {
    return raw::word_ref(cells_[2 * (ticket % size_)]);
  }
  /// Takes the next place of an end whose cell has come to its turn.
  std::uint64_t claim(std::size_t end, std::uint64_t ahead) noexcept {
    patience p(spins_);
    for (std::uint64_t at = ends_.at(end).load(std::memory_order_relaxed);;) {
      std::uint64_t const now = turn(at).load(std::memory_order_acquire);  // pairs with both stores of turns
      if (now == at + ahead) {
        if (ends_.at(end).compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) return at;
      } else {
        if (now < at + ahead) p.wait();
        at = ends_.at(end).load(std::memory_order_relaxed);
      }
    }
  }

  raw::lines ends_;
  std::uint64_t* cells_;
  std::uint64_t size_;
  int spins_;
};

/// A ring behind a mutex that processes share, in the place of a std::deque, whose memory is private.
class locked_ring {
 public:
  locked_ring(std::uint64_t* at, std::size_t cells, int spins) noexcept
      : mutex_(reinterpret_cast<pthread_mutex_t*>(at)),
        ends_(at + raw::lines::stride),
        cells_(at + 2 * raw::lines::stride),
        size_(cells),
        spins_(spins) {}
  /// On one rank, before all others use the ring.
  void begin() noexcept {
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex_, &shared);
    pthread_mutexattr_destroy(&shared);
  }

  void push(std::uint64_t value) noexcept {
    when([this] { return ends_[0] - ends_[1] < size_; }, [&] { cells_[ends_[0]++ % size_] = value; });
  }
  std::uint64_t pop() noexcept {
    std::uint64_t value = 0;
    when([this] { return ends_[0] != ends_[1]; }, [&] { value = cells_[ends_[1]++ % size_]; });
    return value;
  }

 private:
  template <class Ready, class Act>
  void when(Ready const& ready, Act const& act) noexcept {
    for (patience p(spins_);;) {
      pthread_mutex_lock(mutex_);
      bool const is_ready = ready();
      if (is_ready) act();
      pthread_mutex_unlock(mutex_);
      if (is_ready) return;
      p.wait();
    }
  }

  pthread_mutex_t* mutex_;
  std::uint64_t* ends_;
  std::uint64_t* cells_;
  std::uint64_t size_;
  int spins_;
};

/// The deque of Chase and Lev 2005, with the memory orders of Lê and others 2013, and cells for all tasks.
class stealing_deque {
 public:
  static constexpr std::size_t words(std::size_t cells) noexcept { return 2 * raw::lines::stride + cells; }

  stealing_deque(std::uint64_t* at, std::size_t cells) noexcept
      : ends_(at), cells_(at + 2 * raw::lines::stride), size_(cells) {}

  /// By its owner.
  void push(std::uint64_t task) noexcept {
    std::uint64_t const b = bottom().load(std::memory_order_relaxed);
    cell(b).store(task, std::memory_order_relaxed);
    bottom().store(b + 1, std::memory_order_release);  // pairs with the load in steal
  }
  /// By its owner.
  std::optional<std::uint64_t> take() noexcept {
    std::uint64_t const b = bottom().load(std::memory_order_relaxed) - 1;
    bottom().store(b, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in steal
    std::uint64_t t = top().load(std::memory_order_relaxed);
    std::optional<std::uint64_t> task;
    if (static_cast<std::int64_t>(b - t) >= 0) {
      task = cell(b).load(std::memory_order_relaxed);
      if (t != b) return task;
      if (!top().compare_exchange_strong(t, t + 1, std::memory_order_seq_cst)) task.reset();
    }
    bottom().store(b + 1, std::memory_order_relaxed);
    return task;
  }
  /// By the others.
  std::optional<std::uint64_t> steal() noexcept {
    std::uint64_t t = top().load(std::memory_order_acquire);  // pairs with the exchange of other thieves
    std::atomic_thread_fence(std::memory_order_seq_cst);      // pairs with the fence in take
    std::uint64_t const b = bottom().load(std::memory_order_acquire);  // pairs with the store in push
    if (static_cast<std::int64_t>(b - t) <= 0) return std::nullopt;
    std::uint64_t const task = cell(t).load(std::memory_order_relaxed);
    if (!top().compare_exchange_strong(t, t + 1, std::memory_order_seq_cst)) return std::nullopt;
    return task;
  }

 private:
  [[nodiscard]] raw::word_ref top() const noexcept { return ends_.at(0); }
  [[nodiscard]] raw::word_ref bottom() const noexcept { return ends_.at(1); }
  [[nodiscard]] raw::word_ref cell(std::uint64_t i) const noexcept {
    return raw::word_ref(cells_[i % size_]);
  }

  raw::lines ends_;
  std::uint64_t* cells_;
  std::uint64_t size_;
};

/// A task of about 1 us.
inline void short_task() {
  double x = 1;
  for (int i = 0; i < 250; ++i) {
    x = x * 0.999 + 0.5;
    keep(x);
  }
}

/// Runs own tasks and stolen ones until `done` counts `all` tasks.
inline void run_tasks(std::vector<stealing_deque>& deques, std::size_t self, raw::word_ref done,
                      std::uint64_t all, int spins) {
  patience p(spins);
  for (std::size_t victim = self;;) {
    auto task = deques[self].take();
    if (!task && victim != self) task = deques[victim].steal();
    if (task) {
      short_task();
      done.fetch_add(1, std::memory_order_release);  // pairs with the load below
      continue;
    }
    if (done.load(std::memory_order_acquire) >= all) return;
    victim = (victim + 1) % deques.size();
    p.wait();
  }
}

}  // namespace bench
