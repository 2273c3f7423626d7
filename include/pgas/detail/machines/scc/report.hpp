// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/checking/open_buffers.hpp>
#include <pgas/detail/machines/scc/checker.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail::scc {

/// The call that would have ordered two accesses, of `other` and of the present rank.
inline std::string remedy_of(checker::verdict const& v, std::string const& other) {
  switch (v.lacks) {
    case checker::missing::flush:
      return "let " + other + " flush the target, or close the epoch, before it signals";
    case checker::missing::sync:
      return "let " + other + " sync, or end an epoch on the window, after its store and before it signals";
    case checker::missing::exclusive_lock:
      return "take an exclusive lock for the one that writes, since shared holders are in no order";
    case checker::missing::atomicity:
      return "make both atomic operations, or end the epoch of the first, or send a signal, before the "
             "second";
    case checker::missing::order:
      break;
  }
  return "end the epoch of the first, or send a signal, before the second";
}

/// The sentence for a verdict about the present access `now`. `place` names the element, and `now_at` and
/// `last_at` are the lines of the two accesses. `lost` says for a stale read which step was left out.
inline std::string report_of(checker::verdict const& v, checker::access const& now, std::string const& place,
                             std::string const& now_at, std::string const& last_at, std::string const& lost) {
  using fault = checker::fault;
  std::string const me = "rank " + std::to_string(now.rank);
  std::string const other = v.last.rank == now.rank ? "it" : "rank " + std::to_string(v.last.rank);
  auto const name_or = [](checker::access const& a, std::string const& read, std::string const& write) {
    std::string const name(name_of(a.kind));
    return name.empty() ? (a.is_read ? read : write) : name;
  };
  std::string const noun = name_or(v.last, "read", "write");
  std::string const does = now.kind == access_kind::own ? me + (now.is_read ? " reads " : " writes ") + place
                                                        : me + (now.is_read ? " reads " : " writes ") +
                                                              place + " by " + name_or(now, "read", "write");
  if (v.what == fault::stale)
    return does + " at " + now_at + " and finds an old value; " + other + " wrote it last, at " + last_at +
           ": " + lost;
  if (v.what == fault::unflushed)
    return does + " at " + now_at + ", unordered with its own " + noun + " at " + last_at +
           ": flush the target between the two";
  if (v.what == fault::race)
    return does + " at " + now_at + ", unordered with the " + noun + " of " + other + " at " + last_at +
           ": " + remedy_of(v, other);
  return me + " writes beside " + place + " at " + now_at + ", in one line with what " + other +
         " wrote at " + last_at +
         ", unordered: a line goes back whole, so one of the two writes can be lost; give each writer lines "
         "of "
         "its own";
}

/// The sentence for a verdict about a private buffer of `self`. `now_at` is the line of the present
/// operation, or of the completion, and `began_at` that of the unfinished operation.
inline std::string report_of(open_buffers::verdict const& v, rank_t self, std::string const& now_at,
                             std::string const& began_at) {
  using fault = open_buffers::fault;
  std::string const me = "rank " + std::to_string(self);
  std::string const its = "its unfinished " + std::string(name_of(v.of)) + " at " + began_at;
  std::string const first = ": call flush_local(" + std::to_string(v.target) + ") before";
  switch (v.what) {
    case fault::read_early:
      return me + " reads at " + now_at + " the destination of " + its + first;
    case fault::poison_copied:
      return me + " passes on at " + now_at + " a value that it read in the destination of " + its + first +
             " the read";
    case fault::written_early:
      return me + " writes at " + now_at + " to the buffer of " + its + first;
    case fault::source_stored:
      return me + " has stored to the source of its put at " + began_at +
             ", or freed it, before that put's completion at " + now_at + first + " the store";
    case fault::target_stored:
      return me + " has stored to the destination of its get at " + began_at +
             ", or freed it, before that get's completion at " + now_at + first + " the store";
    case fault::unmapped:
      return me + " has freed the buffer of " + its + " before its completion at " + now_at + first;
    case fault::none:
      break;
  }
  return me + " found no fault";
}

}  // namespace PGAS_NAMESPACE::detail::scc
