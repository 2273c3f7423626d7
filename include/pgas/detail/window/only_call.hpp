// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <pgas/vocabulary/error.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// Lives while a thread opens, synchronizes or closes an epoch. Throws errc::wrong_order if another thread of
/// the rank is in such a call, on whatever window.
///
/// Level normal reads the mark and then sets it, so an epoch costs no read-modify-write, and two threads that
/// begin within some nanoseconds both pass. Level heavy exchanges it, and finds every overlap. There each
/// access of an epoch checks the mark, too.
template <class State>
class only_call {
 public:
  only_call(State& s, std::string_view operation) {
    if constexpr (is_checked) {
      std::atomic<bool>& mark = s.deferred->is_in_call;
      if (enter(mark)) [[unlikely]]
        refuse(s, operation);
      mark_ = &mark;
    }
  }
  only_call(only_call const&) = delete;
  only_call& operator=(only_call const&) = delete;
  ~only_call() {
    // release: pairs with the acquire in enter of the thread that comes next.
    if constexpr (is_checked)
      mark_->store(false, is_exact ? std::memory_order_release : std::memory_order_relaxed);
  }

  /// Refuses an access during another thread's call.
  static void check_none(State const& s, std::string_view operation) {
    PGAS_EXPECTS(heavy, !s.deferred->is_in_call.load(std::memory_order_relaxed), refuse(s, operation));
  }

 private:
  static constexpr bool is_checked = assertions >= assertion_level::normal;
  static constexpr bool is_exact = assertions >= assertion_level::heavy;

  /// Marks a call, and returns whether there was one already.
  static bool enter(std::atomic<bool>& mark) noexcept {
    // acquire: pairs with the release of the thread that was inside before.
    if constexpr (is_exact) return mark.exchange(true, std::memory_order_acquire);
    if (mark.load(std::memory_order_relaxed)) return true;
    mark.store(true, std::memory_order_relaxed);
    return false;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(State const& s, std::string_view operation) {
    throw_error(errc::wrong_order, s.job_rank(), operation,
                "another thread of this rank opens, synchronizes or closes an epoch; let one thread at a "
                "time call the library, for example by a mutex");
  }

  std::atomic<bool>* mark_ = nullptr;
};

}  // namespace PGAS_NAMESPACE::detail
