// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <pgas/detail/job/job_wide_number.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/vocabulary/address_cache.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/window.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE {

/// Names a piece that one rank has made in a heap. A plain value that may be stored in arrays and sent, and
/// means the same on every rank of the heap's team. If all bytes are zero it names no piece.
struct piece_handle {
  std::uint64_t heap = 0;    ///< the heap's number in the job
  std::uint64_t number = 0;  ///< counts the pieces of its rank from 1; never used again
  rank_t rank = 0;           ///< the rank that made it
  std::uint32_t entry = 0;   ///< the piece's index in the table of that rank

  /// True if the handle names a piece.
  explicit constexpr operator bool() const noexcept { return number != 0; }
  friend constexpr bool operator==(piece_handle const&, piece_handle const&) noexcept = default;
};
static_assert(transportable<piece_handle>);

/// The sizes of a heap's tables.
struct heap_limits {
  std::size_t pieces = 256;  ///< the pieces that a rank may have at a time
  std::size_t cached = 100;  ///< the pieces of other ranks whose places a rank remembers
};

namespace detail {

struct piece_key_hash {
  [[nodiscard]] std::size_t operator()(piece_handle const& h) const noexcept {
    return static_cast<std::size_t>((h.number * 0x9e3779b97f4a7c15U) ^
                                    (static_cast<std::uint64_t>(h.rank) << 32U) ^ h.entry);
  }
};

/// The gaps of a rank's part: allocation is first fit, and adjacent gaps are joined.
class gaps {
 public:
  explicit gaps(std::size_t size) {
    if (size != 0) free_.emplace(0, size);
  }
  /// Takes `count` elements from the first gap that is large enough, and returns the index of the first.
  /// Returns nothing if no gap is. Requires count > 0.
  [[nodiscard]] std::optional<std::size_t> take(std::size_t count) {
    auto const at =
        std::find_if(free_.begin(), free_.end(), [&](auto const& gap) { return gap.second >= count; });
    if (at == free_.end()) return std::nullopt;
    auto const [first, size] = *at;
    free_.erase(at);
    if (size > count) free_.emplace(first + count, size - count);
    return first;
  }
  void give(std::size_t first, std::size_t count) {
    auto at = free_.emplace(first, count).first;
    if (auto const after = std::next(at); after != free_.end() && first + count == after->first) {
      at->second += after->second;
      free_.erase(after);
    }
    if (at == free_.begin()) return;
    if (auto const before = std::prev(at); before->first + before->second == first) {
      before->second += at->second;
      free_.erase(at);
    }
  }
  [[nodiscard]] std::size_t largest() const noexcept {
    std::size_t most = 0;
    for (auto const& gap : free_) most = std::max(most, gap.second);
    return most;
  }

 private:
  std::map<std::size_t, std::size_t> free_;  ///< first element and how many
};

/// One rank's state of a heap.
///
/// Each rank writes its own partition and no other. A partition has two parts. One is a table of the rank's
/// pieces, three elements each, which any rank reads by atomic loads. The other is a word at every rank,
/// which counts the pieces that its writer has freed.
///
/// Table     number, first, count. An entry is free while its number is 0. Its rank stores first and count,
///           and then the number. When the piece is freed, it stores 0 before anything else. A reader reads
///           the number, first, count, and the number again. If that has changed, or is not the handle's, the
///           piece is gone. Numbers are never used again.
/// Words     a slot of each rank at each rank, written by the former: the number of pieces that it has freed.
///           A remembered place is right while the owner's word is unchanged since before the place was read.
/// Source    the shared variable directory and the remote address cache of Ferreras 2008, sections 5.2.2 and
///           6.3. Ours differs. A new piece is announced to no rank, since its entry is there before its
///           handle is. A piece that goes is announced by one store to each rank, after which no cache finds
///           it. No handle can arrive too early, and no old handle can match a new piece.
template <class Window, class Table>
class heap_state {
 public:
  using control_type = typename Window::state_type::backend_type::control_type;

  heap_state(Window memory, Table const& table, control_type notices, std::uint64_t id, heap_limits limits)
      : memory_(std::move(memory)),
        epoch_(table),
        notices_(std::move(notices)),
        id_(id),
        limits_(limits),
        gaps_(memory_.size()),
        known_(limits.cached) {
    for (std::size_t i = limits.pieces; i > 0; --i)
      free_entries_.push_back(static_cast<std::uint32_t>(i - 1));
  }

  static constexpr std::size_t entry_words = 3;

  piece_handle make(std::size_t count) {
    constexpr std::string_view operation = "make_piece";
    if (count == 0) refuse(errc::invalid_argument, operation, "a piece has at least one element");
    if (free_entries_.empty()) {
      refuse(errc::no_space, operation,
             "this rank has " + std::to_string(limits_.pieces) +
                 " pieces, as many as the heap was made for; free some, or give make_heap a larger limit");
    }
    auto const first = gaps_.take(count);
    if (!first) {
      refuse(errc::no_space, operation,
             index_text(count) + " elements do not fit; the largest gap of this rank's " +
                 std::to_string(memory_.size()) + " has " + std::to_string(gaps_.largest()));
    }
    std::uint32_t const entry = free_entries_.back();
    free_entries_.pop_back();
    auto const own = epoch_.to(rank());
    std::size_t const at = entry * entry_words;
    own.atomic_store(at + 1, *first);
    own.atomic_store(at + 2, count);
    own.atomic_store(at, ++made_);
    return {id_, made_, rank(), entry};
  }

