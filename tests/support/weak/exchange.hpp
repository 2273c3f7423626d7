// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pgas/detail/exchange/eager.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/media.hpp>
#include <pgas/detail/exchange/shared_area.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "model.hpp"

/// The media of collectives on words that show old values as C++ allows. Their memory is the model's payload,
/// which knows whether each access comes after all those that it must not meet.
namespace pgas_test::weak {

/// Memory that is payload of the model where `part_of(location)` names a part of it, and else is not there.
class segment {
 public:
  using part_of = rank_t (*)(pgas::location);

  segment(model& m, rank_t self, part_of which) : model_(&m), self_(self), part_of_(which) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return model_->size(); }
  [[nodiscard]] static std::size_t part_bytes(rank_t) noexcept { return std::size_t{1} << 24U; }
  void put(pgas::location at, pgas::bytes_in) {
    if (rank_t const part = part_of_(at); part >= 0) model_->write(self_, part);
  }
  void get(pgas::location at, pgas::bytes_out) {
    if (rank_t const part = part_of_(at); part >= 0) model_->read(self_, part);
  }
  pgas::done rput(pgas::location at, pgas::bytes_in from) { return put(at, from), pgas::done{}; }
  pgas::done rget(pgas::location at, pgas::bytes_out into) { return get(at, into), pgas::done{}; }
  static void flush(rank_t) noexcept {}
  static void flush_all() noexcept {}
  static void flush_local(rank_t) noexcept {}
  static void flush_local_all() noexcept {}
  // A shared area stands on shared memory. Its programs name the accesses to it.
  [[nodiscard]] pgas::bytes_out local() noexcept { return {part(self_), pieces}; }
  [[nodiscard]] static std::byte* part(rank_t) noexcept {
    static std::vector<std::byte> instance(pieces);
    return instance.data();
  }

 private:
  static constexpr std::size_t pieces = std::size_t{1} << 20U;
  model* model_;
  rank_t self_;
  part_of part_of_;
};
static_assert(pgas::shared_segment<segment>);

/// A control whose slots have room for short messages, which no model looks at.
template <pgas::control Inner>
class roomy_control {
  using inner_slot = decltype(std::declval<Inner&>().slot(0, 0, 0));

 public:
  static constexpr pgas::rmw read_modify_write = Inner::read_modify_write;
  static constexpr bool can_park = Inner::can_park;

  struct slot_type : inner_slot {
    static constexpr std::size_t room_bytes = 112;
    std::byte* at_room;
    slot_type(inner_slot const& s, std::byte* where) : inner_slot(s), at_room(where) {}
    [[nodiscard]] std::byte* room() const noexcept { return at_room; }
  };

  explicit roomy_control(Inner& inner) : inner_(&inner) {}
  [[nodiscard]] rank_t rank() const noexcept { return inner_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return inner_->size(); }
  slot_type slot(rank_t owner, std::size_t i, rank_t writer) {
    static std::array<std::array<std::byte, slot_type::room_bytes>, 128> rooms{};
    return {inner_->slot(owner, i, writer), rooms[static_cast<std::size_t>(owner) * 32 + i].data()};
  }
  auto cell(rank_t owner, std::size_t i) { return inner_->cell(owner, i); }
  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, pgas::waiting_for const& why) {
    return inner_->wait_until(w, predicate, why);
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, pgas::waiting_for const& why) {
    return inner_->wait_any(words, predicate, why);
  }
  void pause(unsigned attempt, pgas::waiting_for const& why) { inner_->pause(attempt, why); }

 private:
  Inner* inner_;
};

/// Steps of a rank that waits in place.
template <class Patience>
void carry_out(Patience& waits, pgas::detail::steps all) {
  auto const here = waits.in_place();
  all.begin();
  all.conclude();
}

/// The links and pull areas of a team, on words alone.
struct links_and_pull_area {
  static constexpr std::string_view name = "links and pull area";
  static constexpr pgas::control_words words(rank_t ranks) {
    return pgas::detail::links<control, segment>::words(ranks);
  }
  /// Of each link: the number of pieces that have come, and the number that have been taken.
  static constexpr std::size_t alike(std::size_t i) noexcept { return i % 2; }

  template <class Control>
  struct on {
    using links_type = pgas::detail::links<Control, segment>;
    using pull_area_type = pgas::detail::pull_area<Control, segment>;

    on(Control& c, pgas::control_words first)
        : waits(c), along(c, first, waits, 0), from(along, links_type::bytes(c.size())) {}
    on(on const&) = delete;
    on& operator=(on const&) = delete;
    ~on() = default;

    pgas::detail::patience<Control> waits;
    links_type along;
    pull_area_type from;
    std::optional<segment> memory;
  };
};

/// Each rank sends messages along its link to the next one, and takes as many from the one before; `one_way`:
/// only from rank 0 to rank 1. The shortest messages travel in words, whose values are compared.
struct link_rounds {
  rank_t ranks;
  int messages;
  bool one_way = false;
  std::size_t bytes = 24;

