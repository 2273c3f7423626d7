// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <pgas/access.hpp>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/exposure.hpp>
#include <pgas/fence.hpp>
#include <pgas/fence_all.hpp>
#include <pgas/global_array.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>
#include <pgas/window.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "world.hpp"

/// The library on one backend, as programs see it.
namespace races {

namespace detail {

template <class Request>
class request_on final : public request {
 public:
  explicit request_on(Request made) : request_(std::move(made)) {}
  void wait() override { request_.wait(); }

 private:
  Request request_;
};

[[noreturn]] inline void lacks(char const* member) {
  throw std::logic_error(std::string("this kind of epoch has no ") + member);
}

/// An epoch of the library, and the signals of its window. `Epoch` may be a reference.
template <class Epoch, class Signals>
class epoch_on final : public epoch {
  using kind = std::remove_reference_t<Epoch>;
  static constexpr bool accesses = requires(kind& e) { e.flush_all(); };

 public:
  template <class Make>
  epoch_on(Make const& make, std::optional<Signals>& signals) : epoch_(make()), signals_(&signals) {}

  void put(rank_t target, std::size_t i, element value) override {
    if constexpr (accesses) epoch_.put(target, i, value);
  }
  void put(rank_t target, std::size_t first, std::span<element const> values) override {
    if constexpr (accesses) epoch_.put(target, first, values);
  }
  void put(rank_t target, rows_of at, std::span<element const> values) override {
    if constexpr (accesses) epoch_.put(target, at, values);
  }
  void put(rank_t target, std::size_t first, own_part from) override {
    if constexpr (accesses) epoch_.put(target, first, from);
  }
  element get(rank_t target, std::size_t i) override {
    if constexpr (accesses) return epoch_.get(target, i);
    lacks("get");
  }
  void get(rank_t target, std::size_t first, std::span<element> into) override {
    if constexpr (accesses) epoch_.get(target, first, into);
  }
  void get(rank_t target, rows_of at, std::span<element> into) override {
    if constexpr (accesses) epoch_.get(target, at, into);
  }
  void get(rank_t target, std::size_t first, own_part into) override {
    if constexpr (accesses) epoch_.get(target, first, into);
  }
  std::unique_ptr<request> rput(rank_t target, std::size_t first, std::span<element const> from) override {
    if constexpr (accesses) return started(epoch_.rput(target, first, from));
    lacks("rput");
  }
  std::unique_ptr<request> rget(rank_t target, std::size_t first, std::span<element> into) override {
    if constexpr (accesses) return started(epoch_.rget(target, first, into));
    lacks("rget");
  }

  void accumulate(rank_t target, std::size_t i, element value) override {
    if constexpr (accesses) epoch_.accumulate(target, i, value);
  }
  void accumulate(rank_t target, std::size_t first, std::span<element const> values) override {
    if constexpr (accesses) epoch_.accumulate(target, first, values);
  }
  void accumulate_max(rank_t target, std::size_t i, element value) override {
    if constexpr (accesses) epoch_.accumulate(target, i, value, pgas::op::max{});
  }
  void get_accumulate(rank_t target, std::size_t first, std::span<element const> values,
                      std::span<element> before) override {
    if constexpr (accesses) epoch_.get_accumulate(target, first, values, before);
  }
  element fetch_add(rank_t target, std::size_t i, element value) override {
    if constexpr (accesses) return epoch_.fetch_add(target, i, value);
    lacks("fetch_add");
  }
  bool compare_exchange(rank_t target, std::size_t i, element expected, element desired) override {
    if constexpr (accesses) return epoch_.compare_exchange(target, i, expected, desired);
    lacks("compare_exchange");
  }
  element atomic_load(rank_t target, std::size_t i) override {
    if constexpr (accesses) return epoch_.atomic_load(target, i);
    lacks("atomic_load");
  }
  void atomic_store(rank_t target, std::size_t i, element value) override {
    if constexpr (accesses) epoch_.atomic_store(target, i, value);
  }

