// SPDX-License-Identifier: BSL-1.0
// Prints wide characters in ranks, before a stream is used by the program.
#include <iostream>
#include <pgas/core.hpp>

int main() {
  std::ios::sync_with_stdio(false);
  std::wcout << L"before\n";
  std::wclog << L"log before\n";
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    std::wcout << L"rank\n";
    std::wclog << L"log of rank\n";
    team.barrier();
  });
}
