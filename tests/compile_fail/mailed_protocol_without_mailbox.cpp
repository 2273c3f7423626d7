// expects: needs a mailbox, and this backend has none
// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/self.hpp>
#include <pgas/pgas.hpp>
#include <pgas/sync/mailed_posts.hpp>

int main() {
  pgas::run<pgas::backends::self>(1, [](auto& team) {
    using mailed =
        pgas::protocols<pgas::default_fence, pgas::sync::mailed_posts, pgas::default_protocols::lock>;
    auto w = pgas::make_window<int>(team.template with<pgas::coherence::coherent, mailed>(), 1);
  });
}
