// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// All ranks of a team, for a shared area.
template <class Control>
class whole_team {
 public:
  explicit whole_team(Control const& control) noexcept : control_(&control) {}
  [[nodiscard]] rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] static rank_t in_team(rank_t rank) noexcept { return rank; }

 private:
  Control const* control_;
};

/// The ranks of one node, which count as 0, 1, ... on its shared areas.
class ranks_of_node {
 public:
  ranks_of_node(rank_t first, rank_t end, rank_t self) noexcept
      : first_(first), size_(end - first), rank_(self - first) {}
  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }
  [[nodiscard]] rank_t in_team(rank_t rank) const noexcept { return first_ + rank; }

 private:
  rank_t first_;
  rank_t size_;
  rank_t rank_;
};

/// A shared area of each rank, into which the rank posts pieces that all other ranks of the team read in
/// place. `Ranks` may be the ranks of one node; then only their parts of the segment are in memory.
///
/// The collectives of a team have numbers, the same on all ranks, and so have the pieces of each collective.
/// Piece i of collective c lies in buffer (5 c + i) mod `buffers` of its rank. When the piece is there, its
/// number is stored to slot (5 c + i) mod `slots`. Each rank also has a slot for the number up to which it
/// has read all pieces. A rank reuses a buffer and a slot when all ranks have read the piece in them.
///
/// Most messages have one piece or four. So the pieces of a collective do not use the buffers of the one
/// before, and a rank that only sends need not wait for its readers each time.
///
/// Source    pulling from the sender's memory, with several buffers in turn: OC-Bcast (Shahmirzadi 2014,
///           section 2.4), here without a tree, since readers of coherent memory share the source's lines.
/// Words     `slots` slots of a rank for pieces, one for what it has read; the rank writes them.
/// States    of a buffer or slot: free, if each rank has read the piece in it; else posted. A piece that fits
///           into the slot itself needs no buffer, so that a short message is one line. There are more slots
///           than buffers. Where ranks share a core, a rank can thus post that many short pieces before the
///           readers have to run.
/// Offers    a piece may be the place of its rank's own memory. Readers then copy straight from there: by
///           loads where all ranks map it, else by system calls if the system allows them. That needs a
///           `reaching_backend`; with another `Backend` there are no offers.
/// Memory    buffers * buffer_bytes a rank, and a word of private state for each rank.
template <control Control, segment Segment, class Backend, class Ranks = whole_team<Control>,
          std::size_t Slots = 32>
class shared_area {
 public:
  using slot_type = typename patience<Control>::slot_type;
  static constexpr bool is_checked = compares_calls;
  static_assert(shared_segment<Segment> || partly_shared_segment<Segment>);
  static_assert(roomy_slot<slot_type>);
  static constexpr std::size_t slots = Slots;
  static constexpr std::size_t buffers = 16;
  static constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
  /// The longest piece that fits into its slot, behind the description of its call. So the description and
  /// the first elements share the line of the number. The description takes three words and the size of the
  /// rank's block one, so the elements behind them are aligned to 16 bytes.
  static constexpr std::size_t call_bytes = is_checked ? 4 * sizeof(word) : 0;
  static constexpr std::size_t short_bytes = slot_type::room_bytes - call_bytes;

  /// A collective whose pieces are no longer than this needs no memory but the slots.
  static constexpr std::size_t sure_bytes = short_bytes;

  static constexpr control_words words(rank_t /*ranks*/) noexcept { return {.slots = slots + 1, .cells = 0}; }
  static constexpr std::size_t bytes(rank_t /*ranks*/) noexcept { return buffers * buffer_bytes; }

  shared_area(Backend& backend, Control& control, control_words first, patience<Control>& waits)
      : shared_area(backend, control, first, waits, Ranks(control)) {}
  shared_area(Backend& backend, Control& control, control_words first, patience<Control>& waits, Ranks ranks)
      : backend_(&backend),
        control_(&control),
        waits_(&waits),
        ranks_(ranks),
        first_(first.slots),
        read_(static_cast<std::size_t>(ranks.size())) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  /// Sets the memory of pieces that do not fit into their slots. Call it before the first such piece.
  void lie_on(Segment& memory) noexcept { memory_ = &memory; }
  [[nodiscard]] bool has_memory() const noexcept { return memory_ != nullptr; }

