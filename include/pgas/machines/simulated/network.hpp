// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::simulated {

/// Virtual time in picoseconds.
using ticks = std::uint64_t;

/// The distance of two ranks.
enum class distance : std::uint8_t {
  self,   ///< one rank
  node,   ///< two ranks of one node, which share its memory
  group,  ///< two nodes of one group: a switch, a rack
  far,    ///< two groups
};
/// The number of distances.
inline constexpr std::size_t distances = 4;

/// The times of operations between two ranks at one distance, in nanoseconds: LogGP with a memory at its end.
///
/// An origin is busy for `overhead`, and its message leaves. The next message leaves `gap`, or the message's
/// bytes, later. The message travels for `latency`. At a target on another node it passes the interface of
/// the node, one message after another (network::arrival_gap). Answers travel for `latency` again.
///   put of s bytes and flush   overhead + 2 latency + put_byte s
///   get of s bytes and flush   overhead + 2 latency + read + get_byte s
///   store to a word            visible after overhead + latency; the origin goes on after overhead
///   load of a word             overhead + 2 latency + read
///   read-modify-write          overhead + 2 latency + atomic
/// Read-modify-writes at one rank follow each other after `atomic_gap`: the atomic unit of its memory.
/// Source: Alexandrov, Ionescu, Schauser and Scheiman 1995 (LogGP).
struct link {
  double overhead = 0;    ///< o: the origin's processor, for each operation
  double latency = 0;     ///< L: one way
  double gap = 0;         ///< g: between two messages of one origin
  double put_byte = 0;    ///< G of a put
  double get_byte = 0;    ///< G of a get
  double read = 0;        ///< from a request's arrival to its answer
  double atomic = 0;      ///< the same of a read-modify-write
  double atomic_gap = 0;  ///< between two read-modify-writes at one rank
};

/// A network of nodes: all parameters of the simulation as data.
struct network {
  std::string_view name;              ///< its name in PGAS_NETWORK
  std::array<link, distances> links;  ///< for each distance
  double arrival_gap = 0;             ///< of two messages that arrive at one node
  double look = 0;                    ///< of a flush with nothing to wait for, of a test, of a check
  double cycle = 0;                   ///< a cycle of computation: the unit of team.charge
  int node = 1;                       ///< ranks a node
  int group = 1;                      ///< nodes a group

  /// The times of a distance.
  [[nodiscard]] constexpr link const& at(distance d) const noexcept {
    return links[static_cast<std::size_t>(d)];
  }
};

/// The link between two nodes of cray_gemini.
inline constexpr link gemini_link{.overhead = 80,
                                  .latency = 460,
                                  .gap = 416,
                                  .put_byte = 0.16,
                                  .get_byte = 0.17,
                                  .read = 900,
                                  .atomic = 1400,
                                  .atomic_gap = 28};
/// Cray XE6 with Gemini, as foMPI's cost functions describe it. These follow from the equations above:
/// put 1 us + 0.16 ns s, get 1.9 us + 0.17 ns s, compare-and-swap 2.4 us, flush 76 ns, a put every 416 ns
/// between nodes and every 80 ns within one. The paper's times are for nodes at any distance.
/// Source: Gerstenberger, Besta and Hoefler 2014, section 3. An element of an accumulate takes 28 ns there,
/// which is also used as the gap of arrivals. Assumed, since the paper gives no number: the latency within a
/// node, and accesses to a rank's own memory.
inline constexpr network cray_gemini{
    .name = "cray_gemini",
    .links = {{{.overhead = 5, .put_byte = 0.16, .get_byte = 0.16, .atomic = 10, .atomic_gap = 10},
               {.overhead = 80,
                .latency = 50,
                .gap = 80,
                .put_byte = 0.16,
                .get_byte = 0.16,
                .atomic = 28,
                .atomic_gap = 28},
               gemini_link,
               gemini_link}},
    .arrival_gap = 28,
    .look = 76,
    .cycle = 1 / 2.3,
    .node = 32,
    .group = 48};

/// A fat tree of 100 Gbit/s InfiniBand adapters. The values have the order of published measurements of such
/// adapters; they come from no single source, and were not measured here: compare shapes, not times.
inline constexpr network infiniband{
    .name = "infiniband",
    .links = {{{.overhead = 5, .put_byte = 0.1, .get_byte = 0.1, .atomic = 10, .atomic_gap = 10},
               {.overhead = 50,
                .latency = 50,
                .gap = 50,
                .put_byte = 0.1,
                .get_byte = 0.1,
                .atomic = 20,
                .atomic_gap = 20},
               {.overhead = 100,
                .latency = 600,
                .gap = 150,
                .put_byte = 0.08,
                .get_byte = 0.08,
                .read = 300,
                .atomic = 500,
                .atomic_gap = 400},
               {.overhead = 100,
                .latency = 900,
                .gap = 150,
                .put_byte = 0.08,
                .get_byte = 0.08,
                .read = 300,
                .atomic = 500,
                .atomic_gap = 400}}},
    .arrival_gap = 10,
    .look = 50,
    .cycle = 0.4,
    .node = 64,
    .group = 24};

/// The link between two nodes of round_numbers.
inline constexpr link round_link{.overhead = 100,
                                 .latency = 1000,
                                 .gap = 200,
                                 .put_byte = 1,
                                 .get_byte = 2,
                                 .read = 300,
                                 .atomic = 400,
                                 .atomic_gap = 50};
/// Each rank is a node, all nodes are equally far, and each time is a round number: for equations by hand.
inline constexpr network round_numbers{.name = "round_numbers",
                                       .links = {{{}, {}, round_link, round_link}},
                                       .arrival_gap = 10,
                                       .look = 0,
                                       .cycle = 1,
                                       .node = 1,
                                       .group = 1};

/// The networks that PGAS_NETWORK may name; the first is the default.
inline constexpr std::array<network const*, 3> all_networks{&infiniband, &cray_gemini, &round_numbers};

}  // namespace PGAS_NAMESPACE::simulated
