// SPDX-License-Identifier: BSL-1.0
// Shared by the papers' programs: a run on the emulated chip with its clock on, the time of a core, memory
// and message passing buffers by address, and the output of values. Time is virtual, so two runs give the
// same values.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <pgas/backends/scc.hpp>
#include <pgas/pgas.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace papers {

using pgas::rank_t;
using pgas::scc::page_type;
using backend = pgas::backends::scc;
using chip_team = pgas::team<backend>;

/// A library's own time beside the accesses of its protocol: bookkeeping, in microseconds. An emulator cannot
/// know it. So each library has one number for all rows, set by one value that a paper prints.
struct library {
  double call;  // of each call

  /// MPICH 3.1.3 with the thesis' one-sided calls. Set by: a put of one byte takes 9.1 us, from start to the
  /// target's wait (Christgau 2017, section 4.4.3). That is three calls one after the other, and 0.7 us of
  /// accesses.
  static constexpr library active() noexcept { return {2.8}; }
  /// The same with passive target, where `call` surrounds each read-modify-write and each put. The paper says
  /// that this takes much longer than the code under a register (Christgau and Schnor 2019, section 5.5). Set
  /// by: a pair of lock and unlock under GBH with back-off takes 3.35 us if all are shared (Table 2). It is
  /// two read-modify-writes, and 1.05 us of accesses. Table 3 agrees: a reader in the queue of MCS-WP costs
  /// the writer two more of them, 3.5 to 4.2 us.
  static constexpr library passive() noexcept { return {1.15}; }
};

/// The sets of timing parameters that a program may run with; a figure uses one.
inline pgas::scc::timing const& default_timing() noexcept { return pgas::scc::formulas_533; }

/// Prints values: a line of JSON each.
class teller {
 public:
  teller(std::string_view figure, pgas::scc::timing const& with) : teller(figure, with.name) {}
  /// For values of another machine, whose set of parameters has this name.
  teller(std::string_view figure, std::string_view parameters) : figure_(figure), parameters_(parameters) {}

  template <class X>
  void operator()(std::string_view series, X const& x, std::string_view quantity, double value,
                  std::string_view unit = "us") const {
    std::printf(
        R"({"type":"value","figure":"%s","series":"%s","x":%s,"quantity":"%s","value":%.6g,"unit":"%s",)"
        R"("parameters":"%s"})"
        "\n",
        figure_.c_str(), std::string(series).c_str(), std::to_string(x).c_str(),
        std::string(quantity).c_str(), value, std::string(unit).c_str(), parameters_.c_str());
    std::fflush(stdout);
  }

  /// Prints a picture beside the figure's own: SVG without double quotes.
  void picture(std::string_view name, std::string svg) const {
    std::replace(svg.begin(), svg.end(), '\n', ' ');
    std::printf(R"({"type":"picture","figure":"%s","name":"%s","svg":"%s"})"
                "\n",
                figure_.c_str(), std::string(name).c_str(), svg.c_str());
  }

 private:
  std::string figure_;
  std::string parameters_;
};

/// The value with a share q of the values below it.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  double const at = q * static_cast<double>(values.size() - 1);
  auto const low = static_cast<std::size_t>(at);
  std::size_t const high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// One core as its program sees it: its time, and memory by address, past windows and policies.
class machine {
 public:
  explicit machine(chip_team const& team) : team_(team), probe_(pgas::make_window<std::uint32_t>(team, 1)) {
    by_rank()[static_cast<std::size_t>(rank())] = this;
  }
  machine(machine const&) = delete;
  machine& operator=(machine const&) = delete;

