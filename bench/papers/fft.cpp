// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Table 4.2 and Fig. 4.18: NAS FT on 32 cores, 4 x 8 pencils, two transpositions in each iteration,
// whose slabs are sent while others are computed. Only the transfers are emulated; computation is charged.
#include <cmath>
#include <numeric>
#include <pgas/exposure.hpp>

#include "messages.hpp"

namespace {

using namespace papers;

/// MFLOPS of a core that computes, its cached transpositions included. Set by class B with messages: 473.7 MFLOPS, and
/// 2100 s of all processes' time are communication (Christgau 2017, Table 4.2 and Fig. 4.18).
constexpr double core_mflops = 22.3;

struct problem {
  std::size_t x, y, z;
  double iterations;
  [[nodiscard]] double points() const { return static_cast<double>(x * y * z); }
  /// As NAS counts them, in millions.
  [[nodiscard]] double mflop() const {
    double const logarithm = std::log(points());
    return 1e-6 * points() * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations);
  }
};
constexpr std::array problems{problem{64, 64, 64, 6}, problem{128, 128, 32, 6}, problem{256, 256, 128, 6}};
constexpr rank_t processes = 32;

/// Times of one iteration, of all processes together, in us.
struct parts {
  double data = 0, synchronization = 0, reading = 0;
};

/// The two transpositions: among 4 processes of a row, then among 8 of a column.
struct transposition {
  std::vector<rank_t> peers;
  std::size_t message;  ///< bytes
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

enum class way { one_sided, cached, messages, two_sided };

/// `sample`: so many slabs are emulated in place of all; their times stand for the others.
parts iteration(problem const& p, way how, std::size_t sample) {
  parts sum;
  library const mpi = library::active();
  on_chip(processes, default_timing(), [&](machine& m) {
    auto const both = transpositions(p, m.rank());
    std::size_t const most = std::max(both[0].message * 8, both[1].message * 8) * sample;
    auto const w = pgas::make_window<std::byte>(m.team(), most);
    messages channel(m, rckmpi_message_us);
    message_windows window(m, channel, mpi);
    std::vector<std::byte> const bytes(both[0].message);
    double const total_slabs = static_cast<double>(2 * both[0].slabs);
    double const slab_us = p.mflop() / p.iterations / processes / core_mflops * 1e6 / total_slabs;
    parts mine;
    m.team().barrier();
    for (auto const& t : both) {
      std::size_t const count = std::min(sample, t.slabs);
      double const scale = static_cast<double>(t.slabs) / static_cast<double>(count);
      auto const timed = [&](double& into, double factor, auto const& act) {
        double const before = m.now();
        act();
        into += (m.now() - before) * factor;
      };
      auto const source = [&](std::size_t slab, std::size_t peer) {
        return machine::scratch((slab * 8 + peer) * t.message % (std::size_t{4} << 20U));
      };
      if (how == way::one_sided || how == way::cached) {
        std::optional<pgas::exposure<typename decltype(w)::state_type>> exposed;
        std::optional<pgas::access<typename decltype(w)::state_type>> epoch;
        timed(mine.synchronization, 1, [&] {
          m.work(2 * mpi.call);
          exposed.emplace(w, t.peers);
          epoch.emplace(w, t.peers);
        });
        for (std::size_t slab = 0; slab < count; ++slab) {
          m.work(slab_us);
          for (std::size_t k = 0; k < t.peers.size(); ++k) {
            rank_t const peer = t.peers[k];
            if (slab == 0) timed(mine.synchronization, 1, [&] { static_cast<void>(epoch->to(peer)); });
            timed(mine.data, scale, [&] {
              m.work(mpi.call);
              m.read(source(slab, k), t.message);
              epoch->put(peer, (slab * 8 + k) * t.message, std::span(bytes).first(t.message));
            });
          }
        }
        timed(mine.synchronization, 1, [&] {
          m.work(2 * mpi.call);
          epoch->complete();
          exposed->wait();
        });
        // What the target reads of its window past the caches, beside what a cached one costs.
        double uncached = 0, cached = 0;
        auto const walk = [&](page_type type) {
          for (std::size_t at = 0; at < count * t.peers.size() * t.message; at += 4)
            static_cast<void>(m.load(type, machine::scratch((std::size_t{8} << 20U) + at % (std::size_t{8} << 20U))));
        };
        if (how == way::one_sided) {
          timed(uncached, scale, [&] { walk(page_type::ncm); });
          timed(cached, scale, [&] { walk(page_type::dcm); });
          mine.reading += uncached - cached;
        }
      } else if (how == way::messages) {
        timed(mine.synchronization, 1, [&] {
          window.post(t.peers);
          window.start();
        });
        for (std::size_t slab = 0; slab < count; ++slab) {
          m.work(slab_us);
          for (std::size_t k = 0; k < t.peers.size(); ++k) window.put(t.peers[k], source(slab, k), t.message);
        }
        timed(mine.data, scale, [&] {
          window.complete(t.peers);
          window.wait(t.peers);
        });
      } else {
        // Sends do not block: all but their first packets move in the call that waits for them.
        m.work(slab_us * static_cast<double>(count));
        timed(mine.data, scale, [&] {
          for (std::size_t slab = 0; slab < count; ++slab) {
            for (std::size_t k = 0; k < t.peers.size(); ++k)
              channel.send(t.peers[k], messages::kind::data, source(slab, k), t.message);
          }
          for (std::size_t slab = 0; slab < count; ++slab) {
            for (rank_t peer : t.peers)
              channel.receive(peer, messages::kind::data, machine::scratch(std::size_t{8} << 20U));
          }
        });
      }
      m.team().barrier();
    }
    sum.data += mine.data;
    sum.synchronization += mine.synchronization;
    sum.reading += mine.reading;
  });
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = is_quick(argc, argv);
  teller const tell("fft", default_timing());
  for (std::size_t c = 0; c < problems.size(); ++c) {
    auto const& p = problems[c];
    // Class A's messages are eight times as long: fewer of them.
    std::size_t const sample = c == 2 ? 1 : quick ? 2 : 8;
    double one_sided = 0, messages = 0;
    for (auto const& [series, how] : {std::pair{"one_sided", way::one_sided},
                                      {"one_sided, cached", way::cached},
                                      {"messages", way::messages},
                                      {"two_sided", way::two_sided}}) {
      parts const each = iteration(p, how, sample);
      double const communication = each.data + each.synchronization;
      double const computation = p.mflop() / p.iterations / core_mflops * 1e6;  // of all processes
      double const us = (computation + communication + each.reading) / processes * p.iterations;
      tell(series, c, "rate", p.mflop() / us * 1e6, "MFLOPS");
      tell(series, c, "synchronization", 100 * each.synchronization / communication, "percent");
      if (how == way::one_sided) one_sided = communication;
      if (how == way::messages) messages = communication;
    }
    tell("messages over one_sided", c, "communication", messages / one_sided, "times");
  }
  std::printf("{\"type\":\"end\"}\n");
}
