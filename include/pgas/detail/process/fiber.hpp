// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>
#include <sys/mman.h>

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/stack_context.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>
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

#if defined(_LIBCPP_VERSION)
namespace __cxxabiv1 {
struct __cxa_eh_globals;
/// Part of the Itanium C++ ABI, which libc++abi exports and does not declare.
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1
#endif

namespace PGAS_NAMESPACE::detail {

/// The memory on which a fiber runs, from an owner's source.
///
/// `guarded` allocates a stack above memory that no access may reach: a stack that overflows ends the
/// process. The guard is long, since compilers move the stack down by all local variables at once, and a rank
/// may first touch the lowest. `part_of` is a piece of the owner's mapping, which outlives the fiber. A
/// process may have 65,530 mappings, so tens of thousands of stacks cannot each have a guard.
class fiber_stack {
 public:
  /// The bytes of a guard: twice the usual stack of a process.
  static constexpr std::size_t guard_bytes = std::size_t{16} << 20U;

  /// A stack of at least `bytes` bytes, above a guard. Throws errc::no_space.
  [[nodiscard]] static fiber_stack guarded(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    std::size_t const size = (bytes + page - 1) / page * page;
    void* const all = ::mmap(nullptr, guard_bytes + size, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (all == MAP_FAILED) refuse(size);
    std::byte* const bottom = static_cast<std::byte*>(all) + guard_bytes;
    if (::mprotect(bottom, size, PROT_READ | PROT_WRITE) != 0) {
      ::munmap(all, guard_bytes + size);
      refuse(size);
    }
    fiber_stack made = part_of({bottom, size});
    made.is_own_ = true;
    return made;
  }
  /// The bytes of `piece` as a stack.
  [[nodiscard]] static fiber_stack part_of(std::span<std::byte> piece) noexcept {
    boost::context::stack_context place;
    place.sp = piece.data() + piece.size();
    place.size = piece.size();
    return {place, false};
  }
  fiber_stack(fiber_stack&& other) noexcept
      : place_(other.place_), is_own_(std::exchange(other.is_own_, false)) {}
  fiber_stack& operator=(fiber_stack&&) = delete;
  ~fiber_stack() {
#if defined(PGAS_FIBERS_UNDER_ASAN)
    // The next user of this memory must not find the stale red zones of the stack.
    __asan_unpoison_memory_region(bottom(), size());
#endif
    if (is_own_) ::munmap(bottom() - guard_bytes, guard_bytes + size());
  }

  [[nodiscard]] void* top() const noexcept { return place_.sp; }
  [[nodiscard]] std::byte* bottom() const noexcept { return static_cast<std::byte*>(place_.sp) - size(); }
  [[nodiscard]] std::size_t size() const noexcept { return place_.size; }
  /// Returns whether an address lies in the guard.
  [[nodiscard]] bool is_guarded_at(std::byte const* at) const noexcept {
    return is_own_ && at < bottom() && at >= bottom() - guard_bytes;
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(std::size_t bytes) {
    throw_error(errc::no_space, -1,
                {"run: the system has no stack of ", bytes, " bytes for a rank: ", std::strerror(errno),
                 "; set PGAS_STACK_BYTES to fewer bytes, or take fewer ranks"});
  }

  fiber_stack(boost::context::stack_context place, bool is_own) noexcept : place_(place), is_own_(is_own) {}

  boost::context::stack_context place_;
  bool is_own_;
};

/// A stack that runs a function in pieces: `resume()` runs it until it calls `suspend()` or returns. Before
/// its destructor runs, a fiber must have been resumed to its end, or never.
///
/// Every switch is announced to the sanitizers. It also exchanges the C++ runtime's exceptions in flight,
/// which are kept per thread. So a fiber may be suspended inside a handler, or inside a destructor during
/// unwinding.
///
/// The thread sanitizer keeps a stack of calls for each fiber, and adds each call and return that it sees. It
/// must see none between the announcement of a switch and the switch. So the functions that switch are hidden
/// from it. They use the jump of Boost.Context, not its fibers, since the functions of those are visible.
class fiber {
 public:
  template <class Main>
  fiber(fiber_stack stack, Main main) : main_(std::move(main)), stack_(std::move(stack)) {
    context_ = boost::context::detail::make_fcontext(stack_.top(), stack_.size(), &fiber::begin);
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
  [[nodiscard]] fiber_stack const& stack() const noexcept { return stack_; }

  /// Called from outside the fiber.
  PGAS_UNSEEN_BY_TSAN void resume() {
    exchange_exceptions();
#if defined(PGAS_FIBERS_UNDER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack_.bottom(), stack_.size());
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

  /// Called inside the fiber.
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
  /// The first function on the stack. It never returns, since no caller is below it.
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

  /// Exchanges the exceptions in flight and the count of uncaught ones: two words in the Itanium C++ ABI.
  void exchange_exceptions() noexcept {
    std::array<void*, 2> now{};
    std::memcpy(now.data(), abi::__cxa_get_globals(), sizeof now);
    std::memcpy(abi::__cxa_get_globals(), exceptions_.data(), sizeof now);
    exceptions_ = now;
  }

  std::function<void()> main_;
  fiber_stack stack_;
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

}  // namespace PGAS_NAMESPACE::detail

#undef PGAS_UNSEEN_BY_TSAN
