// SPDX-License-Identifier: BSL-1.0
// hash_table: all ranks fill one table with words, the library's map or one of the papers' two.
// hash_table map|locked|atomic [WORDS.txt [HOW_MANY]]
#include <cstdio>
#include <pgas/pgas.hpp>
#include <pgas/sync/bakery.hpp>
#include <pgas/sync/mcs.hpp>
#include <pgas/sync/mcs_wp.hpp>
#include <pgas/sync/two_level.hpp>
#include <stdexcept>
#include <support/backends.hpp>

#include "support/arguments.hpp"
#include "support/hash_tables.hpp"
#include "support/in_quotes.hpp"
#include "support/word_list.hpp"

/// Protocols that `--pgas-sync NAME` chooses: they differ in their lock.
template <class Lock>
struct locks : pgas::protocols<pgas::default_fence, pgas::sync::stamped, Lock> {
  static constexpr std::string_view name = Lock::name;
};
using all_locks =
    pgas::protocols_list<locks<pgas::sync::queued>, locks<pgas::sync::mcs>, locks<pgas::sync::mcs_wp>,
                         locks<pgas::sync::two_level<>>, locks<pgas::sync::bakery>>;

/// Every rank inserts its share of the words, searches its neighbour's share, and counts the words of its own
/// part.
template <class Table, class Team>
void fill_and_check(Team& team, Table& table, std::vector<std::string> const& words, std::string_view style) {
  auto const ranks = static_cast<std::size_t>(team.size());
  auto const share = [&](std::size_t rank, auto const& use) {
    for (std::size_t i = rank; i < words.size(); i += ranks) use(example::hash_of(words[i]));
  };
  auto const self = static_cast<std::size_t>(team.rank());
  share(self, [&](std::uint64_t key) { table.insert(key); });
  team.barrier();

  std::uint64_t missing = 0;
  share((self + 1) % ranks, [&](std::uint64_t key) { missing += !table.contains(key); });
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  table.for_each_own([&](std::uint64_t key) { ++count, sum += key; });

  missing = team.all_reduce(missing);
  count = team.all_reduce(count);
  sum = team.all_reduce(sum);
  for (auto const& word : words) sum -= example::hash_of(word);
  if (missing != 0 || count != words.size() || sum != 0)
    throw std::runtime_error(std::to_string(count) + " of " + std::to_string(words.size()) +
                             " words are in the table, " + std::to_string(missing) +
                             " were looked for in vain");
  if (team.rank() == 0)
    std::printf("%.*s: %zu words from %d ranks, each found again; the checksum is right\n",
                static_cast<int>(style.size()), style.data(), words.size(), team.size());
}

int main(int argc, char** argv) {
  return pgas::run<example::backends, pgas::coherence_list<pgas::default_coherence>, all_locks>(
      argc, argv, [](auto& team, auto arguments) {
        if (arguments.empty())
          throw std::runtime_error("usage: hash_table map|locked|atomic [WORDS.txt [HOW_MANY]]");
        std::string const path(arguments.size() > 1 ? arguments[1] : "/usr/share/dict/words");
        auto const words =
            example::read_words(path, example::number(arguments, 2, 10'000));  // every rank reads them
        std::size_t const capacity = 2 * words.size() / static_cast<std::size_t>(team.size()) + 64;
        using team_type = std::remove_reference_t<decltype(team)>;
        if (arguments[0] == "map") {
          example::mapped_table<team_type> table(team, capacity);
          fill_and_check(team, table, words, "map");
        } else if (arguments[0] == "locked") {
          example::locked_table<team_type> table(team, capacity);
          fill_and_check(team, table, words, "locked");
        } else if (arguments[0] == "atomic") {
          example::atomic_table<team_type> table(team, capacity);
          fill_and_check(team, table, words, "atomic");
        } else {
          throw std::runtime_error(example::in_quotes(arguments[0]) + " is neither map, locked nor atomic");
        }
      });
}
// tools/run hash_table map:
//   map: 10000 words from 2 ranks, each found again; the checksum is right