  /// Finds out whether system calls reach the memory of all ranks from all ranks. All ranks call it.
  /// `barrier()` synchronizes the team; `least(word)` returns the least of all ranks' words.
  ///
  /// Each rank publishes the place of a word and its value, and tries to read those of the others. The value
  /// is unique to the rank, in case the number of a process means another process here.
  template <class Barrier, class Least>
  void find_reach(Barrier&& barrier, Least&& least)
    requires reaching_backend<Backend>
  {
    backend_->admit_peers();
    auto const owned = std::make_unique<trial>();
    trial& secret = *owned;
    secret.value = reinterpret_cast<std::uintptr_t>(&secret) ^
                   static_cast<word>(std::chrono::steady_clock::now().time_since_epoch().count());
    secret.place = backend_->place_of(std::as_bytes(std::span(&secret.value, 1)));
    std::memcpy(part(rank()), &secret, sizeof secret);
    barrier();
    word reaches = 1;
    for (rank_t r = 0; r < size() && reaches != 0; ++r) {
      trial other;
      std::memcpy(&other, part(r), sizeof other);
      if (r == rank() || other.place.by != memory_place::reach::call) continue;
      reaches = backend_->reaches(in_team(r), other.place, std::as_bytes(std::span(&other.value, 1))) ? 1 : 0;
    }
    calls_reach_ = least(reaches) != 0;
  }

  /// Begins the team's next collective, whose pieces have at most `longest` bytes.
  void begin(std::size_t longest) noexcept {
    ++collective_;
    is_short_ = longest <= short_bytes;
    own_block_ = 0;
    if constexpr (is_checked) calls_[collective_ % slots] = waits_->call();
  }
  /// Ends it: this rank reads none of its pieces from now on.
  void end() {
    // release: pairs with the acquire in until_free of the ranks that write pieces; this rank's loads of
    // their pieces come before.
    own_progress().store(number(0) + last, std::memory_order_release);
  }

  /// The most pieces that a rank can post in a collective.
  static constexpr word last = (word{1} << 24U) - 1;

  /// Where rank r posts its piece i.
  [[nodiscard]] std::byte* piece(rank_t r, std::size_t i) const {
    return is_short_ ? posted_slot(r, slot_of(i)).room() + call_bytes : part(r) + buffer(i) * buffer_bytes;
  }
  [[nodiscard]] std::byte* own(std::size_t i) const { return piece(rank(), i); }

  /// Returns whether the buffer and the slot for this rank's piece i are free.
  [[nodiscard]] bool is_free(std::size_t i) {
    word const needed = number_before(i);
    for (rank_t r = 0; r < size(); ++r) {
      if (read_[static_cast<std::size_t>(r)] < needed && r != rank() && !has_read(r, needed)) return false;
    }
    return true;
  }
  /// Ends when they are free.
  steps until_free(std::size_t i) {
    word const needed = number_before(i);
    for (rank_t r = 0; r < size(); ++r) {
      if (r != rank() && !has_read(r, needed)) co_await waits_->until(progress(r), needed, in_team(r));
    }
  }
  /// Announces to all ranks that piece i of this rank is there.
  void post(std::size_t i) {
    std::size_t const at = slot_of(i);
    posted_[at] = number(i);
    if (!is_short_) laid_[buffer(i)] = number(i);
    if constexpr (is_checked) {
      collective_call const& mine = waits_->call();
      std::array const call{mine.name(), mine.shape(), mine.facts(), own_block_};
      std::memcpy(posted_slot(rank(), at).room(), call.data(), sizeof call);
    }
    // release: pairs with the acquire of the ranks that await the piece; carries its bytes.
    posted_slot(rank(), at).store(posted_[at], std::memory_order_release);
  }

  // Sizes of blocks, see posting_medium.

  void announce(std::size_t block) noexcept { own_block_ = block; }
  void compare_announced(rank_t r, std::size_t block) const {
    if constexpr (is_checked) {
      std::array<word, 4> words{};
      std::memcpy(words.data(), posted_slot(r, slot_of(0)).room(), sizeof words);
      compare_blocks(r, static_cast<std::size_t>(words.back()), block);
    }
  }
  void compare_blocks(rank_t r, std::size_t theirs, std::size_t mine) const {
    waits_->compare_blocks(in_team(r), theirs, mine);
  }

  // Offers, see reaching_medium.

