// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/detail/process/uncaught_since.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/team.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// Halo exchanges by notified puts: a rank puts into an inbox of its neighbour and signals, without waiting
/// for the neighbour to begin.
///
/// Source: notified access, Belli and Hoefler 2015; put with signal, OpenSHMEM 1.5. An inbox has two halves,
/// which successive exchanges use in turn. A rank finishes exchange k - 1 after its neighbour has begun it.
/// That neighbour has then copied the cells of exchange k - 2 out of the inbox, so exchange k may overwrite
/// them. Where cells go in one direction only, the receiver returns a signal after its copy.
///
/// Fills the ghost cells of every array of the type and shape for which it was made, one exchange after the
/// other: stencils swap two arrays. Made by make_notified_halo. It stays in place.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
class notified_halo {
  static constexpr std::size_t N = Array::dimensions;
  using state_type = typename Array::state_type;
  using value_type = typename Array::value_type;
  using window_type = typename Array::window_type;
  using protocols_type = protocols<typename Array::protocols_type::fence,
                                   typename Array::protocols_type::post, sync::shared_only>;
  using team_type =
      team<typename state_type::backend_type, typename state_type::coherence_type, protocols_type>;
  using inbox_type = window_on<team_type, value_type>;
  using inbox_state = typename inbox_type::state_type;
  using move = typename halo_plan<N>::move;

 public:
  /// An exchange that has begun: the result of begin_exchange. While it is pending, this rank may read the
  /// array, but the ghost cells from other ranks have old values. It must not store to the array. The
  /// destructor finishes the exchange, too; the rank's next call then throws its error.
  class [[nodiscard]] pending {
   public:
    /// Takes over the exchange; `other` has nothing to finish then.
    pending(pending&& other) noexcept
        : halo_(std::exchange(other.halo_, nullptr)),
          into_(std::move(other.into_)),
          uncaught_(other.uncaught_) {}
    pending& operator=(pending&&) = delete;
    ~pending() {
      if (halo_ == nullptr || uncaught_.any()) return;
      try {
        finish();
      } catch (...) {
        into_.state().team->deferred->record(std::current_exception());
      }
    }

    /// Returns when each ghost cell has the value that its owner's cell had when the owner began. Waits for
    /// the neighbours' signals. Throws errc::wrong_order if the exchange has finished, and what waits throw.
    void finish() {
      PGAS_EXPECTS(light, halo_ != nullptr,
                   detail::throw_error(errc::wrong_order, into_.state().job_rank(), "finish",
                                       "the exchange has finished already; begin another one"));
      std::exchange(halo_, nullptr)->receive(into_);
    }

    /// Copies the cells that have come, and returns whether all have, so that the exchange has finished.
    /// Never waits for a neighbour. With wait() the exchange is a request.
    [[nodiscard]] bool test() {
      if (halo_ != nullptr && halo_->try_receive(into_)) halo_ = nullptr;
      return halo_ == nullptr;
    }
    /// Like finish; returns at once if the exchange has finished.
    void wait() {
      if (halo_ != nullptr) finish();
    }

   private:
    friend notified_halo;
    pending(notified_halo& halo, window_type into) noexcept : halo_(&halo), into_(std::move(into)) {}

    notified_halo* halo_;  ///< null when the exchange has finished
    window_type into_;
    detail::uncaught_since uncaught_;
  };

  /// Makes the inboxes and signals; make_notified_halo calls it.
  explicit notified_halo(Array const& a)
      : shape_(a.shape()),
        routes_(a),
        inbox_(make_window<value_type>(team_type(a.state().team), 2 * routes_.half)),
        signals_(make_signals(inbox_)),
        epoch_(inbox_) {}
  notified_halo(notified_halo const&) = delete;
  notified_halo& operator=(notified_halo const&) = delete;

