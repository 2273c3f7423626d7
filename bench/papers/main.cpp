// SPDX-License-Identifier: BSL-1.0
// The papers' programs in one executable, which compiles what they share once: `paper NAME
// [--quick|--small]`.
#include <utility>

#include "automaton.hpp"
#include "barrier.hpp"
#include "broadcast.hpp"
#include "contention.hpp"
#include "fft.hpp"
#include "flow.hpp"
#include "locks.hpp"
#include "maps.hpp"
#include "memory.hpp"
#include "placement.hpp"
#include "post_start.hpp"
#include "put.hpp"
#include "writer.hpp"

int main(int argc, char** argv) {
  using papers::effort;
  constexpr std::array<std::pair<std::string_view, void (*)(effort)>, 13> programs{
      {{"automaton", papers::automaton::run},
       {"barrier", papers::barrier::run},
       {"broadcast", papers::broadcast::run},
       {"contention", papers::contention::run},
       {"fft", papers::fft::run},
       {"flow", papers::flow::run},
       {"locks", papers::locks::run},
       {"maps", papers::maps::run},
       {"memory", papers::memory::run},
       {"placement", papers::placement::run},
       {"post_start", papers::post_start::run},
       {"put", papers::put::run},
       {"writer", papers::writer::run}}};
  std::string_view const name = argc > 1 ? argv[1] : "";
  std::string_view const option = argc > 2 ? argv[2] : "";
  effort const how = option == "--quick"   ? effort::quick
                     : option == "--small" ? effort::small
                                           : effort::whole;
  bool const is_known = option.empty() || how != effort::whole;
  for (auto const& [called, run] : programs) {
    if (called != name || !is_known || argc > 3) continue;
    run(how);
    std::printf("{\"type\":\"end\"}\n");
    return 0;
  }
  std::fprintf(stderr, "usage: paper NAME [--quick|--small], where NAME is one of:");
  for (auto const& program : programs)
    std::fprintf(stderr, " %.*s", static_cast<int>(program.first.size()), program.first.data());
  std::fprintf(stderr, "\n");
  return 2;
}
