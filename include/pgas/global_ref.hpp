// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/opened_target.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// An element of an open window: load and store are spelled out, since each may be a message.
///
/// It does not convert, so `a[i] = b[j] + 1` cannot hide two messages. Valid until its epoch closes.
template <class State, hints Hints>
class global_ref {
 public:
  using value_type = typename State::value_type;

  global_ref(opened_target<State, Hints> target, std::size_t index) noexcept : target_(target), index_(index) {}

  [[nodiscard]] rank_t rank() const noexcept { return target_.rank(); }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  [[nodiscard]] value_type load() const { return target_.get(index_); }
  void store(value_type const& value) const { target_.put(index_, value); }
  template <operation_on<value_type> Op>
  [[nodiscard]] value_type update(Op op, value_type const& value) const {
    return target_.get_accumulate(index_, value, op);
  }

 private:
  opened_target<State, Hints> target_;
  std::size_t index_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
