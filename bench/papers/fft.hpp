// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Table 4.2 and Fig. 4.18: NAS FT on 32 cores, 4 x 8 pencils, two transpositions in each
// iteration. Slabs are sent while others are computed. Only the transfers are emulated; computation is
// charged.
#pragma once

#include <cmath>
#include <numeric>
#include <pgas/exposure.hpp>

#include "messages.hpp"

namespace papers::fft {

/// The MFLOPS of a computing core, with its cached transpositions. Set by class B with a cached own part,
/// which has the least other work: 663.7 MFLOPS (Christgau 2017, Table 4.2), with 9 % for the transfers and
/// barriers emulated here.
inline constexpr double core_mflops = 22.8;

struct problem {
  std::size_t x, y, z;
  double iterations;
  std::uint32_t l2_bytes = 256U << 10U;
  [[nodiscard]] double points() const { return static_cast<double>(x * y * z); }
  /// Counted by the rules of NAS, in millions.
  [[nodiscard]] double mflop() const {
    double const logarithm = std::log(points());
    return 1e-6 * points() * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations);
  }
};
inline constexpr std::array problems{problem{64, 64, 64, 6}, problem{128, 128, 32, 6},
                                     problem{256, 256, 128, 6}, problem{512, 256, 256, 20}};
/// Of `--small`: it has the messages of no class.
inline constexpr problem tiny{16, 16, 16, 1, 4U << 10U};
inline constexpr rank_t processes = 32;

/// The number of times that an iteration reads or writes a process' points. Evolving them takes 3.5 (the
/// factors are half as long); three transforms and two transpositions take two each.
inline constexpr double passes = 3.5 + 3 * 2 + 2 * 2;

/// The time in us that a core computes in an iteration. All cores have the same work. A core whose controller
/// is farther away than the mean waits longer for each line of it.
inline double computation(problem const& p, rank_t core) {
  auto const to_memory = [](rank_t c) { return hops_to_memory(c, default_timing()) / machine::core_mhz; };
  double mean = 0;
  for (rank_t c = 0; c < processes; ++c) mean += to_memory(c) / processes;
  double const lines = passes * p.points() / processes * 16 / 32;
  return p.mflop() / p.iterations / processes / core_mflops * 1e6 + lines * (to_memory(core) - mean);
}

/// Transforms leave other points, modified, in all of L2; their time includes that. The next read of a line
/// then waits until one of those lines is written back.
inline void modify_l2(machine const& m, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += 32) {
    std::uint32_t const point = machine::scratch(std::size_t{12} << 20U) + at;
    m.store(page_type::dcm, point, m.load(page_type::dcm, point));
  }
}

/// Times of one iteration, of all processes together, in us.
struct parts {
  double computation = 0;      // transforms, bookkeeping, and transpositions as far as the caches serve them
  double data = 0;             // puts, or the transport of messages
  double synchronization = 0;  // of the one-sided calls, with their waits
  double reading = 0;          // the longer time of transpositions of an uncached window
  double barrier = 0;

  parts& operator+=(parts const& other) noexcept {
    for (auto const part :
         {&parts::computation, &parts::data, &parts::synchronization, &parts::reading, &parts::barrier})
      this->*part += other.*part;
    return *this;
  }
  [[nodiscard]] double communication() const noexcept { return data + synchronization; }
  [[nodiscard]] double all() const noexcept { return computation + communication() + reading + barrier; }
};

/// The two transpositions: among 4 processes of a row, then among 8 of a column.
struct transposition {
  std::vector<rank_t> peers;
  std::size_t message;  // bytes
  std::size_t slabs;
};
std::array<transposition, 2> transpositions(problem const& p, rank_t rank) {
  auto const all = [&](std::size_t group) {
    transposition t;
    for (rank_t r = 0; r < processes; ++r) {
      bool const same = group == 4 ? r / 4 == rank / 4 : r % 4 == rank % 4;
      if (same && r != rank) t.peers.push_back(r);
    }
    t.slabs = p.x / 8;
    t.message = static_cast<std::size_t>(p.points()) * 16 / processes / group / t.slabs;
    return t;
  };
  return {all(4), all(8)};
}

enum class way { one_sided, cached, messages, two_sided, late_receives };

