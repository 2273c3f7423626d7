// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <pgas/vocabulary/node_ranges.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// The medium of a collective algorithm: the memory of a team through which its ranks exchange pieces.
enum class collective_medium {
  shared_areas,  ///< posting_medium: shared memory
  links,         ///< linking_medium: any memory
  pull_areas,    ///< pulling_medium: any memory
  buffers,       ///< buffering_medium: any memory
  nodes,         ///< node_medium: ranks on nodes
};

/// A collective algorithm: how the ranks of a team carry out some operations, one header in collectives/,
/// chosen as a type.
///
/// It has a static member for each operation that it supports: `broadcast`, `reduce`, `all_reduce`, `scan`,
/// `gather`, `all_gather`, `scatter`, `all_to_all`, `reduce_scatter`. Each takes the medium that the
/// algorithm `stands_on`, and memory in bytes, and returns the steps of this rank. Ranks begin their steps in
/// the same order, one after the other. Source and result may be the same memory. `name` is its name in
/// messages and tables. An algorithm that reorders operands has `needs_commutative`, one for blocks of one
/// size only `needs_equal_blocks`. One that folds elements of any length has `folds_any_length`; the others
/// fold elements that fit into a piece of their medium.
template <class A>
concept collective_algorithm = requires {
  { A::name } -> std::convertible_to<std::string_view>;
  { A::stands_on } -> std::convertible_to<collective_medium>;
};

namespace detail {

// Whether an algorithm has an operation on a medium.
template <class A, class M>
concept broadcasts = requires(M& m) { A::broadcast(m, bytes_out{}, rank_t{}); };
template <class A, class M>
concept reduces = requires(M& m) { A::reduce(m, bytes_in{}, bytes_out{}, folding{}, rank_t{}); };
template <class A, class M>
concept all_reduces = requires(M& m) { A::all_reduce(m, bytes_in{}, bytes_out{}, folding{}); };
template <class A, class M>
concept scans = requires(M& m) { A::scan(m, bytes_in{}, bytes_out{}, folding{}, bool{}); };
template <class A, class M>
concept gathers = requires(M& m, block_sizes const& sizes) {
  A::gather(m, bytes_in{}, bytes_out{}, sizes, bool{}, rank_t{});
};
template <class A, class M>
concept all_gathers =
    requires(M& m, block_sizes const& sizes) { A::all_gather(m, bytes_in{}, bytes_out{}, sizes); };
template <class A, class M>
concept scatters = requires(M& m, block_sizes const& sizes) {
  A::scatter(m, bytes_in{}, sizes, bytes_out{}, bool{}, rank_t{});
};
template <class A, class M>
concept exchanges_all = requires(M& m, block_sizes const& sizes) {
  A::all_to_all(m, bytes_in{}, sizes, bytes_out{}, sizes, bool{});
};
template <class A, class M>
concept reduces_shares = requires(M& m, block_sizes const& sizes) {
  A::reduce_scatter(m, bytes_in{}, sizes, bytes_out{}, folding{});
};

}  // namespace detail

/// A posting medium has a shared area for each rank, whose pieces all ranks read in place.
///
/// `begin(longest)` begins the team's next collective, whose pieces have at most that many bytes, the same
/// number on all ranks. `own(i)` is where this rank writes its piece i once `is_free(i)`, or after the steps
/// `until_free(i)`; `post(i)` announces the piece to all ranks. `posted(r, i)` is awaited before `piece(r,
/// i)` of rank r is read. `done_to(i)` says that this rank will not read any rank's pieces up to i again, and
/// `end()` that it reads no more pieces of this collective; a rank that posts may call it earlier. A piece
/// has at most `buffer_bytes`, and the next `buffers` pieces may be posted before a reader has read one.
/// `announce(bytes)` follows `begin`, and pieces then carry the length of this rank's block. Once piece 0 of
/// a rank is posted, `compare_announced(r, bytes)` throws if that rank has announced another length.
/// `compare_blocks(r, theirs, mine)` throws if two lengths of one block differ. All media have it, and at
/// level light it does nothing.
template <class M>
concept posting_medium = requires(M& m, M const& cm, rank_t r, std::size_t i) {
  { cm.rank() } -> std::same_as<rank_t>;
  { cm.size() } -> std::same_as<rank_t>;
  m.begin(i);
  m.end();
  { cm.own(i) } -> std::same_as<std::byte*>;
  { cm.piece(r, i) } -> std::same_as<std::byte*>;
  { m.is_free(i) } -> std::same_as<bool>;
  m.until_free(i);
  m.post(i);
  m.posted(r, i);
  m.done_to(i);
  m.announce(i);
  cm.compare_announced(r, i);
  cm.compare_blocks(r, i, i);
  { M::buffers } -> std::convertible_to<std::size_t>;
  { M::buffer_bytes } -> std::convertible_to<std::size_t>;
};

