// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Knows whether an exception is in flight that was not when this object was made. A destructor that
/// synchronizes asks it: during such an exception it must not wait for other ranks.
///
/// The answer is that of std::uncaught_exceptions, which costs two calls into the C++ library and one into
/// the loader. At both ends of an epoch, those calls were two fifths of the instructions of a lock. The count
/// is the second of the two words that the Itanium C++ ABI defines for each thread. Their address is looked
/// up once a thread.
class uncaught_since {
 public:
  [[nodiscard]] bool any() const noexcept { return count() > before_; }

 private:
  static unsigned count() noexcept {
#if defined(__GLIBCXX__)
    // A constant at first: a variable with a dynamic value would have a guard, which each call looks at.
    thread_local constinit void const* of_this_thread = nullptr;
    if (of_this_thread == nullptr) [[unlikely]]
      of_this_thread = abi::__cxa_get_globals();
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
