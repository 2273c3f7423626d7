// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/with_options.hpp>
#include <pgas/machines/simulated/network.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::simulated {

/// The operations of one rank to ranks at one distance.
struct operations {
  std::uint64_t puts = 0, gets = 0;     ///< transfers of payload
  std::uint64_t stores = 0, loads = 0;  ///< of control words
  std::uint64_t atomics = 0;            ///< read-modify-writes, of words and elements
  std::uint64_t bytes = 0;              ///< of payload and words

  /// All operations.
  [[nodiscard]] constexpr std::uint64_t all() const noexcept {
    return puts + gets + stores + loads + atomics;
  }
  /// Adds each count of `o`.
  constexpr operations& operator+=(operations const& o) noexcept {
    puts += o.puts, gets += o.gets, stores += o.stores, loads += o.loads, atomics += o.atomics;
    bytes += o.bytes;
    return *this;
  }
  friend bool operator==(operations const&, operations const&) = default;
};

/// The memory of one rank that the backend has allotted, in bytes.
struct held {
  std::uint64_t payload = 0;  ///< parts of segments
  std::uint64_t control = 0;  ///< control words, eight bytes each
  friend bool operator==(held const&, held const&) = default;
};

/// The counts of one rank.
struct counters {
  std::array<operations, distances> to{};  ///< by distance
  std::uint64_t received = 0;              ///< messages of other ranks to this rank's memory
  std::uint64_t charged = 0;               ///< cycles of computation, by charge()
  held now{};                              ///< memory that the rank has
  held most{};                             ///< the most that it had

  /// The operations to ranks at this distance.
  [[nodiscard]] operations& at(distance d) noexcept { return to[static_cast<std::size_t>(d)]; }
  [[nodiscard]] operations const& at(distance d) const noexcept { return to[static_cast<std::size_t>(d)]; }
  /// The operations to other ranks.
  [[nodiscard]] operations remote() const noexcept {
    operations all = at(distance::node);
    return (all += at(distance::group)) += at(distance::far);
  }
  friend bool operator==(counters const&, counters const&) = default;
};

/// The counts of a whole run.
struct totals {
  std::uint64_t ranks = 0;                 ///< the number of ranks
  double microseconds = 0;                 ///< the virtual time of the last rank's end
  std::array<operations, distances> to{};  ///< by distance, of all ranks
  std::uint64_t busiest = 0;               ///< the most messages that one rank's memory received
  std::uint64_t events = 0;                ///< steps of the simulation
  std::uint64_t switches = 0;              ///< of fibers
  held most{};                             ///< the largest of each kind that one rank had
  std::uint64_t stack = 0;                 ///< the bytes of a stack that were touched, on average

  friend bool operator==(totals const&, totals const&) = default;
};

/// The options of a run, which a program or the environment chooses before a launch.
struct options {
  simulated::network network = infiniband;  ///< the parameters, which a program may change
  std::size_t stack_bytes = 0;              ///< of a rank; 0: 256 KiB, and 64 KiB above 4,096 ranks
  /// Nanoseconds by which a rank may run ahead of others through relaxed loads, of which collectives consist:
  /// at most 250,000. 0 keeps the strict order, and takes up to four times as long. With more, messages that
  /// queue at one node are less in step, so a gather on 1,024 ranks may take half of its time.
  double lead = 20'000;
  double timeout = 0;  ///< seconds of virtual time for every wait; 0: none

  static constexpr std::string_view shared_name = "options of simulated";  ///< for with_options
  /// PGAS_NETWORK=name chooses one of all_networks, PGAS_NODE=n the ranks a node. PGAS_TIMEOUT is virtual
  /// time here.
  [[nodiscard]] static options from_environment() {
    options o;
    o.stack_bytes = detail::stack_bytes_or(o.stack_bytes);
    using detail::setting;
    if (auto const name = setting::variable("PGAS_NETWORK"); name.given()) {
      std::array<std::string_view, all_networks.size()> names;
      std::transform(all_networks.begin(), all_networks.end(), names.begin(),
                     [](simulated::network const* n) { return n->name; });
      o.network = *all_networks[name.one_of(names)];
    }
    if (auto const node = setting::variable("PGAS_NODE"); node.given())
      o.network.node = static_cast<int>(node.whole("a number of ranks", 1, 1'000'000));
    if (auto const timeout = setting::variable("PGAS_TIMEOUT"); timeout.given())
      o.timeout = timeout.seconds();
    return o;
  }
};

/// Runs this thread's launches with these options while it lives.
using with_options = detail::with_options<options>;

}  // namespace PGAS_NAMESPACE::simulated
