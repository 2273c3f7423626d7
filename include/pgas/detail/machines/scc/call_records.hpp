// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/detail/checking/compared_calls.hpp>
#include <pgas/detail/checking/known_places.hpp>
#include <pgas/detail/checking/line_of_calls.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The places at which the cores begin collectives, for the oracle's reports.
class collective_places {
 public:
  collective_places() : known_(*this) {}
  collective_places(collective_places const&) = delete;
  collective_places& operator=(collective_places const&) = delete;

  /// The number of the place with this frame, see known_places.
  [[nodiscard]] std::uint32_t at_frame(void* frame) { return known_.number_of(frame); }
  [[nodiscard]] std::uint32_t number_of(call_path const& where) {
    auto const [it, is_new] = numbers_.try_emplace(where.hash, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back(where);
    return it->second;
  }
  [[nodiscard]] std::string line_of(std::uint32_t number) const { return line_of_calls(all_[number].calls); }

 private:
  std::vector<call_path> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  known_places<collective_places> known_;
};

/// The latest calls of collectives on one team of the chip, see compared_calls. The memory is made at the
/// first call.
class call_records {
 public:
  [[nodiscard]] compared_calls of(rank_t ranks) {
    if (memory_.empty()) memory_.resize((compared_calls::bytes(ranks) + sizeof(word) - 1) / sizeof(word));
    return {reinterpret_cast<std::byte*>(memory_.data()), ranks};
  }

 private:
  std::vector<word> memory_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
