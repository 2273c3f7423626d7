// expects: ranks exchange elements as bytes
// SPDX-License-Identifier: BSL-1.0
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/core.hpp>
#include <string>

int main() {
  pgas::run<pgas::backends::process_map>(
      2, [](auto& team) { auto queue = pgas::make_queue<std::string>(team); });
}
