// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Refers to an operation on elements whose type the algorithms do not know, so that the compiler meets the
/// algorithms once. The operation outlives it.
class folding {
 public:
  template <class T, class Op>
  static folding of(Op& op, bool commutes) {
    folding f;
    f.commutes_ = commutes;
    f.element_ = sizeof(T);
    f.alignment_ = alignof(T);
    f.op_ = __builtin_addressof(op);
    f.fold_ = [](void* function, std::byte* into, std::byte const* left, std::byte const* right,
                 std::size_t bytes) {
      auto& call = *static_cast<Op*>(function);
      auto* const to = reinterpret_cast<T*>(into);
      auto const* const a = reinterpret_cast<T const*>(left);
      auto const* const b = reinterpret_cast<T const*>(right);
      for (std::size_t i = 0; i < bytes / sizeof(T); ++i) to[i] = static_cast<T>(call(a[i], b[i]));
    };
    return f;
  }

  /// Returns whether operands may change places.
  [[nodiscard]] bool commutes() const noexcept { return commutes_; }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }

  /// into[i] = op(left[i], right[i]) for whole elements. `into` may be `left` or `right`.
  void operator()(std::byte* into, std::byte const* left, std::byte const* right, std::size_t bytes) const {
    fold_(op_, into, left, right, bytes);
  }

 private:
  bool commutes_ = false;
  std::size_t element_ = 1;
  std::size_t alignment_ = 1;
  void* op_ = nullptr;
  void (*fold_)(void*, std::byte*, std::byte const*, std::byte const*, std::size_t) = nullptr;
};

}  // namespace PGAS_NAMESPACE::detail
