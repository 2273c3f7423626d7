// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/detail/checking/line_of_calls.hpp>

namespace PGAS_NAMESPACE::detail {

/// A place of the program: the calls that lead there.
struct call_path {
  std::uint64_t hash = 0;  ///< of the calls; neither 0 nor all ones
  call_chain calls{};

  call_path() = default;
  explicit call_path(call_chain const& c) noexcept : calls(c) {
    for (void const* const one : calls) {
      if (one == nullptr) break;
      hash = (hash ^ reinterpret_cast<std::uintptr_t>(one)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29U;
    }
    if (hash == 0 || hash == ~std::uint64_t{0}) hash = 1;
  }
};

/// Numbers places of the program, so that a report can name its lines. `Store` has `number_of(call_path)`.
template <class Store>
class known_places {
 public:
  explicit known_places(Store& s) noexcept : store_(&s) {}

  /// The number of a place. `frame` is the frame address of an operation, which still runs.
  std::uint32_t number_of(void* frame) {
    call_chains::known& chain = chains_.of(frame);
    if (chain.number == 0) chain.number = store_->number_of(call_path(chain.calls)) + 1;
    return chain.number - 1;
  }

 private:
  Store* store_;
  call_chains chains_;  ///< those that this rank has looked up
};

}  // namespace PGAS_NAMESPACE::detail
