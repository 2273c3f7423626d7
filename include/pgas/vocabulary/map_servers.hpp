// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/numbers/divisor.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE {

/// The cycles that a map's computations take on a machine in virtual time. Elsewhere they mean nothing.
///
/// Source: Shahmirzadi 2014, table 3.1 and section 3.5. There `pre` is 12 for integers and 156 for strings of
/// 36 bytes; `lookup` and `update` are 0, 11 or 88, as the map is in the first cache, the second or memory.
struct map_costs {
  std::uint64_t pre = 0;                   ///< the hash of a key (o_pre)
  std::uint64_t lookup = 0;                ///< an access to a table that reads (o_lup)
  std::uint64_t update = 0;                ///< an access to a table that writes (o_upd)
  std::uint64_t select_power_of_two = 17;  ///< the choice among a power of two of servers (o_sel)
  std::uint64_t select_other = 90;         ///< the choice among another number of servers
};

/// Computations that take no time: the default of all maps.
inline constexpr map_costs no_map_costs{.select_power_of_two = 0, .select_other = 0};

/// Whether the servers of a map are clients too.
enum class placement {
  dedicated,  ///< a server only serves, until the run ends
  colocated,  ///< a server is a client as well, and serves in its waits and when messages interrupt it
};

/// The servers of a map: the ranks 0 to `number` - 1.
///
/// A power of two is cheaper than its neighbours, since its remainder is a mask.
struct map_servers {
  /// Lets the map choose: the number with which its model reaches most on TILE-Gx, with nine lookups in ten.
  static constexpr rank_t chosen = 0;

  rank_t number = chosen;                  ///< of servers, or `chosen`
  placement where = placement::dedicated;  ///< whether servers are clients too
};

namespace detail {

/// The servers and clients of a map among the ranks of a channel.
class placed_servers {
 public:
  /// `chosen` is the number of servers where the program gives none.
  placed_servers(map_servers wanted, rank_t self, rank_t ranks, rank_t chosen, std::string_view map)
      : number_(static_cast<std::size_t>(wanted.number == map_servers::chosen ? chosen : wanted.number)) {
    bool const is_colocated = wanted.where == placement::colocated;
    rank_t const most = is_colocated ? ranks : ranks - 1;
    if (wanted.number < 0 || number_.value() > static_cast<std::size_t>(most))
      throw error(errc::invalid_argument, self, map,
                  text_of({"a team of ", ranks, " has room for 1 to ", most,
                           is_colocated ? " colocated" : " dedicated", " servers, and ",
                           wanted.number == map_servers::chosen ? chosen : wanted.number,
                           " were asked for; name fewer, or take more ranks"}));
    rank_t const number_of_all = static_cast<rank_t>(number_.value());
    for (rank_t rank = 0; rank < ranks; ++rank) {
      if (rank < number_of_all) servers_.push_back(rank);
      if (is_colocated || rank >= number_of_all) clients_.push_back(rank);
    }
    is_client_ = is_colocated || self >= number_of_all;
    are_colocated_ = is_colocated;
  }

  [[nodiscard]] std::size_t number() const noexcept { return number_.value(); }
  [[nodiscard]] bool is_power_of_two() const noexcept { return std::has_single_bit(number_.value()); }
  /// The server of the keys with this hash.
  [[nodiscard]] rank_t of(std::size_t hash) const noexcept {
    return static_cast<rank_t>(number_.remainder(hash));
  }
  [[nodiscard]] bool is_server(rank_t rank) const noexcept {
    return static_cast<std::size_t>(rank) < number_.value();
  }
  /// Whether this rank is a client.
  [[nodiscard]] bool is_client() const noexcept { return is_client_; }
  /// Whether servers are clients too.
  [[nodiscard]] bool are_colocated() const noexcept { return are_colocated_; }
  [[nodiscard]] std::span<rank_t const> all() const noexcept { return servers_; }
  [[nodiscard]] std::span<rank_t const> clients() const noexcept { return clients_; }

 private:
  divisor number_;
  std::vector<rank_t> servers_;
  std::vector<rank_t> clients_;
  bool is_client_ = false;
  bool are_colocated_ = false;
};

}  // namespace detail
}  // namespace PGAS_NAMESPACE