  [[nodiscard]] memory_place place_of(bytes_in memory) const noexcept
    requires reaching_backend<Backend>
  {
    auto const place = backend_->place_of(memory);
    return place.by == memory_place::reach::call && !calls_reach_ ? memory_place{} : place;
  }
  void offer(std::size_t i, memory_place place)
    requires reaching_backend<Backend>
  {
    static_assert(sizeof place <= short_bytes);
    std::memcpy(posted_slot(rank(), slot_of(i)).room() + call_bytes, &place, sizeof place);
    post(i);
  }
  [[nodiscard]] memory_place offered(rank_t r, std::size_t i) const
    requires reaching_backend<Backend>
  {
    memory_place place;
    std::memcpy(&place, posted_slot(r, slot_of(i)).room() + call_bytes, sizeof place);
    return place;
  }
  [[nodiscard]] std::byte* address_of(memory_place place) const noexcept
    requires reaching_backend<Backend>
  {
    return backend_->address_of(place);
  }
  void fetch(rank_t r, memory_place place, std::size_t first, bytes_out into)
    requires reaching_backend<Backend>
  {
    if (into.empty()) return;
    if (std::byte const* const from = backend_->address_of(place); from != nullptr) {
      if (from + first != into.data()) std::memcpy(into.data(), from + first, into.size());
    } else {
      backend_->read_from(in_team(r), {place.at + first, place.by}, into, waits_->operation());
    }
  }
  void deliver(rank_t r, memory_place place, std::size_t first, bytes_in from)
    requires reaching_backend<Backend>
  {
    if (from.empty()) return;
    if (std::byte* const into = backend_->address_of(place); into != nullptr) {
      if (into + first != from.data()) std::memcpy(into + first, from.data(), from.size());
    } else {
      backend_->write_to(in_team(r), {place.at + first, place.by}, from, waits_->operation());
    }
  }
  /// To be awaited: resumes when rank r has read what was posted with piece i of this rank.
  [[nodiscard]] auto read_by(rank_t r, std::size_t i) {
    // The awaiter's acquire pairs with the release in done_to and end of rank r, whose copies come before.
    return waits_->until(progress(r), number(i), in_team(r));
  }

  /// The result of `posted`. It compares the call of the rank that posts with the call of this rank.
  class post_awaiter : public patience<Control>::awaiter {
   public:
    post_awaiter(shared_area& on, slot_type slot, word number, rank_t poster) noexcept
        : patience<Control>::awaiter(*on.waits_, slot, number, on.in_team(poster)),
          on_(&on),
          slot_(slot),
          poster_(poster) {}
    void await_resume() const { on_->has_come(slot_, poster_); }

   private:
    shared_area* on_;
    slot_type slot_;
    rank_t poster_;
  };
  /// To be awaited: resumes when rank r has posted piece i.
  [[nodiscard]] post_awaiter posted(rank_t r, std::size_t i) {
    return {*this, posted_slot(r, slot_of(i)), number(i), r};
  }
  /// The same as `until_free` and `posted`, in place.
  void wait_free(std::size_t i) {
    word const needed = number_before(i);
    for (rank_t r = 0; r < size(); ++r) {
      if (r != rank() && !has_read(r, needed)) waits_->wait_here(progress(r), needed, in_team(r));
    }
  }
  void wait_posted(rank_t r, std::size_t i) {
    slot_type const at = posted_slot(r, slot_of(i));
    waits_->wait_here(at, number(i), in_team(r));
    has_come(at, r);
  }
  /// Returns whether rank r has posted piece i. Call `wait_posted` before reading it.
  [[nodiscard]] bool has_posted(rank_t r, std::size_t i) const {
    // relaxed: `wait_posted` acquires what the piece carries.
    return posted_slot(r, slot_of(i)).load(std::memory_order_relaxed) >= number(i);
  }
  /// Returns whether the first piece of the next collective, a short one, may be written without a wait.
  [[nodiscard]] bool is_next_free() {
    word const needed = posted_[slot_of(stride)];
    for (rank_t r = 0; r < size(); ++r) {
      if (r != rank() && !has_read(r, needed)) return false;
    }
    return true;
  }
  /// Tells all ranks that this rank will not read any rank's pieces up to piece i again.
  void done_to(std::size_t i) {
    // release: as in end.
    own_progress().store(number(i), std::memory_order_release);
  }

 private:
  /// The distance between the first buffers of successive collectives. It is odd, so that collectives of one
  /// piece use all buffers in turn.
  static constexpr word stride = 5;
  static_assert(std::has_single_bit(slots) && std::has_single_bit(buffers));

