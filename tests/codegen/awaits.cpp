// SPDX-License-Identifier: BSL-1.0
// check.py compiles this to assembly, and counts the instructions between the marks of each await_X and of
// plain_X, the same access without a coroutine. mutant_X awaits a request whose end compilers cannot foresee.
#include <pgas/async/task.hpp>
#include <pgas/core.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/shared_only.hpp>

using team = pgas::team<pgas::backends::process_map>;
// The default lock protocol may have something to take at an access; shared_only never has.
using shared_only = pgas::protocols<pgas::default_fence, pgas::sync::match_vector, pgas::sync::shared_only>;
using window = decltype(pgas::make_window<double>(
    std::declval<team&>().with<pgas::coherence::coherent, shared_only>(), 0));
using epoch = decltype(pgas::lock_all{std::declval<window&>()});

/// The operands of an access, in memory for coroutines and functions alike.
struct operands {
  epoch* through;
  pgas::rank_t target;
  std::size_t at;
  double value;
};

bool has_ended_elsewhere();
struct unforeseen {
  explicit unforeseen(pgas::done) noexcept {}
  static bool test() { return has_ended_elsewhere(); }
};

void plain_rput(operands& a) {
  asm volatile("# begin plain_rput" : : : "memory");
  a.through->put(a.target, a.at, a.value);
  asm volatile("# end plain_rput" : : : "memory");
}
pgas::task<> await_rput(operands& a) {
  asm volatile("# begin await_rput" : : : "memory");
  co_await a.through->rput(a.target, a.at, a.value);
  asm volatile("# end await_rput" : : : "memory");
}
pgas::task<> mutant_rput(operands& a) {
  asm volatile("# begin mutant_rput" : : : "memory");
  co_await unforeseen(a.through->rput(a.target, a.at, a.value));
  asm volatile("# end mutant_rput" : : : "memory");
}
void plain_rget(operands& a) {
  asm volatile("# begin plain_rget" : : : "memory");
  a.value = a.through->get(a.target, a.at);
  asm volatile("# end plain_rget" : : : "memory");
}
pgas::task<> await_rget(operands& a) {
  asm volatile("# begin await_rget" : : : "memory");
  co_await a.through->rget(a.target, a.at, a.value);
  asm volatile("# end await_rget" : : : "memory");
}
pgas::task<> mutant_rget(operands& a) {
  asm volatile("# begin mutant_rget" : : : "memory");
  co_await unforeseen(a.through->rget(a.target, a.at, a.value));
  asm volatile("# end mutant_rget" : : : "memory");
}
