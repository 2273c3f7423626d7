// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/histories/history.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace PGAS_NAMESPACE::histories {

/// What a checker has found out about a history.
enum class finding {
  right,      ///< the checker has found an order of the operations that explains all results
  wrong,      ///< no order explains all results
  undecided,  ///< the search has reached its bound
};

/// How much work a check may take.
struct effort {
  std::size_t most_states = 1'000'000;  ///< of one search; a state takes some ten bytes for each rank
  std::size_t most_checks = 5'000;      ///< of shortening a wrong history; 0 leaves it as it is
};

/// The answer of a checker.
template <class S>
struct verdict {
  bool right = false;                  ///< false also if the checker is undecided
  finding found = finding::undecided;  ///< what the checker has found out
  std::string text;                    ///< sentences; for a wrong history also a table of the shortest
  std::size_t states = 0;              ///< the number of states that the search has seen
  history<S> shortest;                 ///< a wrong history from some of the operations, or empty

  /// The same as `right`.
  explicit operator bool() const noexcept { return right; }
};

}  // namespace PGAS_NAMESPACE::histories
