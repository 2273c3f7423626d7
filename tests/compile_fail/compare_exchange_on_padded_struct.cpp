// expects: compare_exchange: it compares bytes
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

struct flag_and_count {
  char flag;
  int count;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<flag_and_count>(team, 1);
    pgas::lock w_lock{w, 0, pgas::exclusive};
    flag_and_count expected{};
    return w_lock.compare_exchange(0, 0, expected, {'a', 1});
  });
}
