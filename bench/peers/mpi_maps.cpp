// SPDX-License-Identifier: BSL-1.0
// The rows of maps.cpp by the usual table of MPI: open addressing in a window, places taken by
// compare-and-swap, values put and got. A value of several words may be read while it is written.
#include <optional>
#include <stdexcept>

#include "../map_shapes.hpp"
#include "mpi_support.hpp"

namespace {

template <class Value>
class table {
 public:
  table(int ranks, std::uint64_t keys)
      : ranks_(static_cast<std::uint64_t>(ranks)),
        places_(bench::places_for(keys) / ranks_),
        window_(places_ * sizeof(place)) {
    window_.clear(places_ * sizeof(place));
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_.get());
  }
  table(table const&) = delete;
  table& operator=(table const&) = delete;
  ~table() { MPI_Win_unlock_all(window_.get()); }

  [[nodiscard]] std::optional<Value> lookup(std::uint64_t key) const {
    place found{};
    return find(key, found).second ? std::optional(found.value) : std::nullopt;
  }
  void update(std::uint64_t key, Value const& value) const {
    place found{};
    auto [at, is_there] = find(key, found);
    while (!is_there) {
      std::uint64_t const none = 0;
      std::uint64_t before = 0;
      MPI_Compare_and_swap(&key, &none, &before, MPI_UINT64_T, at.rank, at.byte, window_.get());
      MPI_Win_flush(at.rank, window_.get());
      if (before == 0 || before == key) break;
      std::tie(at, is_there) = find(key, found);
    }
    MPI_Put(&value, sizeof(Value), MPI_BYTE, at.rank, at.byte + 8, sizeof(Value), MPI_BYTE, window_.get());
    MPI_Win_flush(at.rank, window_.get());
  }
  void add(std::uint64_t key, std::uint64_t one) const {
    place found{};
    auto const at = find(key, found).first;
    std::uint64_t before = 0;
    MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, at.rank, at.byte + 8, MPI_SUM, window_.get());
    MPI_Win_flush(at.rank, window_.get());
  }

  /// The bytes of all parts.
  [[nodiscard]] double bytes() const { return static_cast<double>(ranks_ * places_ * sizeof(place)); }

 private:
  struct place {
    std::uint64_t key;
    Value value;
  };
  struct spot {
    int rank;
    MPI_Aint byte;
  };
  /// The place of a key, or the free place where it would be, and whether it is there.
  [[nodiscard]] std::pair<spot, bool> find(std::uint64_t key, place& found) const {
    std::uint64_t const bits = bench::key_hash{}(key);
    int const rank = static_cast<int>(bits % ranks_);
    for (std::uint64_t i = (bits >> 32U) * places_ >> 32U;; i = (i + 1) % places_) {
      spot const at{rank, static_cast<MPI_Aint>(i * sizeof(place))};
      MPI_Get(&found, sizeof(place), MPI_BYTE, rank, at.byte, sizeof(place), MPI_BYTE, window_.get());
      MPI_Win_flush(rank, window_.get());
      if (found.key == key || found.key == 0) return {at, found.key == key};
    }
  }

  std::uint64_t ranks_;
  std::uint64_t places_;
  bench::mpi::allocated_window window_;
};

template <class Value>
void measure(bench::meter& m, std::vector<bench::drawn_steps>& mine) {
  table<Value> map(m.ranks(), m.keys());
  bench::each_own_key(m, [&](std::uint64_t key) { map.update(key, bench::value_of<Value>(key)); });
  MPI_Barrier(MPI_COMM_WORLD);
  bench::touch(m, map);
  MPI_Barrier(MPI_COMM_WORLD);
  bench::map_rows<Value>(m, map, mine, [&m](auto step) {
    return bench::all_clients(m, "", [step](std::size_t n) {
      for (; n > 0; --n) step(0);
    });
  });
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  struct all_maps {
    explicit all_maps(bench::meter& m) : meter(m) {}
    void all() {
      std::vector<bench::drawn_steps> mine;
      mine.emplace_back(meter.rank(), meter.ranks(), meter.keys());
      measure<bench::short_value>(meter, mine);
      measure<bench::long_value>(meter, mine);
    }
    bench::meter& meter;
  };
  return bench::mpi::run<all_maps>(argc, argv);
}
