// SPDX-License-Identifier: BSL-1.0
// Each collective by each algorithm that has it: rows named after OSU's, with the algorithm as mode.
#include <pgas/pgas.hpp>

#include "collective_shapes.hpp"
#include "program.hpp"

namespace {

namespace collectives = pgas::collectives;

template <class Team>
class algorithms {
 public:
  algorithms(Team& team, bench::meter& m) : m_(m), team_(team) {}

  void all() {
    each<collectives::direct, collectives::binomial, collectives::scatter_allgather, collectives::ring>(
        "bcast", false, [this](auto algorithm, std::size_t bytes, int root) {
          team_.broadcast(got(bytes), root, algorithm);
        });
    each<collectives::direct, collectives::binomial>(
        "reduce", false, [this](auto algorithm, std::size_t bytes, int root) {
          team_.reduce(given(bytes), got(bytes), root, pgas::op::sum{}, algorithm);
        });
    each<collectives::direct, collectives::binomial, collectives::recursive_doubling,
         collectives::rabenseifner, collectives::ring>(
        "allreduce", false, [this](auto algorithm, std::size_t bytes, int) {
          team_.all_reduce(given(bytes), got(bytes), pgas::op::sum{}, algorithm);
        });
    each<collectives::direct, collectives::recursive_doubling>(
        "scan", false, [this](auto algorithm, std::size_t bytes, int) {
          team_.inclusive_scan(given(bytes), got(bytes), pgas::op::sum{}, algorithm);
        });
    each<collectives::direct, collectives::pulled>(
        "gather", true, [this](auto algorithm, std::size_t bytes, int root) {
          team_.gather(given(bytes), got(bytes * ranks()), root, algorithm);
        });
    each<collectives::direct, collectives::pulled>(
        "scatter", true, [this](auto algorithm, std::size_t bytes, int root) {
          team_.scatter(given(bytes * ranks()), got(bytes), root, algorithm);
        });
    each<collectives::direct, collectives::bruck, collectives::ring, collectives::pulled>(
        "allgather", true, [this](auto algorithm, std::size_t bytes, int) {
          team_.all_gather(given(bytes), got(bytes * ranks()), algorithm);
        });
    each<collectives::direct, collectives::bruck, collectives::pulled>(
        "alltoall", true, [this](auto algorithm, std::size_t bytes, int) {
          team_.all_to_all(given(bytes * ranks()), got(bytes * ranks()), algorithm);
        });
    each<collectives::direct, collectives::ring, collectives::pulled>(
        "reduce_scatter_block", true, [this](auto algorithm, std::size_t bytes, int) {
          team_.reduce_scatter(given(bytes * ranks()), got(bytes), pgas::op::sum{}, algorithm);
        });
  }

 private:
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(m_.ranks()); }
  [[nodiscard]] std::span<double const> given(std::size_t bytes) const {
    return {reinterpret_cast<double const*>(mine_.data()), bytes / sizeof(double)};
  }
  [[nodiscard]] std::span<double> got(std::size_t bytes) const {
    return {reinterpret_cast<double*>(result_.data()), bytes / sizeof(double)};
  }

  /// The bytes are those of a rank's elements, or of a block.
  template <class... Algorithms, class Call>
  void each(char const* row, bool has_blocks, Call const& call) {
    for (std::size_t const bytes : {std::size_t{8}, 4 * bench::kib, 64 * bench::kib, bench::mib}) {
      if (has_blocks && bytes * ranks() > bench::region) continue;
      (..., m_.measure({.row = row, .mode = std::string(Algorithms::name), .bytes = bytes},
                       {all_of(m_, "", [this, &call, bytes, root = 0]() mutable {
                         root = root + 1 == m_.ranks() ? 0 : root + 1;
                         call(Algorithms{}, bytes, root);
                       })}));
    }
  }

  bench::meter& m_;
  Team& team_;
  bench::buffer mine_;
  bench::buffer result_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { algorithms(team, m).all(); });
  return 0;
}