  /// The machine of a rank, for protocols, whose only notion of time is a pause.
  static machine& of(rank_t rank) noexcept { return *by_rank()[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] rank_t rank() const noexcept { return team_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return team_.size(); }
  [[nodiscard]] chip_team& team() noexcept { return team_; }
  [[nodiscard]] pgas::detail::scc::core& core() const noexcept { return probe_.state().segment.on_core(); }

  /// Microseconds of this core's own clock since it was made. A difference is exact, the same in each run.
  [[nodiscard]] double now() const {
    return std::chrono::duration<double, std::micro>(team_.now() - started_).count();
  }
  /// Spends time of this core, and of no other.
  void work(double us) const { team_.charge(static_cast<std::uint64_t>(us * core_mhz + 0.5)); }
  void cycles(std::uint64_t n) const { team_.charge(n); }

  /// An address in this core's own memory, in pages that no window reaches.
  static constexpr std::uint32_t scratch(std::size_t byte) noexcept {
    return static_cast<std::uint32_t>(first_scratch_page * pgas::detail::scc::page_bytes + byte);
  }
  /// The same in another core's memory; `core().map` gives it an entry of the look-up table.
  [[nodiscard]] std::uint32_t scratch_of(rank_t owner, std::size_t byte) const {
    if (owner == rank()) return scratch(byte);
    auto const page = static_cast<pgas::detail::scc::page_number>(static_cast<unsigned>(owner) * own_pages +
                                                                  first_scratch_page);
    return static_cast<std::uint32_t>(core().map(page) * pgas::detail::scc::page_bytes + byte);
  }
  /// The address of a byte of a core's message passing buffer.
  static constexpr std::uint32_t buffer_of(rank_t owner, std::size_t byte) noexcept {
    return static_cast<std::uint32_t>(
        (pgas::detail::scc::lookup_table::first_buffer + static_cast<std::size_t>(owner)) *
            pgas::detail::scc::page_bytes +
        byte);
  }

  [[nodiscard]] std::uint32_t load(page_type type, std::uint32_t at) const {
    std::uint32_t value = 0;
    core().load(type, at, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void store(page_type type, std::uint32_t at, std::uint32_t value) const {
    core().store(type, at, std::as_bytes(std::span(&value, 1)));
  }
  /// Copies word by word, as this processor does.
  void copy(page_type to_type, std::uint32_t to, page_type from_type, std::uint32_t from,
            std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; i += 4) {
      auto const offset = static_cast<std::uint32_t>(i);
      store(to_type, to + offset, load(from_type, from + offset));
    }
  }

  /// The same for whole lines. No store fetches a line, so a line of cached memory is read before it is
  /// written.
  void copy_lines(page_type to_type, std::uint32_t to, page_type from_type, std::uint32_t from,
                  std::size_t lines) const {
    for (std::size_t i = 0; i < lines * line_bytes; i += line_bytes) {
      auto const offset = static_cast<std::uint32_t>(i);
      if (to_type == page_type::dcm) static_cast<void>(load(to_type, to + offset));
      std::array<std::byte, line_bytes> line;
      core().load(from_type, from + offset, line);
      core().store(to_type, to + offset, line);
    }
  }

  static constexpr std::size_t line_bytes = 32;
  static constexpr double core_mhz = 533.0 + 1.0 / 3;
  static constexpr unsigned own_pages = 42;

  /// Reads a range through the caches.
  void read(std::uint32_t from, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; i += 4)
      static_cast<void>(load(page_type::dcm, from + static_cast<std::uint32_t>(i)));
  }

 private:
  static constexpr unsigned first_scratch_page = 30;

  static std::array<machine*, 48>& by_rank() noexcept {
    static std::array<machine*, 48> all{};
    return all;
  }

  chip_team mutable team_;
  pgas::time_point started_ = team_.now();
  decltype(pgas::make_window<std::uint32_t>(std::declval<chip_team const&>(), 1)) probe_;
};

/// Runs body(machine) on that many cores.
template <class Body>
void on_chip(rank_t cores, pgas::scc::timing const& with, Body const& body,
             pgas::scc::placement words = pgas::scc::placement::distributed) {
  pgas::scc::options how;
  how.check = false;
  how.clock = &with;
  how.words = words;
  how.through_pages_cached = false;
  pgas::scc::with_options const chosen(how);
  pgas::run<backend>(cores, [&body](auto& team) {
    machine m(team);
    body(m);
  });
}

/// Core cycles of the hops to the own controller and back.
inline double hops_to_memory(rank_t core, pgas::scc::timing const& with) {
  namespace emulated = pgas::detail::scc;
  unsigned const hops =
      emulated::hops(emulated::tile_of(core), emulated::controller_tile(emulated::domain_of(core)));
  return 2 * hops * with.in_core_cycles(with.in_ticks(with.hop));
}

/// The number of repetitions and of points of a curve. `small` runs each series once: it shows that the
/// virtual times have not changed, and nothing about a paper.
enum class effort { whole, quick, small };

/// One of three numbers.
constexpr int times_of(effort how, int whole, int quick, int small) noexcept {
  return how == effort::whole ? whole : how == effort::quick ? quick : small;
}

/// The automaton's serial run: 401.05 s for 100 generations of 2400 lines of 8192 cells. Source: Christgau
/// 2017, section 4.4.5.
inline constexpr double serial_s = 401.05;
inline constexpr double serial_cells = 100.0 * 2400 * 8192;

/// The store of a cell to memory. The thesis says that a core has one access under way, and stalls when it
/// issues another (section 2.2.1). By the first reading the next cell's loads are such accesses, so the core
/// stalls for each store. By the second they hit in the caches and go on, and a store is shorter than a cell.
enum class cell_stores { stall, overlap };

/// Core cycles by which each cell takes longer on this core than in the serial run, whose controller was at
/// its router.
inline double longer_store(rank_t core, cell_stores stores) {
  return stores == cell_stores::stall ? hops_to_memory(core, default_timing()) : 0;
}
/// The time in us that a core computes cells of one byte. Each line of cells is read from memory once.
inline double cells_us(rank_t core, double cells, cell_stores stores) {
  constexpr double cells_in_line = 32;
  double const longer = hops_to_memory(core, default_timing()) / cells_in_line + longer_store(core, stores);
  return cells * (serial_s * 1e6 / serial_cells + longer / machine::core_mhz);
}

}  // namespace papers
