// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define PGAS_TELLS_ORDER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PGAS_TELLS_ORDER 1
#endif
#endif

#if defined(PGAS_TELLS_ORDER)
extern "C" {
// The thread sanitizer's own names, which have no header.
void AnnotateIgnoreSyncBegin(char const* file, int line);    // NOLINT
void AnnotateIgnoreSyncEnd(char const* file, int line);      // NOLINT
void AnnotateIgnoreReadsBegin(char const* file, int line);   // NOLINT
void AnnotateIgnoreReadsEnd(char const* file, int line);     // NOLINT
void AnnotateIgnoreWritesBegin(char const* file, int line);  // NOLINT
void AnnotateIgnoreWritesEnd(char const* file, int line);    // NOLINT
void __tsan_acquire(void* address);                          // NOLINT
void __tsan_release(void* address);                          // NOLINT
}
#endif

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Whether the thread sanitizer watches this program.
#if defined(PGAS_TELLS_ORDER)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// Hides synchronization from the thread sanitizer while it lives; `all` hides loads and stores, too.
///
/// The sanitizer takes each acquire for an order that the program may rely on. A control word tells more: a
/// rank that is slow to look finds a newer value than its protocol promises. A checker knows the promise, and
/// tells the sanitizer that instead, by `tell_release` and `tell_acquire`. Does nothing without the
/// sanitizer.
class hidden_from_sanitizer {
 public:
  enum class what { synchronization, all };

  explicit hidden_from_sanitizer([[maybe_unused]] what hidden = what::all) noexcept {
#if defined(PGAS_TELLS_ORDER)
    hides_all_ = hidden == what::all;
    ++depth();
    ::AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    if (!hides_all_) return;
    ::AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    ::AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  hidden_from_sanitizer(hidden_from_sanitizer const&) = delete;
  hidden_from_sanitizer& operator=(hidden_from_sanitizer const&) = delete;
  ~hidden_from_sanitizer() {  // NOLINT(modernize-use-equals-default): a guard must not look unused
#if defined(PGAS_TELLS_ORDER)
    if (hides_all_) {
      ::AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
      ::AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    ::AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    --depth();
#endif
  }

  /// The accesses of this thread so far come before those of a thread after its later acquire of this
  /// address.
  static void tell_release([[maybe_unused]] void const* at) noexcept {
#if defined(PGAS_TELLS_ORDER)
    seen([at] { ::__tsan_release(const_cast<void*>(at)); });  // NOLINT: only the address counts
#endif
  }
  static void tell_acquire([[maybe_unused]] void const* at) noexcept {
#if defined(PGAS_TELLS_ORDER)
    seen([at] { ::__tsan_acquire(const_cast<void*>(at)); });  // NOLINT: as above
#endif
  }

 private:
#if defined(PGAS_TELLS_ORDER)
  /// The guards of this thread.
  static int& depth() noexcept {
    static thread_local int now = 0;
    return now;
  }
  template <class Tell>
  static void seen(Tell const& tell) noexcept {
    for (int i = 0; i < depth(); ++i) ::AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    tell();
    for (int i = 0; i < depth(); ++i) ::AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  }
  bool hides_all_ = false;
#endif
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail

#undef PGAS_TELLS_ORDER
