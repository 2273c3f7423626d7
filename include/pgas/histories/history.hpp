// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// A reading of a clock that all ranks share, in real or in virtual time. The unit does not matter.
using moment = std::int64_t;

/// The end of an operation that has not returned.
inline constexpr moment never = std::numeric_limits<moment>::max();

/// One operation of one rank on a concurrent object. It can be copied byte by byte if its operation and its
/// result can, so ranks may exchange records through a window.
template <class Operation, class Result>
struct record {
  int rank = 0;           ///< the caller
  Operation operation{};  ///< what was called, with its arguments
  Result result{};        ///< means nothing while the operation is pending
  moment begin = 0;       ///< read before the call
  moment end = never;     ///< read after the return

  /// True if the operation has not returned. It may have taken effect, or will, or never does.
  [[nodiscard]] constexpr bool pending() const noexcept { return end == never; }

  friend constexpr bool operator==(record const&, record const&) = default;
};

/// The type of the records of a sequential object.
template <class S>
using record_of = record<typename S::operation, typename S::result>;

/// What all ranks did to one concurrent object. The records of one rank are in the order of its program.
///
/// An operation precedes another if it ended before the other began, or if one rank called both in this
/// order. A pending operation precedes none. Equal times leave the order of two ranks' operations open.
template <class S>
class history {
 public:
  history() = default;
  /// A history of records, with each rank's in program order.
  explicit history(std::vector<record_of<S>> records) : records_(std::move(records)) {}

  /// Adds an operation that has returned.
  history& add(int rank, typename S::operation what, typename S::result result, moment begin, moment end) {
    records_.push_back({rank, std::move(what), std::move(result), begin, end});
    return *this;
  }
  /// Adds an operation that has not returned.
  history& add_pending(int rank, typename S::operation what, moment begin) {
    records_.push_back({rank, std::move(what), {}, begin, never});
    return *this;
  }
  /// Adds the records of a rank, for example those that its recorder has made.
  history& append(std::span<record_of<S> const> records) {
    records_.insert(records_.end(), records.begin(), records.end());
    return *this;
  }

  /// All records; a view that ends with the next change of the history.
  [[nodiscard]] std::span<record_of<S> const> records() const noexcept { return records_; }
  /// The number of operations.
  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

  friend bool operator==(history const&, history const&) = default;

 private:
  std::vector<record_of<S>> records_;
};

/// Joins the histories of single ranks into one.
template <class S>
[[nodiscard]] history<S> join(std::span<history<S> const> ranks) {
  history<S> all;
  for (auto const& one : ranks) all.append(one.records());
  return all;
}

/// The clock of a node in nanoseconds, which all its processes share.
struct real_time {
  /// The time now.
  moment operator()() const {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

/// Writes down what one rank does to a concurrent object. `Clock` is called for each time: `real_time`, or a
/// function that returns the virtual time of the rank.
template <class S, class Clock = real_time>
  requires std::convertible_to<std::invoke_result_t<Clock const&>, moment>
class recorder {
 public:
  /// A recorder of one rank, which reads the clock `now`.
  explicit recorder(int rank, Clock now = {}) : rank_(rank), now_(std::move(now)) {}

  /// Calls act(), which must carry out `what`, and returns its result. The record stays pending if act throws
  /// or does not return. Requires that the result converts to the object's, or that act returns nothing.
  template <class Act>
  auto call(typename S::operation what, Act&& act) -> std::invoke_result_t<Act> {
    std::size_t const at = records_.size();
    records_.push_back({rank_, std::move(what), {}, static_cast<moment>(now_()), never});
    if constexpr (std::is_void_v<std::invoke_result_t<Act>>) {
      std::forward<Act>(act)();
      records_[at].end = static_cast<moment>(now_());
    } else {
      auto result = std::forward<Act>(act)();
      records_[at].end = static_cast<moment>(now_());
      records_[at].result = typename S::result(result);
      return result;
    }
  }

  /// All records so far, in program order; a view that ends with the next call.
  [[nodiscard]] std::span<record_of<S> const> records() const noexcept { return records_; }
  /// The history of this rank alone.
  [[nodiscard]] history<S> so_far() const { return history<S>(records_); }

 private:
  int rank_;
  Clock now_;
  std::vector<record_of<S>> records_;
};

namespace detail {

/// Refuses a history that no ranks can have made.
template <class Records>
void require_program_order(Records const& records) {
  std::map<int, moment> ended;  // of each rank
  for (auto const& r : records) {
    auto const [last, first] = ended.try_emplace(r.rank, std::numeric_limits<moment>::min());
    if (r.end < r.begin || r.begin < last->second) {
      throw std::invalid_argument(pgas::detail::text_of(
          {"history: an operation of rank ", r.rank, " begins at ", r.begin,
           r.end < r.begin ? " and ends before that, at " : " before the one in front of it has ended, at ",
           r.end < r.begin ? r.end : last->second,
           "; read one clock around each call, and give each thread that calls a rank of its own"}));
    }
    if (!r.pending()) last->second = r.end;
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE::histories
