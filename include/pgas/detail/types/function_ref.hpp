// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

template <class Signature>
class function_ref;

/// Refers to a callable object, which outlives it: std::function_ref of C++26. A function that takes one is
/// compiled once for all callers, where a template would be compiled for each lambda.
template <class Result, class... Arguments>
class function_ref<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_const_t<Callable>, function_ref>)
  function_ref(Callable& callable) noexcept
      : object_(const_cast<void*>(static_cast<void const*>(&callable))), call_(&call_on<Callable>) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, static_cast<Arguments>(arguments)...);
  }

 private:
  template <class Callable>
  static Result call_on(void* object, Arguments... arguments) {
    return (*static_cast<Callable*>(object))(static_cast<Arguments>(arguments)...);
  }

  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace PGAS_NAMESPACE::detail
