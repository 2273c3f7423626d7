// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <cstring>
#include <pgas/rank.hpp>
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

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// A stack that runs a function in pieces: `resume()` runs it until it calls `suspend()` or returns.
///
/// Sanitizers are told of every switch. So is the C++ runtime, which keeps the exceptions in flight per thread: a
/// fiber may be suspended while one of its destructors runs during unwinding, or in a handler.
class fiber {
 public:
  template <class Main>
  explicit fiber(Main main) {
    stack_source stacks;
    auto const stack = stacks.allocate();
#if defined(PGAS_FIBERS_UNDER_ASAN)
    stack_bottom_ = static_cast<std::byte*>(stack.sp) - stack.size;
    stack_size_ = stack.size;
#endif
    context_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                     stacks, [this, main = std::move(main)](boost::context::fiber&& caller) {
                                       caller_ = std::move(caller);
                                       entered();
                                       main();
                                       is_done_ = true;
                                       leaving();
                                       return std::move(caller_);
                                     });
#if defined(PGAS_FIBERS_UNDER_TSAN)
    tsan_ = __tsan_create_fiber(0);
#endif
  }
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber() {
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_destroy_fiber(tsan_);
#endif
  }

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }

  /// Called from outside.
  void resume() {
    exchange_exceptions();
#if defined(PGAS_FIBERS_UNDER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack_bottom_, stack_size_);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, 0);
#endif
    context_ = std::move(context_).resume();
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
    exchange_exceptions();
  }

  /// Called from inside.
  void suspend() {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, caller_bottom_, caller_size_);
    own_fake_stack_ = fake_stack;
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
    caller_ = std::move(caller_).resume();
    entered();
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 20U;

  /// Stacks with a guard page. What is mapped where one was must not find the red zones of its last frames.
  class stack_source {
   public:
    [[nodiscard]] boost::context::stack_context allocate() { return stacks_.allocate(); }
    void deallocate(boost::context::stack_context& stack) noexcept {
#if defined(PGAS_FIBERS_UNDER_ASAN)
      __asan_unpoison_memory_region(static_cast<std::byte*>(stack.sp) - stack.size, stack.size);
#endif
      stacks_.deallocate(stack);
    }

   private:
    boost::context::protected_fixedsize_stack stacks_{stack_bytes};
  };

  void entered() noexcept {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_bottom_, &caller_size_);
#endif
  }
  void leaving() noexcept {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    __sanitizer_start_switch_fiber(nullptr, caller_bottom_, caller_size_);
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
  }

  /// The exceptions in flight and how many are uncaught: two words in the C++ ABI of Itanium.
  void exchange_exceptions() noexcept {
    std::array<void*, 2> now{};
    std::memcpy(now.data(), abi::__cxa_get_globals(), sizeof now);
    std::memcpy(abi::__cxa_get_globals(), exceptions_.data(), sizeof now);
    exceptions_ = now;
  }

  boost::context::fiber context_;
  boost::context::fiber caller_;
  bool is_done_ = false;
  std::array<void*, 2> exceptions_{};
#if defined(PGAS_FIBERS_UNDER_ASAN)
  void const* stack_bottom_ = nullptr;
  std::size_t stack_size_ = 0;
  void const* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
  void* own_fake_stack_ = nullptr;
#endif
#if defined(PGAS_FIBERS_UNDER_TSAN)
  void* tsan_ = nullptr;
  void* tsan_caller_ = nullptr;
#endif
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
