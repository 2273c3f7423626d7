// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/durations.hpp>
#include <pgas/detail/types/with_options.hpp>
#include <pgas/machines/simulated/network.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::simulated {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::simulated
