// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/team/same_ranks.hpp>
#include <pgas/detail/window/window_boundary.hpp>
#include <pgas/exchange_halo.hpp>
#include <tuple>

namespace PGAS_NAMESPACE {

namespace detail {

/// An exposure and an access epoch on several windows at once. The signals are those of the first window.
template <class First, class... More>
class joined_exchange : public epoch<joined_exchange<First, More...>, First> {
  using base = epoch<joined_exchange, First>;
  friend base;

 public:
  static constexpr std::string_view operation = "halo exchange";

  template <class... Arrays>
  explicit joined_exchange(Arrays const&... arrays)
      : base(std::get<0>(std::tie(arrays...)).shared_state()),
        states_(arrays.shared_state()...),
        origins_(std::get<0>(std::tie(arrays...)).plan().origins()),
        targets_(std::get<0>(std::tie(arrays...)).plan().targets()) {
    auto own = boundaries<boundary_of::own, hints{}>();
    this->state_->post.post(origins_, own);
    mark([](auto& s) { s.exposure_open = true; });
    auto remote = boundaries<boundary_of::remote, write_only.value>();
    this->state_->post.start(targets_, remote, exposure_state::awaited);
    mark([](auto& s) { s.access_open = true; });
  }
  /// Puts the ghost cells of all arrays. It is not part of the constructor, so that the destructor runs if a
  /// put throws.
  template <class... Arrays>
  void put_all(Arrays const&... arrays) {
    auto remote = boundaries<boundary_of::remote, write_only.value>();
    for (rank_t target : group(targets_)) {
      this->state_->post.trigger(target, remote, exposure_state::awaited);
      (put_ghosts(arrays, target), ...);
    }
  }
  joined_exchange(joined_exchange&&) noexcept = default;
  ~joined_exchange() { this->end(); }

 private:
  template <boundary_of Side, hints Hints>
  auto boundaries() const {
    return std::apply(
        [](auto const&... s) {
          return joined_boundary<typename First::template boundary_type<Side, Hints>,
                                 typename More::template boundary_type<Side, Hints>...>(s->segment...);
        },
        states_);
  }
  /// Those of the end: the first array's protocol signals for all arrays.
  template <hints Hints>
  auto completion_boundaries() const {
    using post = typename First::post_protocol_type;
    return std::apply(
        [](auto const&... s) {
          return joined_boundary<typename First::template completion_boundary_type<Hints, post>,
                                 typename More::template completion_boundary_type<Hints, post>...>(
              s->segment...);
        },
        states_);
  }
  template <class Use>
  void mark(Use const& use) {
    std::apply([&](auto const&... s) { (use(*s), ...); }, states_);
  }
  template <class Array>
  static void put_ghosts(Array const& a, rank_t target) {
    auto const& puts = a.plan().puts();
    auto const first = std::lower_bound(puts.begin(), puts.end(), target,
                                        [](auto const& put, rank_t rank) { return put.target < rank; });
    target_view<typename Array::state_type, write_only.value> const open(a.state(), target);
    for (auto put = first; put != puts.end() && put->target == target; ++put) put_move(a, *put, open);
  }

  void finish() {
    mark([](auto& s) {
      s.access_open = false;
      s.exposure_open = false;
      s.elements.withdraw_all();
    });
    auto remote = completion_boundaries<write_only.value>();
    this->state_->post.complete(targets_, remote, exposure_state::awaited);
    auto own = boundaries<boundary_of::own, hints{}>();
    this->state_->post.wait(origins_, own);
  }

  std::tuple<local_shared_ptr<First>, local_shared_ptr<More>...> states_;
  small_group origins_;
  small_group targets_;
};

/// Throws unless all arrays are different ones, and their exchanges have the same neighbours.
template <class First, class... More>
void check_together(First const& first, More const&... more) {
  auto const refuse = [&](char const* sentence) {
    throw error(errc::invalid_argument, first.state().job_rank(), "begin_exchange", sentence);
  };
  std::array<void const*, 1 + sizeof...(More)> const states{&first.state(), &more.state()...};
  for (std::size_t i = 1; i < states.size(); ++i) {
    if (std::find(states.begin(), states.begin() + i, states[i]) != states.begin() + i) {
      refuse("an array is given twice; name each once");
    }
  }
  auto const differs = [&](auto const& other) {
    return other.plan().targets() != first.plan().targets() ||
           other.plan().origins() != first.plan().origins() ||
           !have_ranks_in_order(other.state(), first.state());
  };
  if ((differs(more) || ...)) {
    refuse(
        "the arrays do not have the same neighbours; exchange only arrays of the same team, extents, layout "
        "and halo together");
  }
}

}  // namespace detail

/// An exchange of several arrays that has begun: the result of begin_exchange. Otherwise like
/// pending_exchange.
template <class... States>
class [[nodiscard]] pending_exchanges {
 public:
  /// Begins the exchange; begin_exchange calls it.
  template <any_global_array... Arrays>
  explicit pending_exchanges(Arrays const&... arrays) : epoch_(arrays...) {
    epoch_.put_all(arrays...);
  }

  /// Returns when each ghost cell of each array has the value that its owner's cell had when the owner began.
  /// Throws what epochs throw.
  void finish() { epoch_.close(); }

 private:
  detail::joined_exchange<States...> epoch_;
};

/// Begins to fill the ghost cells of several arrays at once:
/// `auto pending = begin_exchange(density, speed);`.
///
/// The arrays must have the same neighbours: arrays of one layout, extents and halo do. Elements and
/// coherence may differ. All ranks name the arrays in one order, because the first array's signals are used.
/// Otherwise like begin_exchange of each.
/// Throws errc::invalid_argument when an array is named twice, or when neighbours differ.
/// Costs the puts of all arrays, and one post/start/complete/wait round instead of one for each. Where
/// messages are expensive and rows short, this is little more than the cost of one array.
template <any_global_array First, any_global_array Second, any_global_array... More>
  requires(box_layout<typename First::layout_type> && box_layout<typename Second::layout_type> &&
           (box_layout<typename More::layout_type> && ...))
[[nodiscard]] auto begin_exchange(First const& first, Second const& second, More const&... more) {
  detail::check_together(first, second, more...);
  auto const enter = [](auto const& a) {
    a.state().enter(
        "begin_exchange", !a.state().exposure_open && !a.state().is_accessing(),
        "an epoch of this rank on an array is open; close it, or finish its last exchange, first");
  };
  auto const begin = [&](auto const&... all) {
    (enter(all), ...);
    (detail::fill_own_ghosts(all), ...);
  };
  begin(first, second, more...);
  return pending_exchanges<typename First::state_type, typename Second::state_type,
                           typename More::state_type...>(first, second, more...);
}

/// Fills the ghost cells of several arrays: begin_exchange and finish in one call. Otherwise like
/// begin_exchange of several arrays.
template <any_global_array First, any_global_array Second, any_global_array... More>
  requires(box_layout<typename First::layout_type> && box_layout<typename Second::layout_type> &&
           (box_layout<typename More::layout_type> && ...))
void exchange_halo(First const& first, Second const& second, More const&... more) {
  begin_exchange(first, second, more...).finish();
}

}  // namespace PGAS_NAMESPACE
