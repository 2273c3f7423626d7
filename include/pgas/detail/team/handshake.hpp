// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <pgas/detail/team/team_state.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A handshake lets the ranks of a team make something together. One rank reserves memory, every rank learns
/// the handle and attaches to the memory, and every rank learns whether all succeeded.
///
/// All ranks call the same steps in the same order: `attach` for each piece of memory, then `conclude`. A
/// rank that cannot continue keeps its reason and takes part in the remaining steps, so that no rank waits
/// for it. conclude() then throws the reason on every rank. Each rank releases the memory that it has
/// attached, and the team can be used again.
/// Costs a broadcast for each piece of memory; at the end a reduction of one word.
template <class Backend>
class handshake {
 public:
  using handle_type = typename Backend::handle;

  /// Throws the error that a destructor of this rank has deferred.
  handshake(team_state<Backend>& team, std::string_view operation) : team_(&team), operation_(operation) {
    team.deferred->rethrow();
  }

  /// Makes conclude() throw this on every rank. The first reason of the first rank counts.
  void refuse(errc code, std::string_view sentence) {
    if (refused_ != errc{}) return;
    refused_ = code;
    copy_text(why_, sentence);
  }

  /// Calls read(rank, value of that rank) for each rank, on the rank that reserves.
  template <transportable T, class Read>
  void gather(T const& mine, Read&& read) {
    team_->collectives.gather(mine, root, operation_, read);
  }

  /// Tells every rank whether all ranks give the same word, for each of two. Costs rounds that grow with the
  /// logarithm of the ranks.
  [[nodiscard]] std::array<bool, 2> are_same(word a, word b) {
    return team_->collectives.are_same(a, b, operation_);
  }

  /// Refuses with errc::invalid_argument a number that was negative before its conversion to std::size_t;
  /// `what` names it: "tags".
  void require_natural(std::size_t number, std::string_view what) {
    if (!is_negative(number)) return;
    refuse(errc::invalid_argument, text_of({"rank ", team_->backend.rank(), " asks for ", as_given(number),
                                            " ", what, "; ask for a number that is not negative"}));
  }

  /// Refuses with errc::mismatch unless all ranks give the same number; `what` names it: "tags".
  void require_same(std::uint64_t number, std::string_view what) {
    if (are_same(number, 0)[0]) return;
    gather(number, [&](rank_t rank, std::uint64_t const& other) {
      if (other == number) return;
      refuse(errc::mismatch, text_of({"rank ", rank, " asks for ", as_given(other), " ", what,
                                      " and rank 0 for ", as_given(number), "; all must ask for the same"}));
    });
  }

  /// The team's first rank calls reserve() -> handle, and every rank attach(handle). Returns the result of
  /// attach, or nothing if a step has failed, which conclude() then reports.
  template <class Reserve, class Attach>
  auto attach(Reserve&& reserve, Attach&& attach) {
    reservation made = reserve_if(team_->backend.rank() == root, reserve);
    team_->collectives.broadcast(made, root, operation_);
    return attach_to(made, attach);
  }

  /// The same for several groups at once: each rank names the member of the team that reserves for its group.
  /// pick(value, rank) returns the value of that rank, which each rank chooses for itself.
  template <class Reserve, class Attach, class Pick>
  auto attach_by_leader(rank_t leader, Reserve&& reserve, Attach&& attach, Pick&& pick) {
    rank_t const self = team_->backend.rank();
    // A rank without a leader reads what it has written itself: nothing.
    reservation const mine = reserve_if(self == leader, reserve);
    return attach_to(pick(mine, leader < 0 ? self : leader), attach);
  }

  /// Returns when every rank has attached. Throws on every rank if one could not.
  void conclude() {
    // The first rank that has refused, and its code.
    static constexpr word nobody = ~word{0};
    word first = refused_ == errc{}
                     ? nobody
                     : static_cast<word>(team_->backend.rank()) << 32U | static_cast<std::uint32_t>(refused_);
    team_->collectives.least(std::span(&first, 1), operation_);
    if (first == nobody) return;
    auto const code = static_cast<errc>(static_cast<std::uint32_t>(first));
    team_->collectives.broadcast(why_, static_cast<rank_t>(first >> 32U), operation_);
    std::string_view why = why_.data();
    if (std::string const here = on_this_rank(); why.starts_with(here)) why.remove_prefix(here.size());
    throw_error(code, this_rank(), operation_, {why});
  }

 private:
  static constexpr rank_t root = 0;

  struct reservation {
    bool is_there;
    handle_type handle;
  };

  /// Keeps the reason that the current exception gives, or rethrows it if it is of another kind.
  [[gnu::noinline]] void keep_reason() {
    try {
      throw;
    } catch (error const& e) {
      refuse(static_cast<errc>(e.code().value()), on_this_rank() + std::string(e.sentence()));
    } catch (std::bad_alloc const&) {
      refuse(errc::no_space, text_of({on_this_rank(), "the process has no memory left for its share"}));
    }
  }
  [[nodiscard]] rank_t this_rank() const { return team_->backend.world_rank(team_->backend.rank()); }
  /// Begins the reason that one rank has found. The messages of all other ranks contain it, too.
  [[nodiscard]] std::string on_this_rank() const { return text_of({"on rank ", this_rank(), ": "}); }

  template <class Reserve>
  reservation reserve_if(bool leads, Reserve&& reserve) {
    if (!leads || refused_ != errc{}) return {};
    try {
      return {true, reserve()};
    } catch (...) {
      keep_reason();
    }
    return {};
  }
  template <class Attach>
  auto attach_to(reservation const& made, Attach&& attach) {
    using result = std::remove_cvref_t<decltype(attach(made.handle))>;
    std::unique_ptr<result> attached;
    if (!made.is_there) return attached;
    try {
      attached.reset(new result(attach(made.handle)));
    } catch (...) {
      keep_reason();
    }
    return attached;
  }

  team_state<Backend>* team_;
  std::string_view operation_;
  errc refused_{};  ///< zero: nothing has failed on this rank
  std::array<char, 240> why_{};
};

}  // namespace PGAS_NAMESPACE::detail