  [[nodiscard]] rank_t in_team(rank_t r) const noexcept { return ranks_.in_team(r); }
  [[nodiscard]] std::byte* part(rank_t r) const noexcept {
    if constexpr (shared_segment<Segment>) {
      return memory_->part(in_team(r));
    } else {
      return memory_->part_if_near(in_team(r));
    }
  }
  [[nodiscard]] std::size_t buffer(std::size_t i) const noexcept {
    return static_cast<std::size_t>(stride * collective_ + i) % buffers;
  }
  [[nodiscard]] std::size_t slot_of(std::size_t i) const noexcept {
    return static_cast<std::size_t>(stride * collective_ + i) % slots;
  }
  /// The number of this rank's last piece in the slot, and in the buffer, of piece i.
  [[nodiscard]] word number_before(std::size_t i) const noexcept {
    return is_short_ ? posted_[slot_of(i)] : std::max(posted_[slot_of(i)], laid_[buffer(i)]);
  }
  [[nodiscard]] word number(std::size_t i) const noexcept { return (collective_ << 24U) + i; }
  [[nodiscard]] slot_type posted_slot(rank_t r, std::size_t at) const {
    return control_->slot(in_team(r), first_ + at, in_team(r));
  }
  [[nodiscard]] slot_type progress(rank_t r) const {
    return control_->slot(in_team(r), first_ + slots, in_team(r));
  }
  [[nodiscard]] slot_type own_progress() const { return progress(rank()); }

  /// A piece of rank `poster` has arrived. Its rank has ended all earlier collectives, and the release of its
  /// post comes after its loads of their pieces.
  void has_come(slot_type const& slot, rank_t poster) {
    word& seen = read_[static_cast<std::size_t>(poster)];
    seen = std::max(seen, number(0) - 1);
    if constexpr (is_checked) compare(slot, poster);
  }
  [[nodiscard]] collective_call call_in(slot_type const& slot) const {
    std::array<word, 3> words{};
    std::memcpy(words.data(), slot.room(), sizeof words);
    return {words[0], words[1], words[2]};
  }
  /// Throws if the piece in a slot belongs to another call than this rank's, or comes after other calls.
  void compare(slot_type const& slot, rank_t poster) const {
    collective_call const other = call_in(slot);
    collective_call const& mine = waits_->call();
    if (!other.looks_like(mine)) [[unlikely]]
      waits_->refuse(in_team(poster), other.text(true));
    if (other.history() != mine.history()) [[unlikely]]
      refuse_earlier(poster);
  }
  /// Throws because the calls of two ranks have differed before; looks for the call in the slots of the
  /// other.
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_earlier(rank_t poster) const {
    for (word back = std::min<word>(slots, collective_) - 1; back > 0; --back) {
      word const before = collective_ - back;
      auto const slot = posted_slot(poster, static_cast<std::size_t>(stride * before % slots));
      // acquire: pairs with the release in post, which carries the call.
      if (slot.load(std::memory_order_acquire) != before << 24U) continue;
      collective_call const theirs = call_in(slot);
      collective_call const& mine = calls_[before % slots];
      if (!theirs.looks_like(mine))
        waits_->refuse_for(text_of({"this rank has called ", mine.text(true), " while rank ", in_team(poster),
                                    " of the team has called ", theirs.text(true)}));
    }
    waits_->refuse(in_team(poster), "it with other counts, or after other collectives");
  }

  [[nodiscard]] bool has_read(rank_t r, word needed) {
    word& seen = read_[static_cast<std::size_t>(r)];
    // acquire: pairs with the release in done_to and end of rank r, whose loads come before.
    if (seen < needed) seen = progress(r).load(std::memory_order_acquire);
    return seen >= needed;
  }

  /// A word of a rank's private memory that the other ranks try to read.
  struct trial {
    memory_place place;
    word value = 0;
  };

  Backend* backend_;
  Control* control_;
  patience<Control>* waits_;
  Ranks ranks_;
  std::size_t first_;
  Segment* memory_ = nullptr;
  word collective_ = 0;
  bool is_short_ = true;
  word own_block_ = 0;                          ///< the bytes of this rank's block in this collective
  bool calls_reach_ = false;                    ///< system calls reach private memory of all ranks
  std::array<collective_call, slots> calls_{};  ///< this rank's last ones, by their numbers
  std::array<word, slots> posted_{};            ///< the number of this rank's last piece in each slot
  std::array<word, buffers> laid_{};            ///< likewise in each buffer
  plain_list<word> read_;  ///< the number up to which each rank has read, as far as this rank knows
};

}  // namespace PGAS_NAMESPACE::detail
