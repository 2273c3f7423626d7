// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>

#include "../support/ranks.hpp"

/// The promises of every map that ranks share. They need nothing but the map: the end of a run, `serve()`,
/// orders what its ranks did before and do afterwards.
namespace pgas_test::map_suite {

/// A key with padding, which no comparison may see.
struct padded_key {
  char kind = 0;
  std::int64_t number = 0;
  friend bool operator==(padded_key const&, padded_key const&) = default;
};
struct padded_key_hash {
  std::size_t operator()(padded_key const& key) const noexcept {
    return static_cast<std::size_t>(key.number) * 31 + static_cast<std::size_t>(key.kind);
  }
};

/// A key whose padding bytes are `filling`.
inline padded_key padded(int i, unsigned char filling) {
  alignas(padded_key) std::array<unsigned char, sizeof(padded_key)> bytes;
  bytes.fill(filling);
  padded_key key;
  std::memcpy(static_cast<void*>(&key), bytes.data(), sizeof key);
  key.kind = static_cast<char>(i % 3);
  key.number = i;
  return key;
}

using text_key = std::array<char, 36>;
inline text_key text_of(int i) {
  text_key key{};
  std::string const text = "a key as long as in the thesis " + std::to_string(i);
  std::copy(text.begin(), text.end(), key.begin());
  return key;
}
using wide_value = std::array<std::int64_t, 3>;
inline wide_value wide(int i) { return {i, -i, std::int64_t{i} << 40U}; }

/// Checks the results of a map whose keys and values these functions make from numbers. All ranks call it;
/// the last one is a client.
template <pgas::concurrent_map Map, class KeyOf, class ValueOf>
void check_results(Map& map, rank_t rank, rank_t ranks, KeyOf key, ValueOf value) {
  auto const name = std::string(Map::name);
  auto const in_a_run = [&](auto const& act) {
    if (map.is_client()) act();
    map.serve();
  };
  auto const is = [&](int k, int v) { return map.lookup(key(k)) == std::optional(value(v)); };
  bool const is_last = rank == ranks - 1;

  if (!map.is_client()) {
    require_error(errc::wrong_order, {"lookup", "serve()"}, [&] { static_cast<void>(map.lookup(key(0))); });
    require_error(errc::wrong_order, {"update", "serve()"}, [&] { map.update(key(0), value(0)); });
    require_error(errc::wrong_order, {"erase", "serve()"}, [&] { map.erase(key(0)); });
  }
  in_a_run([&] {
    if (!is_last) return;
    for (int k = 0; k < 10; ++k) {
      require(!map.lookup(key(k)), name + ": a key that nobody has inserted is absent");
      map.update(key(k), value(k));
      require(is(k, k), name + ": a rank sees its own update");
      map.update(key(k), value(k + 100));
      require(is(k, k + 100), name + ": a rank sees that it has overwritten a value");
    }
  });
  in_a_run([&] {
    for (int k = 0; k < 10; ++k) {
      require(is(k, k + 100), name + ": all ranks see an update");
      require(is(k, k + 100), name + ": a second lookup returns the same");
    }
    require(!map.lookup(key(10)), name + ": another key is absent");
  });
  in_a_run([&] {
    if (!is_last) return;
    for (int k = 0; k < 5; ++k) {
      map.erase(key(k));
      require(!map.lookup(key(k)), name + ": a rank sees that it has erased a key");
    }
    map.erase(key(10));
  });
  in_a_run([&] {
    for (int k = 0; k <= 10; ++k)
      require(k >= 5 && k < 10 ? is(k, k + 100) : !map.lookup(key(k)),
              name + ": an erased key is absent on every rank, and the others are present");
  });
  // All ranks at once: each on its own key, and all on one.
  in_a_run([&] {
    int const own = 20 + rank;
    for (int i = 0; i < 10; ++i) {
      map.update(key(own), value(i));
      map.update(key(0), value(rank * 10 + i));
      require(is(own, i), name + ": a key that one rank updates has the value of its last update");
      require(map.lookup(key(0)).has_value(), name + ": a key that all ranks update is present");
    }
  });
  in_a_run([&] {
    if (auto const seen = map.lookup(key(0)); is_last) map.update(key(1), *seen);
  });
  in_a_run([&] {
    require(map.lookup(key(0)) == map.lookup(key(1)), name + ": all ranks see the same last update of a key");
    for (int r = 0; r < ranks; ++r) {
      auto const seen = map.lookup(key(20 + r));
      require(!seen || *seen == value(9), name + ": no update of one rank's key is lost");
    }
    require(is(20 + rank, 9), name + ": no update of this rank's key is lost");
  });
}

}  // namespace pgas_test::map_suite
