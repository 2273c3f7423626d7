// SPDX-License-Identifier: BSL-1.0
// The collectives of a team on spans, blocking and started, beside a barrier and copies by hand.
#include "collective_shapes.hpp"

#include <climits>
#include <optional>
#include <pgas/pgas.hpp>

#include "program.hpp"

namespace {

using bench::collective;

/// What a rank does by hand in a call: bytes that it copies into shared memory, bytes that it folds there,
/// bytes that it copies out, and bytes that it copies within its own memory.
struct work {
  std::size_t in = 0;
  std::size_t fold = 0;
  std::size_t out = 0;
  std::size_t local = 0;
};

/// The least work of a rank of n, where private memory moves through shared memory.
work work_of(collective c, std::size_t m, int rank, int root, int n) {
  bool const is_root = rank == root;
  std::size_t const others = static_cast<std::size_t>(n) - 1;
  std::size_t const share = m / static_cast<std::size_t>(n);
  switch (c) {
    case collective::bcast:
      return is_root ? work{.in = m} : work{.out = m};
    case collective::scatter:
    case collective::scatterv:
      return is_root ? work{.in = m * others, .local = m} : work{.out = m};
    case collective::gather:
    case collective::gatherv:
      return is_root ? work{.out = m * others, .local = m} : work{.in = m};
    case collective::allgather:
    case collective::allgatherv:
      return {.in = m, .out = m * others, .local = m};
    case collective::alltoall:
    case collective::alltoallv:
      return {.in = m * others, .out = m * others, .local = m};
    case collective::reduce:
      if (n == 2) return is_root ? work{.fold = m} : work{.in = m};
      return {.in = m, .fold = share * others, .out = is_root ? m : 0};
    case collective::allreduce:
      if (n == 2) return {.in = m, .fold = m};
      return {.in = m, .fold = share * others, .out = m};
    case collective::reduce_scatter:
    case collective::reduce_scatter_block:
      return {.in = share * others, .fold = share * others};
    case collective::scan:
      if (rank == 0) return {.in = m, .local = m};
      return rank + 1 == n ? work{.fold = m} : work{.in = m, .fold = m};
    case collective::exscan:
      if (rank == 0) return {.in = m};
      return rank + 1 == n ? work{.out = m} : work{.in = m, .fold = m};
  }
  return {};
}

template <class Team>
class library {
 public:
  static constexpr bool compares_forms = true;
  static constexpr bool has(collective) { return true; }
  static constexpr bool starts(collective) { return true; }
  /// The rows that OpenSHMEM has.
  static constexpr bool has_symmetric(collective c) {
    return c == collective::bcast || c == collective::allreduce || c == collective::allgather ||
           c == collective::allgatherv || c == collective::alltoall;
  }

  library(Team& team, bench::meter& m)
      : m_(m),
        team_(team),
        lines_(m.free_lines()),
        window_(pgas::make_window<double>(team, ring / sizeof(double))),
        counts_(static_cast<std::size_t>(team.size())) {
    std::fill(window_.local().begin(), window_.local().end(), 1.0);
    lines_.at(4 + static_cast<std::size_t>(team.rank())).store(0, std::memory_order_relaxed);
    team.barrier();
  }

  void barrier() const { team_.barrier(); }
  [[nodiscard]] double* source(collective c) const { return c == collective::bcast ? result() : mine(); }
  [[nodiscard]] double* result() const {
    return is_symmetric_ ? symmetric_result_->local().data() : reinterpret_cast<double*>(result_.data());
  }
  /// Elements and results lie in windows then. Collective when it is first asked for.
  void use_symmetric(bool is_symmetric) {
    if (is_symmetric && !symmetric_result_) {
      for (auto* w : {&symmetric_, &symmetric_result_}) {
        w->emplace(pgas::make_window<double>(team_, bench::region / sizeof(double)));
        std::fill((*w)->local().begin(), (*w)->local().end(), 1.0);
      }
    }
    is_symmetric_ = is_symmetric;
  }
  template <collective C>
  void call(std::size_t bytes, int root) {
    go<C>(team_, bytes, root);
  }
  template <collective C>
  [[nodiscard]] auto start(std::size_t bytes, int root) {
    return go<C>(team_.start(), bytes, root);
  }
  template <class Request>
  static void wait(Request& request) {
    request.wait();
  }

  [[nodiscard]] std::vector<bench::way> by_hand(collective c, std::size_t bytes) {
    if (bytes < 4 * bench::kib) return {all_of(m_, "raw barrier", [this] { meet(); })};
    return {copies(c, bytes)};
  }

 private:
  static constexpr std::size_t ring = bench::mib;
  static constexpr std::size_t piece = 64 * bench::kib;
  static constexpr std::size_t slots = ring / piece;

  using window_type = decltype(pgas::make_window<double>(std::declval<Team&>(), 0));

  [[nodiscard]] double* mine() const {
    return is_symmetric_ ? symmetric_->local().data() : reinterpret_cast<double*>(mine_.data());
  }
  [[nodiscard]] std::span<double const> given(std::size_t bytes) const {
    return {mine(), bytes / sizeof(double)};
  }
  [[nodiscard]] std::span<double> got(std::size_t bytes) const { return {result(), bytes / sizeof(double)}; }
  [[nodiscard]] std::span<std::size_t const> counts(std::size_t bytes) {
    std::fill(counts_.begin(), counts_.end(), bytes / sizeof(double));
    return counts_;
  }

  static void add(double* to, double const* a, double const* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
  }