  /// The first buffer of each link is a part of its receiver, and so pieces 0, 2, 4 and so on lie there.
  static rank_t part_of(pgas::location at) {
    using links_type = pgas::detail::links<control, segment>;
    return at.offset % (links_type::depth * links_type::piece_bytes) < links_type::piece_bytes ? at.rank : -1;
  }

  template <class Protocol>
  void play(model& m, control& words, Protocol& p) const {
    segment& memory = p.memory.emplace(m, words.rank(), part_of);
    p.along.lie_on(memory);
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> in(bytes);
    pgas::link const up{0, false};
    for (int i = 0; i < messages; ++i) {
      std::fill(out.begin(), out.end(), static_cast<std::byte>(i + 1));
      if (!one_way) {
        carry_out(p.waits, p.along.exchange(up, out, up, in));
      } else if (words.rank() == 0) {
        carry_out(p.waits, p.along.send(up, out));
      } else if (words.rank() == 1) {
        carry_out(p.waits, p.along.receive(up, in));
      }
      bool const receives = !one_way || words.rank() == 1;
      if (receives && bytes <= pgas::detail::links<control, segment>::short_bytes && in != out)
        throw std::runtime_error("a piece of another round");
    }
  }
};

/// Rounds of a pull area, in which each rank fetches from all. `one_buffer`: as if there were not two of
/// them.
struct pull_rounds {
  rank_t ranks;
  int rounds;
  bool one_buffer = false;

  template <bool OneBuffer>
  static rank_t part_of(pgas::location at, std::size_t first) {
    using pull_area_type = pgas::detail::pull_area<control, segment>;
    return at.offset >= first && (OneBuffer || at.offset < first + pull_area_type::buffer_bytes) ? at.rank
                                                                                                 : -1;
  }

  template <class Protocol>
  void play(model& m, control& words, Protocol& p) const {
    using links_type = pgas::detail::links<control, segment>;
    auto const which = [&](auto one) -> segment::part_of {
      constexpr bool single = decltype(one)::value;
      if (ranks == 2) return [](pgas::location at) { return part_of<single>(at, links_type::bytes(2)); };
      return [](pgas::location at) { return part_of<single>(at, links_type::bytes(3)); };
    };
    auto const parts = one_buffer ? which(std::true_type{}) : which(std::false_type{});
    segment& memory = p.memory.emplace(m, words.rank(), parts);
    p.along.lie_on(memory);
    p.from.lie_on(memory);
    std::array<std::byte, 8> bytes{};
    for (int i = 0; i < rounds; ++i) {
      p.from.lay(0, bytes);
      carry_out(p.waits, p.from.meet());
      for (rank_t r = 0; r < ranks; ++r) {
        if (r != words.rank()) p.from.fetch(r, 0, bytes);
      }
      p.from.settle();
    }
  }
};

/// The shared areas of a team, on words alone.
template <std::size_t Slots>
struct areas_of {
  static constexpr std::string_view name = "shared areas";
  struct no_reach {};  // words alone: no rank offers memory
  template <class Control>
  using area_on = pgas::detail::shared_area<roomy_control<Control>, segment, no_reach,
                                            pgas::detail::whole_team<roomy_control<Control>>, Slots>;

  static constexpr pgas::control_words words(rank_t ranks) { return area_on<control>::words(ranks); }
  /// The words of pieces, and the word for what a rank has read.
  static constexpr std::size_t alike(std::size_t i) noexcept { return i < Slots ? 0 : 1; }

  template <class Control>
  struct on {
    on(Control& c, pgas::control_words first) : roomy(c), waits(roomy), area(reach, roomy, first, waits) {}
    on(on const&) = delete;
    on& operator=(on const&) = delete;
    ~on() = default;

    no_reach reach;
    roomy_control<Control> roomy;
    pgas::detail::patience<roomy_control<Control>> waits;
    area_on<Control> area;
  };
};

/// Shared areas with a buffer for each slot, and shared areas with fewer buffers.
using shared_areas = areas_of<16>;
using areas_with_few_buffers = areas_of<32>;

/// Rank 0 posts a piece, which all others read, and then another one in the same buffer: of the same
/// collective, whose pieces are long, or of a later one. `wrong`: a poster that writes after its post, a
/// reader that reads after it has said that it reads no more, or long pieces that are announced as short
/// ones.
struct area_rounds {
  enum class mistake { none, writes_after_post, reads_after_end, begins_short };

  rank_t ranks;
  bool one_collective;
  mistake wrong = mistake::none;