/// With a reaching medium the ranks also copy straight from and to each other's memory.
///
/// `place_of(memory)` names memory of this rank, or nothing if other ranks do not reach it. `offer(i, place)`
/// posts piece i with that name; `offered(r, i)` is the name in piece i of rank r, once it is posted.
/// `address_of(place)` is where this rank loads and stores that memory, or null where only system calls reach
/// it. `fetch(r, place, first, into)` and `deliver(r, place, first, from)` copy from and to rank r's memory,
/// `first` bytes behind the place. `read_by(r, i)` is awaited before memory that was offered with piece i
/// changes: rank r has ended the collective, or read up to piece i.
template <class M>
concept reaching_medium = posting_medium<M> && requires(M& m, M const& cm, rank_t r, std::size_t i,
                                                        memory_place place, bytes_in from, bytes_out into) {
  { cm.place_of(from) } -> std::same_as<memory_place>;
  m.offer(i, place);
  { cm.offered(r, i) } -> std::same_as<memory_place>;
  { cm.address_of(place) } -> std::same_as<std::byte*>;
  m.fetch(r, place, i, into);
  m.deliver(r, place, i, from);
  m.read_by(r, i);
};

/// A link between ranks whose distance is a power of two: from rank r to rank r + 2^exponent, or to
/// r - 2^exponent if it goes down. Ranks form a ring.
struct link {
  unsigned exponent = 0;   ///< of the distance
  bool goes_down = false;  ///< towards lower ranks

  friend constexpr bool operator==(link, link) = default;
};

/// A linking medium has streams of pieces between ranks whose distance is a power of two.
///
/// All transfers are steps, to be awaited. `send(l, bytes)` sends along the link of that name that begins at
/// this rank, and `receive(l, bytes)` receives from the link of that name that ends here; both ranks pass the
/// same length. `exchange(out, from, in, into)` does both at once. `exchange_and_take(out, from, in, count,
/// unit, take)` calls take(first byte, address, bytes) for each arriving piece, whole elements of `unit`
/// bytes. Lengths may be 0; such a link is not used. The pieces of a link arrive in order, and have at most
/// `piece_bytes`.
template <class M>
concept linking_medium = requires(M& m, M const& cm, link l, bytes_in from, bytes_out into) {
  { cm.rank() } -> std::same_as<rank_t>;
  { cm.size() } -> std::same_as<rank_t>;
  m.send(l, from);
  m.receive(l, into);
  m.exchange(l, from, l, into);
  cm.compare_blocks(rank_t{}, std::size_t{}, std::size_t{});
  { M::piece_bytes } -> std::convertible_to<std::size_t>;
};

/// A medium of nodes has two levels. `near()` is a medium of the ranks of this rank's node, a posting or a
/// linking one. `between()` has links among the first ranks of all nodes, and only these ranks use it. On
/// both levels ranks count as 0, 1, ... in ascending order. `nodes()` says which ranks share a node.
template <class M>
concept node_medium = requires(M& m, M const& cm) {
  { cm.rank() } -> std::same_as<rank_t>;
  { cm.size() } -> std::same_as<rank_t>;
  { cm.nodes() } -> std::same_as<node_ranges const&>;
  m.near();
  requires linking_medium<std::remove_reference_t<decltype(m.between())>>;
};

