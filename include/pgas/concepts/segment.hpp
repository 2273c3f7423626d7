// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/request.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE {

/// Bytes to be read by a transfer.
using bytes_in = std::span<std::byte const>;
/// Bytes to be written by a transfer.
using bytes_out = std::span<std::byte>;

/// Rows of equal length at a fixed distance: `rows` pieces of `row_bytes`, `pitch` bytes apart.
struct row_shape {
  std::size_t rows = 0;       ///< the number of rows
  std::size_t row_bytes = 0;  ///< the bytes of a row
};

/// Each part that a backend has allocated is aligned to this many bytes, on every backend: two lines, which
/// processors fetch together. The elements of a window may have up to this alignment.
inline constexpr std::size_t part_alignment = 128;

/// A segment is payload memory: one part per rank of a team, and every rank can reach every part one-sidedly.
///
/// `rank()` is this rank's number, `size()` the number of parts, and `part_bytes(r)` the bytes of r's part.
/// `put` and `get` start a transfer. `put` has read its source's bytes when it returns, but the bytes may
/// arrive as late as flush. A get's destination may be read after flush or flush_local. flush(r) returns when
/// everything this rank has started towards r has arrived in r's memory: remote completion. `rput` and `rget`
/// return a request of the segment's own type. The source of an rput may be reused, and the destination of an
/// rget read, once the request is done. A transfer of no bytes is allowed. A segment decides by itself how it
/// makes long copies: shared memory streams them past the caches (detail/copy/bulk_copy.hpp). Sources
/// and destinations are private memory; a window makes a private copy if they lie in this rank's own part.
/// Parts may differ in size, and be empty. A segment's destructor never blocks. `flush_local(r)` returns when
/// the transfers to r are complete at this rank; `flush_all()` and `flush_local_all()` are the same for all
/// ranks.
template <class S>
concept segment =
    std::movable<S> && requires(S& s, S const& cs, location at, bytes_in from, bytes_out into, rank_t rank) {
      { cs.rank() } noexcept -> std::same_as<rank_t>;
      { cs.size() } noexcept -> std::same_as<rank_t>;
      { cs.part_bytes(rank) } -> std::same_as<std::size_t>;
      s.put(at, from);
      s.get(at, into);
      { s.rput(at, from) } -> request;
      { s.rget(at, into) } -> request;
      s.flush(rank);
      s.flush_all();
      s.flush_local(rank);
      s.flush_local_all();
    };

/// In a local segment this rank's part is plain memory: `local()` is all of it, contiguous, and needs no
/// coherence policy. If the backend has allocated the parts, `local()` begins at a multiple of
/// `part_alignment`, as `part(r)` and `part_if_near(r)` below.
template <class S>
concept local_segment = segment<S> && requires(S& s) {
  { s.local() } -> std::same_as<bytes_out>;
};

/// In a shared segment every part can be reached by load and store, on memory that the hardware keeps
/// coherent. `part(r)` is the address of r's part.
template <class S>
concept shared_segment = local_segment<S> && requires(S& s, rank_t rank) {
  { s.part(rank) } -> std::same_as<std::byte*>;
};

/// In a partly shared segment some parts can be reached by load and store, and the others only by transfers:
/// the ranks of a node share memory, and nodes do not.
///
/// `part_if_near(r)` is the address of r's part if the part is near, else null; the answer for a rank never
/// changes. The rank's own part is near. The hardware keeps a near part coherent, so its elements are loaded
/// and stored plainly. `put`, `get`, flushes and rows work for every rank, and so do the operations of
/// atomic_segment. `is_atomic<T>` is true only for types that the processor modifies atomically. A processor
/// of the part's node carries out the operations of far ranks, element by element, so they are atomic against
/// that node's own instructions.
template <class S>
concept partly_shared_segment = local_segment<S> && requires(S& s, rank_t rank) {
  { s.part_if_near(rank) } -> std::same_as<std::byte*>;
};

/// An ordered segment delivers payload and signal to one rank in order, so a signal need not wait until the
/// payload has arrived.
///
/// `order_puts(r)` returns at once. Every put to r that this rank has started before arrives in r's part
/// before any change of r's own control words, of any window or team, that this rank makes afterwards. It
/// says nothing about words of other ranks: where a word tells one rank about another rank's part, `flush`
/// must come first. OpenSHMEM: shmem_fence.
template <class S>
concept ordered_segment = segment<S> && requires(S& s, rank_t rank) { s.order_puts(rank); };

/// A strided segment moves the rows of a part in one operation, which is cheaper than a put or get for each
/// row. Pitches are in bytes.
template <class S>
concept strided_segment = segment<S> && requires(S& s, location at, row_shape shape, std::size_t pitch,
                                                 std::byte const* from, std::byte* into) {
  s.put_rows(at, pitch, from, pitch, shape);
  s.get_rows(at, pitch, into, pitch, shape);
};

/// Such transfers can also be started, and return a request of the same type as rput and rget.
template <class S>
concept strided_request_segment =
    strided_segment<S> && requires(S& s, location at, row_shape shape, std::size_t pitch,
                                   std::byte const* from, std::byte* into, bytes_in some, bytes_out room) {
      { s.rput_rows(at, pitch, from, pitch, shape) } -> std::same_as<decltype(s.rput(at, some))>;
      { s.rget_rows(at, pitch, into, pitch, shape) } -> std::same_as<decltype(s.rget(at, room))>;
    };

/// A flush of one rank can be started: `rflush(r)` returns a request of the same type as rput and rget.
///
/// The request is done when this rank's puts to r before the call have arrived. A `flush(r)` behind it waits
/// for them, too. UPC++: operation completion of a put.
template <class S>
concept started_flush_segment = segment<S> && requires(S& s, rank_t rank, location at, bytes_in some) {
  { s.rflush(rank) } -> std::same_as<decltype(s.rput(at, some))>;
};

