// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/boundary.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The boundaries of several windows as one boundary, for a signal that covers all of them.
template <boundary... Each>
class joined_boundary {
 public:
  template <class Targets>
  void publish(Targets const&) noexcept {}
  template <class Targets>
  void refresh(Targets const&) noexcept {}
};
template <boundary First, boundary... Others>
class joined_boundary<First, Others...> {
 public:
  template <class Segment, class... Segments>
  explicit joined_boundary(Segment& segment, Segments&... segments) noexcept
      : first_(segment), others_(segments...) {}

  void publish(group targets) {
    first_.publish(targets);
    others_.publish(targets);
  }
  void publish(everyone_t) {
    first_.publish(everyone);
    others_.publish(everyone);
  }
  void refresh(group targets) {
    first_.refresh(targets);
    others_.refresh(targets);
  }
  void refresh(everyone_t) {
    first_.refresh(everyone);
    others_.refresh(everyone);
  }

 private:
  First first_;
  joined_boundary<Others...> others_;
};
static_assert(boundary<joined_boundary<no_boundary>>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
