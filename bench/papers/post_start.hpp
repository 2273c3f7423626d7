// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 3.15 and 3.16, Table 3.4: one origin and k targets synchronize in a loop and put
// nothing.
#pragma once

#include <numeric>
#include <optional>
#include <pgas/exposure.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/stamped.hpp>

#include "messages.hpp"

namespace papers::post_start {

inline constexpr rank_t origin = 0;

/// START makes no access: it looks up the numbers of its targets. Its time is the library's alone, and the
/// shortest. Set by: 1.7 us with one target and 5.8 us with 47 (Christgau 2017, Table 3.4).
inline constexpr double translation_us = (5.8 - 1.7) / (47 - 1);
constexpr double start_us(std::size_t targets) {
  return 1.7 + translation_us * (static_cast<double>(targets) - 1);
}

/// The thesis' protocol to the letter, where the library's differs (see sync/match_vector.hpp). A target sets
/// its counter before its bit. The origin waits for all targets and resets their bits before it signals the
/// first.
///
/// Differs   from algorithm 2, which resets bits without the lock. A target that sets a bit of the same byte
///           at that time loses it, and the benchmark does not end. So the thesis cannot have measured it.
class paper_match_vector {
 public:
  paper_match_vector(machine& m, pgas::group targets, library const& how)
      : m_(m), targets_(targets), how_(how), own_counter_(counter_of(m.rank())) {}

  void start() { m_.work(start_us(targets_.size())); }
  void post() {
    m_.work(how_.call);
    m_.store(page_type::ncm, own_counter_, 1);
    change(origin, vector_word(m_.rank()), [this](std::uint32_t byte) { return byte | bit(m_.rank()); });
  }
  void complete() {
    m_.work(how_.call);
    for (rank_t target : targets_) {
      while ((m_.load(page_type::ncm, vector_word(target)) & bit(target)) == 0) {}
      change(origin, vector_word(target), [target](std::uint32_t byte) { return byte & ~bit(target); });
    }
    for (rank_t target : targets_)
      change(target, counter_of(target), [](std::uint32_t left) { return left - 1; });
  }
  void wait() {
    m_.work(how_.call);
    while (m_.load(page_type::ncm, own_counter_) != 0) {}
  }

 private:
  static constexpr rank_t bits = 8;
  static constexpr std::uint32_t bit(rank_t rank) { return std::uint32_t{1} << (rank % bits); }
  [[nodiscard]] std::uint32_t counter_of(rank_t rank) const { return m_.scratch_of(rank, 0); }
  /// The origin's byte, in a word of its own: accesses are words here.
  [[nodiscard]] std::uint32_t vector_word(rank_t target) const {
    return m_.scratch_of(origin, 32 + 4 * static_cast<std::size_t>(target / bits));
  }
  template <class Change>
  void change(rank_t owner, std::uint32_t word, Change const& to) {
    auto const lock = m_.team().state()->backend.test_and_set(owner);
    while (!lock.read()) {}
    m_.store(page_type::ncm, word, to(m_.load(page_type::ncm, word)));
    lock.write();
  }

  machine& m_;
  pgas::group targets_;
  library how_;
  std::uint32_t own_counter_;
};

/// One of the library's protocols.
template <class Post>
class ours {
 public:
  ours(machine& m, pgas::group targets, library const& how)
      : m_(m), targets_(targets), how_(how), window_(make_window(m)) {}

  void start() {
    m_.work(start_us(targets_.size()));
    access_.emplace(window_, targets_);
  }
  void post() {
    m_.work(how_.call);
    exposure_.emplace(window_, pgas::group(&origin, 1));
  }
  void complete() {
    m_.work(how_.call);
    access_.reset();
  }
  void wait() {
    m_.work(how_.call);
    exposure_.reset();
  }

 private:
  static auto make_window(machine& m) {
    using bundle = pgas::protocols<pgas::default_fence, Post, pgas::sync::shared_only>;
    return pgas::make_window<std::uint32_t>(m.team().with<pgas::coherence::write_through, bundle>(), 1);
  }
  using window_type = decltype(make_window(std::declval<machine&>()));

