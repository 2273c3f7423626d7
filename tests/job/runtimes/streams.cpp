// SPDX-License-Identifier: BSL-1.0
// Prints by the streams of C and C++ before, in and after ranks: streams HOW...
#include <iostream>
#include <pgas/core.hpp>
#include <string_view>

int main(int argc, char** argv) try {
  bool fails = false;
  for (std::string_view const how : std::span(argv + 1, argv + argc)) {
    if (how == "unsynced") std::ios::sync_with_stdio(false);
    if (how == "silent") std::cout.rdbuf(nullptr);
    fails = fails || how == "fails";
  }
  std::clog << "log before\n";
  std::printf("C before\n");
  std::cout << "before\n";
  pgas::run<pgas::backends::process_map>(3, [fails](auto& team) {
    std::cout << "rank " + std::to_string(team.rank()) + "\n";
    std::clog << "log of rank " + std::to_string(team.rank()) + "\n";
    std::printf("C of rank %d\n", team.rank());
    team.barrier();
    if (fails && team.rank() == 1) throw std::runtime_error("as it should");
    team.barrier();
  });
  std::cout << "after\n";
} catch (pgas::error const& e) {
  std::cerr << e.what() << '\n';
  return 3;
}
