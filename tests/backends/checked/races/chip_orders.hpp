// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/backends/scc.hpp>
#include <pgas/team/default_protocols.hpp>
#include <string_view>

namespace races {

/// A rule of the emulated chip's oracle, or an order of the interface, that a mutant lacks.
struct chip_order {
  std::string_view name;
  std::string_view text;  ///< of programs that tell the mutant apart
  void (*remove)(pgas::scc::check_rules&);
};

namespace detail {

using pgas::scc::check_rules;
using pgas::scc::word_use;

template <bool check_rules::*Rule>
void remove(check_rules& r) {
  r.*Rule = false;
}
template <bool (*Makes)(word_use const&)>
void remove_words(check_rules& r) {
  r.words = [](word_use const& u) { return !Makes(u); };
}

/// The number of control words of this sort that a protocol has among three ranks.
template <class Protocol>
std::size_t count(word_use const& u) {
  auto const words = Protocol::words(3);
  return u.is_cell ? words.cells : words.slots;
}

inline bool is_signal(word_use const& u) { return u.control.ends_with("'s signals"); }
inline bool is_of_window(word_use const& u) { return u.control.starts_with("window ") && !is_signal(u); }
inline bool is_of_team(word_use const& u) { return u.control == "team"; }

// The words of a window are those of its fence, its posts, its lock and its elements, in this order.

using protocols = pgas::default_protocols_on<pgas::backends::scc>;
inline std::size_t posts_from(word_use const& u) { return count<protocols::fence>(u); }
inline std::size_t locks_from(word_use const& u) { return posts_from(u) + count<protocols::post>(u); }
inline std::size_t elements_from(word_use const& u) { return locks_from(u) + count<protocols::lock>(u); }

inline bool is_fence(word_use const& u) { return is_of_window(u) && u.number < posts_from(u); }
/// The first cell of match_vector counts completions, and the others tell of posts.
static_assert(protocols::post::name == "match_vector");
inline bool is_complete(word_use const& u) {
  return is_of_window(u) && u.is_cell && u.number == posts_from(u);
}
inline bool is_post(word_use const& u) {
  return is_of_window(u) && u.number > posts_from(u) && u.number < locks_from(u);
}
inline bool is_lock(word_use const& u) {
  return is_of_window(u) && u.number >= locks_from(u) && u.number < elements_from(u);
}
inline bool is_exclusive(word_use const& u) { return is_lock(u) && u.scope == pgas::order_scope::all; }
inline bool is_shared(word_use const& u) { return is_lock(u) && u.scope == pgas::order_scope::shared_holder; }
inline bool is_barrier(word_use const& u) {
  return is_of_team(u) && u.number < count<pgas::default_fence>(u);
}
inline bool is_collective(word_use const& u) {
  return (is_of_team(u) && !is_barrier(u)) || u.control == "team's buffers";
}
inline bool is_of_container(word_use const& u) {
  return !is_of_window(u) && !is_of_team(u) && !is_signal(u) && u.control != "team's buffers";
}

}  // namespace detail

/// The orders that labelled programs need. The search takes the programs with the text first.
inline constexpr auto chip_orders() {
  using namespace detail;
  return std::array{
      // rules
      chip_order{"holders", "sync: lock: ", remove<&check_rules::holders>},
      chip_order{"atomics", "atomic: ", remove<&check_rules::atomics>},
      chip_order{"atomics by location", "ordered by an atomic flag", remove<&check_rules::locations>},
      chip_order{"completion", "put and get by one rank", remove<&check_rules::completion>},
      chip_order{"targets", "a flush of the target, not of another", remove<&check_rules::targets>},
      chip_order{"sync", "sync: lock_all: own store", remove<&check_rules::publication>},
      chip_order{"stages", "own load", remove<&check_rules::stages>},
      chip_order{"buffers", "origin: ", remove<&check_rules::buffers>},
      chip_order{"roots", "turned round", remove<&check_rules::roots>},
      // orders by calls of the segment and of the mailbox
      chip_order{"flush", "put and get by one rank", remove<&check_rules::flush>},
      chip_order{"flush_all", "with flush_all", remove<&check_rules::flush_all>},
      chip_order{"flush_local", "origin: ", remove<&check_rules::flush_local>},
      chip_order{"flush_local_all", "after flush_local_all", remove<&check_rules::flush_local_all>},
      chip_order{"requests", "store to the source of an rput", remove<&check_rules::requests>},
      // orders by control words
      chip_order{"fence", "sync: fence: ", remove_words<is_fence>},
      chip_order{"post and start", "post after it", remove_words<is_post>},
      chip_order{"complete and wait", "wait before it", remove_words<is_complete>},
      chip_order{"exclusive lock", "exclusive and exclusive", remove_words<is_exclusive>},
      chip_order{"shared lock", "exclusive and shared", remove_words<is_shared>},
      chip_order{"signal", "ordered by signal", remove_words<is_signal>},
      chip_order{"barrier", "ordered by barrier", remove_words<is_barrier>},
      chip_order{"collectives", "ordered by scatter", remove_words<is_collective>},
      chip_order{"containers", "ordered by queue", remove_words<is_of_container>},
  };
}

}  // namespace races