  machine& m_;
  pgas::group targets_;
  library how_;
  window_type window_;
  std::optional<pgas::access<typename window_type::state_type, pgas::hints{}>> access_;
  std::optional<pgas::exposure<typename window_type::state_type, pgas::hints{}>> exposure_;
};

class by_messages {
 public:
  by_messages(machine& m, pgas::group targets, library const& how)
      : channel_(m), window_(m, channel_, how), targets_(targets) {}

  void start() { window_.start(); }
  void post() { window_.post(pgas::group(&origin, 1)); }
  void complete() { window_.complete(targets_); }
  void wait() { window_.wait(pgas::group(&origin, 1)); }

 private:
  messages channel_;
  message_windows window_;
  pgas::group targets_;
};

/// The way from one round to the next. The thesis measures a tight loop without a barrier (section 3.5.3).
/// There targets post one after the other, as the origin signals them. Signalling one takes longer than the
/// next one holds the origin's register, so no post waits. The lock metrics of Table 3.4 are those of posts
/// that meet: with a barrier before each round they do.
enum class rounds { tight, together };

struct times {
  std::vector<double> post, start, complete, wait;
  double loops = 0;  // reads of a register that another core had, for each post
};

template <class Protocol>
times measure(rank_t k, int repetitions, rounds begin) {
  times t;
  std::vector<rank_t> targets(static_cast<std::size_t>(k));
  std::iota(targets.begin(), targets.end(), 1);
  on_chip(k + 1, default_timing(), [&](machine& m) {
    Protocol protocol(m, targets, library::active());
    m.team().barrier();
    for (int i = 0; i < repetitions; ++i) {
      if (begin == rounds::together) m.team().barrier();
      double const before = m.now();
      auto const spins = m.core().count().register_spins;
      if (m.rank() == origin) {
        protocol.start();
        double const started = m.now();
        protocol.complete();
        t.start.push_back(started - before);
        t.complete.push_back(m.now() - started);
      } else {
        protocol.post();
        double const posted = m.now();
        t.loops += static_cast<double>(m.core().count().register_spins - spins) / repetitions / k;
        protocol.wait();
        t.post.push_back(posted - before);
        t.wait.push_back(m.now() - posted);
      }
    }
    m.team().barrier();
  });
  return t;
}

template <class Protocol>
void tell_all(teller const& tell, std::string_view series, rank_t k, int repetitions,
              rounds begin = rounds::tight) {
  times const t = measure<Protocol>(k, repetitions, begin);
  tell(series, k, "post", median(t.post));
  tell(series, k, "start", median(t.start));
  tell(series, k, "complete", median(t.complete));
  tell(series, k, "wait", median(t.wait));
  tell(series, k, "cycle", median(t.start) + median(t.complete));
  tell(series, k, "modification", std::max(0.0, median(t.post) - library::active().call));
  tell(series, k, "loops", t.loops, "loops");
}

inline void run(effort how) {
  int const repetitions = times_of(how, 1001, 101, 3);
  teller const tell("post_start", default_timing());
  for (rank_t k : {1, 2, 4, 8, 10, 16, 24, 31, 47}) {
    if (how == effort::small && k != 4 && k != 10) continue;
    int const few = std::min(repetitions, 101);
    tell_all<paper_match_vector>(tell, "match_vector", k, repetitions);
    tell_all<paper_match_vector>(tell, "match_vector, posts together", k, repetitions, rounds::together);
    tell_all<by_messages>(tell, "messages", k, few);
    tell_all<by_messages>(tell, "messages, posts together", k, few, rounds::together);
    tell_all<ours<pgas::sync::match_vector>>(tell, "ours: match_vector", k, repetitions);
    tell_all<ours<pgas::sync::stamped>>(tell, "ours: stamped", k, repetitions);
    tell_all<ours<pgas::sync::post_array>>(tell, "ours: post_array", k, repetitions);
  }
}

}  // namespace papers::post_start