  void flush(rank_t target) override {
    if constexpr (accesses) epoch_.to(target).flush();
  }
  void flush_local(rank_t target) override {
    if constexpr (accesses) epoch_.to(target).flush_local();
  }
  void flush_all() override {
    if constexpr (accesses) epoch_.flush_all();
  }
  void flush_local_all() override {
    if constexpr (accesses) epoch_.flush_local_all();
  }
  void close() override {
    if constexpr (requires { epoch_.close(); }) epoch_.close();
  }
  void next() override {
    if constexpr (requires { epoch_.next(); }) return epoch_.next();
    lacks("next");
  }
  void sync() override {
    if constexpr (requires { epoch_.sync(); }) return epoch_.sync();
    lacks("sync");
  }
  void complete(rank_t target) override {
    if constexpr (requires { epoch_.complete(target); }) return epoch_.complete(target);
    lacks("complete");
  }
  void signal(rank_t target, std::size_t tag) override {
    if constexpr (pgas::open_epoch<kind>) return signals_->value().signal(epoch_, target, tag);
    lacks("signal");
  }

 private:
  template <class Request>
  static std::unique_ptr<request> started(Request made) {
    return std::make_unique<request_on<Request>>(std::move(made));
  }

  Epoch epoch_;
  std::optional<Signals>* signals_;
};

}  // namespace detail

/// A rank's world on a team. A program that uses what its class does not have throws
/// std::bad_optional_access.
template <class Team>
class world_on final : public world {
  using window_type = decltype(pgas::make_window<element>(std::declval<Team&>(), std::size_t{1}));
  using signals_type = decltype(pgas::make_signals(std::declval<window_type&>(), std::size_t{1}));
  using queue_type = decltype(pgas::make_queue<element>(std::declval<Team&>(), pgas::queue_options{}));
  using counter_type = decltype(pgas::make_counter(std::declval<Team&>(), rank_t{0}));
  using array_type =
      decltype(pgas::make_array<element>(std::declval<Team&>(), std::array<std::size_t, 1>{1},
                                         pgas::halo{.width = 1, .edges = pgas::edge::periodic}));
  using exchange_type = decltype(pgas::begin_exchange(std::declval<array_type&>()));

 public:
  /// Collective. Cells of a rank in the array: 16.
  world_on(Team& team, beside has) : team_(team), window_(pgas::make_window<element>(team, places * apart)) {
    if (has == beside::signals_and_containers) {
      other_.emplace(pgas::make_window<element>(team, places * apart));
      signals_.emplace(pgas::make_signals(window_, 4));
      queue_.emplace(pgas::make_queue<element>(team, pgas::queue_options{.capacity = 64}));
      counter_.emplace(pgas::make_counter(team, 0));
      // One team without each of the first three ranks.
      for (rank_t out = 0; out < 3; ++out) pair_[static_cast<std::size_t>(out)] = without(out);
    } else if (has == beside::array) {
      array_.emplace(pgas::make_array<element>(
          team, std::array<std::size_t, 1>{static_cast<std::size_t>(team.size()) * 16},
          pgas::halo{.width = 1, .edges = pgas::edge::periodic}));
    }
  }

  [[nodiscard]] rank_t rank() const override { return team_.rank(); }
  [[nodiscard]] rank_t size() const override { return team_.size(); }

  [[nodiscard]] opened fence() override {
    return open([&] { return pgas::fence(window_); });
  }
  [[nodiscard]] opened fence_other() override {
    return open([&] { return pgas::fence(other_.value()); });
  }
  [[nodiscard]] std::pair<opened, opened> fence_both() override {
    both_.emplace(window_, other_.value());
    return {open_as<decltype(both_->template get<0>())>([&]() -> auto& { return both_->template get<0>(); }),
            open_as<decltype(both_->template get<1>())>([&]() -> auto& { return both_->template get<1>(); })};
  }
  void close_both() override { both_.reset(); }
  [[nodiscard]] opened expose(std::initializer_list<rank_t> origins) override {
    return open([&] { return pgas::exposure(window_, origins); });
  }
  [[nodiscard]] opened access(std::initializer_list<rank_t> targets) override {
    return open([&] { return pgas::access(window_, targets); });
  }
  [[nodiscard]] opened lock(rank_t target) override {
    return open([&] { return pgas::lock(window_, target, pgas::exclusive); });
  }
  [[nodiscard]] opened lock_shared(rank_t target) override {
    return open([&] { return pgas::lock(window_, target, pgas::shared); });
  }
  [[nodiscard]] opened lock_all() override {
    return open([&] { return pgas::lock_all(window_); });
  }