  /// Frees a piece of this rank, and tells every other rank.
  void free(piece_handle h) {
    opened_piece const was = open(h, "free");
    if (h.rank != rank())
      refuse(errc::invalid_argument, "free", name_of(h) + " can be freed by that rank only");
    epoch_.to(rank()).atomic_store(h.entry * entry_words, 0);
    ++freed_;
    for (rank_t at = 0; at < notices_.size(); ++at) {
      // release: pairs with the acquire in open(), so that a rank that sees this count sees the 0 in the
      // table.
      if (at != rank())
        notices_.slot(at, static_cast<std::size_t>(rank()), rank()).store(freed_, std::memory_order_release);
    }
    gaps_.give(was.first, was.count);
    free_entries_.push_back(h.entry);
  }

  [[nodiscard]] opened_piece open(piece_handle h, std::string_view operation) {
    check(h, operation);
    if (h.rank == rank()) return read(h, operation);
    // acquire: pairs with the release in free(). The load precedes the reading of the table: if the piece
    // goes meanwhile, the next call notices.
    word const freed =
        notices_.slot(rank(), static_cast<std::size_t>(h.rank), h.rank).load(std::memory_order_acquire);
    if (auto const* known = known_.find(h, [&](place const& p) { return p.freed == freed; }))
      return {h.rank, known->first, known->count};
    opened_piece const found = read(h, operation);
    known_.insert(h, {found.first, found.count, freed});
    return found;
  }

  [[nodiscard]] rank_t rank() const noexcept { return memory_.rank(); }
  [[nodiscard]] Window const& memory() const noexcept { return memory_; }
  [[nodiscard]] address_cache_counts const& cache_counts() const noexcept { return known_.counts(); }
  [[nodiscard]] auto& team() const noexcept { return *memory_.state().team; }

 private:
  struct place {
    std::size_t first;
    std::size_t count;
    word freed;  ///< the pieces that its rank had freed before this place was read
  };

  [[nodiscard]] opened_piece read(piece_handle h, std::string_view operation) {
    auto const there = epoch_.to(h.rank);
    std::size_t const at = h.entry * entry_words;
    bool const is_there = there.atomic_load(at) == h.number;
    std::size_t const first = there.atomic_load(at + 1);
    std::size_t const count = there.atomic_load(at + 2);
    if (!is_there || there.atomic_load(at) != h.number) {
      refuse(errc::gone, operation, name_of(h) + " is gone: that rank has freed it");
    }
    return {h.rank, first, count};
  }

  void check(piece_handle h, std::string_view operation) const {
    if (!h) refuse(errc::invalid_argument, operation, "the handle names no piece: it was never set");
    if (h.heap != id_)
      refuse(errc::invalid_argument, operation,
             name_of(h) + " is of " + job_wide_text("heap", h.heap) + ", but this is " +
                 job_wide_text("heap", id_) + "; open it with the heap in which it was made");
    if (h.rank < 0 || h.rank >= memory_.ranks() || h.entry >= limits_.pieces) {
      refuse(errc::invalid_argument, operation,
             "the handle was damaged: it names entry " + std::to_string(h.entry) + " of rank " +
                 std::to_string(h.rank) + ", but each rank has " + std::to_string(limits_.pieces) +
                 " entries, and there are " + std::to_string(memory_.ranks()) + " ranks");
    }
  }
  static std::string name_of(piece_handle h) {
    return "piece " + std::to_string(h.number) + " of rank " + std::to_string(h.rank);
  }
  [[noreturn]] void refuse(errc code, std::string_view operation, std::string const& sentence) const {
    throw error(code, memory_.state().job_rank(), operation, sentence);
  }

  Window memory_;
  lock_all<typename Table::state_type> epoch_;  ///< on the tables, open for as long as the heap lives
  control_type notices_;
  std::uint64_t id_;
  heap_limits limits_;
  gaps gaps_;
  std::vector<std::uint32_t> free_entries_;
  std::uint64_t made_ = 0;
  word freed_ = 0;
  address_cache<piece_handle, place, piece_key_hash> known_;
};

}  // namespace detail

