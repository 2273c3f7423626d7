// SPDX-License-Identifier: BSL-1.0
// Runs litmus tests on the emulated chip in every order of its scheduling points. Prints the outcomes for
// comparison by explore.py. Usage: emulate PROGRAMS.
#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <pgas/backends/scc.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace chip_parts = pgas::detail::scc;
using pgas::rank_t;
using pgas::scc::page_type;

struct operation {
  char kind = 0;
  std::string what;  ///< a word or a flag
  std::string with;  ///< a value or a register
};
struct litmus {
  std::string name;
  std::vector<std::vector<operation>> cores;
};

std::vector<litmus> parse(char const* path) {
  std::vector<litmus> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("never ") || line.starts_with("finds ")) continue;
    if (line.starts_with("test ")) {
      all.push_back({line.substr(5), {}});
      continue;
    }
    std::vector<operation> core;
    std::istringstream pieces(line);
    for (std::string piece; std::getline(pieces, piece, ';');) {
      operation op;
      std::istringstream words(piece);
      words >> op.kind >> op.what >> op.with;
      core.push_back(op);
    }
    all.back().cores.push_back(std::move(core));
  }
  return all;
}

/// The words and flags of a test with their places on the chip: each line lies in a page of core 0.
struct places {
  std::map<char, chip_parts::system_address> lines;
  std::map<std::string, std::pair<std::size_t, rank_t>> flags;  ///< its slot, and the core that stores it
};

/// Plays one order. `kept` is the job of the orders before, since the system takes long to make one. A failed
/// job stays failed, so it is not kept.
std::string play(litmus const& test, pgas::scc::options const& how, std::optional<pgas::detail::job>& kept) {
  auto const ranks = static_cast<rank_t>(test.cores.size());
  if (!kept) kept = pgas::detail::job::create(ranks, false);
  auto const job = *kept;
  auto const chip = std::make_shared<chip_parts::chip>(job, how);
  places at;
  for (rank_t r = 0; r < ranks; ++r) {
    for (auto const& op : test.cores[static_cast<std::size_t>(r)]) {
      if (op.kind == 'S') at.flags[op.what] = {at.flags.size(), r};
      if (op.kind == 'S' || op.kind == 'L' || op.kind == 'A' || op.what.empty()) continue;
      if (!at.lines.contains(op.what[0]))
        at.lines[op.what[0]] = chip->dram().reserve(0, chip_parts::line_bytes);
    }
  }
  pgas::control_words const words{.slots = at.flags.size() + 1, .cells = 0};
  auto const home = std::make_shared<chip_parts::home_words>(ranks, words);
  std::map<std::string, std::uint32_t> registers;

  chip->turns().run([&](rank_t self) {
    auto const mine = job.as(self);
    pgas::detail::run_rank(mine, [&] {
      auto& core = chip->at(self);
      pgas::detail::team_ranks const team(self, ranks);
      pgas::detail::scc_control const control(chip, home, team, "flags");
      unsigned const entry = self == 0 ? 0 : core.map(chip->dram().first_page(0));
      auto const where = [&](std::string const& word) {
        return static_cast<chip_parts::physical_address>(entry * chip_parts::page_bytes +
                                                         at.lines.at(word[0]) +
                                                         4U * static_cast<unsigned>(word[1] - '0'));
      };
      auto const load = [&](page_type type, operation const& op) {
        std::uint32_t value = 0;
        core.load(type, where(op.what), std::as_writable_bytes(std::span(&value, 1)));
        registers[op.with] = value;
      };
      auto const store = [&](page_type type, operation const& op) {
        auto const value = static_cast<std::uint32_t>(std::stoul(op.with));
        core.store(type, where(op.what), std::as_bytes(std::span(&value, 1)));
      };
      auto const flag = [&](std::string const& name) {
        auto const [slot, writer] = at.flags.at(name);
        return control.slot(0, slot, writer);
      };
      for (auto const& op : test.cores[static_cast<std::size_t>(self)]) {
        switch (op.kind) {
          case 'W':
            store(page_type::mpbt_wt, op);
            break;
          case 'w':
            store(page_type::dcm, op);
            break;
          case 'R':
            load(page_type::mpbt_wt, op);
            break;
          case 'r':
            load(page_type::dcm, op);
            break;
          case 'D':
            core.drain();
            break;
          case 'I':
            core.drop_tagged();
            break;
          case 'F':
            chip->turns().point();  // a step of the explorer
            core.write_back_l1();
            core.flush_l2(0, chip_parts::page_bytes);
            break;
          case 'S':
            flag(op.what).store(std::stoul(op.with), std::memory_order_release);
            break;
          case 'L':
            registers[op.with] = static_cast<std::uint32_t>(flag(op.what).load(std::memory_order_acquire));
            break;
          case 'A': {
            auto const least = std::stoul(op.with);
            static_cast<void>(control.wait_until(
                flag(op.what), [&](pgas::word seen) { return seen >= least; }, {.operation = "litmus"}));
            break;
          }
          default:
            throw std::runtime_error("there is no operation called " + std::string(1, op.kind));
        }
      }
    });
    mine.mark_finished(self);
  });
  if (job.failed()) {
    kept.reset();
    if (job.failure_code() != pgas::errc::deadlock) throw std::runtime_error(job.failure_text());
    return "deadlock";
  }
  std::string text;
  for (auto const& [name, value] : registers)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  text += " |";
  char const* separator = "";
  for (auto const& [name, address] : at.lines) {
    for (std::size_t i = 0; i < 2; ++i) {
      std::uint32_t value = 0;
      std::memcpy(&value, chip->dram().host(address + 4 * i), sizeof value);
      text += separator + std::string(1, name) + std::to_string(i) + "=" + std::to_string(value);
      separator = " ";
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // Each order has a chip of its own. Its memory stays in the process for the next one.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
  try {
    for (auto const& test : parse(argv[1])) {
      std::set<std::string> outcomes;
      pgas::scc::decisions search;
      pgas::scc::options how;
      how.schedule = pgas::scc::scheduling::script;
      how.script = &search;
      how.check = false;
      how.own_pages = 1;
      std::optional<pgas::detail::job> job;
      do {
        outcomes.insert(play(test, how, job));
      } while (search.next());
      std::printf("test %s\n", test.name.c_str());
      for (auto const& outcome : outcomes) std::printf("%s\n", outcome.c_str());
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "emulate: %s\n", e.what());
    return 1;
  }
  return 0;
}