  /// Begins a halo exchange of an array of this shape, as pgas::begin_exchange does, but never waits for a
  /// neighbour to begin.
  ///
  /// Collective: all ranks call it equally often, for arrays in one order. Waits only where cells go in one
  /// direction: for the receiver's copy of the exchange before the last.
  /// Throws errc::invalid_argument for an array of another shape, errc::wrong_order while an exchange of this
  /// object is pending or an epoch on the array is open.
  /// Costs a put and a signal for each neighbour.
  [[nodiscard]] pending begin_exchange(Array const& a) {
    auto& s = a.state();
    s.enter("begin_exchange", !s.exposure_open && !s.is_accessing(),
            "an epoch of this rank on the array is open; close it, or finish its last exchange, first");
    PGAS_EXPECTS(light, !pending_,
                 detail::throw_error(errc::wrong_order, s.job_rank(), "begin_exchange",
                                     "the last exchange is pending; finish it first"));
    PGAS_EXPECTS(light, a.extents() == shape_.extents() && a.window().size() == part_size(a),
                 detail::throw_error(errc::invalid_argument, s.job_rank(), "begin_exchange",
                                     "the array has another shape than the one for which the notified halo "
                                     "was made; make one for each shape"));
    detail::fill_own_ghosts(a);
    if (begun_ >= 2) {
      for (rank_t const rank : routes_.one_way_targets) signals_.wait({rank});
    }
    std::size_t const half = begun_++ % 2;
    pending_ = true;
    received_ = 0;
    for (route const& to : routes_.targets) {
      send(a, to, to.place + half * to.half);
      signals_.signal(epoch_, to.rank);
    }
    return {*this, window_type(a.shared_state())};
  }

  /// Fills the ghost cells of this rank and its neighbours: begin_exchange and finish in one call.
  void exchange(Array const& a) { begin_exchange(a).finish(); }

 private:
  /// The cells between this rank and a neighbour.
  struct route {
    rank_t rank = 0;
    std::size_t place = 0;      ///< of the cells in a half of the receiver's inbox
    std::size_t half = 0;       ///< the size of a half of the receiver's inbox
    std::vector<move> moves{};  ///< in the order in which their cells lie in the inbox
    std::size_t cells = 0;
  };

  /// All routes of this rank, from the shape alone.
  struct routes {
    explicit routes(Array const& a) {
      rank_t const self = a.rank();
      halo_plan<N> const& mine = a.plan();
      for (rank_t const target : mine.targets()) {
        route to{.rank = target};
        halo_plan<N> const theirs(a.shape(), target);
        for (rank_t const origin : theirs.origins()) {
          if (origin == self) to.place = to.half;
          to.half += room(origin == self ? moves_between(mine, target)
                                         : moves_between(halo_plan<N>(a.shape(), origin), target));
        }
        set_moves(to, moves_between(mine, target));
        targets.push_back(std::move(to));
      }
      for (rank_t const origin : mine.origins()) {
        route from{.rank = origin, .place = half};
        set_moves(from, moves_between(halo_plan<N>(a.shape(), origin), self));
        half += room(from.moves);
        origins.push_back(std::move(from));
      }
      std::set_difference(mine.targets().begin(), mine.targets().end(), mine.origins().begin(),
                          mine.origins().end(), std::back_inserter(one_way_targets));
      std::set_difference(mine.origins().begin(), mine.origins().end(), mine.targets().begin(),
                          mine.targets().end(), std::back_inserter(one_way_origins));
    }

    std::vector<route> targets;
    std::vector<route> origins;
    std::size_t half = 0;                 ///< the size of a half of this rank's inbox
    std::vector<rank_t> one_way_targets;  ///< those that put nothing to this rank
    std::vector<rank_t> one_way_origins;  ///< those to which this rank puts nothing
  };

  static std::vector<move> moves_between(halo_plan<N> const& of_origin, rank_t target) {
    std::vector<move> all;
    for (move const& m : of_origin.puts()) {
      if (m.target == target) all.push_back(m);
    }
    return all;
  }
  static std::size_t cells_of(std::vector<move> const& moves) {
    std::size_t cells = 0;
    for (move const& m : moves) cells += m.size();
    return cells;
  }
  /// The elements that some cells take in an inbox: whole lines, so that no two origins share one.
  static std::size_t room(std::vector<move> const& moves) {
    constexpr std::size_t line = std::max<std::size_t>(64 / sizeof(value_type), 1);
    return (cells_of(moves) + line - 1) / line * line;
  }
  static void set_moves(route& r, std::vector<move> moves) {
    r.cells = cells_of(moves);
    r.moves = std::move(moves);
  }
  [[nodiscard]] std::size_t part_size(Array const& a) const { return shape_.part_size(a.rank()); }

