// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/containers/container_words.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The size of a sequence to whose end any rank appends.
///
/// Words     of the home: `claimed`, the indices that were given to appending ranks; `complete`, the elements
///           that have arrived.
/// append    move `claimed` from i to i + n by a compare_exchange; put the elements i to i + n - 1; await
///           their arrival; add n to `complete` (release).
/// size      load `complete` (acquire), then `claimed`. If they are equal, all elements below have arrived:
///           `complete` never passes `claimed`, so it was equal when it was loaded. Else appends are under
///           way, in whatever order, and the size is the last one that this rank has found so.
/// Source    the two counts of a ring's producers in DPDK's rte_ring. Ours differs: a producer there waits
///           for all earlier ones before it counts itself; here none waits, and a reader may find a smaller
///           size.
/// Costs     an append: a compare_exchange and an addition at the home. A size: two loads there.
template <class Control>
class append_counts {
 public:
  static constexpr control_words needed = {.slots = 0, .cells = 2};

  append_counts(Control words, rank_t home) : words_(std::move(words)), home_(home) {}

  [[nodiscard]] rank_t rank() const noexcept { return words_.rank(); }

  /// Appends n elements if the sequence then has at most `capacity`, and returns the index of the first.
  /// Calls put(index of the first), which returns when they have arrived.
  template <class Put>
  std::optional<std::size_t> append(std::size_t n, std::size_t capacity, Put const& put) {
    for (;;) {
      if (n > capacity || guess_ > capacity - n) {
        // relaxed: an index is a number, and `complete` orders the elements.
        word const found = claimed().load(std::memory_order_relaxed);
        if (n > capacity || found > capacity - n) return std::nullopt;
        guess_ = found;
      }
      word expected = guess_;
      if (claimed().compare_exchange(expected, guess_ + n, std::memory_order_relaxed))
        break;  // relaxed: as above
      guess_ = expected;
    }
    std::size_t const first = std::exchange(guess_, guess_ + n);
    put(first);
    add_complete(n);
    return first;
  }

  /// The number of elements from the first on that have arrived, as far as this rank can tell.
  [[nodiscard]] std::size_t size() {
    // acquire: pairs with the release in add_complete() of all ranks that have added to this sum.
    word const complete = this->complete().load(std::memory_order_acquire);
    // relaxed: the load stays behind the acquire, and a later value only makes the two differ.
    word const claimed = this->claimed().load(std::memory_order_relaxed);
    if (claimed == complete) known_ = claimed;
    return known_;
  }
  /// The last size that this rank has found. Local.
  [[nodiscard]] std::size_t known_size() const noexcept { return known_; }
  /// The indices that were given to appending ranks.
  [[nodiscard]] std::size_t claimed_size() {
    return claimed().load(std::memory_order_relaxed);  // relaxed: a number
  }

 private:
  [[nodiscard]] auto claimed() { return words_.cell(home_, 0); }
  [[nodiscard]] auto complete() { return words_.cell(home_, 1); }
  void add_complete(std::size_t n) {
    // release: pairs with the acquire in size().
    detail::add(complete(), n, std::memory_order_release);
  }

