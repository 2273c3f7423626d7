// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Gives a variable another value as long as it lives.
template <class T>
class [[nodiscard]] scoped_value {
 public:
  scoped_value(T& of, T now) noexcept : of_(&of), before_(std::exchange(of, now)) {}
  scoped_value(scoped_value const&) = delete;
  scoped_value& operator=(scoped_value const&) = delete;
  ~scoped_value() { *of_ = before_; }

 private:
  T* of_;
  T before_;
};

}  // namespace PGAS_NAMESPACE::detail
