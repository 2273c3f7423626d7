// expects: needs a read-modify-write that this backend's control words do not have
// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/self.hpp>
#include <pgas/pgas.hpp>

/// The self backend with control words that can be loaded and stored only.
struct plain_words : pgas::backends::self {
  struct control_type : pgas::backends::self::control_type {
    using pgas::backends::self::control_type::control_type;
    static constexpr pgas::rmw read_modify_write = pgas::rmw::none;
  };
  static control_type attach_control(handle, pgas::control_words words, std::string_view label) {
    return {words, label};
  }
  static plain_words sub_team(pgas::group, pgas::rank_t) { return {}; }
};
static_assert(pgas::backend<plain_words>);

void make(pgas::team<plain_words, pgas::coherence::coherent, pgas::default_protocols>& team) {
  auto w = pgas::make_window<int>(team, 1);
}
