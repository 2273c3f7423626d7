// SPDX-License-Identifier: BSL-1.0
// check.py compiles this to assembly. It compares each ours_X with raw_X, the same loop through a plain
// pointer, and counts the instructions an element of each epoch_X. mutant_X reads what epoch_X knows again.
#include <pgas/core.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/shared_only.hpp>

#include "../support/fake_nodes.hpp"

namespace {

using team = pgas::team<pgas::backends::process_map>;
template <class T>
using state = typename decltype(pgas::make_window<T>(std::declval<team&>(), 0))::state_type;
using segment = pgas::backends::process_map::segment_type;
template <pgas::boundary_of Side>
using boundary = pgas::window_boundary<segment, pgas::coherence::coherent, Side>;

template <class T>
using ours = pgas::target_view<state<T>, pgas::hints{}>;

/// Views of parts that are near or far: before the rank is asked, and of a near part.
using nodes = pgas::team<pgas_test::fake::nodes_of<pgas::backends::process_map, 2>>;
template <class T>
using node_state = typename decltype(pgas::make_window<T>(std::declval<nodes&>(), 0))::state_type;
template <class T>
using near_or_far = pgas::target_view<node_state<T>, pgas::hints{}>;
template <class T>
using near = pgas::target_view<node_state<T>, pgas::hints{}, pgas::part_is::near>;

/// A pointer that comes from where a target_view has its own: memory.
template <class T>
struct raw {
  void* state;
  int rank;
  std::size_t size;
  T* base;
  T* announced;

  void put(std::size_t i, T const& value) const { base[i] = value; }
  T get(std::size_t i) const { return base[i]; }
  static void flush() { std::atomic_signal_fence(std::memory_order_seq_cst); }
};

template <class T>
using window = decltype(pgas::make_window<T>(std::declval<team&>(), 0));
template <class T>
using fence = decltype(pgas::fence{std::declval<window<T>&>()});
// The default lock protocol may have something to take at an access; shared_only never has.
using shared_only = pgas::protocols<pgas::default_fence, pgas::sync::match_vector, pgas::sync::shared_only>;
template <class T>
using shared_window =
    decltype(pgas::make_window<T>(std::declval<team&>().with<pgas::coherence::coherent, shared_only>(), 0));
template <class T>
using shared_lock_all = decltype(pgas::lock_all{std::declval<shared_window<T>&>()});
template <class T>
using lock_all = decltype(pgas::lock_all{std::declval<window<T>&>()});
template <bool ReadAgain = false, class Epoch, class T>
[[gnu::always_inline]] inline void epoch_loop(Epoch& epoch, pgas::rank_t target, std::size_t n, T value) {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (ReadAgain) asm volatile("" : : : "memory");
    epoch.put(target, i, value);
  }
}
static_assert(sizeof(raw<double>) == sizeof(ours<double>) && sizeof(raw<double>) == sizeof(near<double>));

template <class Access>
[[gnu::always_inline]] inline void put_loop(Access const& target, std::size_t n, double value) {
  for (std::size_t i = 0; i < n; ++i) target.put(i, value);
}
template <class Access>
[[gnu::always_inline]] inline void put_values(Access const& target, std::size_t n,
                                              double const* __restrict from) {
  for (std::size_t i = 0; i < n; ++i) target.put(i, from[i] * 2.0);
}
template <class Access>
[[gnu::always_inline]] inline void put_scattered(Access const& target, std::size_t n, std::size_t const* at,
                                                 double value) {
  for (std::size_t i = 0; i < n; ++i) target.put(at[i], value);
}
template <class Access>
[[gnu::always_inline]] inline void put_flush(Access const& target, std::size_t n, double value) {
  for (std::size_t i = 0; i < n; ++i) {
    target.put(i, value);
    target.flush();
  }
}
template <class Access>
[[gnu::always_inline]] inline double get_sum(Access const& target, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += target.get(i);
  return sum;
}
template <class Access>
[[gnu::always_inline]] inline void get_values(Access const& target, std::size_t n, double* __restrict into) {
  for (std::size_t i = 0; i < n; ++i) into[i] = target.get(i) * 2.0;
}
template <class Access>
[[gnu::always_inline]] inline std::uint64_t get_words(Access const& target, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += target.get(i);
  return sum;
}

}  // namespace