  void send(Array const& a, route const& to, std::size_t place) {
    auto const target = epoch_.to(to.rank);
    if constexpr (Array::is_contiguous) {
      value_type const* const part = a.window().local().data();
      for (move const& m : to.moves) {
        detail::for_each_block<N>(m.count, {place, detail::dense_pitches(m.count)}, {m.from, m.from_pitches},
                                  [&](rows_of block, std::size_t first, std::size_t pitch) {
                                    if (block.rows > 1) return target.put(block, part + first, pitch);
                                    target.put(block.first,
                                               std::span<value_type const>(part + first, block.cols));
                                  });
        place += m.size();
      }
    } else {
      packed_.clear();
      for (move const& m : to.moves) {
        detail::for_each_block<N>(m.count, {0, detail::dense_pitches(m.count)}, {m.from, m.from_pitches},
                                  [&](rows_of block, std::size_t first, std::size_t pitch) {
                                    for (std::size_t row = 0; row < block.rows; ++row) {
                                      auto const own =
                                          stage(a.window(), first + row * pitch, block.cols, read_only);
                                      packed_.insert(packed_.end(), own.begin(), own.end());
                                    }
                                  });
      }
      target.put(place, std::span<value_type const>(packed_));  // the signal completes it
    }
  }

  void receive(window_type const& into) {
    pending_ = false;
    while (received_ < routes_.origins.size()) {
      signals_.wait({routes_.origins[received_].rank});
      take(into, routes_.origins[received_++]);
    }
    for (rank_t const rank : routes_.one_way_origins) signals_.signal(epoch_, rank);
  }
  /// The same without a wait. Returns whether the cells of all neighbours have come.
  bool try_receive(window_type const& into) {
    while (received_ < routes_.origins.size()) {
      if (!signals_.test({routes_.origins[received_].rank})) return false;
      take(into, routes_.origins[received_++]);
    }
    receive(into);
    return true;
  }
  /// Copies the cells of a neighbour from the inbox to the ghost cells.
  void take(window_type const& into, route const& from) {
    std::size_t const half = (begun_ - 1) % 2 * routes_.half;
    auto const cells = stage(inbox_, from.place + half, from.cells, read_only);
    std::size_t place = 0;
    for (move const& m : from.moves) {
      detail::for_each_block<N>(m.count, {m.to, m.to_pitches}, {place, detail::dense_pitches(m.count)},
                                [&](rows_of block, std::size_t first, std::size_t pitch) {
                                  for (std::size_t row = 0; row < block.rows; ++row) {
                                    auto const ghosts =
                                        stage(into, block.first + row * block.pitch, block.cols, write_only);
                                    value_type const* const here = cells.data() + first + row * pitch;
                                    for (std::size_t i = 0; i < block.cols; ++i)
                                      ghosts[i] = here[i];  // often one
                                  }
                                });
      place += m.size();
    }
  }

  typename Array::shape_type shape_;
  routes routes_;
  inbox_type inbox_;
  signals<inbox_state> signals_;
  lock_all<inbox_state> epoch_;  // open for the lifetime: with shared_only it excludes nothing
  std::vector<value_type> packed_;
  std::size_t begun_ = 0;
  std::size_t received_ = 0;  ///< of the pending exchange: the neighbours whose cells have been copied
  bool pending_ = false;
};

/// Makes the inboxes for halo exchanges by notified puts, for arrays of a's type and shape:
/// `auto halos = pgas::make_notified_halo(now); ...halos.exchange(now); std::swap(now, next);`.
///
/// | cells | two ranks with a core each | use | |---|---|---| | up to 2 KiB a neighbour | 0.65 to 0.9 of the
/// time of exchange_halo | this | | 32 KiB | the same time | either; this if neighbours come late | | 512 KiB
/// | 1.6 to 1.8 of the time | exchange_halo, which copies cells once |
///
/// One signal replaces two, and a rank that is early does not wait before it puts. Where ranks share cores,
/// small halos take 0.45 to 0.65 of the time; through messages (loopback) 0.5 to 0.8. On the emulated chip
/// they take 1.0 to 4 times as long: each wait drops cached lines, and the second copy moves lines again.
/// bench/halos.cpp measures it.
///
/// Collective. Memory: twice the ghost cells from other ranks, and a control word for each rank.
/// Throws errc::invalid_argument for an array without a halo, and what make_window and make_signals throw.
/// Notified access: Belli and Hoefler 2015; OpenSHMEM: shmem_put_signal.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] notified_halo<Array> make_notified_halo(Array const& a) {
  detail::check_halo(a);
  return notified_halo<Array>(a);
}

}  // namespace PGAS_NAMESPACE