  Control words_;
  rank_t home_;
  word guess_ = 0;  ///< `claimed`, as this rank has last seen it
  std::size_t known_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// The first size and the distribution of a vector.
struct vector_options {
  std::size_t capacity = 1024;  ///< the elements for which there is room at first, rounded up to whole blocks
  std::size_t block = 64;       ///< neighbouring elements that one rank has
};

namespace detail {

/// The place of each element of a vector: extents of doubling size, each of which deals its blocks to the
/// ranks in turn. So no element moves when the vector grows.
class vector_places {
 public:
  vector_places(vector_options const& options, rank_t ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        block_(options.block),
        first_((options.capacity + options.block * static_cast<std::size_t>(ranks) - 1) /
               (options.block * static_cast<std::size_t>(ranks)) * options.block *
               static_cast<std::size_t>(ranks)) {}

  /// Neighbouring elements of one rank.
  struct run {
    std::size_t extent;
    rank_t rank;
    std::size_t at;     ///< the index of the first in the rank's part of the extent
    std::size_t count;  ///< up to the end of the block
  };

  /// The elements of some extents together.
  [[nodiscard]] std::size_t capacity(std::size_t extents) const noexcept {
    return extents == 0 ? 0 : first_.value() << (extents - 1);
  }
  /// The elements that each rank has of an extent.
  [[nodiscard]] std::size_t part(std::size_t extent) const noexcept {
    return (capacity(extent + 1) - capacity(extent)) / ranks_.value();
  }
  /// Element i, and those behind it on its rank.
  [[nodiscard]] run find(std::size_t i) const noexcept {
    auto const extent = static_cast<std::size_t>(std::bit_width(first_.quotient(i)));
    std::size_t const in_extent = i - capacity(extent);
    std::size_t const number = block_.quotient(in_extent);
    std::size_t const phase = in_extent - number * block_.value();
    return {extent, static_cast<rank_t>(ranks_.remainder(number)),
            ranks_.quotient(number) * block_.value() + phase, block_.value() - phase};
  }
  /// Calls use(run, index of its first element) for each run of [first, first + count).
  template <class Use>
  void for_each_run(std::size_t first, std::size_t count, Use const& use) const {
    for (std::size_t i = first; i < first + count;) {
      run r = find(i);
      r.count = std::min(r.count, first + count - i);
      use(r, i);
      i += r.count;
    }
  }

 private:
  divisor ranks_;
  divisor block_;
  divisor first_;  ///< the elements of the first extent
};

}  // namespace detail

/// A sequence of a team, to whose end any rank appends. All ranks read and write elements by their indices,
/// and the elements never move. Make one with make_vector.
///
/// Members are one-sided, but for `reserve`: memory is made by all ranks together. When the vector is full,
/// `push_back` throws errc::no_space, and all ranks call `reserve`. Elements and sizes stay as they are. A
/// rank that has not called it yet goes on reading and appending meanwhile. The object is one rank's handle;
/// it moves. Its destructor is local.
///
/// A rank reads element i after it has found a size above i, or after it has learned in another way that the
/// append ended. It then finds what the appending rank had flushed before. Two accesses to one element, at
/// least one of them a `put`, need an order that the program makes.
///
/// Costs an append is an atomic operation at rank 0, a put with its arrival for each block, and an addition
/// at rank 0. An access by index is a put or get. Memory: sizeof(T) an element; growth doubles it. Source:
/// extents of doubling size, as in Dechev, Pirkelbauer and Stroustrup 2006, "Lock-free dynamically resizable
/// arrays"; ours counts complete elements in place of a descriptor, see detail::append_counts. DASH: List;
/// BCL has arrays of fixed size.
template <transportable T, class Team>
class distributed_vector {
  using control_type = typename Team::backend_type::control_type;
  using window_type = window_on<Team, T>;

 public:
  using value_type = T;

  /// For make_vector.
  distributed_vector(Team team, control_type words, vector_options const& options)
      : team_(std::move(team)), counts_(std::move(words), 0), places_(options, team_.size()) {
    add_extent();
  }

  /// The number of elements from the first on that can be read, as far as this rank can tell. It never falls
  /// on a rank, and is exact when no append is under way. Costs two loads at rank 0.
  [[nodiscard]] std::size_t size() { return counts_.size(); }
  /// The number of elements for which there is room. Local.
  [[nodiscard]] std::size_t capacity() const noexcept { return places_.capacity(extents_.size()); }

  /// Appends an element and returns its index. It can be read at return. Throws errc::no_space if the vector
  /// is full.
  std::size_t push_back(T const& value) {
    return append_or_throw(std::span<T const>(&value, 1), "push_back");
  }
  /// Appends elements, without other ranks' between them, and returns the index of the first. They can be
  /// read at return. Throws errc::no_space, and then appends none.
  std::size_t append(std::span<T const> values) { return append_or_throw(values, "append"); }
  /// Like push_back, and returns nothing if the vector has no room.
  [[nodiscard]] std::optional<std::size_t> try_push_back(T const& value) {
    return try_append(std::span<T const>(&value, 1));
  }
  /// Like append, and returns nothing if the vector has no room; then it appends none.
  [[nodiscard]] std::optional<std::size_t> try_append(std::span<T const> values) {
    return counts_.append(values.size(), capacity(), [&](std::size_t first) { write(first, values); });
  }

  /// Returns element i. Throws errc::out_of_range if no rank has appended it.
  [[nodiscard]] T get(std::size_t i) {
    T value{};
    get(i, std::span<T>(&value, 1));
    return value;
  }
  /// Gets elements from `first` on into private memory, which may be read at return.
  void get(std::size_t first, std::span<T> into) {
    check(first, into.size(), "get");
    places_.for_each_run(first, into.size(), [&](detail::vector_places::run const& r, std::size_t i) {
      extents_[r.extent]->elements.get(r.rank, r.at, into.subspan(i - first, r.count));
    });
  }
  /// Overwrites element i. The value has arrived at return. Throws errc::out_of_range if no rank has appended
  /// the element.
  void put(std::size_t i, T const& value) { put(i, std::span<T const>(&value, 1)); }
  /// Overwrites elements from `first` on.
  void put(std::size_t first, std::span<T const> values) {
    check(first, values.size(), "put");
    write(first, values);
  }

  /// The rank whose memory has element i.
  [[nodiscard]] rank_t owner(std::size_t i) const noexcept { return places_.find(i).rank; }