  void store(std::size_t i, element value) override {
    pgas::stage(window_, i, 1, pgas::write_only)[0] = value;
  }
  void update(std::size_t i, element value) override {
    pgas::stage(window_, i, 1, pgas::read_write)[0] = value;
  }
  element load(std::size_t i) override { return pgas::stage(window_, i, 1, pgas::read_only)[0]; }
  element load(std::size_t i, std::size_t first, std::size_t count) override {
    return pgas::stage(window_, first, count, pgas::read_only)[i - first];
  }
  void store_by_view(std::size_t i, element value) override { window_.local()[i] = value; }
  element load_by_view(std::size_t i) override { return window_.local()[i]; }

  void barrier() override { team_.barrier(); }
  void barrier_of_two(rank_t a, rank_t b) override {
    if (rank() == a || rank() == b) pair_[static_cast<std::size_t>(3 - a - b) % 3].value().barrier();
  }
  element broadcast(element value, rank_t root) override { return team_.broadcast(value, root); }
  element all_reduce(element value) override { return team_.all_reduce(value); }
  void gather(element value, rank_t root) override {
    std::array<element, 16> all{};
    team_.gather(std::span<element const>(&value, 1), std::span(all).first(room()), root);
  }
  void scatter(element value, rank_t root) override {
    std::array<element, 16> all{};
    all.fill(value);
    team_.scatter(std::span<element const>(all).first(room()), std::span(&value, 1), root);
  }
  void wait_signal(rank_t source, std::size_t tag) override { signals_.value().wait({source, tag}); }
  bool test_signal(rank_t source, std::size_t tag) override { return signals_.value().test({source, tag}); }
  void push(element value) override { queue_.value().push(value); }
  element pop() override { return queue_.value().pop().value(); }
  void add_to_counter() override { counter_.value().add(1); }
  element read_counter() override { return static_cast<element>(counter_.value().read()); }

  [[nodiscard]] std::ptrdiff_t cells() const override { return 16; }
  void store_cell(std::ptrdiff_t i, element value) override {
    pgas::stage(array_.value().window(), in_part(i), 1, pgas::write_only)[0] = value;
  }
  element load_cell(std::ptrdiff_t i) override {
    return pgas::stage(array_.value().window(), in_part(i), 1, pgas::read_only)[0];
  }
  element load_all_cells(std::ptrdiff_t i) override {
    return pgas::stage(array_.value(), pgas::read_only)(i);
  }
  void exchange_halo() override { pgas::exchange_halo(array_.value()); }
  void begin_exchange() override { exchange_.emplace(pgas::begin_exchange(array_.value())); }
  void finish_exchange() override {
    exchange_->finish();
    exchange_.reset();
  }

 private:
  template <class Epoch, class Make>
  opened open_as(Make const& make) {
    return std::make_unique<detail::epoch_on<Epoch, signals_type>>(make, signals_);
  }
  template <class Make>
  opened open(Make const& make) {
    return open_as<std::invoke_result_t<Make const&>>(make);
  }
  [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(team_.size()); }

  [[nodiscard]] std::size_t in_part(std::ptrdiff_t cell) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(array_.value().local_place().first) + cell);
  }

  [[nodiscard]] std::optional<Team> without(rank_t out) const {
    return team_.split(rank() == out || rank() > 2 ? std::nullopt : std::optional(0));
  }

  Team& team_;
  window_type window_;
  std::optional<window_type> other_;
  std::optional<signals_type> signals_;
  std::optional<queue_type> queue_;
  std::optional<counter_type> counter_;
  std::optional<array_type> array_;
  std::array<std::optional<Team>, 3> pair_;
  std::optional<exchange_type> exchange_;
  std::optional<decltype(pgas::fence_all(std::declval<window_type&>(), std::declval<window_type&>()))> both_;
};

}  // namespace races
