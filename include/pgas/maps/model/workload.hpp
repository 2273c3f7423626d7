// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <optional>
#include <pgas/vocabulary/expects.hpp>
#include <span>

namespace PGAS_NAMESPACE::map_model {

/// A program's work on a map. The names in brackets are those of the thesis.
struct workload {
  double lookups = 0.9;  ///< the share of lookups among all operations (p)
  double prepare = 12;   ///< cycles before each operation, for example of a hash (o_pre)
  double access = 11;    ///< cycles of a lookup or an update in the map's memory (o_lup, o_upd)
  std::optional<double> cached_access{};  ///< the same in a cache of a client, if it differs
  int key_clients = 0;                    ///< the number of clients that use a key most; 0: all alike (c_key)
  double key_share = 0;                   ///< the share of its operations that come from these clients (r)
  double server_load = 1;                 ///< the mean load of the servers over the greatest: see mean_load
};

/// The share of lookups that a client's cache answers, where each of `clients` uses a key alike.
[[nodiscard]] constexpr double hit_rate(double lookups, double clients) noexcept {
  return lookups / (lookups + clients * (1 - lookups));  // Eq. 3.39
}

/// The same, where client k issues the share shares[k] of the operations on a key. A lookup is a hit if all
/// operations on the key since this client's last lookup were lookups of others.
[[nodiscard]] constexpr double hit_rate(double lookups, std::span<double const> shares) noexcept {
  double sum = 0;  // Eq. 3.38, with the sum of the geometric series
  for (double share : shares) {
    if (share > 0) sum += share * lookups * share / (1 - lookups * (1 - share));
  }
  return sum;
}

/// The same, where `few` of the clients issue the share `share` of the operations on a key.
[[nodiscard]] constexpr double hit_rate(double lookups, int clients, int few, double share) noexcept {
  if (few <= 0 || few >= clients) return hit_rate(lookups, clients);
  double const often = share / few;
  double const seldom = (1 - share) / (clients - few);
  double const both[] = {often, seldom};
  return few * hit_rate(lookups, std::span(both, 1)) +
         (clients - few) * hit_rate(lookups, std::span(both + 1, 1));  // Eq. 3.38
}

/// The mean of the servers' loads over the greatest: 1 if they are alike. Eq. 3.60's sum of k_i is this
/// number times the servers.
[[nodiscard]] constexpr double mean_load(std::span<double const> loads) noexcept {
  double sum = 0, most = 0;
  for (double load : loads) sum += load, most = std::max(most, load);
  return most > 0 ? sum / (most * static_cast<double>(loads.size())) : 1;
}

}  // namespace PGAS_NAMESPACE::map_model