  /// The hand-overs of lines in a barrier.
  void meet() {
    auto const self = static_cast<std::size_t>(m_.rank());
    if (m_.ranks() == 2) {
      lines_.at(4 + self).store(++rounds_, std::memory_order_release);
      bench::raw::spin_until(lines_.at(5 - self), rounds_);
    } else {
      bench::raw::central_barrier{lines_.at(0), lines_.at(1), static_cast<std::uint64_t>(m_.ranks())}.pass(
          m_.oversubscribed() ? 40 : INT_MAX);
    }
  }

  /// The copies and additions of a call, in pieces through shared memory, with a barrier after each piece. A
  /// piece is read while the next one is written.
  [[nodiscard]] bench::way copies(collective c, std::size_t bytes) {
    std::size_t most = 0;
    for (int r = 0; r < m_.ranks(); ++r) {
      auto const w = work_of(c, bytes, r, 0, m_.ranks());
      most = std::max({most, w.in, w.fold, w.out});
    }
    return all_of(m_, "copies by hand",
                  [this, c, bytes, pieces = (most + piece - 1) / piece, root = 0]() mutable {
                    root = root + 1 == m_.ranks() ? 0 : root + 1;
                    auto const w = work_of(c, bytes, m_.rank(), root, m_.ranks());
                    for (std::size_t i = 0; i <= pieces; ++i) {
                      if (i < pieces) {
                        auto const [first, count] = part_of(w.in, i, pieces);
                        std::memcpy(slot(m_.rank()), mine() + first, count * sizeof(double));
                      }
                      if (i > 0) {
                        int const from = has_root(c) && root != m_.rank() ? root : next(i);
                        double const* const theirs = slot_before(from);
                        auto const [first, count] = part_of(w.out, i - 1, pieces);
                        std::memcpy(result() + first, theirs, count * sizeof(double));
                        auto const [first_fold, folds] = part_of(w.fold, i - 1, pieces);
                        add(result() + first_fold, mine() + first_fold, theirs, folds);
                      }
                      ++turn_;
                      meet();
                    }
                    std::memcpy(result(), mine(), w.local);
                  });
  }
  static bool has_root(collective c) {
    return c == collective::bcast || c == collective::reduce || c == collective::scatter ||
           c == collective::gather || c == collective::scatterv || c == collective::gatherv;
  }
  /// First element and number of elements of part i of some bytes.
  static std::pair<std::size_t, std::size_t> part_of(std::size_t bytes, std::size_t i, std::size_t parts) {
    std::size_t const elements = bytes / sizeof(double);
    std::size_t const first = elements * i / parts;
    return {first, elements * (i + 1) / parts - first};
  }
  [[nodiscard]] double* slot(int rank) const {
    return window_.part(rank).data() + turn_ % slots * (piece / sizeof(double));
  }
  [[nodiscard]] double const* slot_before(int rank) const {
    return window_.part(rank).data() + (turn_ + slots - 1) % slots * (piece / sizeof(double));
  }
  /// Another rank, a different one for each piece.
  [[nodiscard]] int next(std::size_t i) const {
    return (m_.rank() + 1 + static_cast<int>(i) % (m_.ranks() - 1)) % m_.ranks();
  }

  template <collective C, class On>
  auto go(On const& on, std::size_t bytes, int root) {
    auto const n = static_cast<std::size_t>(m_.ranks());
    if constexpr (C == collective::bcast) {
      return on.broadcast(got(bytes), root);
    } else if constexpr (C == collective::reduce) {
      return on.reduce(given(bytes), got(bytes), root);
    } else if constexpr (C == collective::allreduce) {
      return on.all_reduce(given(bytes), got(bytes));
    } else if constexpr (C == collective::scan) {
      return on.inclusive_scan(given(bytes), got(bytes));
    } else if constexpr (C == collective::exscan) {
      return on.exclusive_scan(given(bytes), got(bytes));
    } else if constexpr (C == collective::scatter) {
      return on.scatter(given(bytes * n), got(bytes), root);
    } else if constexpr (C == collective::gather) {
      return on.gather(given(bytes), got(bytes * n), root);
    } else if constexpr (C == collective::allgather) {
      return on.all_gather(given(bytes), got(bytes * n));
    } else if constexpr (C == collective::alltoall) {
      return on.all_to_all(given(bytes * n), got(bytes * n));
    } else if constexpr (C == collective::reduce_scatter_block) {
      return on.reduce_scatter(given(bytes), got(bytes / n));
    } else if constexpr (C == collective::scatterv) {
      return on.scatter(given(bytes * n), counts(bytes), got(bytes), root);
    } else if constexpr (C == collective::gatherv) {
      return on.gather(given(bytes), got(bytes * n), counts(bytes), root);
    } else if constexpr (C == collective::allgatherv) {
      return on.all_gather(given(bytes), got(bytes * n), counts(bytes));
    } else if constexpr (C == collective::alltoallv) {
      return on.all_to_all(given(bytes * n), counts(bytes), got(bytes * n), counts(bytes));
    } else {
      return on.reduce_scatter(given(bytes), counts(bytes / n), got(bytes / n));
    }
  }

  bench::meter& m_;
  Team& team_;
  bench::raw::lines lines_;
  window_type window_;
  std::vector<std::size_t> counts_;
  bench::buffer mine_;
  bench::buffer result_;
  mutable std::optional<window_type> symmetric_;
  mutable std::optional<window_type> symmetric_result_;
  bool is_symmetric_ = false;
  std::uint64_t rounds_ = 0;
  std::size_t turn_ = 0;  ///< of slots
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    bench::collective_rows<library<std::remove_reference_t<decltype(team)>>>(team, m).all();
  });
  return 0;
}