/// A piece that this rank has made: the result of heap::make. Movable. The destructor frees the piece. It is
/// local except for one store to each rank, and waits for none. No rank may access the piece any more.
template <class State>
class piece {
 public:
  /// For heap.
  piece(std::shared_ptr<State> in, std::size_t count) : in_(std::move(in)), handle_(in_->make(count)) {}
  /// Takes over the piece of `other`, which has none then.
  piece(piece&& other) noexcept : in_(std::move(other.in_)), handle_(std::exchange(other.handle_, {})) {}
  /// Exchanges the two pieces.
  piece& operator=(piece&& other) noexcept {
    std::swap(in_, other.in_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~piece() {
    if (!handle_) return;
    try {
      in_->free(handle_);
    } catch (...) {
      in_->team().deferred->record(std::current_exception());
    }
  }

  /// The handle to send to other ranks.
  [[nodiscard]] piece_handle handle() const noexcept { return handle_; }
  /// The place of the piece in the heap's window.
  [[nodiscard]] opened_piece where() const { return in_->open(handle_, "where"); }
  /// Gives up ownership: the piece then stays until heap::free, or as long as the heap.
  [[nodiscard]] piece_handle release() noexcept { return std::exchange(handle_, {}); }

 private:
  std::shared_ptr<State> in_;
  piece_handle handle_;
};

/// Memory from which each rank makes pieces, alone and at any time; every rank reaches them by their handles.
/// It serves data that collective arrays cannot hold: the nodes of a list or a graph, or buffers of
/// unforeseen size.
///
/// The object is one rank's handle; it moves. Make one with make_heap, and open epochs on `window()` to
/// access pieces. The owner makes and frees a piece without asking any rank. Another rank that opens its
/// handle asks the owner's table, the first time. Memory: the window; a table of 24 bytes a piece; a word for
/// each rank; the places of `cached` pieces. MPI_Win_create_dynamic with MPI_Win_attach, where an address is
/// sent instead; UPC: upc_alloc.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
class heap {
 public:
  using value_type = T;
  using window_type = pgas::window<T, Backend, Coherence, Protocols>;
  using state_type =
      detail::heap_state<window_type, pgas::window<std::uint64_t, Backend, Coherence, Protocols>>;

  /// For make_heap.
  explicit heap(std::shared_ptr<state_type> state) noexcept : state_(std::move(state)) {}

  /// Makes a piece of `count` elements in this rank's part. Their values are unspecified. Local.
  /// Throws errc::no_space with the largest gap, or when there are too many pieces; errc::invalid_argument
  /// for none.
  [[nodiscard]] piece<state_type> make(std::size_t count) const { return {state_, count}; }

  /// Finds the place of a piece of any rank. One-sided. Costs four atomic loads at the owner; none if this
  /// rank has opened the piece before and still remembers its place. Throws errc::gone when the piece has
  /// been freed, and errc::invalid_argument for an empty handle, one of another heap, or a damaged one.
  [[nodiscard]] opened_piece open(piece_handle h) const { return state_->open(h, "open"); }

  /// Frees a piece of this rank that was released. Throws like open, and errc::invalid_argument if another
  /// rank made it.
  void free(piece_handle h) const { state_->free(h); }

  /// The memory of all pieces. Its epochs access opened pieces: `epoch.put(heap.open(handle), 0, value)`.
  [[nodiscard]] window_type const& window() const noexcept { return state_->memory(); }
  /// Counts how often this rank found a piece without asking its owner, and how often it asked.
  [[nodiscard]] address_cache_counts const& cache_counts() const noexcept { return state_->cache_counts(); }

 private:
  std::shared_ptr<state_type> state_;
};

/// Makes a heap with `size` elements on this rank, zero allowed. Collective; all ranks give the same limits.
/// Throws on every rank: the errors of make_window, and errc::mismatch if limits differ. Costs two windows.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_heap(team<Backend, Coherence, Protocols> const& team, std::size_t size,
                             heap_limits limits = {}) {
  using heap_type = heap<T, Backend, Coherence, Protocols>;
  constexpr std::string_view operation = "make_heap";
  auto& members = *team.state();
  detail::handshake limit(members, operation);
  limit.require_natural(size, "elements");
  limit.require_natural(limits.pieces, "pieces");
  limit.require_natural(limits.cached, "remembered places");
  limit.require_same(limits.pieces, "pieces");
  limit.conclude();
  auto memory = make_window<T>(team, size);
  auto const table = make_window<std::uint64_t>(team, limits.pieces * heap_type::state_type::entry_words);
  std::string const label = memory.state().label + "'s heap";
  control_words const words{.slots = static_cast<std::size_t>(team.size()), .cells = 0};
  detail::handshake shake(members, operation);
  auto notices = shake.attach(
      [&] { return members.backend.reserve_control(words); },
      [&](typename Backend::handle made) { return members.backend.attach_control(made, words, label); });
  shake.conclude();
  std::uint64_t id = detail::job_wide_number(members.backend.world_rank(0));
  members.collectives.broadcast(id, 0, operation);
  auto state = std::make_shared<typename heap_type::state_type>(std::move(memory), table, std::move(*notices),
                                                                id, limits);
  return heap_type(std::move(state));
}

/// The type of a heap of T on a team, as make_heap returns it.
template <class Team, transportable T>
using heap_on = heap<T, typename std::remove_cvref_t<Team>::backend_type,
                     typename std::remove_cvref_t<Team>::coherence_type,
                     typename std::remove_cvref_t<Team>::protocols_type>;

}  // namespace PGAS_NAMESPACE