/// With such a segment a get writes to its destination at any time until flush_local. An exception that ends
/// an epoch may also end that memory, so the epoch first calls `abandon()`. It returns when no transfer of
/// this rank uses private memory any more, and throws nothing.
template <class S>
concept abandoned_segment = segment<S> && requires(S& s) {
  { s.abandon() } noexcept;
};

/// With such a segment this rank keeps copies of its own and of remote memory, and no hardware makes them
/// agree.
///
/// `load` and `store` go through this rank's copies; `put` and `get` do not, and are exact to the byte.
/// `clean` writes modified copies of a range back. `drop` forgets copies of a range, and may write modified
/// ones back first. `drain_stores` orders cleans and puts before later signals; `drain_all` orders drops
/// before later loads. The names are those of RISC-V's cache operations. Sizes are in bytes.
template <class S>
concept cache_controlled =
    segment<S> && requires(S& s, location at, bytes_in from, bytes_out into, std::size_t count) {
      s.load(at, into);
      s.store(at, from);
      s.clean(at, count);
      s.drop(at, count);
      s.drain_stores();
      s.drain_all();
      { S::line_bytes } -> std::convertible_to<std::size_t>;
      { S::writeback_is_masked } -> std::convertible_to<bool>;
      { S::has_speculative_fill } -> std::convertible_to<bool>;
      { S::drop_may_write_back } -> std::convertible_to<bool>;
      { S::write_allocates } -> std::convertible_to<bool>;
      { S::tagged_drop } -> std::convertible_to<bool>;
    };

/// Copies can also be tagged, and one step forgets all tagged copies of this rank, of whatever part.
///
/// `load_tagged` leaves tagged copies. `store_through` changes a copy that is present and goes on to memory,
/// where it has arrived after `drain_stores`. `drop_tagged` loses nothing that was stored through.
template <class S>
concept tagged_segment = cache_controlled<S> && requires(S& s, location at, bytes_in from, bytes_out into) {
  s.load_tagged(at, into);
  s.store_through(at, from);
  s.drop_tagged();
};

/// One operation writes back and forgets all copies of this rank, of whatever part.
template <class S>
concept flushable_segment = cache_controlled<S> && requires(S& s) { s.flush_copies(); };

/// A put can also make its target forget its copies of the bytes that are put, without the target's help.
template <class S>
concept remote_drop_segment =
    cache_controlled<S> && requires(S& s, location at, bytes_in from) { s.put_and_drop(at, from); };

/// A part may be two copies: this rank's memory, which `local()` returns, and a copy that other ranks access.
///
/// `publish_own` carries this rank's stores to a range, since the last call, to the copy.
/// `refresh_own` carries other ranks' puts back to this rank's memory. Both are exact to the byte.
template <class S>
concept separate_segment = local_segment<S> && requires(S& s, std::size_t first, std::size_t count) {
  s.publish_own(first, count);
  s.refresh_own();
};

/// The parts that `probe` tries to reach.
enum class probed_parts {
  own,  ///< this rank's part
  all,  ///< the parts of all ranks
};

/// A rank learns only by trying whether it can reach its own part and others'. `probe(whose)` returns the
/// obstacle it met, and `describe(rank, obstacle)` names it. If one rank meets an obstacle, all ranks may
/// `copy_through` another segment with parts of the same sizes, before any access.
template <class S>
concept probed_segment = segment<S> && requires(S& s, S const& cs, rank_t rank) {
  { cs.probe(probed_parts::all).is_there() } -> std::same_as<bool>;
  { cs.describe(rank, cs.probe(probed_parts::all)) } -> std::convertible_to<std::string_view>;
  { cs.is_in_place() } noexcept -> std::same_as<bool>;
};

/// A segment whose checker reports a load that races with a peer's put.
///
/// `copying()` returns a guard. While it lives, loads and gets are no race: they copy elements that the
/// program may never use, as stage does, or that it reads again, as a lookup in a map does.
template <class S>
concept race_checked_segment = segment<S> && requires(S& s) {
  { s.copying() } -> std::destructible;
};

/// Every rank that reaches an element of type T can read and modify it in one indivisible step.
///
/// `fetch_op(at, value, op)` replaces the element x by op(x, value) and returns x; `op` is one of pgas::op.
/// `compare_exchange(at, expected, desired)` replaces it if it has the bytes of `expected`, and returns the
/// value before. All four operations are atomic against each other. `is_atomic<T>` says whether they exist
/// for T; `atomic_load(at)` has acquire order, and `atomic_store(at, value)` release order.
template <class S, class T, class Op>
concept atomic_segment =
    segment<S> && S::template is_atomic<T> && requires(S& s, location at, T value, Op op) {
      { s.template fetch_op<T>(at, value, op) } -> std::same_as<T>;
      { s.template compare_exchange<T>(at, value, value) } -> std::same_as<T>;
      { s.template atomic_load<T>(at) } -> std::same_as<T>;
      s.template atomic_store<T>(at, value);
    };

/// Between nodes the old element costs a message back, and an accumulate does not need it. `combine(at,
/// values, op)` of such a segment is fetch_op of each element without a result. Like a put, it has read the
/// values at return, and takes place by the next flush. MPI: MPI_Accumulate.
template <class S, class T, class Op>
concept combining_segment =
    atomic_segment<S, T, Op> &&
    requires(S& s, location at, std::span<T const> values, Op op) { s.template combine<T>(at, values, op); };

}  // namespace PGAS_NAMESPACE
