// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pgas/vocabulary/rank.hpp>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PGAS_FIBERS_UNDER_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define PGAS_FIBERS_UNDER_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PGAS_FIBERS_UNDER_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define PGAS_FIBERS_UNDER_TSAN
#endif
#if defined(PGAS_FIBERS_UNDER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN) && defined(__clang__)
#define PGAS_UNSEEN_BY_TSAN __attribute__((disable_sanitizer_instrumentation))
#elif defined(PGAS_FIBERS_UNDER_TSAN)
#define PGAS_UNSEEN_BY_TSAN __attribute__((no_sanitize("thread")))
#else
#define PGAS_UNSEEN_BY_TSAN
#endif

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// A stack that runs a function in pieces: `resume()` runs it until it calls `suspend()` or returns. Whoever destroys
/// it has resumed it to its end, or never.
///
/// Sanitizers are told of every switch. So is the C++ runtime, which keeps the exceptions in flight per thread: a
/// fiber may be suspended while one of its destructors runs during unwinding, or in a handler.
///
/// The thread sanitizer keeps a stack of calls for each fiber and notes there what is called and what returns. So
/// between telling it of a switch and the switch itself nothing that it sees may be called or return: the functions
/// that switch are hidden from it, and go by the context library's jump, not by its fibers, whose functions are not.
class fiber {
 public:
  template <class Main>
  explicit fiber(Main main) : main_(std::move(main)), stack_(stack_source{stack_bytes}.allocate()) {
    context_ = boost::context::detail::make_fcontext(stack_.sp, stack_.size, &fiber::begin);
#if defined(PGAS_FIBERS_UNDER_TSAN)
    tsan_ = __tsan_create_fiber(0);
#endif
  }
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber() {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    // What is mapped where this stack was must not find the red zones of its last frames.
    __asan_unpoison_memory_region(static_cast<std::byte*>(stack_.sp) - stack_.size, stack_.size);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_destroy_fiber(tsan_);
#endif
    stack_source{stack_bytes}.deallocate(stack_);
  }

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }

  /// Called from outside.
  PGAS_UNSEEN_BY_TSAN void resume() {
    exchange_exceptions();
#if defined(PGAS_FIBERS_UNDER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, static_cast<std::byte*>(stack_.sp) - stack_.size, stack_.size);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, 0);
#endif
    context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    exchange_exceptions();
  }

  /// Called from inside.
  PGAS_UNSEEN_BY_TSAN void suspend() {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, caller_bottom_, caller_size_);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
    caller_ = boost::context::detail::jump_fcontext(caller_, nullptr).fctx;
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, &caller_bottom_, &caller_size_);
#endif
  }

 private:
  using stack_source = boost::context::protected_fixedsize_stack;  // with a guard page
  static constexpr std::size_t stack_bytes = std::size_t{1} << 20U;

  /// The first function on the stack. It never returns: there is nothing below it.
  PGAS_UNSEEN_BY_TSAN static void begin(boost::context::detail::transfer_t from) noexcept {
    auto& self = *static_cast<fiber*>(from.data);
    self.caller_ = from.fctx;
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &self.caller_bottom_, &self.caller_size_);
#endif
    self.main_();
    self.is_done_ = true;
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_start_switch_fiber(nullptr, self.caller_bottom_, self.caller_size_);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_switch_to_fiber(self.tsan_caller_, 0);
#endif
    boost::context::detail::jump_fcontext(self.caller_, nullptr);
    std::abort();
  }

  /// The exceptions in flight and how many are uncaught: two words in the C++ ABI of Itanium.
  void exchange_exceptions() noexcept {
    std::array<void*, 2> now{};
    std::memcpy(now.data(), abi::__cxa_get_globals(), sizeof now);
    std::memcpy(abi::__cxa_get_globals(), exceptions_.data(), sizeof now);
    exceptions_ = now;
  }

  std::function<void()> main_;
  boost::context::stack_context stack_;
  boost::context::detail::fcontext_t context_ = nullptr;
  boost::context::detail::fcontext_t caller_ = nullptr;
  bool is_done_ = false;
  std::array<void*, 2> exceptions_{};
#if defined(PGAS_FIBERS_UNDER_ASAN)
  void const* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
  void* tsan_ = nullptr;
  void* tsan_caller_ = nullptr;
#endif
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc

#undef PGAS_UNSEEN_BY_TSAN
