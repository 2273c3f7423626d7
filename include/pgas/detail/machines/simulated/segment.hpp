// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <pgas/vocabulary/op.hpp>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// Payload whose bytes are copied when an operation starts, and whose time the network decides. The own part
/// is plain memory, which costs nothing; no other part has an address, so that every access is counted.
class simulated_segment {
 public:
  /// The transfers that a request waits for.
  enum class waits_for : std::uint8_t {
    nothing,  ///< a put's: it is done when its message has left
    gets,     ///< a get's: it is done when the answer is there
    all,      ///< a flush's: it is done when the puts have arrived, too
  };
  class request_type {
   public:
    request_type(simulated::machine& m, rank_t self, rank_t target, waits_for what) noexcept
        : machine_(&m), self_(self), target_(target), what_(what) {}
    [[nodiscard]] bool test() {
      if (what_ != waits_for::nothing && machine_->is_complete(self_, target_, what_ == waits_for::gets))
        what_ = waits_for::nothing;
      return what_ == waits_for::nothing;
    }
    void wait() {
      if (what_ != waits_for::nothing) machine_->flush(self_, target_, what_ == waits_for::gets);
      what_ = waits_for::nothing;
    }

   private:
    simulated::machine* machine_;
    rank_t self_;
    rank_t target_;
    waits_for what_;
  };

  simulated_segment(std::shared_ptr<simulated::machine> m, std::shared_ptr<simulated::home_parts> home,
                    team_ranks ranks)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)) {
    machine_->of(self()).hold(&pgas::simulated::held::payload, part_bytes(rank()));
  }
  simulated_segment(simulated_segment&&) noexcept = default;
  simulated_segment& operator=(simulated_segment&&) noexcept = default;
  ~simulated_segment() {
    if (home_) machine_->of(self()).give_up(&pgas::simulated::held::payload, part_bytes(rank()));
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t r) const noexcept { return home_->bytes_of(r); }
  [[nodiscard]] bytes_out local() noexcept { return {part(rank()), part_bytes(rank())}; }

  void put(location at, bytes_in from) {
    std::byte* const to = place(at, from.size(), "put");
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    machine_->put(self(), ranks_.to_world(at.rank), from.size());
  }
  void get(location at, bytes_out into) {
    std::byte const* const from = place(at, into.size(), "get");
    if (!into.empty()) std::memcpy(into.data(), from, into.size());
    machine_->get(self(), ranks_.to_world(at.rank), into.size());
  }
  request_type rput(location at, bytes_in from) {
    put(at, from);
    return {*machine_, self(), ranks_.to_world(at.rank), waits_for::nothing};
  }
  request_type rget(location at, bytes_out into) {
    get(at, into);
    return {*machine_, self(), ranks_.to_world(at.rank), waits_for::gets};
  }
  /// The request may wait for later transfers to the target, too.
  request_type rflush(rank_t target) { return {*machine_, self(), ranks_.to_world(target), waits_for::all}; }
  void flush(rank_t target) { machine_->flush(self(), ranks_.to_world(target), false); }
  void flush_all() { machine_->flush(self(), simulated::transfers::every, false); }
  void flush_local(rank_t target) { machine_->flush(self(), ranks_.to_world(target), true); }
  void flush_local_all() { machine_->flush(self(), simulated::transfers::every, true); }

  template <class T>
  static constexpr bool is_atomic = std::is_arithmetic_v<T> && sizeof(T) <= 8;
  template <class T, class Op>
  T fetch_op(location at, T value, Op op) {
    return update<T>(at, "fetch_op", [&](T old) { return static_cast<T>(op(old, value)); });
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) {
    return update<T>(at, "compare_exchange",
                     [&](T old) { return std::memcmp(&old, &expected, sizeof(T)) == 0 ? desired : old; });
  }
  template <class T>
  T atomic_load(location at) {
    return update<T>(at, "atomic_load", [](T old) { return old; });
  }
  template <class T>
  void atomic_store(location at, T value) {
    update<T>(at, "atomic_store", [value](T) { return value; });
  }

 private:
  [[nodiscard]] rank_t self() const noexcept { return ranks_.to_world(ranks_.self()); }
  [[nodiscard]] std::byte* part(rank_t r) const noexcept {
    return home_->memory.data() + home_->first[static_cast<std::size_t>(r)];
  }
  [[nodiscard]] std::byte* place(location at, std::size_t bytes, called operation) const {
    std::size_t const all = part_bytes(at.rank);
    if (!fits(at.offset, bytes, all)) [[unlikely]]
      throw_out_of_range(self(), operation, at.rank, at.offset, bytes, all);
    return part(at.rank) + at.offset;
  }
  template <class T, class Change>
  T update(location at, called operation, Change const& change) {
    std::byte* const place = this->place(at, sizeof(T), operation);
    T old{};
    machine_->modify(self(), ranks_.to_world(at.rank), nullptr, [&] {
      std::memcpy(&old, place, sizeof(T));
      T const changed = change(old);
      std::memcpy(place, &changed, sizeof(T));
      return false;  // no rank waits for payload
    });
    return old;
  }

  std::shared_ptr<simulated::machine> machine_;
  std::shared_ptr<simulated::home_parts> home_;
  team_ranks ranks_;
};
static_assert(local_segment<simulated_segment> && !shared_segment<simulated_segment> &&
              atomic_segment<simulated_segment, double, op::sum> && started_flush_segment<simulated_segment>);

}  // namespace PGAS_NAMESPACE::detail
