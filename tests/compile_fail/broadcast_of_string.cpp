// expects: pgas: ranks exchange elements as bytes
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <string>

int main() {
  pgas::run<pgas::backends::process_map>(
      2, [](auto& team) { return team.broadcast(std::string("all")).size(); });
}
