// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/tile/machine.hpp>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Payload in memory that all cores share and the machine keeps coherent: a put is a memcpy, and takes no
/// virtual time. One core runs at a time and keeps its turn meanwhile, so each access is atomic.
class tile_segment {
 public:
  tile_segment(std::shared_ptr<tile_machine::home_parts> home, team_ranks ranks)
      : home_(std::move(home)), ranks_(std::move(ranks)) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept {
    return home_->sizes[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::byte* part(rank_t rank) noexcept {
    return reinterpret_cast<std::byte*>(home_->memory[static_cast<std::size_t>(rank)].data());
  }
  [[nodiscard]] bytes_out local() noexcept { return {part(rank()), part_bytes(rank())}; }

  void put(location at, bytes_in from) noexcept {
    if (!from.empty()) std::memcpy(part(at.rank) + at.offset, from.data(), from.size());
  }
  void get(location at, bytes_out into) noexcept {
    if (!into.empty()) std::memcpy(into.data(), part(at.rank) + at.offset, into.size());
  }
  done rput(location at, bytes_in from) noexcept { return put(at, from), done{}; }
  done rget(location at, bytes_out into) noexcept { return get(at, into), done{}; }
  static void flush(rank_t) noexcept {}
  static void flush_all() noexcept {}
  static void flush_local(rank_t) noexcept {}
  static void flush_local_all() noexcept {}

  template <class T>
  static constexpr bool is_atomic = std::is_arithmetic_v<T> && sizeof(T) <= 8;
  template <class T, class Op>
  T fetch_op(location at, T value, Op op) noexcept {
    T const old = atomic_load<T>(at);
    atomic_store(at, static_cast<T>(op(old, value)));
    return old;
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) noexcept {
    T const old = atomic_load<T>(at);
    if (std::memcmp(&old, &expected, sizeof(T)) == 0) atomic_store(at, desired);
    return old;
  }
  template <class T>
  T atomic_load(location at) noexcept {
    T value;
    get(at, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <class T>
  void atomic_store(location at, T value) noexcept {
    put(at, std::as_bytes(std::span(&value, 1)));
  }

 private:
  std::shared_ptr<tile_machine::home_parts> home_;
  team_ranks ranks_;
};
static_assert(shared_segment<tile_segment>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
