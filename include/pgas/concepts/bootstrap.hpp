// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// A bootstrap lets ranks exchange a few values before they share any memory.
///
/// `get` blocks until some rank has put the key. Between two fences at most one rank puts a key. `fence`
/// returns when every rank has called it. `fail(what)` tells all ranks that this one cannot go on, and
/// returns. Models: the job block that a fork or `pgas-run` hands down (detail/job/job.hpp); later PMI,
/// MPI, two hosts.
template <class B>
concept bootstrap = requires(B& b, B const& cb, std::string_view text, bytes_in value, bytes_out into) {
  { cb.rank() } noexcept -> std::same_as<rank_t>;
  { cb.size() } noexcept -> std::same_as<rank_t>;
  b.put(text, value);
  b.get(text, into);
  b.fence();
  b.fail(text);
};

}  // namespace PGAS_NAMESPACE