  template <class Protocol>
  void play(model& m, control& words, Protocol& p) const {
    rank_t const self = words.rank();
    constexpr std::size_t buffers = decltype(p.area)::buffers;
    auto const post = [&](std::size_t i) {
      if (!p.area.is_free(i)) carry_out(p.waits, p.area.until_free(i));
      if (wrong != mistake::writes_after_post) m.write(self, 0);
      p.area.post(i);
      if (wrong == mistake::writes_after_post) m.write(self, 0);
    };
    auto const read = [&](std::size_t i, auto const& end) {
      auto const await = [](auto& area, std::size_t piece) -> pgas::detail::steps {
        co_await area.posted(0, piece);
      };
      carry_out(p.waits, await(p.area, i));
      if (wrong == mistake::reads_after_end) end();
      m.read(self, 0);
      if (wrong != mistake::reads_after_end) end();
    };
    if (one_collective) {
      p.area.begin(wrong == mistake::begins_short ? 8 : decltype(p.area)::buffer_bytes);
      if (self == 0) {
        p.area.end();
        post(0);
        for (std::size_t i = 1; i < buffers; ++i) p.area.post(i);
        post(buffers);
      } else {
        read(0, [&] { p.area.done_to(0); });
        read(buffers, [&] { p.area.end(); });
      }
      return;
    }
    for (std::size_t c = 0; c <= buffers; ++c) {
      p.area.begin(8);
      bool const uses = c % buffers == 0;
      if (self == 0) {
        p.area.end();
        if (uses) post(0);
      } else if (uses) {
        read(0, [&] { p.area.end(); });
      } else {
        p.area.end();
      }
    }
  }
};

/// A shared area whose messages are payload of the model in those collectives in which `is_watched`. A rank
/// that is `late` reads them only after its own next message, which is a mistake.
template <class Area>
class watched_messages {
 public:
  static constexpr std::size_t buffers = Area::buffers;
  static constexpr std::size_t buffer_bytes = Area::buffer_bytes;
  static constexpr std::size_t short_bytes = Area::short_bytes;

  watched_messages(Area& area, model& m, bool late) : area_(&area), model_(&m), late_(late) {}
  void watch(bool is_watched) { is_watched_ = is_watched; }

  [[nodiscard]] rank_t rank() const { return area_->rank(); }
  [[nodiscard]] rank_t size() const { return area_->size(); }
  void begin(std::size_t longest) { area_->begin(longest); }
  void end() { area_->end(); }
  [[nodiscard]] std::byte* own(std::size_t i) const {
    if (is_watched_) model_->write(rank(), rank());
    return area_->own(i);
  }
  [[nodiscard]] std::byte* piece(rank_t r, std::size_t i) const {
    if (is_watched_ && late_) {
      owed_ = r;
    } else if (is_watched_) {
      model_->read(rank(), r);
    }
    return area_->piece(r, i);
  }
  bool is_free(std::size_t i) { return area_->is_free(i); }
  auto until_free(std::size_t i) { return area_->until_free(i); }
  void wait_free(std::size_t i) { area_->wait_free(i); }
  void post(std::size_t i) {
    area_->post(i);
    if (owed_ >= 0) model_->read(rank(), std::exchange(owed_, -1));
  }
  auto posted(rank_t r, std::size_t i) { return area_->posted(r, i); }
  void wait_posted(rank_t r, std::size_t i) { area_->wait_posted(r, i); }
  bool has_posted(rank_t r, std::size_t i) { return area_->has_posted(r, i); }
  void done_to(std::size_t i) { area_->done_to(i); }
  void announce(std::size_t block) { area_->announce(block); }
  void compare_announced(rank_t r, std::size_t block) const { area_->compare_announced(r, block); }
  void compare_blocks(rank_t r, std::size_t theirs, std::size_t mine) const {
    area_->compare_blocks(r, theirs, mine);
  }

 private:
  Area* area_;
  model* model_;
  bool late_;
  bool is_watched_ = true;
  mutable rank_t owed_ = -1;  ///< its message was asked for, and is read later
};

/// Eager collectives, of which the first and the last use the same buffer: reductions to all ranks, or
/// broadcasts from rank 0. The broadcasts may be `answered` by one from rank 1, whose message says that it
/// has read the first. `starts`: ranks begin them, and look again before they wait.
struct eager_rounds {
  enum class kind { reductions, broadcasts, answered };

  rank_t ranks;
  kind of;
  bool starts = false;
  bool late = false;

  template <class Protocol>
  void play(model& m, control& /*words*/, Protocol& p) const {
    using area_type = std::remove_cvref_t<decltype(p.area)>;
    static_assert(pgas::detail::eager_medium<watched_messages<area_type>>);
    watched_messages<area_type> medium(p.area, m, late);
    std::array<std::byte, 8> mine{};
    auto op = [](std::uint64_t a, std::uint64_t b) { return a + b; };
    auto const fold = pgas::detail::folding::of<std::uint64_t>(op, true);
    auto const run = [&](rank_t root) {
      auto const in = [&](pgas::detail::eager_exchange how) {
        return of != kind::reductions ? how.broadcast(medium, mine, root)
                                      : how.all_reduce(medium, mine, mine, fold);
      };
      if (!starts) {
        in({});
      } else if (!in({.writes = true, .waits = false}) && !in({.writes = false, .waits = false})) {
        in({.writes = false, .waits = true});
      }
    };
    for (std::size_t c = 0; c <= area_type::buffers; ++c) {
      bool const is_watched = c % area_type::buffers == 0;
      medium.watch(is_watched);
      if (is_watched || (c == 1 && of != kind::broadcasts)) {
        run(c == 1 ? 1 : 0);
      } else {
        medium.begin(8);
      }
    }
  }
};

}  // namespace pgas_test::weak