extern "C" {
void ours_put_loop(ours<double> const& t, std::size_t n, double v) { put_loop(t, n, v); }
void raw_put_loop(raw<double> const& t, std::size_t n, double v) { put_loop(t, n, v); }
void ours_put_values(ours<double> const& t, std::size_t n, double const* from) { put_values(t, n, from); }
void raw_put_values(raw<double> const& t, std::size_t n, double const* from) { put_values(t, n, from); }
void ours_put_scattered(ours<double> const& t, std::size_t n, std::size_t const* at, double v) {
  put_scattered(t, n, at, v);
}
void raw_put_scattered(raw<double> const& t, std::size_t n, std::size_t const* at, double v) {
  put_scattered(t, n, at, v);
}
void ours_put_flush(ours<double> const& t, std::size_t n, double v) { put_flush(t, n, v); }
void raw_put_flush(raw<double> const& t, std::size_t n, double v) { put_flush(t, n, v); }
double ours_get_sum(ours<double> const& t, std::size_t n) { return get_sum(t, n); }
double raw_get_sum(raw<double> const& t, std::size_t n) { return get_sum(t, n); }
void ours_get_values(ours<double> const& t, std::size_t n, double* into) { get_values(t, n, into); }
void raw_get_values(raw<double> const& t, std::size_t n, double* into) { get_values(t, n, into); }
std::uint64_t ours_get_words(ours<std::uint64_t> const& t, std::size_t n) { return get_words(t, n); }
std::uint64_t raw_get_words(raw<std::uint64_t> const& t, std::size_t n) { return get_words(t, n); }

// The same loops into a near part, on nodes that share no memory. `visit` asks once, before the loop.
void ours_near_put_loop(near<double> const& t, std::size_t n, double v) { put_loop(t, n, v); }
void raw_near_put_loop(raw<double> const& t, std::size_t n, double v) { put_loop(t, n, v); }
void ours_near_put_flush(near<double> const& t, std::size_t n, double v) { put_flush(t, n, v); }
void raw_near_put_flush(raw<double> const& t, std::size_t n, double v) { put_flush(t, n, v); }
double ours_near_get_sum(near<double> const& t, std::size_t n) { return get_sum(t, n); }
double raw_near_get_sum(raw<double> const& t, std::size_t n) { return get_sum(t, n); }
void ours_visit_put(near_or_far<double> const& t, std::size_t n, double const* from) {
  t.visit([&]<class View>(View const& part) {
    if constexpr (View::where == pgas::part_is::near) put_values(part, n, from);
  });
}
void raw_visit_put(raw<double> const& t, std::size_t n, double const* from) {
  if (t.base != nullptr) put_values(t, n, from);
}

// An access through the epoch, which looks up the target's part each time.
void epoch_put(fence<double>& e, pgas::rank_t target, std::size_t n, double v) {
  epoch_loop(e, target, n, v);
}
void epoch_put_locks(lock_all<double>& e, pgas::rank_t target, std::size_t n, double v) {
  epoch_loop(e, target, n, v);
}
void epoch_put_passive(shared_lock_all<double>& e, pgas::rank_t target, std::size_t n, double v) {
  epoch_loop(e, target, n, v);
}
// The loop of lock_all with its default protocols has a call, so it has no mutant: it reads the state again
// by itself.
void mutant_put(fence<double>& e, pgas::rank_t target, std::size_t n, double v) {
  epoch_loop<true>(e, target, n, v);
}
void mutant_put_passive(shared_lock_all<double>& e, pgas::rank_t target, std::size_t n, double v) {
  epoch_loop<true>(e, target, n, v);
}

// The cost of coherence on coherent memory, in a fence, at an access epoch's ends and at a flush.
void nothing_publish(segment& s) { boundary<pgas::boundary_of::both>(s).publish(pgas::everyone); }
void nothing_refresh(segment& s) { boundary<pgas::boundary_of::both>(s).refresh(pgas::everyone); }
void nothing_post(segment& s) { boundary<pgas::boundary_of::own>(s).publish(pgas::everyone); }
void nothing_complete(segment& s) { boundary<pgas::boundary_of::remote>(s).publish(pgas::everyone); }
void nothing_flush(ours<double> const& t) { t.flush(); }
void nothing_flush_local(ours<double> const& t) { t.flush_local(); }
void nothing_near_flush(near<double> const& t) { t.flush(); }
}
