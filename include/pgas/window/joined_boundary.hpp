// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/boundary.hpp>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The boundaries of several windows as one boundary, for a signal that covers all of them.
template <boundary... Each>
class joined_boundary {
 public:
  template <class... Segments>
  explicit joined_boundary(Segments&... segments) noexcept : each_(Each(segments)...) {}

  void publish(group targets) {
    std::apply([&](auto&... one) { (one.publish(targets), ...); }, each_);
  }
  void publish(everyone_t) {
    std::apply([](auto&... one) { (one.publish(everyone), ...); }, each_);
  }
  void refresh(group targets) {
    std::apply([&](auto&... one) { (one.refresh(targets), ...); }, each_);
  }
  void refresh(everyone_t) {
    std::apply([](auto&... one) { (one.refresh(everyone), ...); }, each_);
  }

 private:
  std::tuple<Each...> each_;
};
static_assert(boundary<joined_boundary<no_boundary>>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
