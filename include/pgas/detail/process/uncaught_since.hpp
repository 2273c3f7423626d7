// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Tells whether an exception was thrown after this object was made and is still in flight. A destructor that
/// synchronizes asks it: during such an exception it must not wait for other ranks.
///
/// The answer is that of std::uncaught_exceptions, without its calls into the C++ library and the loader. The
/// count is the second of the two words that the Itanium C++ ABI defines for each thread. Their address is
/// looked up once a thread. Until then a thread has the address of other words, whose count is not 0. So both
/// ends of an epoch test for a count of 0, and only another count is compared with the earlier one.
class uncaught_since {
 public:
#if defined(__GLIBCXX__)
  uncaught_since() noexcept : before_(count_in(of_this_thread()) == 0 ? 0 : look_up()) {}
  [[nodiscard]] bool any() const noexcept {
    if (count_in(of_this_thread()) == 0) [[likely]]
      return false;
    return look_up() > before_;
  }

 private:
  struct words {
    void* caught;
    unsigned uncaught;
  };
  static constexpr words not_looked_up{nullptr, 1};

  static void const*& of_this_thread() noexcept {
    // A constant at first: a variable with a dynamic value would have a guard, which each call looks at.
    thread_local constinit void const* found = &not_looked_up;
    return found;
  }
  static unsigned count_in(void const* counts) noexcept {
    unsigned uncaught = 0;
    std::memcpy(&uncaught, static_cast<std::byte const*>(counts) + sizeof(void*), sizeof uncaught);
    return uncaught;
  }
  [[gnu::noinline]] static unsigned look_up() noexcept {
    void const*& found = of_this_thread();
    if (found == &not_looked_up) found = abi::__cxa_get_globals();
    return count_in(found);
  }

  unsigned before_;
#else
  uncaught_since() = default;
  [[nodiscard]] bool any() const noexcept { return std::uncaught_exceptions() > before_; }

 private:
  int before_ = std::uncaught_exceptions();
#endif
};

}  // namespace PGAS_NAMESPACE::detail
