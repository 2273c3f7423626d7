// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "accesses.hpp"
#include "program.hpp"

/// Pairs of accesses to one element of rank 0's part, in a fence epoch: by ranks 1 and 2, or by rank 1 and
/// the owner.
///
/// Contract (target_view): two accesses to one element in one epoch, at least one of them a put, are a race,
/// unless both are atomic operations. `fence::next` separates two epochs.
namespace races {

namespace detail {

inline constexpr std::array remote_kinds{&put_,        &bulk_put,    &rput_,      &put_of_rows,
                                         &own_put,     &get_,        &bulk_get,   &rget_,
                                         &get_of_rows, &accumulate_, &fetch_add_, &atomic_store_};
inline constexpr std::array own_kinds{&store_, &update_, &load_, &load_among};

inline std::string both(std::string_view first, std::string_view second) {
  return std::string(first) + " and " + std::string(second);
}

}  // namespace detail

inline void add_conflicts(program_list& to) {
  using detail::both;
  using detail::own_kinds;
  using detail::remote_kinds;
  to.begin("conflict", side::target);
  for (std::size_t a = 0; a < remote_kinds.size(); ++a) {
    for (std::size_t b = a; b < remote_kinds.size(); ++b) {
      // Each kind occurs with each other one, in one of the two orders.
      remote_access const& first = *remote_kinds[(a + b) % 2 == 0 ? a : b];
      remote_access const& second = *remote_kinds[(a + b) % 2 == 0 ? b : a];
      auto const body = [first, second](world& w, bool right) {
        auto const e = w.fence();
        if (w.rank() == 1) first.act(w, *e, 0, place(1));
        if (right) e->next();
        if (w.rank() == 2) second.act(w, *e, 0, place(1));
        e->close();
      };
      if (conflict(first, second)) {
        to.pair(both(first.name, second.name), "next", body);
      } else {
        to.right(both(first.name, second.name) + ", which do not conflict",
                 [body](world& w) { body(w, false); });
      }
    }
  }
  for (remote_access const* const remote : remote_kinds) {
    for (own_access const* const own : own_kinds) {
      bool const own_first = (remote->name.size() + own->name.size()) % 2 == 0;
      auto const body = [remote, own, own_first](world& w, bool right) {
        auto const e = w.fence();
        if (own_first && w.rank() == 0) own->act(w, place(1));
        if (!own_first && w.rank() == 1) remote->act(w, *e, 0, place(1));
        if (right) e->next();
        if (!own_first && w.rank() == 0) own->act(w, place(1));
        if (own_first && w.rank() == 1) remote->act(w, *e, 0, place(1));
        e->close();
      };
      std::string const name = own_first ? both(own->name, remote->name) : both(remote->name, own->name);
      if (conflict(*remote, *own)) {
        to.pair(name, "next", body);
      } else {
        to.right(name + ", which do not conflict", [body](world& w) { body(w, false); });
      }
    }
  }
}

/// The same for an owner that uses local() in place of stage.
inline void add_views(program_list& to) {
  to.begin("local()", side::target);
  for (remote_access const* const remote : {&put_, &bulk_get, &accumulate_}) {
    for (own_access const* const own : {&view_store, &view_load}) {
      if (!conflict(*remote, *own)) continue;
      to.pair(detail::both(remote->name, own->name), "next", [remote, own](world& w, bool right) {
        auto const e = w.fence();
        if (w.rank() == 1) remote->act(w, *e, 0, place(1));
        if (right) e->next();
        if (w.rank() == 0) own->act(w, place(1));
        e->close();
      });
    }
  }
  to.pair("bulk put and load through local()", "wait", [](world& w, bool right) {
    if (w.rank() == 0) {
      auto const e = w.expose({1});
      if (right) e->close();
      view_load.act(w, place(1));
      if (!right) e->close();
    } else if (w.rank() == 1) {
      auto const e = w.access({0});
      bulk_put.act(w, *e, 0, place(1));
      e->close();
    }
  });
}

}  // namespace races
