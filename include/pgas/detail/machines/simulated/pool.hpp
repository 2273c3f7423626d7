// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// Things under way, each with a number that no other one has meanwhile.
template <class T>
class pool {
 public:
  std::uint32_t put(T one) {
    if (free_.empty()) {
      all_.push_back(std::move(one));
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    std::uint32_t const number = free_.back();
    free_.pop_back();
    all_[number] = std::move(one);
    return number;
  }
  [[nodiscard]] T const& at(std::uint32_t number) const noexcept { return all_[number]; }
  T take(std::uint32_t number) {
    free_.push_back(number);
    return std::move(all_[number]);
  }

 private:
  std::vector<T> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