  /// Calls use(index, element) for each of the elements below size() that lie in this rank's memory, in the
  /// order of their indices. `use` may take the element as T const& or as T&. Elements that it has changed
  /// are put back after each block. Local, but for size().
  template <class Use>
    requires std::invocable<Use&, std::size_t, T&>
  void for_each_own(Use use) {
    std::vector<T> block;
    places_.for_each_run(0, size(), [&](detail::vector_places::run const& r, std::size_t first) {
      if (r.rank != team_.rank()) return;
      block.resize(r.count);
      extents_[r.extent]->elements.get(r.rank, r.at, std::span<T>(block));
      if constexpr (std::invocable<Use&, std::size_t, T const&>) {
        for (std::size_t i = 0; i < r.count; ++i) use(first + i, std::as_const(block)[i]);
      } else {
        for (std::size_t i = 0; i < r.count; ++i) use(first + i, block[i]);
        extents_[r.extent]->elements.put(r.rank, r.at, std::span<T const>(block));
        extents_[r.extent]->elements.arrive(r.rank);
      }
    });
  }

  /// Makes room for at least `count` elements. Collective; all ranks give the same number. No element moves.
  /// Throws errc::no_space or errc::mismatch on every rank, and the vector stays as it was.
  void reserve(std::size_t count) {
    detail::handshake shake(*team_.state(), "reserve");
    shake.require_natural(count, "elements");
    shake.require_same(count, "elements");
    shake.conclude();
    while (capacity() < count) add_extent();
  }

 private:
  struct extent {
    explicit extent(window_type w) : memory(std::move(w)), elements(memory) {}

    window_type memory;
    detail::element_store<window_type> elements;
  };

  void add_extent() {
    extents_.push_back(std::make_unique<extent>(make_window<T>(team_, places_.part(extents_.size()))));
  }

  void write(std::size_t first, std::span<T const> values) {
    places_.for_each_run(first, values.size(), [&](detail::vector_places::run const& r, std::size_t i) {
      extents_[r.extent]->elements.put(r.rank, r.at, values.subspan(i - first, r.count));
    });
    places_.for_each_run(first, values.size(), [&](detail::vector_places::run const& r, std::size_t) {
      extents_[r.extent]->elements.arrive(r.rank);
    });
  }
  std::size_t append_or_throw(std::span<T const> values, std::string_view operation) {
    auto const first = try_append(values);
    if (!first) {
      throw error(errc::no_space, job_rank(), operation,
                  std::to_string(values.size()) + " elements do not fit behind " +
                      std::to_string(counts_.claimed_size()) + " in a vector with room for " +
                      std::to_string(capacity()) + "; let all ranks call reserve");
    }
    return *first;
  }
  void check(std::size_t first, std::size_t count, std::string_view operation) {
    PGAS_EXPECTS(light, count <= counts_.known_size() && first <= counts_.known_size() - count,
                 check_claimed(first, count, operation));
  }
  void check_claimed(std::size_t first, std::size_t count, std::string_view operation) {
    std::size_t const claimed = std::min(counts_.claimed_size(), capacity());
    if (count <= claimed && first <= claimed - count) return static_cast<void>(counts_.size());
    throw error(errc::out_of_range, job_rank(), operation,
                std::to_string(count) + " elements do not exist at " + std::to_string(first) +
                    ", the vector has " + std::to_string(claimed) + "; append them first");
  }
  [[nodiscard]] rank_t job_rank() const { return team_.state()->backend.world_rank(team_.rank()); }

  Team team_;
  detail::append_counts<control_type> counts_;
  detail::vector_places places_;
  std::vector<std::unique_ptr<extent>> extents_;
};

/// Makes an empty vector. Collective; all ranks give the same options. Throws on every rank:
/// errc::invalid_argument for no capacity or blocks of no elements, errc::mismatch, errc::no_space.
template <transportable T, backend_with_cells Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_vector(team<Backend, Coherence, Protocols> const& team, vector_options options = {}) {
  using team_type = pgas::team<Backend, Coherence, Protocols>;
  using counts = detail::append_counts<typename Backend::control_type>;
  auto words = detail::make_container_words(*team.state(), counts::needed, "make_vector", [&](auto& shake) {
    shake.require_natural(options.capacity, "elements");
    shake.require_natural(options.block, "elements of a block");
    shake.require_same(options.capacity, "as the capacity");
    shake.require_same(options.block, "as the elements of a block");
    if (options.capacity == 0 || options.block == 0) {
      shake.refuse(errc::invalid_argument,
                   "a capacity or a block of no elements cannot grow; take at least 1 for both");
    }
  });
  return distributed_vector<T, team_type>(team, std::move(words), options);
}

/// Does not compile: says what a vector needs.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!backend_with_cells<Backend> || !transportable<T>)
auto make_vector(team<Backend, Coherence, Protocols> const&, vector_options = {}) {
  detail::refuse_type<T>();
  static_assert(backend_with_cells<Backend>,
                "make_vector: this backend's control words have no read-modify-write, with which ranks claim "
                "indices; take make_array, whose size is known beforehand, or another backend");
}

/// The type of a vector of T on a team, as make_vector returns it.
template <class Team, transportable T>
using vector_on = distributed_vector<T, std::remove_cvref_t<Team>>;

}  // namespace PGAS_NAMESPACE
