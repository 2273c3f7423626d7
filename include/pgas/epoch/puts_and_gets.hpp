// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/detail/team/refused_temporaries.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/checked_part.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The transfers of a target view: puts and gets of elements, runs and rows, and of pieces of the own part.
template <class State, hints Hints, part_is Where = State::parts>
class puts_and_gets : public checked_part<State, Hints, Where>,
                      public refuses_temporaries_of_views<typename State::value_type> {
  using part = part_access<State, Hints, Where>;
  using refused = refuses_temporaries_of_views<typename State::value_type>;

 public:
  using refused::get;
  using refused::put;
  using refused::rget;
  using refused::rput;
  using typename part::value_type;
  using checked_part<State, Hints, Where>::checked_part;
  /// For visit.
  template <part_is Asked>
    requires(Asked == part_is::near_or_far && Where != Asked)
  explicit puts_and_gets(puts_and_gets<State, Hints, Asked> const& asked) noexcept : checks(asked) {}

  /// Puts one element. `value` may be reused at return. Costs a store on shared memory, else a message.
  /// MPI_Put, shmem_p.
  void put(std::size_t i, value_type const& value, caller by = here()) const {
    check_writes();
    check_element({"put", by}, i);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
    part::put(i, value);
  }

  /// Puts values.size() elements from private memory at `first`. The source may be reused after flush_local
  /// or close. Costs a copy on shared memory, past the caches if it is long and to a new place, else a
  /// message. MPI_Put, shmem_put.
  void put(std::size_t first, std::span<value_type const> values, caller by = here()) const {
    check_writes();
    check_elements({"put", by}, first, values.size());
    check_apart({"put", by}, first, values.data(), values.size());
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put);
    part::put(first, values);
  }

  /// Puts a piece of this rank's own part, as this rank sees it. The piece may be stored to after flush_local
  /// or close.
  ///
  /// A template, so that `put(i, {a, b})` is one element of two members.
  template <std::same_as<own_part> Piece>
  void put(std::size_t first, Piece from, caller by = here()) const {
    check_writes();
    check_elements({"put", by}, first, from.count);
    check_own({"put", by}, from);
    check_apart({"put", by}, first, from);
    with_own_copy(from, [&](std::span<value_type const> values) {
      [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
      part::put(first, values);
    });
  }

  /// Puts rows of private memory, `from_pitch` elements apart, into a block of rows. The source may be reused
  /// after flush_local or close. MPI_Put with vector types.
  void put(rows_of at, value_type const* from, std::size_t from_pitch, caller by = here()) const {
    check_writes();
    check_reach({"put", by}, at);
    check_rows({"put", by}, at, from_pitch);
    check_apart({"put", by}, at, from, from_pitch);
    if (at.size() == 0) return;
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put);
    part::put_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte const*>(from),
                   from_pitch * sizeof(value_type), shape_of(at));
  }
  /// Puts values that lie without gaps into a block of rows, or into strided elements. The source may be
  /// reused after flush_local or close. shmem_iput.
  void put(rows_of at, std::span<value_type const> values, caller by = here()) const {
    check_count({"put", by}, values.size(), at.size());
    put(at, values.data(), at.cols, by);
  }

  /// Does not compile: says how put is called.
  template <class None = void>
  auto put(anything = {}, anything = {}, anything = {}, anything = {}) const {
    static_assert(always_false<None>,
                  "put: write `view.put(index, value)`, or `view.put(index, values)` with a std::vector or "
                  "std::span of elements side by side; the elements have the type of the window, so copy "
                  "elements of another type to a vector of that type first");
  }
  /// Does not compile: says how get is called.
  template <class None = void>
  auto get(anything = {}, anything = {}, anything = {}, anything = {}) const {
    static_assert(always_false<None>,
                  "get: write `view.get(index)`, or `view.get(index, values)` with a std::vector or "
                  "std::span to fill, which has a name and is not const; the elements have the type of the "
                  "window, so copy elements of another type to a vector of that type first");
  }

  /// Returns one element; blocks until it has arrived. A loop that waits for a value is a race: see
  /// atomic_load. MPI_Get, shmem_g.
  [[nodiscard]] value_type get(std::size_t i, caller by = here()) const {
    check_reads();
    check_element({"get", by}, i);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get_waited);
    return part::get(i);
  }

  /// Gets values.size() elements from `first` on into private memory. The destination may be read after
  /// flush_local or close. MPI_Get, shmem_get.
  void get(std::size_t first, std::span<value_type> values, caller by = here()) const {
    check_reads();
    check_elements({"get", by}, first, values.size());
    check_apart({"get", by}, first, values.data(), values.size());
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get);
    part::get(first, values);
  }

  /// Gets into a piece of this rank's own part, as if this rank stored it. The piece may be read after
  /// flush_local or close.
  template <std::same_as<own_part> Piece>
  void get(std::size_t first, Piece into, caller by = here()) const {
    check_reads();
    check_elements({"get", by}, first, into.count);
    check_own({"get", by}, into);
    check_apart({"get", by}, first, into);
    get_into_own(first, into);
  }

  /// Gets a block of rows into private rows, `into_pitch` elements apart. The destination may be read after
  /// flush_local or close.
  void get(rows_of at, value_type* into, std::size_t into_pitch, caller by = here()) const {
    check_reads();
    check_reach({"get", by}, at);
    check_rows({"get", by}, at, into_pitch);
    check_apart({"get", by}, at, into, into_pitch);
    if (at.size() == 0) return;
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get);
    part::get_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte*>(into),
                   into_pitch * sizeof(value_type), shape_of(at));
  }
  /// Gets a block of rows, or strided elements, into values that lie without gaps. The destination may be
  /// read after flush_local or close. shmem_iget.
  void get(rows_of at, std::span<value_type> values, caller by = here()) const {
    check_count({"get", by}, values.size(), at.size());
    get(at, values.data(), at.cols, by);
  }

  /// Starts a put of anything that `put` takes, and returns its request. The source may be reused once the
  /// request is done; the elements have arrived after flush or close. The request of one element is done at
  /// return, and so is that of a put to memory with private copies. MPI_Rput.
  [[nodiscard]] done rput(std::size_t i, value_type const& value, caller by = here()) const {
    check_writes();
    check_element({"rput", by}, i);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
    part::put(i, value);
    return {};
  }
  [[nodiscard]] auto rput(std::size_t first, std::span<value_type const> values, caller by = here()) const {
    check_writes();
    check_elements({"rput", by}, first, values.size());
    check_apart({"rput", by}, first, values.data(), values.size());
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
    if constexpr (cache_controlled<segment_type>) {
      part::put(first, values);
      return done{};
    } else {
      return segment().rput(location_of(first), std::as_bytes(values));
    }
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rput(std::size_t first, Piece from, caller by = here()) const {
    check_writes();
    check_elements({"rput", by}, first, from.count);
    check_own({"rput", by}, from);
    check_apart({"rput", by}, first, from);
    with_own_copy(from, [&](std::span<value_type const> values) {
      [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
      part::put(first, values);
    });
    return {};
  }
  [[nodiscard]] auto rput(rows_of at, value_type const* from, std::size_t from_pitch,
                          caller by = here()) const {
    check_writes();
    check_reach({"rput", by}, at);
    check_rows({"rput", by}, at, from_pitch);
    check_apart({"rput", by}, at, from, from_pitch);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::put_copied);
    return part::rput_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte const*>(from),
                           from_pitch * sizeof(value_type), shape_of(at));
  }
  [[nodiscard]] auto rput(rows_of at, std::span<value_type const> values, caller by = here()) const {
    check_count({"rput", by}, values.size(), at.size());
    return rput(at, values.data(), at.cols, by);
  }
  /// Starts a get of anything that `get` takes, and returns its request. The destination may be read once the
  /// request is done. The request of one element is done at return, and so is that of a get from memory with
  /// private copies. MPI_Rget.
  [[nodiscard]] done rget(std::size_t i, value_type& into, caller by = here()) const {
    check_reads();
    check_element({"rget", by}, i);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get_waited);
    into = part::get(i);
    return {};
  }
  [[nodiscard]] auto rget(std::size_t first, std::span<value_type> values, caller by = here()) const {
    check_reads();
    check_elements({"rget", by}, first, values.size());
    check_apart({"rget", by}, first, values.data(), values.size());
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get_waited);
    if constexpr (cache_controlled<segment_type>) {
      part::get(first, values);
      segment().flush_local(
          this->rank());  // a policy may get past the copies, and then the bytes may be under way
      return done{};
    } else {
      return segment().rget(location_of(first), std::as_writable_bytes(values));
    }
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rget(std::size_t first, Piece into, caller by = here()) const {
    check_reads();
    check_elements({"rget", by}, first, into.count);
    check_own({"rget", by}, into);
    check_apart({"rget", by}, first, into);
    get_into_own(first, into);
    segment().flush_local(this->rank());
    return {};
  }
  [[nodiscard]] auto rget(rows_of at, value_type* into, std::size_t into_pitch, caller by = here()) const {
    check_reads();
    check_reach({"rget", by}, at);
    check_rows({"rget", by}, at, into_pitch);
    check_apart({"rget", by}, at, into, into_pitch);
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::get_waited);
    return part::rget_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte*>(into),
                           into_pitch * sizeof(value_type), shape_of(at));
  }
  [[nodiscard]] auto rget(rows_of at, std::span<value_type> values, caller by = here()) const {
    check_count({"rget", by}, values.size(), at.size());
    return rget(at, values.data(), at.cols, by);
  }

 protected:
  using checks = checked_part<State, Hints, Where>;
  using checks::check_apart;
  using checks::check_count;
  using checks::check_element;
  using checks::check_elements;
  using checks::check_own;
  using checks::check_reach;
  using checks::check_reads;
  using checks::check_rows;
  using checks::check_writes;
  using checks::shape_of;
  using part::location_of;
  using part::segment;
  using typename part::segment_type;

 private:
  using Coherence = typename part::coherence_type;

  template <class Use>
  void with_own_copy(own_part from, Use&& use) const {
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      auto const* own = reinterpret_cast<value_type const*>(segment().local().data());
      use(std::span<value_type const>(own + from.first, from.count));
    } else {
      std::vector<value_type> copy(from.count);
      if (from.count != 0) {
        [[maybe_unused]] auto const as = access_as(segment(), access_kind::piece_read, this->rank());
        Coherence::load(segment(), {part::state().rank(), from.first * sizeof(value_type)},
                        std::as_writable_bytes(std::span(copy)));
      }
      use(std::span<value_type const>(copy));
    }
  }

  void get_into_own(std::size_t first, own_part into) const {
    if (into.count == 0) return;
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      auto* const own = reinterpret_cast<value_type*>(segment().local().data());
      part::get(first, std::span(own + into.first, into.count));
    } else {
      std::vector<value_type> copy(into.count);
      {
        [[maybe_unused]] auto const as = access_as(segment(), access_kind::get_waited);
        part::get(first, std::span(copy));
        segment().flush_local(this->rank());
      }
      [[maybe_unused]] auto const as = access_as(segment(), access_kind::piece_filled, this->rank());
      Coherence::store(segment(), {part::state().rank(), into.first * sizeof(value_type)},
                       std::as_bytes(std::span(copy)));
    }
  }
};

}  // namespace PGAS_NAMESPACE::detail
