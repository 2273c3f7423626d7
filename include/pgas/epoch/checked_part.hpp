// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/copy/overlap.hpp>
#include <pgas/detail/window/part_access.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The state of a view of one rank's part beside the part, and the checks of its arguments.
template <class State, hints Hints, part_is Where = State::parts>
class checked_part : protected part_access<State, Hints, Where> {
  using part = part_access<State, Hints, Where>;

 public:
  using typename part::value_type;

  /// For epochs.
  checked_part(State& state, rank_t target) : part(state, target), size_(state.part_size(target)) {}
  /// For visit.
  template <part_is Asked>
    requires(Asked == part_is::near_or_far && Where != Asked)
  explicit checked_part(checked_part<State, Hints, Asked> const& asked) noexcept
      : part(static_cast<part_access<State, Hints, Asked> const&>(asked)),
        memory_(asked.memory_),
        size_(asked.size_) {}

  /// How this view reaches the part, as far as its type says it.
  static constexpr part_is where = Where;
  /// Returns whether the part is a plain array of this process, so that a put of one element is a store.
  using part::is_near;
  /// The rank of this part.
  using part::rank;
  /// The number of elements of the part.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 protected:
  static constexpr void check_writes() noexcept {
    static_assert(
        !Hints.read_only,
        "put: this epoch was opened read_only; open it without that hint to put, accumulate or store");
  }
  static constexpr void check_reads() noexcept {
    static_assert(!Hints.write_only,
                  "get: this epoch was opened write_only; open it without that hint to get or load");
  }

  void check_element(called operation, std::size_t i) const {
    PGAS_EXPECTS(normal, i < size_,
                 part::state().refuse_elements(operation.operation(), operation.by(), rank(), i, 1));
  }
  void check_elements(called operation, std::size_t first, std::size_t count) const {
    PGAS_EXPECTS(light, fits(first, count, size_),
                 part::state().refuse_elements(operation.operation(), operation.by(), rank(), first, count));
  }
  void check_own(called operation, own_part piece) const {
    State const& s = part::state();
    PGAS_EXPECTS(
        light, fits(piece.first, piece.count, s.size),
        s.refuse_elements(operation.operation(), operation.by(), s.rank(), piece.first, piece.count));
  }
  /// Refuses memory that is also elements [first, first + count) of this part: a copy between them would
  /// depend on its order.
  void check_apart(called operation, std::size_t first, value_type const* memory, std::size_t count) const {
    PGAS_EXPECTS(light, !overlap(part::seen_at(first), memory, count * sizeof(value_type)),
                 refuse_overlap(operation.operation(), operation.by(), first, count));
  }
  void check_apart(called operation, std::size_t first, own_part piece) const {
    PGAS_EXPECTS(light,
                 rank() != part::state().rank() ||
                     (first - piece.first >= piece.count && piece.first - first >= piece.count),
                 refuse_overlap(operation.operation(), operation.by(), first, piece.count));
  }
  void check_apart(called operation, rows_of block, value_type const* memory, std::size_t pitch) const {
    PGAS_EXPECTS(light,
                 !rows_overlap(part::seen_at(block.first), block.pitch * sizeof(value_type), memory,
                               pitch * sizeof(value_type), block.rows, block.cols * sizeof(value_type)),
                 refuse_overlap(operation.operation(), operation.by(), block.first, block.reach()));
  }
  /// Refuses memory for earlier values that is also the memory of the values.
  void check_before(called operation, std::span<value_type const> values,
                    std::span<value_type> before) const {
    check_count(operation, before.size(), values.size());
    PGAS_EXPECTS(light, !overlap(values.data(), before.data(), values.size_bytes()),
                 throw_same_memory(part::state().job_rank(), operation));
  }
  void check_count(called operation, std::size_t given, std::size_t needed) const {
    PGAS_EXPECTS(light, given == needed,
                 throw_error_at(errc::invalid_argument, part::state().job_rank(), operation,
                                {given, " values given for ", as_given(needed), " elements"}));
  }
  void check_reach(called operation, rows_of block) const {
    PGAS_EXPECTS(light, fits(block.first, block.reach(), size_),
                 part::state().refuse_rows(operation.operation(), operation.by(), rank(), block));
  }
  void check_rows(called operation, rows_of block, std::size_t private_pitch) const {
    PGAS_EXPECTS(light, block.rows < 2 || (block.pitch >= block.cols && private_pitch >= block.cols),
                 throw_error_at(errc::invalid_argument, part::state().job_rank(), operation,
                                {"rows overlap: a pitch is less than the length of a row"}));
  }
  /// Any number of empty rows is no row: no copy walks over them.
  static row_shape shape_of(rows_of block) noexcept {
    if (block.size() == 0) return {.rows = 0, .row_bytes = 0};
    return {.rows = block.rows, .row_bytes = block.cols * sizeof(value_type)};
  }

  /// Knows whether this view has announced that it modifies single elements.
  [[no_unique_address]] mutable typename State::element_modes_type::memory_type memory_{};

 private:
  template <class, hints, part_is>
  friend class checked_part;

  [[noreturn, gnu::cold, gnu::noinline]] void refuse_overlap(char const* operation, caller by,
                                                             std::size_t first, std::size_t count) const {
    throw_overlap(part::state().job_rank(), {operation, by}, rank(), first, count);
  }

  std::size_t size_;
};

}  // namespace PGAS_NAMESPACE::detail