/// A pulling medium has a pull area for each rank, from which all ranks fetch by one-sided gets.
///
/// A round: each rank writes pieces into its pull area by `lay(first byte, bytes)`, all ranks await `meet()`,
/// a barrier, each calls `fetch(rank, first byte, bytes)` for what it wants, and `settle()` returns when that
/// has arrived. All ranks take part in all rounds. `agree_on_largest(number)` are steps that give all ranks
/// the largest number. A pull area has `buffer_bytes`.
template <class M>
concept pulling_medium = requires(M& m, M const& cm, rank_t r, std::size_t i, bytes_in from, bytes_out into) {
  { cm.rank() } -> std::same_as<rank_t>;
  { cm.size() } -> std::same_as<rank_t>;
  m.lay(i, from);
  m.meet();
  m.fetch(r, i, into);
  m.settle();
  m.agree_on_largest(i);
  cm.compare_blocks(r, i, i);
  { M::buffer_bytes } -> std::convertible_to<std::size_t>;
};

/// What a rank remembers of the tree that its team used last.
struct buffer_tree {
  rank_t root = -1;                     ///< -1: there was none
  void const* algorithm = nullptr;      ///< differs between algorithms with different trees
  detail::plain_list<rank_t> children;  ///< the ranks that fetch from this rank, in the order of their flags
  rank_t parent = -1;                   ///< the rank from which this rank fetches
  std::size_t own_flag = 0;             ///< the flag of the parent that this rank sets
  word first = 0;                       ///< the last number before those of this tree
  word last = 0;                        ///< the last number that its flags reach
  bool is_open = false;                 ///< ranks may still fetch, and say later that they have ended
};

/// A buffering medium has a message buffer of each rank, from which other ranks fetch, and a few flags that
/// announce what is there.
///
/// A flag is a number that only grows. Its owner awaits it, and one other rank at a time may set it. A rank
/// sets a flag after another rank only if it knows that the owner has seen that rank's last number.
/// `set_flag(owner, i, number)` comes after all earlier transfers of this rank, and `flag(i, number, setter)`
/// is awaited by the owner: it resumes when its flag i has at least this number, which `setter` sets. Each
/// rank has `flags` of them, and all are 0 at first.
///
/// `fill(first byte, bytes)` copies private memory into the own buffer. `fetch(rank, first byte, into)`
/// copies bytes of a rank's buffer to the same place of the own one, and `drain(first byte, into)` copies
/// them from there to private memory; `into` is the same memory in both calls, so that a medium whose gets
/// end in private memory may fill it at once. `fetch_out(rank, first byte, into)` copies straight from a
/// rank's buffer to private memory. Each is complete when it returns. A buffer has `buffer_bytes`; if the
/// flags lie in it, each needs `flag_bytes` of it, else that is 0. `tree()` is what this rank remembers of
/// the last broadcast.
template <class M>
concept buffering_medium =
    requires(M& m, M const& cm, rank_t r, std::size_t i, word number, bytes_in from, bytes_out into) {
      { cm.rank() } -> std::same_as<rank_t>;
      { cm.size() } -> std::same_as<rank_t>;
      { m.tree() } -> std::same_as<buffer_tree&>;
      m.fill(i, from);
      m.fetch(r, i, into);
      m.drain(i, into);
      m.fetch_out(r, i, into);
      m.set_flag(r, i, number);
      m.flag(i, number, r);
      { M::flags } -> std::convertible_to<std::size_t>;
      { M::flag_bytes } -> std::convertible_to<std::size_t>;
      { M::buffer_bytes } -> std::convertible_to<std::size_t>;
    };

/// Such a medium wakes ranks that do not poll their flags: `announce()` tells it that this rank has set a few
/// flags and sets no other one at once. The owners of these flags are then awake.
template <class M>
concept announcing_medium = buffering_medium<M> && requires(M& m) { m.announce(); };

}  // namespace PGAS_NAMESPACE
