// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// A message as a receiver sees it in its stream.
struct observed_message {
  rank_t from = 0;        ///< the sender
  std::size_t bytes = 0;  ///< of its contents

  friend bool operator==(observed_message const&, observed_message const&) = default;
};

/// A predictor reads the stream of a rank's messages and says which ones come next.
///
/// `observe(message)` adds the next message of the stream. `ahead(k)` is the message that it expects as the
/// k-th from now, k = 1 for the next one; nothing if it has no expectation. `name` is for reports. A
/// predictor has constant memory. Source: Ferreras 2008, sections 3.2 and 3.3.
template <class P>
concept predictor = requires(P& p, P const& cp, observed_message m, std::size_t k) {
  { P::name } -> std::convertible_to<std::string_view>;
  p.observe(m);
  { cp.ahead(k) } -> std::same_as<std::optional<observed_message>>;
};

}  // namespace PGAS_NAMESPACE
