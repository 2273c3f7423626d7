// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/array/scattered.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/copy/overlap.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The cells that an epoch on an array names by global indices: their places in parts, and the checks of an
/// access to them.
template <class Epoch, class State>
class checked_cells {
 public:
  /// The shape of the array: its extents, its layout and its halos.
  [[nodiscard]] auto const& shape() const noexcept { return static_cast<Epoch const&>(*this).state().shape; }

 protected:
  static constexpr std::size_t dimensions = State::dimensions;
  using value_type = typename State::value_type;
  using box_type = box<dimensions>;
  using index_type = std::array<std::size_t, dimensions>;
  using memory = std::span<value_type const>;

  struct place {
    rank_t owner;
    std::size_t offset;
  };

  [[nodiscard]] auto const& layout() const noexcept { return shape().layout(); }

  [[nodiscard]] place place_of(called operation, index_type const& index) const {
    static_cast<Epoch const&>(*this).check_open(operation);
    check_cell(operation, index);
    if constexpr (requires { layout().owner_and_offset(index); }) {
      auto const [owner, offset] = layout().owner_and_offset(index);
      return {owner, offset};
    } else {
      return {layout().owner(index), layout().offset(index)};
    }
  }
  void check_cell(called operation, index_type const& index) const {
    PGAS_EXPECTS(normal, shape().has_cell(index),
                 throw_no_cell(job_rank(), operation, index, shape().extents()));
  }
  void check_transfer(called operation, box_type const& at, memory values) const {
    check_box(operation, at);
    PGAS_EXPECTS(light, values.size() == at.size(),
                 throw_error_at(errc::invalid_argument, job_rank(), operation,
                                {values.size(), " values given for ", at.size(),
                                 " cells; give one value for each cell"}));
    check_owners(operation, [&](auto const& use) {
      for_each_tile(layout(), at, [&](auto const& in, box_type const&) { use(in.owner, in.offset); });
    });
    check_apart(operation, values, each_row(at));
  }
  void check_box(called operation, box_type const& at) const {
    static_cast<Epoch const&>(*this).check_open(operation);
    PGAS_EXPECTS(light, shape().contains(at), throw_no_box(job_rank(), operation, at, shape().extents()));
  }
  template <class Indices>
  void check_scattered(called operation, Indices const& indices, memory values) const {
    static_cast<Epoch const&>(*this).check_open(operation);
    check_list(job_rank(), operation, indices, values.size());
    if constexpr (assertions >= assertion_level::normal) {
      for (std::size_t k = 0; k < indices.size(); ++k)
        check_cell(operation, index_at<dimensions>(indices, k));
    }
    check_owners(operation, each_of(indices));
    check_apart(operation, values, each_of(indices));
  }
  template <class Mask>
  void check_masked(called operation, box_type const& at, Mask const& mask, memory values) const {
    check_box(operation, at);
    check_mask(job_rank(), operation, at, mask, values.size());
    check_owners(operation, each_in(at, mask));
    check_apart(operation, values, each_in(at, mask));
  }
  template <class ForEachCell>
  void check_before(called operation, memory values, memory before, ForEachCell const& for_each_cell) const {
    PGAS_EXPECTS(light, before.size() == values.size(),
                 throw_error_at(errc::invalid_argument, job_rank(), operation,
                                {"room for ", before.size(), " values given for ", values.size(),
                                 " cells; give room for one value of each cell"}));
    PGAS_EXPECTS(light, !overlap(values.data(), before.data(), values.size_bytes()),
                 throw_same_memory(job_rank(), operation));
    check_apart(operation, before, for_each_cell);
  }
  /// Refuses memory that is also some of these cells, as far as they are this rank's own: a copy between them
  /// would depend on its order. Costs a look at each cell only if the memory lies in this rank's part.
  template <class ForEachCell>
  void check_apart(called operation, memory values, ForEachCell const& for_each_cell) const {
    if constexpr (assertions >= assertion_level::light) {
      auto& state = static_cast<Epoch const&>(*this).state();
      value_type const* const own = state.own_elements();
      auto const lies_in = [](value_type const* first, std::size_t count, value_type const* element) {
        return address(element) - address(first) < count * sizeof(value_type);
      };
      if (own == nullptr || values.empty()) return;
      if (!lies_in(own, state.size, values.data()) && !lies_in(values.data(), values.size(), own)) return;
      for_each_cell([&](rank_t owner, std::size_t offset, std::size_t count = 1) {
        if (owner == state.rank() && (lies_in(values.data(), values.size(), own + offset) ||
                                      lies_in(own + offset, count, values.data())))
          throw_overlap(job_rank(), operation, state.rank(), offset, count);
      });
    }
  }
  /// Throws before any cell is touched if the epoch is open to some ranks only, and not to each of these
  /// owners. An epoch that is open to all ranks has nothing to check.
  template <class ForEachOwner>
  void check_owners(called operation, ForEachOwner const& for_each_owner) const {
    if constexpr (assertions >= assertion_level::light &&
                  requires(Epoch const& e, rank_t owner) { e.check_target(operation, owner); }) {
      rank_t last = -1;
      for_each_owner([&](rank_t owner, std::size_t) {
        if (owner != last) static_cast<Epoch const&>(*this).check_target(operation, owner);
        last = owner;
      });
    }
  }
  /// Calls use(owner, offset, count) for each row of a box in a part.
  [[nodiscard]] auto each_row(box_type const& at) const noexcept {
    return [this, at](auto&& use) {
      for_each_block(layout(), at, {0, dense_pitches(at.count)},
                     [&](rank_t owner, rows_of block, std::size_t, std::size_t) {
                       for (std::size_t row = 0; row < block.rows; ++row)
                         use(owner, block.first + row * block.pitch, block.cols);
                     });
    };
  }
  template <class Indices>
  [[nodiscard]] auto each_of(Indices const& indices) const noexcept {
    return [&](auto&& use) { for_each_listed(layout(), indices, use); };
  }
  template <class Mask>
  [[nodiscard]] auto each_in(box_type const& at, Mask const& mask) const noexcept {
    return [&](auto&& use) { for_each_masked(layout(), at, mask, use); };
  }

 private:
  [[nodiscard]] rank_t job_rank() const { return static_cast<Epoch const&>(*this).state().job_rank(); }
  static std::uintptr_t address(value_type const* element) noexcept {
    return reinterpret_cast<std::uintptr_t>(element);
  }
};

}  // namespace PGAS_NAMESPACE::detail
