// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::launcher {

/// A host and the number of ranks that have room there; 0 until places() has divided the ranks.
struct host {
  std::string name;
  int places = 0;
};

/// Reads the list of `--hosts`, such as "a,b" or "a:6,b:2". Throws pgas::error with errc::invalid_argument.
inline std::vector<host> parse_hosts(std::string_view text) {
  pgas::detail::setting const option("--hosts", text);
  constexpr std::string_view form = "names of hosts as in a,b or a:6,b:2";
  auto const may_be_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  std::vector<host> hosts;
  std::string_view rest = text;
  for (bool last = false; !last;) {
    auto const comma = rest.find(',');
    last = comma == rest.npos;
    std::string_view const entry = rest.substr(0, comma);
    if (!last) rest.remove_prefix(comma + 1);
    auto const colon = entry.find(':');
    std::string_view const name = entry.substr(0, colon);
    if (name.empty() || name[0] == '-' || !std::all_of(name.begin(), name.end(), may_be_in_name))
      option.refuse(form);
    host& added = hosts.emplace_back(host{std::string(name)});
    if (colon != entry.npos) {
      pgas::detail::setting const number(pgas::detail::text_of({"--hosts ", name}), entry.substr(colon + 1));
      added.places = static_cast<int>(number.whole("a number of ranks", 1, 1'000'000));
    }
  }
  auto const has_number = [](host const& each) { return each.places != 0; };
  auto const numbers = std::count_if(hosts.begin(), hosts.end(), has_number);
  if (numbers != 0 && numbers != static_cast<std::ptrdiff_t>(hosts.size()))
    option.refuse("a number of ranks for each host, or for none");
  return hosts;
}

/// Gives each host its number of ranks: the same, unless the user has said numbers. Throws pgas::error with
/// errc::invalid_argument if they are too few.
inline void divide(std::vector<host>& hosts, int ranks) {
  long room = 0;
  auto const count = static_cast<int>(hosts.size());
  for (auto& each : hosts) {
    if (each.places == 0) each.places = (ranks + count - 1) / count;
    room += each.places;
  }
  if (room < ranks) {
    throw error(errc::invalid_argument, -1,
                pgas::detail::text_of({"--hosts has places for ", room, " ranks, and -n asks for ", ranks,
                                       "; give the hosts more"}));
  }
}

}  // namespace pgas::launcher
