// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Whether an exception passes that did not when this was made: what a destructor has to know that must not wait then.
///
/// Says what std::uncaught_exceptions says, which is two calls into the C++ library and one into the loader: asked when
/// an epoch opens and when it closes they were two fifths of the instructions of a lock. The count is the second of two
/// words that the C++ ABI of Itanium names for each thread; where they are is asked once a thread.
class uncaught_since {
 public:
  [[nodiscard]] bool any() const noexcept { return count() > before_; }

 private:
  static unsigned count() noexcept {
#if defined(__GLIBCXX__)
    thread_local void const* const of_this_thread = abi::__cxa_get_globals();
    unsigned uncaught = 0;
    std::memcpy(&uncaught, static_cast<std::byte const*>(of_this_thread) + sizeof(void*), sizeof uncaught);
    return uncaught;
#else
    return static_cast<unsigned>(std::uncaught_exceptions());
#endif
  }

  unsigned before_ = count();
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
