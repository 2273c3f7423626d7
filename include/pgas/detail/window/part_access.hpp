// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/copy/short_copy.hpp>
#include <pgas/detail/window/state.hpp>
#include <pgas/vocabulary/hints.hpp>
#include <span>

namespace PGAS_NAMESPACE::detail {

/// One rank's part of a window as an open epoch reaches it: the state and the rank. If the part may be near,
/// it also holds its address, which is null if the part is far.
///
/// An element of a near part is stored and loaded, and a few of them are copied here. Every other transfer is
/// one call of the coherence policy, which hands it to the segment. Callers have checked their arguments.
template <class State, hints Hints, part_is Where = State::parts>
class part_access {
 public:
  using value_type = typename State::value_type;
  using segment_type = typename State::segment_type;
  using coherence_type = typename State::coherence_type;

  part_access(State& state, rank_t target) : state_(&state), rank_(target) {
    if constexpr (has_address) base_ = state.part_if_near(target);
  }
  /// The same part, once its nearness is known.
  template <part_is Asked>
    requires(Asked == part_is::near_or_far && Where != Asked)
  explicit part_access(part_access<State, Hints, Asked> const& asked) noexcept
      : state_(&asked.state()), rank_(asked.rank()) {
    if constexpr (has_address) base_ = asked.elements();
  }

  [[nodiscard]] State& state() const noexcept { return *state_; }
  [[nodiscard]] segment_type& segment() const noexcept { return state_->segment; }
  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] location location_of(std::size_t i) const noexcept { return {rank_, i * sizeof(value_type)}; }
  /// The elements are a plain array.
  [[nodiscard]] bool is_near() const noexcept {
    if constexpr (Where == part_is::near_or_far) {
      return base_ != nullptr;
    } else {
      return Where == part_is::near;
    }
  }
  /// The elements, if they are a plain array; else null.
  [[nodiscard]] value_type* elements() const noexcept
    requires(Where != part_is::far)
  {
    return base_;
  }

  /// The address at which this rank's own loads find an element; null if they find none.
  [[nodiscard]] value_type const* seen_at([[maybe_unused]] std::size_t i) const noexcept {
    if constexpr (has_address) {
      if (is_near()) return base_ + i;
    } else if (rank_ == state_->rank()) {
      if (value_type const* const own = state_->own_elements(); own != nullptr) return own + i;
    }
    return nullptr;
  }

  void put(std::size_t i, value_type const& value) const {
    if constexpr (Where == part_is::near) {
      base_[i] = value;
    } else {
      if constexpr (Where == part_is::near_or_far) {
        if (is_near()) [[likely]]
          return static_cast<void>(base_[i] = value);
      }
      coherence_type::put(segment(), location_of(i), std::as_bytes(std::span(&value, 1)));
    }
  }
  void put(std::size_t first, std::span<value_type const> values) const {
    if (is_few(values)) {
      return copy_few(bytes_of(first), reinterpret_cast<std::byte const*>(values.data()),
                      values.size_bytes());
    }
    if (!values.empty()) coherence_type::put(segment(), location_of(first), std::as_bytes(values));
  }
  /// Puts rows of bytes; pitches are in bytes.
  void put_rows(std::size_t first, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) const {
    location const at = location_of(first);
    if constexpr (moves_rows) {
      segment().put_rows(at, pitch, from, from_pitch, shape);
    } else {
      for (std::size_t row = 0; row < shape.rows; ++row) {
        coherence_type::put(segment(), {at.rank, at.offset + row * pitch},
                            {from + row * from_pitch, shape.row_bytes});
      }
    }
  }

  /// Starts a put of rows and returns its request. Without requests for rows the put has read its source at
  /// return.
  [[nodiscard]] auto rput_rows(std::size_t first, std::size_t pitch, std::byte const* from,
                               std::size_t from_pitch, row_shape shape) const {
    if constexpr (requests_rows) {
      return segment().rput_rows(location_of(first), pitch, from, from_pitch, shape);
    } else {
      put_rows(first, pitch, from, from_pitch, shape);
      return done{};
    }
  }
  /// Starts a get of rows and returns its request. Without requests for rows the get is complete at return.
  [[nodiscard]] auto rget_rows(std::size_t first, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                               row_shape shape) const {
    if constexpr (requests_rows) {
      return segment().rget_rows(location_of(first), pitch, into, into_pitch, shape);
    } else {
      get_rows(first, pitch, into, into_pitch, shape);
      segment().flush_local(rank_);  // a policy may get past the copies, and then the bytes may be under way
      return done{};
    }
  }

  [[nodiscard]] value_type get(std::size_t i) const {
    if constexpr (Where == part_is::near) {
      return base_[i];
    } else {
      if constexpr (Where == part_is::near_or_far) {
        if (is_near()) [[likely]]
          return base_[i];
      }
      return get_far(i);
    }
  }
  void get(std::size_t first, std::span<value_type> values) const {
    if (is_few(values)) {
      return copy_few(reinterpret_cast<std::byte*>(values.data()), bytes_of(first), values.size_bytes());
    }
    if (!values.empty()) get_bytes(location_of(first), std::as_writable_bytes(values));
  }
  /// Gets rows of bytes; pitches are in bytes.
  void get_rows(std::size_t first, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                row_shape shape) const {
    location const at = location_of(first);
    if constexpr (moves_rows) {
      segment().get_rows(at, pitch, into, into_pitch, shape);
    } else {
      for (std::size_t row = 0; row < shape.rows; ++row) {
        get_bytes({at.rank, at.offset + row * pitch}, {into + row * into_pitch, shape.row_bytes});
      }
    }
  }

 private:
  /// Separate from `get`, since the value is in memory here, and a near one is in a register.
  [[nodiscard, gnu::noinline]] value_type get_far(std::size_t i) const {
    value_type value;
    get_bytes(location_of(i), std::as_writable_bytes(std::span(&value, 1)));
    segment().flush_local(rank_);
    return value;
  }

  /// Returns whether elements are copied without the segment, which would compute the part's address again.
  template <class T>
  [[nodiscard]] bool is_few(std::span<T> values) const noexcept {
    return is_near() && values.size_bytes() < 4096;
  }
  static void copy_few(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if constexpr (has_address) copy_short(to, from, bytes);
  }
  [[nodiscard]] std::byte* bytes_of([[maybe_unused]] std::size_t first) const noexcept {
    if constexpr (has_address) {
      return reinterpret_cast<std::byte*>(base_ + first);
    } else {
      return nullptr;
    }
  }

  static constexpr bool has_address = Where != part_is::far;
  static constexpr bool moves_rows = strided_segment<segment_type> && !cache_controlled<segment_type>;
  static constexpr bool requests_rows = strided_request_segment<segment_type> && moves_rows;

  /// Under a passive target no boundary tells when the target's memory has changed, so a get looks there.
  void get_bytes(location at, bytes_out into) const {
    if constexpr (Hints.passive) {
      coherence_type::get_now(segment(), at, into);
    } else {
      coherence_type::get(segment(), at, into);
    }
  }

  struct nothing {};

  State* state_;
  [[no_unique_address]] std::conditional_t<has_address, value_type*, nothing> base_{};
  rank_t rank_;
};

}  // namespace PGAS_NAMESPACE::detail
