// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// The steps of a chunked_map that a test may leave out, to see that it notices.
struct chunked_steps {
  bool has_versions = true;  ///< the chunks of each value have names of their own
  bool looks_again = true;   ///< a reader that misses a chunk begins again

  friend constexpr bool operator==(chunked_steps const&, chunked_steps const&) = default;
};

/// A value outside of the map: a text of characters, else a vector.
template <class T>
using chunked_text = std::conditional_t<std::same_as<T, char>, std::string, std::vector<T>>;
/// A value that a caller gives.
template <class T>
using chunked_view = std::conditional_t<std::same_as<T, char>, std::string_view, std::span<T const>>;

/// The name of a chunk behind the first one of its value.
struct chunk_name {
  std::uint64_t version = 0;  ///< of the value
  std::uint64_t number = 0;

  friend constexpr bool operator==(chunk_name const&, chunk_name const&) = default;
};

/// The elements of a chunk; those behind the end of the value are zero.
template <transportable T, std::size_t elements>
struct value_chunk {
  std::array<T, elements> its{};
};

/// The beginning of a value, its length, and the version that names its further chunks.
template <transportable T, std::size_t bytes>
struct chunked_head {
  static constexpr std::size_t elements = std::max<std::size_t>(bytes / sizeof(T), 1);
  using chunk_type = value_chunk<T, elements>;

  std::uint64_t version = 0;
  std::uint64_t size = 0;
  chunk_type first;

  chunked_head() = default;
  chunked_head(std::uint64_t version_of_value, chunked_view<T> value)
      : version(version_of_value), size(value.size()), first(chunk_of(value, 0)) {}

  /// A chunk of a value, counted from its beginning.
  [[nodiscard]] static chunk_type chunk_of(chunked_view<T> value, std::size_t number) {
    chunk_type chunk;
    std::size_t const at = std::min(number * elements, value.size());
    std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(at), std::min(elements, value.size() - at),
                chunk.its.begin());
    return chunk;
  }
  /// The number of chunks behind the first.
  [[nodiscard]] std::size_t further_chunks() const noexcept {
    return size <= elements ? 0 : (static_cast<std::size_t>(size) - 1) / elements;
  }
  /// The value. A chunk that is missing counts as zero.
  [[nodiscard]] chunked_text<T> join(std::span<std::optional<chunk_type> const> further) const {
    chunked_text<T> value;
    value.reserve(static_cast<std::size_t>(size));
    auto const add = [&](chunk_type const& chunk) {
      auto const count = std::min(elements, static_cast<std::size_t>(size) - value.size());
      value.insert(value.end(), chunk.its.begin(), chunk.its.begin() + static_cast<std::ptrdiff_t>(count));
    };
    add(first);
    for (auto const& chunk : further) add(chunk.value_or(chunk_type()));
    return value;
  }
};

}  // namespace detail

/// A policy of make_chunked_map.
struct chunked_policy {
  std::size_t chunk_bytes = 112;     ///< the bytes of a chunk; with its name it takes two cache lines
  detail::chunked_steps steps = {};  ///< all of them, except in tests

  friend constexpr bool operator==(chunked_policy const&, chunked_policy const&) = default;
};

}  // namespace pgas::inline PGAS_ASSERTIONS

/// Hashes the name of a chunk: neighbours of a value go to different ranks.
template <>
struct std::hash<pgas::detail::chunk_name> {
  [[nodiscard]] std::size_t operator()(pgas::detail::chunk_name const& name) const noexcept {
    return static_cast<std::size_t>(name.version * 0x9e3779b97f4a7c15U + name.number * 0xd1342543de82ef95U);
  }
};