/// Emulates only `sample` slabs; their times stand for the others.
inline parts iteration(problem const& p, way how, std::size_t sample, work_for unit = work_for::each_packet) {
  parts sum;
  library const mpi = library::active();
  on_chip(processes, default_timing(), [&](machine& m) {
    auto const both = transpositions(p, m.rank());
    std::size_t const most = std::max(both[0].message, both[1].message) * 8 * sample;
    auto const w = pgas::make_window<std::byte>(m.team(), most);
    messages channel(m, unit);
    message_windows window(m, channel, mpi);
    std::vector<std::byte> const bytes(std::max(both[0].message, both[1].message));
    parts mine;
    auto const timed = [&](double parts::*into, double factor, auto const& act) {
      double const before = m.now();
      act();
      mine.*into += (m.now() - before) * factor;
    };
    modify_l2(m, p.l2_bytes);
    m.team().barrier();
    for (auto const& t : both) {
      std::size_t const count = std::min(sample, t.slabs);
      double const scale = static_cast<double>(t.slabs) / static_cast<double>(count);
      auto const source = [&](std::size_t slab, std::size_t peer) {
        return machine::scratch((slab * 8 + peer) * t.message % (std::size_t{4} << 20U));
      };
      // One-sided calls synchronize once for all slabs, so a slow process delays all of them once. Waits for
      // messages are in proportion to the slabs.
      bool const is_direct = how == way::one_sided || how == way::cached;
      double const waits = is_direct ? 1 : scale;
      auto const compute = [&] {
        double const before = m.now();
        modify_l2(m, p.l2_bytes);
        double const slab = computation(p, m.rank()) / static_cast<double>(both.size() * t.slabs);
        m.work(std::max(0.0, (is_direct ? slab * scale : slab) - (m.now() - before)));
        mine.computation += (m.now() - before) * waits;
      };
      if (is_direct) {
        std::optional<pgas::exposure<typename decltype(w)::state_type>> exposed;
        std::optional<pgas::access<typename decltype(w)::state_type>> epoch;
        timed(&parts::synchronization, 1, [&] {
          m.work(2 * mpi.call);
          exposed.emplace(w, t.peers);
          epoch.emplace(w, t.peers);
        });
        for (std::size_t slab = 0; slab < count; ++slab) {
          compute();
          for (std::size_t k = 0; k < t.peers.size(); ++k) {
            rank_t const peer = t.peers[k];
            if (slab == 0) timed(&parts::synchronization, 1, [&] { static_cast<void>(epoch->to(peer)); });
            timed(&parts::data, scale, [&] {
              m.work(mpi.call);
              m.read(source(slab, k), t.message);
              epoch->put(peer, (slab * 8 + k) * t.message, std::span(bytes).first(t.message));
            });
          }
        }
        timed(&parts::synchronization, 1, [&] {
          m.work(2 * mpi.call);
          epoch->complete();
          exposed->wait();
        });
        // The target's reads of its window past the caches, less the cost of reads of a cached one.
        if (how == way::one_sided) {
          auto const walk = [&](page_type type) {
            for (std::size_t at = 0; at < count * t.peers.size() * t.message; at += 4)
              static_cast<void>(
                  m.load(type, machine::scratch((std::size_t{8} << 20U) + at % (std::size_t{4} << 20U))));
          };
          timed(&parts::reading, scale, [&] { walk(page_type::ncm); });
          timed(&parts::reading, -scale, [&] { walk(page_type::dcm); });
        }
      } else if (how == way::messages) {
        timed(&parts::synchronization, 1, [&] {
          window.post(t.peers);
          window.start();
        });
        for (std::size_t slab = 0; slab < count; ++slab) {
          compute();
          timed(&parts::data, scale, [&] {
            for (std::size_t k = 0; k < t.peers.size(); ++k)
              window.put(t.peers[k], source(slab, k), t.message, (slab * 8 + k) * t.message);
          });
        }
        timed(&parts::data, scale, [&] {
          window.complete(t.peers);
          window.wait(t.peers);
        });
      } else {
        // The thesis does not say when the program asks for its messages. Here it does so before they arrive,
        // as in the automaton, so each is copied once; the other reading is a series of its own.
        auto const kind = how == way::late_receives ? messages::kind::early : messages::kind::data;
        for (std::size_t slab = 0; slab < count; ++slab) {
          compute();
          timed(&parts::data, scale, [&] {
            for (std::size_t k = 0; k < t.peers.size(); ++k)
              channel.start(t.peers[k], kind, source(slab, k), t.message, (slab * 8 + k) * t.message);
          });
        }
        timed(&parts::data, scale, [&] {
          channel.finish();
          for (std::size_t slab = 0; slab < count; ++slab) {
            for (rank_t peer : t.peers) channel.wait(peer, kind);
          }
        });
      }
      timed(&parts::barrier, waits, [&] { m.team().barrier(); });
    }
    sum += mine;
  });
  return sum;
}

inline void run(effort how) {
  teller const tell("fft", default_timing());
  teller const tell_parts("fft_parts", default_timing());
  for (std::size_t c = 0; c < problems.size(); ++c) {
    auto const& p = how == effort::small ? tiny : problems[c];
    // The messages of classes A and B are 8 and 16 times as long, so fewer are emulated.
    if (how == effort::small && c != 0) break;
    std::size_t const sample = c >= 2 || how == effort::small ? 1 : how == effort::quick ? 2 : 8;
    double messages_all = 0, messages_communication = 0;
    std::size_t bar = 4 * c;
    struct run_of {
      char const* series;
      way how;
      work_for unit = work_for::each_packet;
    };
    for (auto const& [series, way_of, unit] :
         {run_of{"messages", way::messages}, run_of{"two_sided", way::two_sided},
          run_of{"one_sided", way::one_sided}, run_of{"one_sided, cached", way::cached},
          run_of{"two_sided, late receives", way::late_receives},
          run_of{"messages, work per message", way::messages, work_for::each_message},
          run_of{"two_sided, work per message", way::two_sided, work_for::each_message}}) {
      parts const each = iteration(p, way_of, sample, unit);
      bool const in_use = bar < 4 * c + 4;  // the others are second readings
      if (bar == 4 * c) {
        messages_all = each.all();
        messages_communication = each.communication();
      }
      if (way_of == way::one_sided)
        tell("messages over one_sided", c, "communication", messages_communication / each.communication(),
             "times");
      tell(series, c, "rate", p.mflop() / (each.all() * p.iterations / processes) * 1e6, "MFLOPS");
      tell(series, c, "share", 100 * each.synchronization / each.communication(), "percent");
      for (auto const& [name, part] : {std::pair{"computation", each.computation},
                                       {"data", each.data},
                                       {"synchronization", each.synchronization},
                                       {"uncached transposition", each.reading},
                                       {"barrier", each.barrier}}) {
        tell(series, c, name, part * p.iterations * 1e-6, "s");
        if (in_use) tell_parts(name, bar, "time", 100 * part / messages_all, "% of messages");
      }
      ++bar;
    }
  }
}

}  // namespace papers::fft
