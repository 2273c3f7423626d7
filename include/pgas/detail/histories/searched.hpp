// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/detail/histories/order_search.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <pgas/histories/table.hpp>
#include <pgas/histories/verdict.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::histories::detail {

/// Searches a history and says what the search has found, in words: `promise` is an adjective.
template <sequential_object S, class Shorten>
[[nodiscard]] verdict<S> searched(history<S> const& whole, order_of kind, std::string_view promise,
                                  effort const& within, Shorten const& shorten) {
  order_search<S> search(whole.records(), kind, within.most_states);
  verdict<S> v;
  v.found = search.run();
  v.states = search.states();
  v.right = v.found == finding::right;
  if (v.right) {
    v.text = pgas::detail::text_of({promise, ": ", whole.size(), " operations, ", v.states, " states"});
  } else if (v.found == finding::undecided) {
    v.text = pgas::detail::text_of({"undecided after ", v.states, " states whether ", whole.size(),
                                    " operations are ", promise,
                                    "; raise effort::most_states, or record fewer operations that overlap"});
  } else {
    // A part is not harder to search than the whole; if it is nevertheless, it is left.
    std::size_t const most_states = std::min(within.most_states, 2 * v.states + 1000);
    auto const is_wrong = [&](history<S> const& part) {
      return order_search<S>(part.records(), kind, most_states).run() == finding::wrong;
    };
    v.shortest = within.most_checks == 0 ? whole : shorten(whole, is_wrong);
    v.text = pgas::detail::text_of({"not ", promise, ": no order explains the results of these ",
                                    v.shortest.size(), " of ", whole.size(), " operations\n"}) +
             table(v.shortest);
  }
  return v;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::histories::detail
